"""The conformance queue: releases on which the hub has to run the kit.

An upload is written down before its release is published (``announced``), and becomes work afterwards (``queued``). A
registry that was killed in between finds the row, looks whether the release exists, and goes on. A worker holds a
release by a lease that it renews; when the worker dies, the lease ends, and another one takes over.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, func, or_, select, update

from gem_hub.registry.database import Database
from gem_hub.registry.tables import checks

__all__ = ["LEASE_SECONDS", "ConformanceQueue", "QueuedCheck"]

LEASE_SECONDS = 120
"""The time after which the release of a silent worker goes to another one."""

RETRY_SECONDS = 30
"""The time before the second attempt, which doubles for each further one."""

_ANNOUNCED_SECONDS = 600
"""The age at which an announcement is looked at again; an upload takes far less."""


@dataclass(frozen=True)
class QueuedCheck:
    """A release that a worker holds."""

    id: int
    name: str
    version: str
    sha256: str
    attempts: int
    """The number of runs so far, this one included."""
    account: str
    """The one that published it; empty where that is not known."""


class ConformanceQueue:
    """The queue in the database.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
        owner: names this process among all workers; by default after its machine and number.
        table: where the releases stand, :data:`checks` or :data:`private_checks`.
        only: the account whose releases alone this queue knows; empty for those of all.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        *,
        table: Table = checks,
        only: str = "",
    ) -> None:
        self._database = database
        self._clock = clock
        self._table = table
        self._own = (table.c.account == only,) if only else ()
        self.owner = owner or f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"

    def announce(self, name: str, version: str, sha256: str, account: str = "") -> None:
        """Write down that an account is about to publish a release."""
        row = {
            "account": account[:100],
            "name": name,
            "version": version,
            "sha256": sha256,
            "state": "announced",
            "changed": int(self._clock()),
        }
        with self._database.change() as connection:
            self._database.insert_if_absent(connection, self._table, row)

    def confirm(self, name: str, version: str, sha256: str, account: str = "") -> None:
        """Make a release work for the queue, now that it is published; one that was there before stays as it is."""
        self.announce(name, version, sha256, account)
        with self._database.change() as connection:
            connection.execute(
                update(self._table).where(*self._announced(sha256)).values(state="queued", changed=int(self._clock()))
            )

    def withdraw(self, sha256: str) -> None:
        """Forget an announced release that was refused in the end."""
        with self._database.change() as connection:
            connection.execute(delete(self._table).where(*self._announced(sha256)))

    def recover(self, is_published: Callable[[str, str, str], bool], everything: bool = False) -> int:
        """Bring announcements to their end whose upload was interrupted.

        Args:
            is_published: tells for a name, a version and a SHA-256 whether this very release exists.
            everything: also recent ones, for a registry that has one process and just begins.

        Returns:
            The number of announcements.
        """
        query = select(self._table).where(self._table.c.state == "announced", *self._own)
        if not everything:
            query = query.where(self._table.c.changed <= int(self._clock()) - _ANNOUNCED_SECONDS)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            if is_published(row.name, row.version, row.sha256):
                self.confirm(row.name, row.version, row.sha256, row.account)
            else:
                self.withdraw(row.sha256)
        return len(rows)

    def take(self) -> QueuedCheck | None:
        """Return a release that nobody works on, and hold it; None if there is none.

        It is the oldest one of the account whose last turn is longest ago, so that no account holds up the others.
        """
        now, checks = int(self._clock()), self._table
        due = or_(checks.c.lease.is_(None), checks.c.lease <= now)
        free = (checks.c.state.in_(("queued", "running")), due, *self._own)
        past = checks.alias()
        turn = select(func.max(past.c.changed)).where(past.c.account == checks.c.account, past.c.attempts > 0)
        order = (func.coalesce(turn.scalar_subquery(), 0), checks.c.id)
        oldest = select(checks.c.id).where(*free).order_by(*order).limit(1).with_for_update(skip_locked=True, of=checks)
        with self._database.change() as connection:
            number = connection.execute(oldest).scalar_one_or_none()
            if number is None:
                return None
            values = {
                "state": "running",
                "owner": self.owner,
                "lease": now + LEASE_SECONDS,
                "changed": now,
                "attempts": checks.c.attempts + 1,
            }
            row = connection.execute(update(checks).where(checks.c.id == number).values(values).returning(checks)).one()
        return QueuedCheck(row.id, row.name, row.version, row.sha256, row.attempts, row.account)

    def renew(self, check: QueuedCheck) -> bool:
        """Prolong the lease of a release; False if another worker has it by now."""
        return self._held(check, lease=int(self._clock()) + LEASE_SECONDS)

    def finish(self, check: QueuedCheck, state: str, message: str = "") -> bool:
        """Give a release back; False if another worker has it by now.

        Args:
            check: the release.
            state: ``"done"``, ``"failed"``, or ``"queued"`` for another attempt, which waits longer each time.
            message: what happened, for its owners.
        """
        due = int(self._clock()) + RETRY_SECONDS * 2**check.attempts if state == "queued" else None
        return self._held(check, state=state, message=message[:2000], owner=None, lease=due)

    def release_own_machine(self, is_alive: Callable[[int], bool]) -> int:
        """Take back what processes of this machine held that no longer exist; return the number of releases.

        Args:
            is_alive: tells whether a process with this number runs.
        """
        checks = self._table
        machine, own, _ = self.owner.rsplit("/", 2)
        freed = 0
        with self._database.change() as connection:
            for row in connection.execute(select(checks.c.id, checks.c.owner).where(checks.c.state == "running")).all():
                their_machine, number, _ = (row.owner or "//").rsplit("/", 2)
                died = number == own or (number.isdigit() and not is_alive(int(number)))
                if their_machine == machine and row.owner != self.owner and died:
                    connection.execute(
                        update(checks).where(checks.c.id == row.id).values(state="queued", owner=None, lease=None)
                    )
                    freed += 1
        return freed

    def state_of(self, sha256: str) -> dict[str, Any] | None:
        """Return the state of a release in the queue and its message; None if it was never queued."""
        columns = self._table.c
        query = select(columns.state, columns.message, columns.attempts).where(columns.sha256 == sha256, *self._own)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else dict(row._mapping)

    def counts(self) -> dict[str, int]:
        """Return the number of releases in each state."""
        with self._database.read() as connection:
            states = connection.execute(select(self._table.c.state).where(*self._own)).scalars().all()
        return {state: states.count(state) for state in sorted(set(states))}

    def _announced(self, sha256: str) -> tuple[ColumnElement[bool], ...]:
        return (self._table.c.sha256 == sha256, self._table.c.state == "announced", *self._own)

    def _held(self, check: QueuedCheck, **values: Any) -> bool:
        checks = self._table
        own = (checks.c.id == check.id, checks.c.state == "running", checks.c.owner == self.owner)
        with self._database.change() as connection:
            done = connection.execute(update(checks).where(*own).values(changed=int(self._clock()), **values))
        return bool(done.rowcount)
