"""Accounts and invites of a registry. An account has no password: its tokens are all that it logs in with."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from gem_hub.registry.database import Database
from gem_hub.registry.problems import Problem
from gem_hub.registry.tables import accounts, invites
from gem_hub.registry.tokens import digest_of

__all__ = ["ACCOUNT_NAME", "AccountRow", "Accounts"]

ACCOUNT_NAME = re.compile(r"(?=.{2,39}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
"""The pattern of a name: 2 to 39 lowercase letters, digits and single hyphens."""

_RESERVED = frozenset(
    [
        "admin", "administrator", "anonymous", "api", "gem", "hub", "nobody", "official", "operator", "owner",
        "registry", "root", "security", "staff", "support", "system", "token", "unknown",
    ]
)  # fmt: skip
_INVITE_BYTES = 18


@dataclass(frozen=True)
class AccountRow:
    """An account."""

    id: int
    name: str
    disabled: bool


class Accounts:
    """The accounts of a registry.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def find(self, name: str) -> AccountRow | None:
        """Return an account; None if there is none of this name."""
        with self._database.read() as connection:
            row = connection.execute(select(accounts).where(accounts.c.name == name)).one_or_none()
        return None if row is None else AccountRow(row.id, row.name, row.disabled is not None)

    def register(
        self,
        name: str,
        address: str,
        taken: Collection[str] = (),
        invite: str | None = None,
        invited: bool = False,
        also: Callable[[Connection, int], object] = lambda connection, number: None,
    ) -> int:
        """Create the account of a stranger.

        Args:
            name: the name that the stranger chose.
            address: the stranger's network address.
            taken: names that mean something in the hub already, such as its operators and the owners of its packages.
            invite: an invite.
            invited: whether an invite is needed.
            also: does what belongs to the account, given its number, in the same transaction: a process that is killed
                would otherwise leave half of it, whose name is taken for ever.

        Returns:
            The number of the account.

        Raises:
            Problem: 400 for an impossible name, 403 for an invalid invite, 409 for a name that is taken.
        """
        _check_name(name)
        if name in _RESERVED or name in {one.casefold() for one in taken}:
            raise Problem(HTTPStatus.CONFLICT, f"the name {name!r} is taken; choose another one")
        now = int(self._clock())
        try:
            with self._database.change() as connection:
                row = {"name": name, "created": now, "address": address}
                number = connection.execute(insert(accounts).values(row).returning(accounts.c.id)).scalar_one()
                if invited:
                    used = connection.execute(
                        update(invites)
                        .where(
                            invites.c.sha256 == digest_of(invite or ""),
                            invites.c.used_by.is_(None),
                            invites.c.expires > now,
                        )
                        .values(used_by=name)
                    )
                    if not used.rowcount:
                        raise Problem(
                            HTTPStatus.FORBIDDEN,
                            "this registry needs an invite, and yours is missing, used or expired; ask its operator",
                        )
                also(connection, number)
        except IntegrityError as error:
            raise Problem(HTTPStatus.CONFLICT, f"the name {name!r} is taken; choose another one") from error
        return int(number)

    def create(self, name: str) -> int:
        """Create an account for the operator, who may also take a reserved name; return its number.

        Raises:
            Problem: 400 for an impossible name, 409 for a name that is taken.
        """
        _check_name(name)
        try:
            with self._database.change() as connection:
                row = {"name": name, "created": int(self._clock()), "address": "operator"}
                return int(connection.execute(insert(accounts).values(row).returning(accounts.c.id)).scalar_one())
        except IntegrityError as error:
            raise Problem(HTTPStatus.CONFLICT, f"there is an account {name!r} already") from error

    def disable(self, name: str, disabled: bool = True) -> bool:
        """Disable an account with all its tokens, or enable it again; return whether it exists.

        An account is never removed: nobody else may get a name under which packages were published.
        """
        value = int(self._clock()) if disabled else None
        with self._database.change() as connection:
            done = connection.execute(update(accounts).where(accounts.c.name == name).values(disabled=value))
        return bool(done.rowcount)

    def names(self) -> list[str]:
        """Return the names of all accounts, sorted."""
        with self._database.read() as connection:
            return list(connection.execute(select(accounts.c.name).order_by(accounts.c.name)).scalars())

    def invite(self, by: str, seconds: float) -> str:
        """Return a new invite, which creates one account."""
        code, now = f"gem_invite_{secrets.token_urlsafe(_INVITE_BYTES)}", int(self._clock())
        row = {"sha256": digest_of(code), "created_by": by, "created": now, "expires": now + int(seconds)}
        with self._database.change() as connection:
            connection.execute(insert(invites).values(row))
        return code


def _check_name(name: str) -> None:
    if ACCOUNT_NAME.fullmatch(name) is None:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            f"{name[:60]!a} is no account name; write 2 to 39 lowercase letters, digits and single hyphens",
        )
