"""Messages between a remote engine and its worker: :func:`encode` and :func:`decode`.

A message is a binary WebSocket message: the length of its head (four bytes, big-endian), a head of JSON, and a payload.
What is larger than a message goes in several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from struct import Struct
from typing import Any

__all__ = ["CHUNK", "LONGEST_MESSAGE", "PROTOCOL", "chunks", "decode", "encode", "split"]

PROTOCOL = 1
"""The version of the messages, which both sides must have."""
PATH = "/v1/engine"
CHUNK = 1 << 20
"""The largest payload in bytes."""
_LONGEST_HEAD = 1 << 20
LONGEST_MESSAGE = CHUNK + _LONGEST_HEAD
_LENGTH = Struct("!I")


def encode(head: dict[str, Any], payload: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    text = json.dumps(head, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + payload


def split(message: bytes) -> tuple[bytes, bytes]:
    """Return the head, not yet read, and the payload of a message.

    Raises:
        ValueError: if it has none.
    """
    if len(message) < _LENGTH.size:
        raise ValueError("a message begins with the length of its head")
    (length,) = _LENGTH.unpack_from(message)
    end = _LENGTH.size + length
    if end > len(message):
        raise ValueError(f"a head of {length} bytes does not fit into a message of {len(message)}")
    return message[_LENGTH.size : end], message[end:]


def decode(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the head and the payload of a message.

    Raises:
        ValueError: if the head is no JSON object.
    """
    text, payload = split(message)
    try:
        head = json.loads(text)
    except RecursionError as error:
        raise ValueError("the head is nested too deeply") from error
    if not isinstance(head, dict):
        raise ValueError("the head must be a JSON object")
    return head, payload


def chunks(data: bytes) -> Iterator[bytes]:
    """Yield data in payloads; one empty payload for no data."""
    view = memoryview(data)
    for start in range(0, max(len(data), 1), CHUNK):
        yield bytes(view[start : start + CHUNK])
