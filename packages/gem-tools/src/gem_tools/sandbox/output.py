"""A stream of bytes, kept as its beginning and its end: :class:`OutputBuffer`."""

from __future__ import annotations

__all__ = ["OutputBuffer"]


class OutputBuffer:
    """Keeps the first and the last bytes of a stream, and counts the rest.

    Args:
        limit: the number of bytes to keep, half of them from the beginning.
    """

    __slots__ = ("_head", "_head_size", "_tail", "_tail_size", "total")

    def __init__(self, limit: int) -> None:
        self._head_size = limit - limit // 2
        self._tail_size = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_size + (1 << 16):
                self._cut_tail()

    @property
    def truncated(self) -> bool:
        """Whether bytes are missing."""
        return self.total > self._head_size + self._tail_size

    def text(self) -> str:
        """Return the kept bytes as text, with a note at the gap.

        Invalid UTF-8 becomes replacement characters.
        """
        self._cut_tail()
        if not self.truncated:
            return bytes(self._head + self._tail).decode(errors="replace")
        missing = self.total - len(self._head) - len(self._tail)
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n[... {missing:,} bytes left out ...]\n{tail}"

    def _cut_tail(self) -> None:
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            del self._tail[:excess]
