"""The limit of processes of an execution that shares its user: the server is asked about each new one.

The kernel counts processes for each user (RLIMIT_NPROC), so that executions of one user would use up each other's.
Here a filter of system calls passes each fork and each new thread of an execution on to the server (seccomp_unotify(2),
since Linux 5.5), which lets it go on or fail with EAGAIN, as the kernel does at its own limit.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from gem_processes import linux
from gem_processes.fork_loop import ForkLoop
from gem_processes.syscall_numbers import numbers_on

__all__ = ["ProcessGate", "ask_about_processes", "works"]

_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
"""The requests of ``linux/seccomp.h`` to a listener."""
_QUESTION_SIZE, _ANSWER, _GO_ON = 80, struct.Struct("=QqiI"), 1
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOWED, _ASKED = 0x7FFF0000, 0x7FC00000
_SHARE = 20
"""Counting takes at most this fraction of the server's time for one execution."""


def ask_about_processes(channel: socket.socket) -> None:
    """Have this process and its descendants ask about each new process and thread; who answers has the other end.

    Args:
        channel: a Unix socket, which receives the descriptor of the listener.

    Raises:
        OSError: if the kernel does not allow it.
    """
    numbers = numbers_on()
    asked = [numbers[name] for name in ("clone", "fork", "vfork") if name in numbers]
    program = struct.pack("=HBBI", _LOAD, 0, 0, 0)
    for place, number in enumerate(asked):
        program += struct.pack("=HBBI", _EQUAL, len(asked) - place, 0, number)
    program += struct.pack("=HBBI", _RETURN, 0, 0, _ALLOWED) + struct.pack("=HBBI", _RETURN, 0, 0, _ASKED)
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    listener = call(ctypes.c_long(numbers.get("seccomp", -1)), _SET_MODE_FILTER, _NEW_LISTENER, described)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "no listener of system calls")
    socket.send_fds(channel, [b"0"], [listener])
    os.close(listener)


class ProcessGate:
    """Answers the questions of an execution.

    Args:
        loop: the server.
        channel: receives the listener.
        limit: the number of processes and threads that it may have.
        count: returns the number that it has.
        changed: called when :attr:`waits_until` changes.
    """

    def __init__(
        self,
        loop: ForkLoop,
        channel: socket.socket,
        limit: int,
        count: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:
        self._loop, self._channel, self._limit, self._count, self._changed = loop, channel, limit, count, changed
        self._listener = -1
        self._room = limit - 1
        """How many may begin until they are counted anew."""
        self._count_at = 0.0
        self._hears = False
        loop.hear(channel, self._receive_listener)

    def fileno(self) -> int:
        """Return the descriptor of the listener."""
        return self._listener

    @property
    def waits_until(self) -> float | None:
        """When :meth:`hear` is to be called, by ``time.monotonic``; None while questions are heard."""
        return None if self._hears or self._listener < 0 else self._count_at

    def hear(self) -> None:
        """Hear questions again."""
        self._hears = True
        self._loop.hear(self, self._answer)

    def refuse(self) -> None:
        """Let no further process begin."""
        self._limit = self._room = 0

    def close(self) -> None:
        """Let go of the descriptors, when no process is left that could ask."""
        if self._channel.fileno() >= 0:
            self._loop.forget(self._channel)
            self._channel.close()
        if self._hears:
            self._loop.forget(self)
            self._hears = False
        if self._listener >= 0:
            os.close(self._listener)
            self._listener = -1

    def _receive_listener(self) -> None:
        found: list[int] = []
        with suppress(OSError):
            found = socket.recv_fds(self._channel, 1, 1)[1]
        self._loop.forget(self._channel)
        self._channel.close()
        if found:  # none if the execution has ended before
            self._listener = found[0]
            self.hear()

    def _answer(self) -> None:
        events = self._events()
        if not events & select.POLLIN:
            if events & select.POLLHUP:  # all processes have ended
                self._loop.forget(self)
                self._hears, self._count_at = False, float("inf")
            return
        if not self._room and self._limit:
            now = time.monotonic()
            if now < self._count_at:  # until then the question is not answered, and its process waits
                self._loop.forget(self)
                self._hears = False
                self._changed()
                return
            self._room = max(0, self._limit - self._count())
            self._count_at = now + (1 + _SHARE) * (time.monotonic() - now)
        _answer(self._listener, goes_on=self._room > 0)
        self._room = max(0, self._room - 1)

    def _events(self) -> int:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        return next((events for _, events in poll.poll(0)), 0)


def _answer(listener: int, *, goes_on: bool) -> None:
    question = bytearray(_QUESTION_SIZE)
    with suppress(OSError):  # the process that asked has been killed
        fcntl.ioctl(listener, _RECEIVE, question)
        (identifier,) = struct.unpack_from("=Q", question)
        answer = (0, 0, _GO_ON) if goes_on else (0, -errno.EAGAIN, 0)
        fcntl.ioctl(listener, _SEND, bytearray(_ANSWER.pack(identifier, *answer)))


def works() -> bool:
    """Return whether the kernel asks this process about the processes of a child: one that may begin, and one not."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            linux.die_with_parent()
            ask_about_processes(theirs)
            if (one := os.fork()) == 0:
                os._exit(0)
            os.waitpid(one, 0)
            code = 2
            if os.fork() == 0:
                os._exit(0)
        os._exit(code)
    theirs.close()
    with ours, suppress(OSError):
        ours.settimeout(60)
        for listener in socket.recv_fds(ours, 1, 1)[1]:
            for goes_on in (True, False):
                if select.select([listener], [], [], 60)[0]:
                    _answer(listener, goes_on=goes_on)
            os.close(listener)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
