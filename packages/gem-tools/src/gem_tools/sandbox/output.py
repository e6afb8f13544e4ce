"""The beginning and the end of a stream of bytes: :class:`Kept`."""

from __future__ import annotations

__all__ = ["Kept"]


class Kept:
    """Keeps the first and the last bytes of what is written to it, and counts the rest.

    Args:
        limit: bytes to keep, half of them from the beginning.
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
        """Whether something is missing."""
        return self.total > self._head_size + self._tail_size

    def text(self) -> str:
        """Return what was kept as text, with a note where something is missing.

        Bytes that are no UTF-8 become replacement characters.
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
