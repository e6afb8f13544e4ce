"""Messages of a WebSocket out of its bytes: :class:`MessageStream`, for both sides.

The library ``websockets`` does the protocol: handshake, control frames, fragments, limits, errors and closing. Almost
all traffic is frames of one kind, though: a whole text message below 64 kB (RFC 6455, section 5.2). Those are taken out
of the bytes here, in a tenth of the time of the library's parser (``benchmarks/README.md``). Every frame that is
anything else goes to the library as it came, and so does all that follows an error.
"""

from __future__ import annotations

import os
from struct import Struct

from websockets.frames import Opcode
from websockets.protocol import Protocol, Side, State

try:
    from websockets.speedups import apply_mask
except ImportError:  # an interpreter for which the library has no wheel
    from websockets.utils import apply_mask

__all__ = ["MessageStream"]

_WHOLE_TEXT = 0x81  # the last and only frame of a text message
_MASKED = 0x80
_TWO_BYTES, _EIGHT_BYTES = 126, 127  # the lengths that announce a longer length
_MEDIUM, _LONG = Struct("!BBH"), Struct("!BBQ")
_DATA = (Opcode.CONT, Opcode.TEXT, Opcode.BINARY)


class MessageStream:
    """Reads and writes the messages of an open connection.

    Args:
        protocol: the library's state of the connection, after the handshake. What it wants to send (answers to pings,
            closing frames) is in ``protocol.data_to_send()`` as ever.
        max_size: size in bytes of the largest message that the other side may send; None for no limit. The library
            must have the same limit.
    """

    def __init__(self, protocol: Protocol, max_size: int | None) -> None:
        self._protocol = protocol
        # Which bit a frame of the other side must have, and which one ours have: clients mask, servers do not.
        self._theirs, self._ours = (_MASKED, 0) if protocol.side is Side.SERVER else (0, _MASKED)
        self._longest = 0xFFFF if max_size is None else min(max_size, 0xFFFF)
        self._start = b""  # of a frame whose length is not known yet
        self._owed = 0  # bytes of a frame that the library has begun to read
        self._parts: list[bytes] | None = None  # of a message in several frames

    def receive(self, data: bytes) -> list[bytes]:
        """Return the messages that data bring to their end."""
        messages: list[bytes] = []
        if self._owed:
            rest = data[self._owed :]
            self._pass_on(data[: self._owed], messages)
            self._owed = max(0, self._owed - len(data))
            data = rest
        elif self._start:
            data, self._start = self._start + data, b""
        position, size = 0, len(data)
        while position < size:
            if self._protocol.state is not State.OPEN:
                self._pass_on(data[position:], messages)
                break
            begin, length = _extent(data, position)
            if not begin:
                self._start = data[position:]
                break
            end = begin + length
            is_plain = data[position] == _WHOLE_TEXT and data[position + 1] & _MASKED == self._theirs
            if is_plain and self._parts is None and length <= self._longest and end <= size:
                message = data[begin:end]
                messages.append(apply_mask(message, data[begin - 4 : begin]) if self._theirs else message)
            else:
                self._pass_on(data[position:end], messages)
                self._owed = max(0, end - size)
            position = end
        return messages

    def _pass_on(self, data: bytes, messages: list[bytes]) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            opcode, fin, payload = event.opcode, event.fin, bytes(event.data)  # type: ignore[union-attr]
            if opcode not in _DATA:
                continue
            if self._parts is None:
                self._parts = []
            if payload:  # empty parts, of which there may be any number, must take no memory
                self._parts.append(payload)
            if fin:
                messages.append(b"".join(self._parts))
                self._parts = None

    def text(self, message: bytes) -> bytes:
        """Return the frame of a text message."""
        size, ours = len(message), self._ours
        if size < _TWO_BYTES:
            head = bytes((_WHOLE_TEXT, ours | size))
        elif size <= 0xFFFF:
            head = _MEDIUM.pack(_WHOLE_TEXT, ours | _TWO_BYTES, size)
        else:
            head = _LONG.pack(_WHOLE_TEXT, ours | _EIGHT_BYTES, size)
        if not ours:
            return head + message
        mask = os.urandom(4)  # RFC 6455, section 5.3: unpredictable
        return head + mask + apply_mask(message, mask)


def _extent(data: bytes, position: int) -> tuple[int, int]:
    """Return where the payload of a frame begins, and its length; 0 for both if that does not show yet."""
    known = len(data) - position
    if known < 2:
        return 0, 0
    second = data[position + 1]
    length, head = second & 0x7F, 2
    if length == _TWO_BYTES:
        head = 4
        length = int.from_bytes(data[position + 2 : position + 4], "big")
    elif length == _EIGHT_BYTES:
        head = 10
        length = int.from_bytes(data[position + 2 : position + 10], "big")
    return (position + head + (4 if second & _MASKED else 0), length) if known >= head else (0, 0)
