"""What multiprocessing needs of ``/dev/shm``, for executions that cannot write there: locks and shared memory.

The C library puts named semaphores and shared memory below ``/dev/shm``, which executions without a mount namespace of
their own would share. Here a semaphore is a pipe that holds a byte for each unit, and shared memory a file of the
scratch folder. Processes that are forked inherit both; those of the start method ``spawn`` do not.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios
import threading
import time
from importlib import import_module

__all__ = ["PipeSemaphore", "install"]

_RECURSIVE = 0
_MOST_UNITS = 4096
"""A semaphore of more units, such as that of a queue without a size, never blocks: its pipe holds the taken ones."""


class PipeSemaphore:
    """A semaphore with the interface of ``_multiprocessing.SemLock``.

    Args:
        kind: 0 for a recursive mutex, 1 for a semaphore.
        value: its units.
        maxvalue: the largest number of units.
        name: is ignored, as processes that are forked inherit the pipe.
        unlink: whether no other process needs the name.

    Raises:
        PermissionError: if one does, as those of the start methods ``spawn`` and ``forkserver`` do.
    """

    SEM_VALUE_MAX = 2**31 - 1
    name = None

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        self._reader = self._writer = -1
        if not unlink:
            raise PermissionError("multiprocessing has locks only for its start method fork here")
        self.kind, self.maxvalue, self._value = kind, maxvalue, value
        self._is_unlimited = value > _MOST_UNITS
        self._reader, self._writer = os.pipe()
        self.handle = self._reader
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)
        if not self._is_unlimited:
            os.write(self._writer, b"x" * value)
        self._taken, self._owner = 0, 0

    def __del__(self) -> None:
        for descriptor in (self._reader, self._writer):
            if descriptor >= 0:
                os.close(descriptor)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Take a unit, and wait for it; return whether there was one."""
        if self.kind == _RECURSIVE and self._is_mine():
            self._taken += 1
            return True
        until = None if timeout is None else time.monotonic() + max(0.0, timeout)
        while not self._take():
            left = None if until is None else until - time.monotonic()
            if not block or (left is not None and left <= 0):
                return False
            waiting = select.poll()
            waiting.register(self._reader, select.POLLIN)
            waiting.poll(None if left is None else 1000 * left + 1)
        self._taken += 1
        self._owner = threading.get_ident()
        return True

    def release(self) -> None:
        """Give a unit back."""
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._taken > 1:
                self._taken -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._taken -= 1
        if self._is_unlimited:
            os.read(self._reader, 1)
        else:
            os.write(self._writer, b"x")

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exception: object) -> None:
        self.release()

    def _take(self) -> bool:
        try:
            return bool(os.write(self._writer, b"x") if self._is_unlimited else os.read(self._reader, 1))
        except BlockingIOError:
            return self._is_unlimited

    def _get_value(self) -> int:
        held = int.from_bytes(fcntl.ioctl(self._reader, termios.FIONREAD, bytes(4)), sys.byteorder)
        return self._value - held if self._is_unlimited else held

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _count(self) -> int:
        return self._taken

    def _is_mine(self) -> bool:
        return self._taken > 0 and self._owner == threading.get_ident()

    def _after_fork(self) -> None:
        self._taken = 0


def install() -> None:
    """Have multiprocessing use them in this process and all that it forks."""
    try:
        semaphores, memory = import_module("_multiprocessing"), import_module("_posixshmem")
        heap = import_module("multiprocessing.heap")
    except ImportError:  # an interpreter without them
        return
    vars(semaphores)["SemLock"] = PipeSemaphore
    vars(memory).update(shm_open=_open_shared, shm_unlink=_unlink_shared)
    heap.Arena._dir_candidates = []


def _shared(path: str) -> str:
    return os.path.join(os.environ["TMPDIR"], f"shm{path.replace('/', '-')}")


def _open_shared(path: str, flags: int, mode: int = 0o777) -> int:
    return os.open(_shared(path), flags | os.O_CLOEXEC, mode)


def _unlink_shared(path: str) -> None:
    os.unlink(_shared(path))
