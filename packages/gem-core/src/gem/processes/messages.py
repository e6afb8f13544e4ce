"""What passes between a pool and its workers: frames of one kind, a number and a body of JSON.

The same code reads and writes on both sides; it imports next to nothing, because workers start with it.
"""

from __future__ import annotations

import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

__all__ = ["CALL", "ERROR", "LARGEST", "READY", "RESULT", "RESULT_AND_END", "MessageError", "receive", "send"]

READY = b"A"
"""A worker has started; the number is its process id."""
CALL = b"C"
"""The body is the list of arguments; the number is the time limit in milliseconds."""
RESULT = b"R"
"""The body is what the function returned."""
RESULT_AND_END = b"L"
"""As RESULT, and the worker ends, because the call has left something behind."""
ERROR = b"E"
"""The body is the exception, ``[class name, message]``; a worker whose memory ran out ends after it."""

LARGEST = 16 << 20
"""Bytes of a result. Arguments may be larger: they come from the trainer's own process."""

_HEADER = struct.Struct("!cIQ")
_CHUNK = 1 << 20


class MessageError(Exception):
    """What arrives is no frame."""


def send(channel: socket.socket, kind: bytes, number: int = 0, body: bytes = b"") -> None:
    """Write a frame."""
    channel.sendall(_HEADER.pack(kind, number, len(body)) + body)


def receive(
    channel: socket.socket, longest: int | None = None, *, deadline: float | None = None
) -> tuple[bytes, int, bytes] | None:
    """Read a frame: kind, number, body. None at the end of the stream.

    Args:
        channel: where from; its own time limit holds for each part of the frame.
        longest: bytes that the body may have.
        deadline: the whole frame must be there at this time of ``time.monotonic``.

    Raises:
        MessageError: if the stream ends within a frame, or the body is longer than ``longest`` bytes.
        OSError: as the socket does; TimeoutError if nothing comes in time.
    """
    header = _read(channel, _HEADER.size, deadline)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise MessageError("the stream ends within a header")
    kind, number, length = _HEADER.unpack(header)
    if longest is not None and length > longest:
        raise MessageError(f"a frame of {length} bytes")
    body = _read(channel, length, deadline)
    if len(body) < length:
        raise MessageError("the stream ends within a body")
    return kind, number, body


def _read(channel: socket.socket, length: int, deadline: float | None) -> bytes:
    parts = []
    while length and (part := channel.recv(min(length, _CHUNK))):
        parts.append(part)
        length -= len(part)
        if length and deadline is not None:
            channel.settimeout(max(0.001, deadline - time.monotonic()))
    return b"".join(parts)
