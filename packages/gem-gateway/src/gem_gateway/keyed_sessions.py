"""Sessions that programs open themselves, by their key: :class:`KeyedSessions`."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable

from gem_gateway.call_errors import ModelCallError
from gem_gateway.gateway import Gateway
from gem_gateway.sessions import GatewaySession, key_digest

__all__ = ["KeyedSessions"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
"""Names become file names, so that nothing else is one."""


class KeyedSessions:
    """Opens a session for each name that a program puts behind the gateway's key: ``KEY.NAME``.

    The key alone stands for the session ``default``. Whoever has the key can open and use every session; programs that
    must not reach each other's get a key of :meth:`Gateway.open` instead.

    Args:
        gateway: whose :attr:`Gateway.opener` this becomes.
        key: of the gateway.
        open_session: opens the session of a name, with the key that it is given.
        most: sessions that may be open at a time.
    """

    def __init__(
        self, gateway: Gateway, key: str, open_session: Callable[[str, str], GatewaySession], most: int = 10_000
    ) -> None:
        self._gateway = gateway
        self._key = key_digest(key)
        self._length = len(key)
        self._open = open_session
        self._most = most
        gateway.opener = self.opened

    def opened(self, key: str) -> GatewaySession | None:
        """Return the new session of a key; None if it is not the gateway's.

        Raises:
            ModelCallError: for a name that is none, or if too many sessions are open.
        """
        if not hmac.compare_digest(key_digest(key[: self._length]), self._key):
            return None
        rest = key[self._length :]
        name = rest[1:] if rest else "default"
        if (rest and not rest.startswith(".")) or _NAME.fullmatch(name) is None:
            raise ModelCallError(
                "authentication",
                "behind the gateway's key, a full stop and a name may stand: letters, digits, _ and -, at most 64",
            )
        if len(self._gateway.sessions) >= self._most:
            raise ModelCallError("authentication", f"{self._most} sessions are open, the most that this gateway takes")
        return self._open(name, key)
