"""The audit log: who changed what, and who was refused. Lines are only ever added."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, insert, select

from gem_hub.registry.database import Database
from gem_hub.registry.tables import audit_log

__all__ = ["AuditLog"]


class AuditLog:
    """Writes and reads the audit log.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def add(
        self,
        action: str,
        subject: str,
        account: str = "",
        token_id: int | None = None,
        address: str = "",
        connection: Connection | None = None,
        **detail: Any,
    ) -> None:
        """Add a line.

        Args:
            action: what was done, such as ``"upload"`` or ``"upload.refused"``.
            subject: what it was done to, such as a package and a version.
            account: the account that asked for it; empty if it is unknown.
            token_id: the number of its token.
            address: the client's network address.
            connection: the transaction that it belongs to; one of its own by default.
            **detail: more facts as JSON values, never a secret.
        """
        row = {
            "created": int(self._clock()),
            "account": account[:100],
            "token_id": token_id,
            "address": address[:64],
            "action": action,
            "subject": subject[:300],
            "detail": detail,
        }
        if connection is not None:
            connection.execute(insert(audit_log).values(row))
            return
        with self._database.change() as own:
            own.execute(insert(audit_log).values(row))

    def lines(self, after: int | None = 0, most: int = 100, subject: str = "") -> list[dict[str, Any]]:
        """Return lines in the order in which they were added.

        Args:
            after: the ``id`` after which they begin; None for the newest ones.
            most: their largest number.
            subject: only those about this subject, or a version of it.
        """
        order = audit_log.c.id if after is not None else audit_log.c.id.desc()
        query = select(audit_log).where(audit_log.c.id > (after or 0)).order_by(order).limit(most)
        if subject:
            query = query.where(
                (audit_log.c.subject == subject) | audit_log.c.subject.startswith(f"{subject} ", autoescape=True)
            )
        with self._database.read() as connection:
            found = [dict(row._mapping) for row in connection.execute(query)]
        return found if after is not None else found[::-1]
