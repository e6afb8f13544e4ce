"""Tokens, by which clients show whose account they use.

A token is ``gem_``, 43 base62 digits with 256 random bits, and a CRC-32 of those in 6 base62 digits, by which secret
scanners tell it from other text without asking the registry. The registry keeps only its SHA-256: it has too many bits
to be guessed, so that a slow password hash would protect nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
import time
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update

from gem_hub.registry.database import Database
from gem_hub.registry.tables import accounts, tokens

__all__ = ["SCOPES", "TOKEN", "Credential", "Tokens", "digest_of", "is_token", "new_token"]

SCOPES = {
    "publish": "upload releases",
    "manage": "yank, deprecate and report packages, change their owners, and manage tokens",
    "read": "read the private packages of one's organisations",
}
"""Scope → what it allows."""

TOKEN = re.compile(r"gem_([0-9A-Za-z]{43})([0-9A-Za-z]{6})")

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_USED_GRAIN = 3600
"""Seconds between two updates of a token's last use."""


def new_token() -> str:
    """Return a new token."""
    random = _base62(int.from_bytes(secrets.token_bytes(32), "big"), 43)
    return f"gem_{random}{_checksum(random)}"


def is_token(text: str) -> bool:
    """Return whether a text has the form and the checksum of a token."""
    match = TOKEN.fullmatch(text)
    return match is not None and match[2] == _checksum(match[1])


def digest_of(token: str) -> str:
    """Return the digest by which the registry knows a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _checksum(random: str) -> str:
    return _base62(zlib.crc32(random.encode()), 6)


def _base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits.rjust(width, "0")


@dataclass(frozen=True)
class Credential:
    """The account and the rights that a request comes with."""

    account: str
    account_id: int
    token_id: int
    scopes: frozenset[str]
    packages: frozenset[str] | None
    """The packages that it is limited to; None for all of the account."""
    origin: str
    """``"account"``, ``"member:ACCOUNT"`` where that acts for an organisation, or the trusted publisher of its job."""
    expires: int | None = None
    """When it ends, in seconds since 1970."""

    @property
    def is_minted(self) -> bool:
        """Whether it was minted for a trusted publisher, so that no person holds it."""
        return self.origin != "account" and not self.origin.startswith("member:")

    @property
    def person(self) -> str:
        """The account whose token it is, also where it acts for an organisation."""
        return self.origin.removeprefix("member:") if self.origin.startswith("member:") else self.account

    def covers(self, package: str) -> bool:
        """Return whether it may be used for a package."""
        return self.packages is None or package in self.packages


class Tokens:
    """The tokens of a registry.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def mint(
        self,
        account_id: int,
        label: str,
        scopes: Collection[str],
        packages: Sequence[str] | None = None,
        seconds: float | None = None,
        origin: str = "account",
    ) -> tuple[str, int]:
        """Create a token.

        Args:
            account_id: the account that it acts for.
            label: a name for its owner, such as that of a machine.
            scopes: of :data:`SCOPES`.
            packages: the packages that it is limited to; None for all of the account.
            seconds: its lifetime; None without end.
            origin: ``"account"``, or the trusted publisher that it is minted for.

        Returns:
            The token, which cannot be had again, and its number.
        """
        token, now = new_token(), int(self._clock())
        row = {
            "account_id": account_id,
            "label": label,
            "sha256": digest_of(token),
            "scopes": sorted(scopes),
            "packages": None if packages is None else sorted(packages),
            "origin": origin,
            "created": now,
            "expires": None if seconds is None else now + int(seconds),
        }
        with self._database.change() as connection:
            number = connection.execute(insert(tokens).values(row).returning(tokens.c.id)).scalar_one()
        return token, int(number)

    def find(self, token: str) -> Credential | None:
        """Return what a token stands for; None if it is none, expired, revoked, or of a disabled account."""
        if not is_token(token):
            return None
        digest, now = digest_of(token), int(self._clock())
        query = select(tokens, accounts.c.name, accounts.c.disabled).join(accounts).where(tokens.c.sha256 == digest)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        # The database compares digests, from which a client's timing learns nothing about a token; the last word has a
        # comparison in constant time.
        if row is None or not hmac.compare_digest(row.sha256, digest):
            return None
        if row.revoked is not None or row.disabled is not None or (row.expires is not None and row.expires <= now):
            return None
        if row.used is None or row.used <= now - _USED_GRAIN:
            with self._database.change() as connection:
                connection.execute(update(tokens).where(tokens.c.id == row.id).values(used=now))
        packages = None if row.packages is None else frozenset(row.packages)
        return Credential(row.name, row.account_id, row.id, frozenset(row.scopes), packages, row.origin, row.expires)

    def of(self, account_id: int) -> list[dict[str, Any]]:
        """Return the tokens of an account that are neither revoked nor expired, without their secrets."""
        now = int(self._clock())
        query = (
            select(tokens).where(tokens.c.account_id == account_id, tokens.c.revoked.is_(None)).order_by(tokens.c.id)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [_shown(row) for row in rows if row.expires is None or row.expires > now]

    def revoke(self, number: int, account_id: int | None = None) -> bool:
        """Revoke a token, and return whether there was one to revoke.

        Args:
            number: the token's number.
            account_id: the account that it must belong to; None for any.
        """
        where = [tokens.c.id == number, tokens.c.revoked.is_(None)]
        if account_id is not None:
            where.append(tokens.c.account_id == account_id)
        with self._database.change() as connection:
            done = connection.execute(update(tokens).where(*where).values(revoked=int(self._clock())))
        return bool(done.rowcount)


def _shown(row: Row[Any]) -> dict[str, Any]:
    keys = ("id", "label", "scopes", "packages", "origin", "created", "expires", "used")
    return {key: getattr(row, key) for key in keys}
