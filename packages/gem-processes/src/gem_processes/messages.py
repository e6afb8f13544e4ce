"""Messages between processes: a kind, a number, a body, and optional file descriptors with the first byte.

Both sides of a stream socket use this module. It imports very little, because fork servers and
workers load it at their start.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "CALL",
    "ERROR",
    "LARGEST",
    "READY",
    "REQUEST",
    "RESULT",
    "RESULT_AND_END",
    "Message",
    "MessageError",
    "receive",
    "send",
]

READY = b"A"
"""A fork server or a worker has started; the number is its process id."""
REQUEST = b"F"
"""A fork server's client asks for a process; the body and the descriptors belong to that process."""
CALL = b"C"
"""The body is the list of arguments; the number is the time limit in milliseconds."""
RESULT = b"R"
"""The body is the result of the function."""
RESULT_AND_END = b"L"
"""Like RESULT, but the worker ends, because the call left threads or memory behind."""
ERROR = b"E"
"""The body is the exception, ``[class name, message]``."""

LARGEST = 16 << 20
"""The largest size of a result in bytes. Arguments may be larger, because they come from the trainer's own process."""

_HEADER = struct.Struct("!cIQ")
_CHUNK = 1 << 20
_MOST_DESCRIPTORS = 16


class Message(NamedTuple):
    """A received message."""

    kind: bytes
    number: int
    body: bytes
    descriptors: list[int]


class MessageError(Exception):
    """The received data is not a message."""


def send(
    channel: socket.socket, kind: bytes, number: int = 0, body: bytes = b"", descriptors: Sequence[int] = ()
) -> None:
    """Write a message, with copies of descriptors."""
    data = _HEADER.pack(kind, number, len(body)) + body
    if descriptors:
        data = data[socket.send_fds(channel, [data], descriptors) :]
    channel.sendall(data)


def receive(
    channel: socket.socket,
    longest: int | None = None,
    *,
    deadline: float | None = None,
    with_descriptors: bool = False,
) -> Message | None:
    """Read a message; None at the end of the stream.

    Args:
        channel: the socket; its own time limit applies to each part of the message.
        longest: the largest size of the body in bytes.
        deadline: the time of ``time.monotonic`` at which the whole message must have arrived.
        with_descriptors: whether the message may bring file descriptors. Without it the kernel closes them, so that a
            worker cannot fill the table of its client.

    Raises:
        MessageError: if the stream ends within a message, or the body is longer than ``longest`` bytes.
        OSError: an error of the socket; TimeoutError if the message is late.
    """
    header, descriptors = _start(channel) if with_descriptors else (b"", [])
    header += _read(channel, _HEADER.size - len(header), deadline)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise MessageError("the stream ends within a header")
    kind, number, length = _HEADER.unpack(header)
    if longest is not None and length > longest:
        raise MessageError(f"a message of {length} bytes")
    body = _read(channel, length, deadline)
    if len(body) < length:
        raise MessageError("the stream ends within a body")
    return Message(kind, number, body, descriptors)


def _start(channel: socket.socket) -> tuple[bytes, list[int]]:
    header, descriptors, _, _ = socket.recv_fds(channel, _HEADER.size, _MOST_DESCRIPTORS)
    return header, descriptors


def _read(channel: socket.socket, length: int, deadline: float | None) -> bytes:
    parts = []
    while length:
        if deadline is not None:
            channel.settimeout(max(0.001, deadline - time.monotonic()))
        part = channel.recv(min(length, _CHUNK))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
