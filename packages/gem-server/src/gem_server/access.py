"""Who may use a server: bearer tokens, tickets for browsers, origins of pages, and names of the host."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from gem.errors import ArgumentError
from gem_server.errors import AccessDeniedError

__all__ = ["TICKET_SECONDS", "AccessControl", "tokens_from_file"]

TICKET_SECONDS = 30.0
"""How long a ticket may wait for its use."""

_SUBPROTOCOL = "gem.bearer."
_MOST_TICKETS = 10_000


class AccessControl:
    """Decides about requests by their headers.

    A token comes in ``Authorization: Bearer TOKEN``. A page in a browser, which cannot set headers of a WebSocket,
    offers the subprotocol ``gem.bearer.TOKEN`` beside ``gem.v1``, or puts a ticket into the address: ``?ticket=…``,
    good for one use within half a minute. All tokens are compared, each by its digest and in constant time
    (:func:`hmac.compare_digest`).

    A request with an ``Origin`` comes from a page, which must be the server's own or a listed one. Without tokens, the
    ``Host`` must be an address, ``localhost`` or listed: so a foreign page cannot reach a server of this machine by a
    name of its own that it lets point here (DNS rebinding).

    Args:
        tokens: all of equal right; none for a server that asks for none.
        origins: allowed origins of pages.
        hosts: allowed names in ``Host`` for a server without tokens.
    """

    def __init__(self, tokens: Sequence[str] = (), origins: Sequence[str] = (), hosts: Sequence[str] = ()) -> None:
        for token in tokens:
            if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
                raise ArgumentError("a token must have at least 16 printable ASCII characters and no blank")
        self._digests = [_digest(token) for token in tokens]
        self._origins = {origin.rstrip("/").lower() for origin in origins}
        self._hosts = {host.lower() for host in hosts}
        self._tickets: dict[str, tuple[str, float]] = {}

    @property
    def open(self) -> bool:
        """Whether no token is needed."""
        return not self._digests

    def owner(self, target: str, headers: Mapping[str, str], redeem: bool = True) -> str:
        """Return the owner of what the request does: a name for its token, empty where none is needed.

        Args:
            target: path and query of the request.
            headers: by lower-case name.
            redeem: whether a ticket is used up; False for a first look.

        Raises:
            AccessDeniedError: if it may not use the server.
        """
        host = headers.get("host", "")
        origin = headers.get("origin")
        if (
            origin is not None
            and origin.lower() not in self._origins
            and urlsplit(origin).netloc.lower() != host.lower()
        ):
            raise AccessDeniedError(f"pages of {origin!r:.100} may not use this server; see gem serve --origin")
        if self.open:
            if not self._names_this_machine(host):
                raise AccessDeniedError(
                    f"the host {host!r:.100} is not known to this server; see gem serve --allow-host"
                )
            return ""
        ticket = parse_qs(urlsplit(target).query).get("ticket")
        if ticket:
            return self._redeemed(ticket[0], redeem)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            offered = [word.strip() for word in headers.get("sec-websocket-protocol", "").split(",")]
            token = next((word[len(_SUBPROTOCOL) :] for word in offered if word.startswith(_SUBPROTOCOL)), "")
        given = _digest(token.strip())
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(matches):
            raise AccessDeniedError("a valid token is needed: Authorization: Bearer TOKEN")
        return f"token {matches.index(True)}"

    def ticket(self, owner: str) -> str:
        """Return a new ticket, which stands for the token once."""
        now = time.monotonic()
        self._tickets = {name: kept for name, kept in self._tickets.items() if kept[1] > now}
        if len(self._tickets) >= _MOST_TICKETS:
            raise AccessDeniedError("too many tickets wait for their use")
        name = secrets.token_urlsafe(24)
        self._tickets[name] = (owner, now + TICKET_SECONDS)
        return name

    def _redeemed(self, ticket: str, redeem: bool) -> str:
        # A dict's lookup is no comparison in constant time, and need not be: a ticket is random, short-lived, used
        # once.
        owner, until = self._tickets.get(ticket, ("", 0.0))
        if redeem:
            self._tickets.pop(ticket, None)
        if until <= time.monotonic():
            raise AccessDeniedError("the ticket is used or too old; ask for another: POST /v1/ticket")
        return owner

    def _names_this_machine(self, host: str) -> bool:
        name = (urlsplit(f"//{host}").hostname or "") if host.isprintable() and "@" not in host else ""
        if name == "localhost" or name in self._hosts or host.lower() in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def tokens_from_file(path: Path | None) -> list[str]:
    """Return the tokens in a file, one a line; none for no file.

    Raises:
        ArgumentError: if the file cannot be read, or holds none.
    """
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read the tokens in {path}: {error}") from error
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens:
        raise ArgumentError(f"{path} holds no token; it has one a line")
    return tokens


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
