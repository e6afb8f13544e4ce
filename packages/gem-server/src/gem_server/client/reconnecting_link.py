"""A connection to a server that is made again whenever it is lost: :class:`ReconnectingLink`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gem_server.client.address import EnvAddress
from gem_server.client.link import SocketLink
from gem_server.errors import ServiceError, ServiceRefusedError, ServiceUnavailableError

__all__ = ["FIRST_PAUSE", "ReconnectingLink"]

FIRST_PAUSE = 0.05
"""Seconds before the second attempt to connect; the pause doubles with each further one."""

_LONGEST_PAUSE = 2.0

_SHORTEST_ATTEMPT = 1.0
"""Seconds that an attempt has, also where fewer are left."""

_QUIET, _SILENT = 5.0, 15.0
"""Seconds without a byte after which a server is pinged, and after which its connection is lost; at most a sixth and a
half of the time that there is to reach it."""

_SHORTEST_QUIET = 0.05


class ReconnectingLink:
    """One connection to one server, and the attempts to make it.

    Each attempt runs in a thread, so that the sessions of other servers go on meanwhile. Its result waits until the
    caller's thread asks for it (:meth:`settle`): nothing else changes in the background.

    Args:
        address: the server.
        token: bearer token, or None.
        connect_timeout: most seconds of one attempt.
        reconnect_timeout: seconds to keep trying, those included in which a server was silent.
        wake: called in the thread of an attempt when it has ended.
    """

    def __init__(
        self,
        address: EnvAddress,
        token: str | None,
        connect_timeout: float,
        reconnect_timeout: float,
        wake: Callable[[], None],
    ) -> None:
        self.address = address
        self.connection: SocketLink | None = None
        self.members: set[int] = set()
        """The numbers of the sessions on it."""
        self.error = ""
        """Why there is no link, if an attempt has failed or a link was lost."""
        self._token = token
        self._connect_timeout = connect_timeout
        self._reconnect_timeout = reconnect_timeout
        self._quiet = min(_QUIET, max(_SHORTEST_QUIET, reconnect_timeout / 6))
        self._silent = min(_SILENT, max(2 * _SHORTEST_QUIET, reconnect_timeout / 2))
        self._wake = wake
        self._given_up_at: float | None = None  # None while there is a link, or nobody has tried
        self._next_try = 0.0
        self._pause = FIRST_PAUSE
        self._attempt: threading.Thread | None = None
        self._outcome: SocketLink | ServiceError | None = None

    @property
    def is_trying(self) -> bool:
        """Whether an attempt has begun whose result nobody has taken."""
        return self._attempt is not None

    @property
    def look_every(self) -> float:
        """Seconds between two calls of :meth:`look` while somebody waits for an answer."""
        return self._quiet / 2

    def open(self) -> SocketLink:
        """Connect in this thread.

        Raises:
            ServiceUnavailableError, ServiceRefusedError: as :class:`SocketLink`.
        """
        left = self._connect_timeout if self._given_up_at is None else self._given_up_at - time.monotonic()
        timeout = min(self._connect_timeout, max(_SHORTEST_ATTEMPT, left))
        return SocketLink(self.address, self._token, timeout, self._silent)

    def needs_look(self) -> bool:
        """Whether :meth:`look` has something to do. Any thread may ask."""
        link = self.connection
        if link is None:
            return False
        now, pinged_at = time.monotonic(), link.pinged_at
        return now >= (link.heard_at + self._quiet if pinged_at is None else pinged_at + self._silent - self._quiet)

    def look(self) -> None:
        """Ping a server that is quiet; to be called after what has arrived was read.

        Raises:
            ConnectionError: if it has not answered in time, or the connection is lost.
        """
        link = self.connection
        if link is None or not self.needs_look():
            return
        if link.pinged_at is not None:
            raise ConnectionError(f"the server has given no sign of life for {self._silent:g} s")
        link.ping()

    def start(self) -> None:
        """Begin an attempt, unless there is a link or an attempt, or the pause is not over."""
        now = time.monotonic()
        if self.connection is not None or self._attempt is not None or now < self._next_try:
            return
        if self._given_up_at is None:
            self._given_up_at = now + self._reconnect_timeout
        self._outcome = None
        self._attempt = threading.Thread(target=self._try, daemon=True)
        self._attempt.start()

    def _try(self) -> None:
        try:
            self._outcome = self.open()
        except ServiceError as error:
            self._outcome = error
        except Exception as error:  # whatever it was, the thread must not end without a word
            self._outcome = ServiceUnavailableError(f"{type(error).__name__}: {error}")
        self._wake()

    def settle(self) -> SocketLink | None:
        """Return the new link if an attempt has succeeded; note its error if it has failed."""
        outcome = self._outcome
        if self._attempt is None or outcome is None:
            return None
        self._attempt.join()
        self._attempt = self._outcome = None
        if isinstance(outcome, SocketLink):
            self.connected(outcome)
            return outcome
        now = time.monotonic()
        self.error = str(outcome)
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)
        self._next_try = now + self._pause
        if isinstance(outcome, ServiceRefusedError):
            self._given_up_at = now
        return None

    def connected(self, link: SocketLink) -> None:
        """Take a link."""
        self.connection = link
        self.error, self._pause, self._next_try, self._given_up_at = "", FIRST_PAUSE, 0.0, None

    def lose(self, error: str) -> None:
        """Close a link that has failed; the time to reach the server again begins, or began with its silence."""
        pinged_at = None if self.connection is None else self.connection.pinged_at
        began = time.monotonic() if pinged_at is None else pinged_at - self._quiet
        self.release()
        self.error = error
        self._pause, self._next_try = FIRST_PAUSE, 0.0
        self._given_up_at = began + self._reconnect_timeout

    def release(self) -> None:
        """Close the link."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def time_is_up(self) -> bool:
        """Whether the server has stayed away too long, or has refused; the time then begins anew."""
        now = time.monotonic()
        if self._attempt is not None or self._given_up_at is None or now < self._given_up_at:
            return False
        self._given_up_at = now + self._reconnect_timeout
        return True

    def close(self) -> None:
        """Close the link, and wait for an attempt under way."""
        self.release()
        if self._attempt is not None:
            self._attempt.join()
            if isinstance(self._outcome, SocketLink):
                self._outcome.close()
