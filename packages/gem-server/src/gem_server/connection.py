"""One connection: HTTP requests one after the other, or a WebSocket after an upgrade, both without I/O of their own.

h11 parses HTTP, :class:`~gem_server.message_stream.MessageStream` the frames; this module moves their bytes and keeps
time. Limits: the head of a request within its time and size, the body within its time and size, an answer taken within
its time. A client that reads too slowly is not read from either, and then closed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

import h11
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from gem_server.errors import AccessDeniedError
from gem_server.keep_alive import keep_alive
from gem_server.message_stream import MessageStream

__all__ = ["ClientConnection", "ConnectionHost", "HttpAnswer", "PlainRequest", "SocketHandler", "denied"]

_MOST_HEAD = 32 << 10  # bytes
_HIGH_WATER = 1 << 20  # bytes that wait for a client before nothing more is read from it
_JSON = "application/json"


@dataclass(frozen=True)
class PlainRequest:
    """An HTTP request with its whole body."""

    method: str
    target: str
    """Path and query as sent."""
    headers: dict[str, str]
    """By lower-case name; of several with one name, the last."""
    body: bytes = b""

    @property
    def path(self) -> str:
        """The path alone."""
        return urlsplit(self.target).path


@dataclass(frozen=True)
class HttpAnswer:
    """An HTTP response."""

    status: int
    body: bytes = b""
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200) -> HttpAnswer:
        """Return a response with a JSON body."""
        return cls(status, json.dumps(value, separators=(",", ":")).encode())


class SocketHandler(Protocol):
    """What a WebSocket protocol does with a connection; :class:`gem_server.socket_protocol.SessionSocket` is ours."""

    subprotocol: str | None
    """The subprotocol that is chosen, out of those that the client offered."""

    def opened(self, connection: ClientConnection) -> None:
        """Take the connection; ``connection.send_text`` is the way to answer."""

    def received(self, text: bytes) -> None:
        """Take a message; any exception closes the connection with status 1011."""

    def closed(self) -> None:
        """Note that the connection is gone."""


class ConnectionHost(Protocol):
    """What a connection needs of its server."""

    max_message: int
    request_timeout: float

    def admit(self, connection: ClientConnection) -> bool:
        """Note a new connection; False if there are too many."""

    def leave(self, connection: ClientConnection) -> None:
        """Note the end of a connection."""

    def socket_handler(self, request: PlainRequest) -> SocketHandler | HttpAnswer:
        """Return the handler of a WebSocket upgrade, or the answer that refuses it."""

    def answer(self, request: PlainRequest) -> Awaitable[HttpAnswer]:
        """Return the answer to a request; it raises nothing."""

    def early_refusal(self, request: PlainRequest) -> HttpAnswer | None:
        """Return the answer to a request whose body is not worth reading; None for all others."""


class ClientConnection(asyncio.Protocol):
    """The server's end of one connection."""

    def __init__(self, host: ConnectionHost) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self._head = bytearray()  # as received, for the WebSocket library to parse once more
        self._request: h11.Request | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: ServerProtocol | None = None
        self._stream: MessageStream | None = None  # once the handshake is over
        self._handler: SocketHandler | None = None
        self._slow: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # other event loops have classes of their own
        if not self._host.admit(self):
            self._transport.abort()
            return
        with suppress(OSError):  # it is gone already
            keep_alive(transport.get_extra_info("socket"))
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._host.leave(self)
        # A timer would keep the connection, with its buffers, in memory until its time.
        for timer in (self._timer, self._slow, self._ending):
            if timer is not None:
                timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._handler is not None:
            self._handler.closed()

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()
            self._slow = self._loop.call_later(self._host.request_timeout, self.abort)

    def resume_writing(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
        if self._transport is not None and self._task is None:
            self._transport.resume_reading()

    def abort(self) -> None:
        """Close at once, without another word."""
        if self._transport is not None:
            self._transport.abort()

    def _abort_within(self, seconds: float) -> None:
        """Close at once after a while, unless the connection has ended by itself."""
        if self._ending is None and self._transport is not None:
            self._ending = self._loop.call_later(seconds, self.abort)

    def close(self, code: int = 1001, reason: str = "the server is shutting down") -> None:
        """Close in order: a WebSocket with a closing frame, an HTTP connection after its answer."""
        if self._socket is not None and self._socket.state is State.OPEN:
            self._socket.send_close(code, reason)
            self._abort_within(min(1.0, self._host.request_timeout))  # before _pass_on gives it more time
            self._pass_on()
        elif self._task is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self._stream is not None:
            self._messages(self._stream.receive(data))
            return
        if self._request is None:
            self._head += data
        self._http.receive_data(data)
        self._http_events()

    def eof_received(self) -> bool:
        if self._socket is not None:
            self._socket.receive_eof()
            self._pass_on()
        return self._task is not None  # keep open only for the answer that is being made

    # HTTP

    def _expect(self) -> None:
        """Give the client its time for a request, or for what is missing of it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._host.request_timeout, self.abort)

    def _http_events(self) -> None:
        while self._task is None and self._transport is not None and self._socket is None:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._write(HttpAnswer.of(_error("BadRequest", str(error)), error.error_status_hint or 400), close=True)
                return
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Request):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._size += len(event.data)
                if self._size > self._host.max_message:
                    self._write(
                        HttpAnswer.of(_error("TooLarge", f"more than {self._host.max_message} bytes"), 413), close=True
                    )
                    return
                self._body.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                self._dispatch()
            elif isinstance(event, h11.ConnectionClosed):
                self.abort()

    def _begin(self, event: h11.Request) -> None:
        self._request, self._body, self._size = event, [], 0
        request = self._plain()
        if len(event.target) + sum(len(name) + len(value) for name, value in event.headers) > _MOST_HEAD:
            self._write(HttpAnswer.of(_error("TooLarge", f"a head may have {_MOST_HEAD} bytes"), 431), close=True)
            return
        if request.headers.get("upgrade", "").lower() == "websocket":
            self._upgrade(request)
            return
        refused = self._host.early_refusal(request)
        if refused is not None:
            self._write(refused, close=True)
            return
        if self._http.they_are_waiting_for_100_continue:
            assert self._transport is not None
            self._transport.write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        self._expect()

    def _plain(self) -> PlainRequest:
        assert self._request is not None
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._request.headers}
        method, target = self._request.method.decode("latin-1"), self._request.target.decode("latin-1")
        return PlainRequest(method, target, headers, b"".join(self._body))

    def _dispatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.pause_reading()
        self._task = self._loop.create_task(self._respond(self._plain()))

    async def _respond(self, request: PlainRequest) -> None:
        answer = await self._host.answer(request)
        self._task = None
        if self._transport is None:
            return
        self._write(answer)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._request, self._head = None, bytearray(self._http.trailing_data[0])
            self._expect()
            self._transport.resume_reading()
            self._http_events()

    def _write(self, answer: HttpAnswer, close: bool = False) -> None:
        if self._transport is None:
            return
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            *answer.headers,
        ]
        if close:
            headers.append(("Connection", "close"))
        reason = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else ""
        try:
            data = self._http.send(h11.Response(status_code=answer.status, headers=headers, reason=reason.encode()))
            body = b"" if self._request is not None and self._request.method == b"HEAD" else answer.body
            data = (data or b"") + (self._http.send(h11.Data(data=body)) or b"")
            data += self._http.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError:  # the client broke off in a state in which nothing can be answered
            self.abort()
            return
        self._transport.write(data)
        if close or self._http.our_state is not h11.DONE:
            self._transport.close()
            self._abort_within(self._host.request_timeout)

    # WebSocket

    def _upgrade(self, request: PlainRequest) -> None:
        handler = self._host.socket_handler(request)
        if isinstance(handler, HttpAnswer):
            self._write(handler, close=True)
            return
        protocol = ServerProtocol(max_size=self._host.max_message)
        early = self._http.trailing_data[0]  # frames that came with the request
        protocol.receive_data(bytes(self._head[: len(self._head) - len(early)]))
        self._head.clear()
        events = protocol.events_received()
        if not events or not isinstance(events[0], Request):
            self._write(HttpAnswer.of(_error("BadRequest", "not a WebSocket handshake"), 400), close=True)
            return
        response = protocol.accept(events[0])
        if handler.subprotocol is not None and response.status_code == 101:
            response.headers["Sec-WebSocket-Protocol"] = handler.subprotocol
        protocol.send_response(response)
        self._socket = protocol
        self._pass_on()
        if protocol.state is not State.OPEN:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._stream = MessageStream(protocol, self._host.max_message)
        self._handler = handler
        handler.opened(self)
        self._messages(self._stream.receive(early))

    def _messages(self, messages: list[bytes]) -> None:
        for message in messages:
            if self._handler is None or self._transport is None:
                return
            self._message(message)
        self._pass_on()

    def _message(self, message: bytes) -> None:
        assert self._handler is not None
        try:
            self._handler.received(message)
        except Exception as error:  # a fault of ours must close this connection, not the loop
            self._loop.call_exception_handler({"message": "a WebSocket handler failed", "exception": error})
            self.close(1011, "internal error")

    def send_text(self, text: bytes) -> None:
        """Send a text message; nothing if the connection is closing."""
        if self._stream is None or self._socket is None or self._socket.state is not State.OPEN:
            return
        if self._transport is not None:
            self._transport.write(self._stream.text(text))

    def _pass_on(self) -> None:
        assert self._socket is not None
        data = self._socket.data_to_send()
        if self._transport is None or not data:
            return
        self._transport.write(b"".join(data) if len(data) > 1 else data[0])
        if data[-1] == b"" or self._socket.close_expected():
            if data[-1] == b"":
                self._transport.close()
            self._abort_within(self._host.request_timeout)


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message}}


def denied(error: AccessDeniedError) -> HttpAnswer:
    """Return the answer to a request that may not be made."""
    return HttpAnswer(
        401 if "token" in str(error) or "ticket" in str(error) else 403,
        json.dumps(_error("AccessDeniedError", str(error))).encode(),
        headers=(("WWW-Authenticate", "Bearer"),),
    )
