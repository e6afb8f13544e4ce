"""HTTP/1.1 on a bare asyncio transport, so that every defect of a connection can be played.

A reply is a list of steps: bytes to send, pauses, and what becomes of the connection. Faults of transport edit that
list; a library's server would put it right again. Everything runs in callbacks: no task can be left behind.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import cast

__all__ = ["ConnectionEnd", "HttpConnection", "HttpReply", "HttpRequest", "Pause", "Step"]

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
"""Bytes of a request's body; conversations with pictures are large."""

JSON_HEADERS = (("Content-Type", "application/json"),)
STREAM_HEADERS = (("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache"))


@dataclass(slots=True)
class HttpRequest:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """By name in lower case; of repeated headers, the last."""
    body: bytes


@dataclass(frozen=True)
class Pause:
    """A step that sends nothing for a time."""

    seconds: float


class ConnectionEnd(Enum):
    """A step that ends the reply before its time."""

    CLOSE = "close"
    """Close in order (FIN)."""
    RESET = "reset"
    """Break off (RST); what was sent may be lost."""
    SILENCE = "silence"
    """Send nothing more and keep the connection open."""
    DOOM = "doom"
    """End this reply well; reset the connection when the next request arrives on it."""


Step = bytes | Pause | ConnectionEnd


@dataclass(slots=True)
class HttpReply:
    """A whole reply, or the events of a stream."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = JSON_HEADERS
    events: list[Step] | None = None
    """Server-sent events, each with its blank line; None for a body in one piece."""
    request_id: str = ""

    def head(self, length: int | None) -> bytes:
        """Return the status line and the headers; without a length, the body comes in chunks."""
        reason = _REASONS.get(self.status, "Status")
        lines = [f"HTTP/1.1 {self.status} {reason}", *(f"{name}: {value}" for name, value in self.headers)]
        if self.request_id:
            lines.append(f"x-request-id: {self.request_id}")
        lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def steps(self) -> list[Step]:
        """Return the bytes to send, in order. A stream's chunks are its events, joined where nothing lies between."""
        if self.events is None:
            return [self.head(len(self.body)) + self.body]
        chunks = [b"%x\r\n%b\r\n" % (len(event), event) if isinstance(event, bytes) else event for event in self.events]
        return joined([self.head(None), *chunks, b"0\r\n\r\n"])


def joined(steps: list[Step]) -> list[Step]:
    """Return the same steps with neighbouring bytes in one."""
    result: list[Step] = []
    run: list[bytes] = []
    for step in steps:
        if isinstance(step, bytes):
            run.append(step)
            continue
        if run:
            result.append(b"".join(run))
            run = []
        result.append(step)
    if run:
        result.append(b"".join(run))
    return result


@dataclass(eq=False)
class HttpConnection(asyncio.Protocol):
    """One connection: reads requests one after another and plays the replies.

    Args:
        handle: called with each request; it has to lead to one call of :meth:`play`, at once or later.
        connections: the open connections, to which this one adds itself.
    """

    handle: Callable[[HttpConnection, HttpRequest], None]
    connections: set[HttpConnection]
    _received: bytearray = field(default_factory=bytearray)
    _busy: bool = False
    _doomed: bool = False
    _last: bool = False
    """Whether the client wants the connection closed after the current reply."""
    _steps: list[Step] = field(default_factory=list)
    _timer: asyncio.TimerHandle | None = None
    _done: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self._received.clear()
        self._steps = []
        if self._timer is not None:
            self._timer.cancel()
        self._finish()

    @property
    def lost(self) -> bool:
        """Whether the connection is closed or about to be."""
        return self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        if self._doomed:
            self.reset()
            return
        self._received += data
        if not self._busy:
            self._next_request()

    def _next_request(self) -> None:
        try:
            request = self._parsed()
        except ValueError as error:
            self._last = True
            self.play(HttpReply(400, str(error).encode(), (("Content-Type", "text/plain"),)).steps())
            return
        if request is not None:
            self._busy = True
            self.handle(self, request)

    def _parsed(self) -> HttpRequest | None:
        """Take the next whole request from what was received.

        Raises:
            ValueError: if it is no HTTP/1.1, or too large.
        """
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > MAX_HEAD:
                raise ValueError("the headers are too long")
            return None
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        try:
            method, path, version = first.split(" ")
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            length = int(headers.get("content-length", "0"))
        except ValueError:
            raise ValueError("malformed request") from None
        if not version.startswith("HTTP/1."):
            raise ValueError("malformed request")
        if not 0 <= length <= MAX_BODY:
            raise ValueError("the body is too long")
        if headers.get("expect", "").lower() == "100-continue" and len(self._received) == end + 4:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", ""):
            whole = _unchunked(self._received, end + 4)
            if whole is None:
                return None
            body, used = whole
        else:
            used = end + 4 + length
            if len(self._received) < used:
                return None
            body = bytes(self._received[end + 4 : used])
        del self._received[:used]
        self._last = headers.get("connection", "").lower() == "close"
        return HttpRequest(method, path, headers, body)

    def play(self, steps: list[Step], done: Callable[[], None] | None = None) -> None:
        """Send a reply step by step; ``done`` is called once, at its end or when the connection is lost."""
        self._done = done
        self._steps = steps
        if self.transport.is_closing():
            self._finish()
        else:
            self._play_on()

    def _play_on(self) -> None:
        self._timer = None
        for index, step in enumerate(self._steps):
            if isinstance(step, bytes):
                self.transport.write(step)
            elif isinstance(step, Pause):
                del self._steps[: index + 1]
                self._timer = asyncio.get_running_loop().call_later(step.seconds, self._play_on)
                return
            elif step is ConnectionEnd.DOOM:
                self._doomed = True
            elif step is ConnectionEnd.SILENCE:
                return
            else:
                self._finish()
                if step is ConnectionEnd.RESET:
                    self.reset()
                else:
                    self.transport.close()
                return
        self._steps = []
        self._finish()
        if self._last:
            self.transport.close()
            return
        self._busy = False
        if self._received:
            # Not at once: many requests in one packet would nest as deep.
            asyncio.get_running_loop().call_soon(self._next_if_idle)

    def _next_if_idle(self) -> None:
        if not self._busy and not self.transport.is_closing():
            if self._doomed:
                self.reset()
            else:
                self._next_request()

    def _finish(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            done()

    def reset(self) -> None:
        """Break the connection off, so that the client reads a reset and no end of file."""
        connection = self.transport.get_extra_info("socket")
        if connection is not None and connection.fileno() >= 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def _unchunked(received: bytearray, start: int) -> tuple[bytes, int] | None:
    """Return a chunked body and where it ends; None if it is not complete.

    Raises:
        ValueError: if the chunks are malformed or too large.
    """
    parts: list[bytes] = []
    total = 0
    while True:
        line_end = received.find(b"\r\n", start)
        if line_end < 0:
            return None
        try:
            size = int(received[start:line_end].split(b";")[0], 16)
        except ValueError:
            raise ValueError("malformed chunk") from None
        total += size
        if size < 0 or total > MAX_BODY:
            raise ValueError("the body is too long")
        start = line_end + 2 + size + 2
        if len(received) < start:
            return None
        if size == 0:
            return b"".join(parts), start
        parts.append(bytes(received[line_end + 2 : start - 2]))


_REASONS = {status.value: status.phrase for status in HTTPStatus}
