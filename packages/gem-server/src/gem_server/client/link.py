"""One WebSocket connection of a client, without threads: :class:`SocketLink`.

The protocol is done without I/O (:class:`~gem_server.message_stream.MessageStream`); a step then costs two system calls
in the thread of the trainer and no handoff to another one.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from gem_server.client.address import EnvAddress
from gem_server.client.tls import client_tls
from gem_server.errors import AccessDeniedError, ServiceRefusedError, ServiceUnavailableError
from gem_server.keep_alive import keep_alive
from gem_server.message_stream import MessageStream
from gem_server.text_additions import SUBPROTOCOL, WITH_ADDITIONS

__all__ = ["SocketLink", "open_socket"]

_READ = 1 << 16  # the memory for a larger read would come from the system anew each time
_LONGEST_HEAD = 1 << 16  # of the answer to the handshake; beyond it the library refuses


def open_socket(address: EnvAddress, timeout: float) -> socket.socket:
    """Return a connected socket, encrypted for https.

    Raises:
        OSError: if that fails or takes longer than ``timeout`` seconds.
    """
    connected = socket.create_connection((address.host, address.port), timeout=timeout)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    keep_alive(connected)
    if address.scheme == "https":
        try:
            return client_tls().wrap_socket(connected, server_hostname=address.host)
        except BaseException:
            connected.close()
            raise
    return connected


class SocketLink:
    """A connected WebSocket.

    Args:
        address: the server.
        token: bearer token, or None.
        timeout: seconds for connecting and the handshake.
        patience: seconds that a message may take to leave.

    Raises:
        ServiceUnavailableError: if the server cannot be reached, or answers no WebSocket handshake.
        AccessDeniedError: if it wants another token.
        ServiceRefusedError: if it refuses for another reason.
    """

    def __init__(self, address: EnvAddress, token: str | None, timeout: float, patience: float) -> None:
        self.messages: list[bytes] = []
        """Messages that have arrived, for the owner to take."""
        self.observations: dict[int, Any] = {}
        """The last observation on each channel; see :mod:`gem_server.text_additions`."""
        self.heard_at = time.monotonic()
        """When anything arrived last."""
        self.pinged_at: float | None = None
        """When the server was asked for a sign of life that has not come; None if it was not."""
        self._patience = patience
        scheme = "wss" if address.scheme == "https" else "ws"
        self._protocol = ClientProtocol(
            parse_uri(f"{scheme}://{address.authority}{address.prefix}/v1/socket"), max_size=None
        )
        self._stream = MessageStream(self._protocol, max_size=None)
        deadline = time.monotonic() + timeout
        try:
            self._socket = open_socket(address, timeout)
        except OSError as error:
            raise ServiceUnavailableError(f"no server at {address.server}: {error}") from error
        try:
            self._shake_hands(token, deadline)
        except InvalidStatus as error:
            self._socket.close()
            status = error.response.status_code
            text = bytes(error.response.body or b"").decode("utf-8", "replace")[:300]
            kind = AccessDeniedError if status in (401, 403) else ServiceRefusedError
            raise kind(f"{address.server} refuses with status {status}: {text}") from error
        except (OSError, InvalidHandshake, EOFError) as error:
            self._socket.close()
            raise ServiceUnavailableError(f"no GEM server answers at {address.server}: {error}") from error
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def _shake_hands(self, token: str | None, deadline: float) -> None:
        request = self._protocol.connect()
        offered = (WITH_ADDITIONS, SUBPROTOCOL)  # a server of before additions knows only the second
        request.headers["Sec-WebSocket-Protocol"] = ", ".join(offered)
        self._protocol.available_subprotocols = [*map(Subprotocol, offered)]
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        self._protocol.send_request(request)
        self._socket.sendall(b"".join(self._protocol.data_to_send()))
        received, in_head = b"", True
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._socket.recv(_READ)
            if not data:
                self._protocol.receive_eof()
                break
            if in_head:
                received += data
                head, end, data = received.partition(b"\r\n\r\n")
                if not end and len(received) < _LONGEST_HEAD:
                    continue
                in_head = False
                self._protocol.receive_data(head + end)
            if self._protocol.state is State.CONNECTING:  # the body of a refusal
                self._protocol.receive_data(data)
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc
        self._protocol.events_received()
        self.messages += self._stream.receive(data)

    def fileno(self) -> int:
        """The descriptor, for ``select``."""
        return self._socket.fileno()

    def send(self, text: bytes) -> None:
        """Send a message; what arrives meanwhile is kept, since a server that cannot send stops reading.

        Raises:
            ConnectionError: if the connection is lost.
        """
        if self._protocol.state is not State.OPEN:
            raise ConnectionError("the connection is closed")
        self._deliver(self._stream.text(text))

    def ping(self) -> None:
        """Ask the server for a sign of life, which it gives without looking at the messages before.

        Raises:
            ConnectionError: if the connection is lost.
        """
        self.pinged_at = time.monotonic()
        self._protocol.send_ping(b"")
        self._deliver(b"".join(self._protocol.data_to_send()))

    def _deliver(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                poller = select.poll()  # not select, which takes no descriptors above 1023
                poller.register(self._socket, select.POLLIN | select.POLLOUT)
                ready = poller.poll(self._patience * 1000)
                if not ready:
                    raise ConnectionError(f"the server has taken nothing for {self._patience:g} s") from None
                if any(event & select.POLLIN for _, event in ready):
                    self._read()
            except OSError as error:
                raise ConnectionError(f"the connection is lost: {error}") from error

    def receive(self) -> None:
        """Put what has arrived into ``messages``, without waiting.

        Raises:
            ConnectionError: if the connection is lost; messages that came before are there.
        """
        self._read()
        answers = self._protocol.data_to_send()  # pongs, and the answer to a closing frame
        if self._protocol.state is not State.OPEN:
            with suppress(OSError):
                self._socket.send(b"".join(answers))
            raise ConnectionError(f"the server closed the connection: {self._protocol.close_reason or 'no reason'}")
        if answers:
            self._deliver(b"".join(answers))

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as error:
                raise ConnectionError(f"the connection is lost: {error}") from error
            if not data:
                self._protocol.receive_eof()
                raise ConnectionError("the server closed the connection")
            self.heard_at, self.pinged_at = time.monotonic(), None
            self.messages += self._stream.receive(data)
            if len(data) < _READ and not isinstance(self._socket, ssl.SSLSocket):
                return

    def close(self) -> None:
        """Say goodbye without waiting for an answer, and close the socket."""
        with suppress(Exception):
            self._protocol.send_close(1000)
            for chunk in self._protocol.data_to_send():
                self._socket.send(chunk)
        self._socket.close()
