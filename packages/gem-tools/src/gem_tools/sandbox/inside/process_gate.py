"""The limit of processes of an execution that shares its user: the server is asked about each new one.

The kernel counts processes for each user (RLIMIT_NPROC), so that executions of one user would use up each other's.
Here a filter of system calls passes each fork and each new thread of an execution on to the server (seccomp_unotify(2),
since Linux 5.5), which lets it go on or fail with EAGAIN, as the kernel does at its own limit.

A process that waits for the answer can be interrupted by a signal, where a fork cannot: the shell of Debian says
"Cannot fork" if the first program of a pipeline ends before the second begins. So the server is also asked about
handlers of SIGCHLD, and has calls restarted after them (SA_RESTART). Programs of its own interpreter keep theirs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from gem_processes import linux
from gem_processes.fork_loop import ForkLoop
from gem_processes.syscall_numbers import numbers_on

__all__ = ["ProcessGate", "ask_about_processes", "works"]

_SET_MODE_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 8, 32
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
"""The requests of ``linux/seccomp.h`` to a listener."""
_QUESTION, _ANSWER, _GO_ON = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI"), 1
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_FIRST_ARGUMENT, _SECOND_ARGUMENT = 16, 24
_ALLOWED, _ASKED = 0x7FFF0000, 0x7FC00000
_FLAGS_AT, _RESTART = 8, 0x10000000
"""Where the flags of the kernel's ``struct sigaction`` lie, on 64 bits, and SA_RESTART."""
_SIGACTION = numbers_on().get("rt_sigaction", -1)
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
    program = _filter(
        [numbers[name] for name in ("clone", "fork", "vfork") if name in numbers], numbers["rt_sigaction"]
    )
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):  # the first since Linux 5.19
        listener = call(ctypes.c_long(numbers.get("seccomp", -1)), _SET_MODE_FILTER, flags, described)
        if listener >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    if listener < 0:
        raise OSError(ctypes.get_errno(), "no listener of system calls")
    socket.send_fds(channel, [b"0"], [listener])
    os.close(listener)


def _filter(asked: list[int], handler: int) -> bytes:
    """Return the filter that asks about some calls, and about a handler of SIGCHLD that is set."""
    end = len(asked) + 6  # of the instructions before the two answers
    steps = [(_LOAD, 0, 0, 0)]
    steps += [(_EQUAL, end - place, 0, number) for place, number in enumerate(asked, 1)]
    steps += [(_EQUAL, 0, 4, handler), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 0, 2, signal.SIGCHLD)]
    steps += [(_LOAD, 0, 0, _SECOND_ARGUMENT), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOWED), (_RETURN, 0, 0, _ASKED)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


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
        self._asked: int | None = None
        """The question that waits for a count."""
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
        if self._asked is not None:
            self._decide(self._asked)

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
        question = _received(self._listener)
        if question is None:
            return
        identifier, process, _, call, _, _, _, action, *_ = question
        if call == _SIGACTION:
            _restart_after(process, action)
            _reply(self._listener, identifier, goes_on=True)
        else:
            self._decide(identifier)

    def _decide(self, identifier: int) -> None:
        self._asked = None
        if not self._room and self._limit:
            now = time.monotonic()
            if now < self._count_at:  # until then the question is not answered, and its process waits
                self._asked = identifier
                self._loop.forget(self)
                self._hears = False
                self._changed()
                return
            self._room = max(0, self._limit - self._count())
            self._count_at = now + (1 + _SHARE) * (time.monotonic() - now)
        _reply(self._listener, identifier, goes_on=self._room > 0)
        self._room = max(0, self._room - 1)

    def _events(self) -> int:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        return next((events for _, events in poll.poll(0)), 0)


def _received(listener: int) -> tuple[int, ...] | None:
    """Return a question; None if the process that asked has been killed."""
    question = bytearray(_QUESTION.size)
    with suppress(OSError):
        fcntl.ioctl(listener, _RECEIVE, question)
        return _QUESTION.unpack(question)
    return None


def _reply(listener: int, identifier: int, *, goes_on: bool) -> None:
    answer = (0, 0, _GO_ON) if goes_on else (0, -errno.EAGAIN, 0)
    with suppress(OSError):  # the process that asked has been killed
        fcntl.ioctl(listener, _SEND, bytearray(_ANSWER.pack(identifier, *answer)))


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _restart_after(process: int, action: int) -> None:
    """Have the calls of a process restarted after the handler that it is about to set, if that can be.

    Args:
        process: the process, which waits.
        action: the address of its ``struct sigaction``.
    """
    with suppress(OSError, AttributeError):  # it has been killed, or the library has no such calls
        if os.readlink(f"/proc/{process}/exe") == os.readlink("/proc/self/exe"):
            return
        library = ctypes.CDLL(None)
        flags = ctypes.c_ulong()
        own = _Vector(ctypes.addressof(flags), ctypes.sizeof(flags))
        foreign = _Vector(action + _FLAGS_AT, ctypes.sizeof(flags))
        vectors = (
            process,
            ctypes.byref(own),
            ctypes.c_ulong(1),
            ctypes.byref(foreign),
            ctypes.c_ulong(1),
            ctypes.c_ulong(0),
        )
        if library.process_vm_readv(*vectors) == ctypes.sizeof(flags):
            flags.value |= _RESTART
            library.process_vm_writev(*vectors)


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
                if select.select([listener], [], [], 60)[0] and (question := _received(listener)):
                    _reply(listener, question[0], goes_on=goes_on)
            os.close(listener)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
