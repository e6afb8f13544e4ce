"""A session with an OpenEnv server: one WebSocket, one request at a time.

The protocol is that of openenv 0.10 (``openenv.core.env_server``): JSON texts of ``type`` and ``data`` at the path
``/ws``. A connection is a session. Messages have no numbers, so after a request without an answer the connection is of
no further use: the answer could still arrive, and be taken for the next one.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from gem_bridges.errors import BridgeError
from gem_bridges.http_json import parse_json

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

__all__ = ["OpenEnvConnection", "ServerRefusal"]

_CLOSING = 2.0  # seconds that a server has to answer the end of a connection
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between attempts while a server is full


class ServerRefusal(BridgeError):  # noqa: N818  # named after the server's message of this type
    """The server answered a request with a message of type ``error``.

    Attributes:
        code: the protocol's code, such as ``"VALIDATION_ERROR"``.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class OpenEnvConnection:
    """The connection that an environment keeps open over its episodes.

    The library answers the server's pings in a thread of its own, so that a session survives an agent that thinks for
    minutes.
    """

    def __init__(self, base: str, timeout: float, max_bytes: int, headers: dict[str, str]) -> None:
        """Open no connection yet.

        Args:
            base: the server's ``http://`` or ``https://`` address.
            timeout: seconds for opening the connection, for an answer, and for a full server to have room.
            max_bytes: size of the largest message that is accepted.
            headers: sent when the connection opens.
        """
        self.address = f"ws{base.removeprefix('http')}/ws"
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._headers = headers
        self._socket: ClientConnection | None = None
        self._opened = ExitStack()

    def reset(self, data: dict[str, Any]) -> dict[str, Any]:
        """Begin an episode, in a new session if there is none or it has been lost since the last episode.

        A server without room for another session is asked again until the time is up: it may still be clearing away a
        session that has just been closed.

        Raises:
            BridgeError: if the server is out of reach or full, or if its answer is outside the protocol.
        """
        deadline, pause = monotonic() + self._timeout, _FIRST_PAUSE
        while True:
            reused = self._socket is not None
            try:
                return self.request("reset", data)
            except ServerRefusal as refusal:
                if refusal.code != "CAPACITY_REACHED" or monotonic() + pause > deadline:
                    raise
                self.drop()
                sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except BridgeError:
                self.drop()
                if not reused:
                    raise

    def request(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Send a message and return the data of its answer.

        Raises:
            ServerRefusal: if the answer is an error.
            BridgeError: if no answer arrives in time, or none within the protocol; the connection is then closed.
        """
        from websockets.exceptions import WebSocketException

        deadline = monotonic() + self._timeout
        try:
            socket = self._open()
            with suppress(WebSocketException):  # a full server answers before it is asked, and closes
                socket.send(json.dumps({"type": kind, "data": data}))
            text = socket.recv(timeout=max(0.0, deadline - monotonic()))
        except TimeoutError:
            self.drop()
            raise BridgeError(f"{self.address} did not answer {kind!r} within {self._timeout:g} s") from None
        except (WebSocketException, OSError, ValueError) as error:
            self.drop()
            raise BridgeError(
                f"{self.address} failed: {str(error) or type(error).__name__}; is an OpenEnv server running there?"
            ) from error
        try:
            return _data_of(parse_json(text, self.address), self.address, "mcp" if kind == "mcp" else "observation")
        except ServerRefusal:
            raise
        except BridgeError:
            self.drop()
            raise

    def close(self) -> None:
        """End the session."""
        from websockets.exceptions import WebSocketException

        if self._socket is not None:
            with suppress(WebSocketException, OSError):
                self._socket.send(json.dumps({"type": "close"}))
        self.drop()

    def drop(self) -> None:
        """Close the connection, with which the server ends the session."""
        self._socket = None
        with suppress(OSError):
            self._opened.close()

    def _open(self) -> ClientConnection:
        if self._socket is None:
            from websockets.sync.client import connect

            self._socket = self._opened.enter_context(
                connect(
                    self.address,
                    open_timeout=self._timeout,
                    close_timeout=_CLOSING,
                    max_size=self._max_bytes,
                    additional_headers=self._headers,
                    compression=None,
                    user_agent_header=None,
                )
            )
        return self._socket


def _data_of(message: Any, address: str, kind: str) -> dict[str, Any]:
    data = message.get("data") if isinstance(message, dict) else None
    if not isinstance(data, dict) or message.get("type") not in (kind, "error"):
        raise BridgeError(f"{address} answered outside the protocol: {json.dumps(message)[:300]}")
    if message["type"] == "error":
        errors = f": {json.dumps(data['errors'])[:1000]}" if data.get("errors") else ""
        raise ServerRefusal(f"{str(data.get('message', 'no message'))[:1000]}{errors}", str(data.get("code", "")))
    return data
