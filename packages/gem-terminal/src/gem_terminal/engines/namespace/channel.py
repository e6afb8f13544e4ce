"""The pipes to a process in a container of the namespace engine: :class:`PipeChannel`."""

from __future__ import annotations

import os
import struct
import termios
import time
from array import array
from contextlib import suppress
from fcntl import ioctl

from gem_terminal.engines.base import Channel
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.namespace.spawning import Process

__all__ = ["PipeChannel"]

_AT_ONCE = 64 << 10
_EARLY = 1 << 20
"""The largest output in bytes that is buffered while input is written."""


class PipeChannel(Channel):
    """A pair of pipes, or both directions of a pseudo-terminal.

    Args:
        process: the process at the other end.
        writing, reading: this process's ends, which the channel closes.
    """

    def __init__(self, process: Process, writing: int, reading: int) -> None:
        self._process = process
        self._writing = writing
        self._reading = reading
        self._early = bytearray()
        self._rest: int | None = None
        """Unread bytes of output from an ended process; other processes may hold the pipe and write more."""
        self._closed = False
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)

    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        left, deadline = memoryview(data), time.monotonic() + seconds
        while left and not self._closed:
            try:
                left = left[os.write(self._writing, left) :]
                continue
            except BlockingIOError:
                pass
            except OSError:
                return False
            if self._process.status < 0:
                return False
            if time.monotonic() > deadline:
                return False
            # Read the output that arrives meanwhile; otherwise both ends might wait for each other to read.
            taken = len(self._early) < _EARLY
            reading = [self._reading] if taken else []
            ready([*reading, self._process.status], max(deadline - time.monotonic(), 0.0), [self._writing])
            if taken:
                self._early += self._received() or b""
            if ready([self._process.status], 0.0):
                return False
        return not left

    def read(self, seconds: float) -> bytes | None:
        early = bytes(self._early)
        self._early.clear()
        if early:
            return early
        deadline = time.monotonic() + seconds
        while not self._closed:
            if self._rest is None and self._process.status < 0:
                return None
            if self._rest is None:
                found = ready([self._reading, self._process.status], max(deadline - time.monotonic(), 0.0))
                if self._process.status in found:
                    self._rest = self._left()
                elif not found:
                    return b""
            if self._rest == 0:
                return None
            data = self._received()
            if data != b"" or time.monotonic() > deadline:
                return data
        return None

    def resize(self, columns: int, rows: int) -> None:
        ioctl(self._writing, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def exit_code(self, seconds: float) -> int | None:
        code = self._process.wait(seconds)
        return code if code is None or code >= 0 else 128 - code

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for end in {self._writing, self._reading}:
                os.close(end)
            self._process.close()

    def _received(self) -> bytes | None:
        try:
            data = os.read(self._reading, _AT_ONCE if self._rest is None else min(_AT_ONCE, self._rest))
        except BlockingIOError:
            return b""
        except OSError:  # a terminal without any remaining process
            return None
        if self._rest is not None:
            self._rest -= len(data)
        return data or None

    def _left(self) -> int:
        """Return the number of bytes that are readable now."""
        size = array("i", [0])
        with suppress(OSError):
            ioctl(self._reading, termios.FIONREAD, size)
        return size[0]
