"""An output of any length, kept as its beginning and its end: :class:`BoundedOutput`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["BoundedOutput"]

_KEPT = 1 << 20


class BoundedOutput:
    """Collects output of any length in bounded memory.

    Args:
        limit: the number of bytes to keep: one half from the beginning, one half from the end.
        heard: called with each piece of the output.
    """

    def __init__(self, limit: int = _KEPT, heard: Callable[[bytes], Any] | None = None) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self.total = 0
        self._heard = heard

    def add(self, data: bytes) -> None:
        """Add output."""
        self.total += len(data)
        if self._heard is not None and data:
            self._heard(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._in_tail += len(data)
            while self._in_tail - len(self._tail[0]) >= self._half:
                self._in_tail -= len(self._tail.popleft())

    def bytes(self) -> bytes:
        """Return the kept bytes, with a note in place of the missing ones."""
        tail = b"".join(self._tail)[-self._half :]
        missing = self.total - len(self._head) - len(tail)
        note = b"\n[... %d bytes left out ...]\n" % missing if missing else b""
        return bytes(self._head) + note + tail

    def text(self) -> str:
        """Return the kept output as text; invalid UTF-8 becomes the replacement character."""
        return self.bytes().decode(errors="replace")
