"""The template: a warm interpreter in a jail that forks one process for each execution, and ends it in time.

``main`` is what the trainer starts. It enters the jail and forks the template, the first process of a namespace; when
the template ends, the kernel kills everything that it started. The process that is left outside waits for the end of
the trainer or of the template, and takes the other along.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import select
import signal
import socket
import sys
import time

from . import execution, jail, seccomp, syscalls, wire

__all__ = ["main"]

_EVERYDAY = (
    "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "io", "itertools", "json", "math", "operator", "os", "random", "re", "statistics", "string", "textwrap",
    "time", "traceback", "typing",
)  # fmt: skip
"""Modules that most programs import; small enough to be copied with every fork."""

_MOST_DESCRIPTORS = 6
_HASTE = 0.005
"""Seconds between two looks at the CPU time of an execution that is about to use up its own."""


class _Child:
    """An execution under way."""

    __slots__ = ("cpu_limit", "deadline", "descriptor", "look", "pid", "reason", "report", "started", "watched")

    def __init__(self, pid: int, report: socket.socket, limits: tuple[int, int, int, int, float, float]) -> None:
        self.pid = pid
        self.report = report
        self.descriptor = os.pidfd_open(pid)
        self.watched = [self.descriptor, report.fileno()]
        self.started = time.monotonic()
        self.deadline = self.started + limits[4]
        self.cpu_limit = limits[5]
        self.look = min(self.deadline, self.started + self.cpu_limit)
        self.reason = wire.BY_ITSELF

    def kill(self, reason: int) -> None:
        if self.reason == wire.BY_ITSELF:
            self.reason = reason
            self.look = math.inf
            os.kill(self.pid, signal.SIGKILL)

    def check(self, now: float) -> None:
        """End it if its time is up; otherwise set when to look again."""
        if now >= self.deadline:
            self.kill(wire.OUT_OF_TIME)
            return
        # The clock of another process, by the numbering of the kernel's posix-timers.h.
        left = self.cpu_limit - time.clock_gettime((~self.pid << 3) | 2)
        if left <= 0:
            self.kill(wire.OUT_OF_CPU)
        else:
            self.look = min(self.deadline, now + max(left, _HASTE))

    def bury(self) -> None:
        """Report how it ended, with all that it started."""
        _, status, used = os.wait4(self.pid, 0)
        seconds = time.monotonic() - self.started
        exit_code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(OSError):  # the trainer has gone, or has lost interest
            self.report.send(wire.pack_answer(self.reason, exit_code, seconds, used.ru_utime + used.ru_stime))
        self.report.close()
        os.close(self.descriptor)


def main(arguments: str, channel: int) -> None:
    """Enter the jail and be the template, or wait for it; see the module.

    Args:
        arguments: JSON: ``trainer`` (its process id), ``shown`` and ``hidden`` (see :func:`jail.enter`), ``path``
            (folders to import from), ``warm`` (modules to import).
        channel: descriptor of the socket to the trainer.
    """
    wanted = json.loads(arguments)
    control = socket.socket(fileno=channel)
    try:
        trainer = os.pidfd_open(wanted["trainer"])
        if os.getppid() != wanted["trainer"]:
            return
        _be_the_first_to_die()
        processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        jail.enter(wanted["shown"], wanted["hidden"])
        pid = os.fork()
        if pid == 0:
            syscalls.die_with_parent()
            os.close(trainer)
            _warm_up(wanted["path"], wanted["warm"])
            _serve(control, processes)
            os._exit(0)
        control.close()
        select.select([trainer, os.pidfd_open(pid)], [], [])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except BaseException as error:
        control.send(f"{error}".encode(errors="backslashreplace")[:1000])
        os._exit(1)


def _be_the_first_to_die() -> None:
    """If memory runs out on the whole machine, the kernel is to take executions before anything else."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _warm_up(path: list[str], warm: list[str]) -> None:
    import site

    sys.path[:] = path
    sys.argv = ["<python>"]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    for name in (*_EVERYDAY, *warm):
        with contextlib.suppress(Exception):  # the program that needs it will be told why it cannot be had
            importlib.import_module(name)
    sys.path.insert(0, jail.HOME)
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__.partition(".")[0]]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    gc.disable()


def _address_space(processes: int) -> int:
    """Bytes of address space of this process."""
    file = os.open("self/statm", os.O_RDONLY, dir_fd=processes)
    pages = int(os.read(file, 100).split()[0])
    os.close(file)
    return pages * os.sysconf("SC_PAGE_SIZE")


def _serve(control: socket.socket, processes: int) -> None:
    """Start executions as they are asked for, until the trainer closes the socket."""
    namespace = os.open("self/ns/pid", os.O_RDONLY, dir_fd=processes)
    base_memory = _address_space(processes)
    os.close(processes)
    added = seccomp.of_execution()
    syscalls.seccomp(seccomp.of_template())
    poll = select.poll()
    poll.register(control, select.POLLIN)
    children: dict[int, _Child] = {}
    control.send(b"ready")
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(_milliseconds(children))]
        for descriptor in ready:
            child = children.get(descriptor)
            if child is None:  # the trainer's socket; or a child that was buried a moment ago
                continue
            if descriptor == child.descriptor:
                for number in child.watched:
                    del children[number]
                    poll.unregister(number)
                child.bury()
            else:
                # A message or the end of the stream: the trainer has no more interest. What is left unread would
                # make the kernel drop the answer.
                child.report.recv(16)
                child.kill(wire.STOPPED)
                child.watched.remove(descriptor)
                del children[descriptor]
                poll.unregister(descriptor)
        # Last, because a new child takes over the numbers of descriptors.
        if control.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(control, 256, _MOST_DESCRIPTORS)
            if not message:
                return
            child = _start(message, descriptors, namespace, base_memory, added)
            for number in child.watched:
                children[number] = child
                poll.register(number, select.POLLIN)
        now = time.monotonic()
        for child in set(children.values()):
            if now >= child.look:
                child.check(now)


def _milliseconds(children: dict[int, _Child]) -> float | None:
    """How long nothing has to be looked at."""
    if not children:
        return None
    soonest = min(child.look for child in children.values())
    return None if soonest == math.inf else max(0.0, math.ceil((soonest - time.monotonic()) * 1000))


def _start(message: bytes, descriptors: list[int], namespace: int, base_memory: int, added: bytes) -> _Child:
    limits = wire.unpack_request(message)
    report, *given = descriptors
    # The child, and all that it will start, lives in a process namespace that ends with it.
    syscalls.unshare(syscalls.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        execution.become(limits, given, base_memory, added)
    syscalls.setns(namespace, syscalls.CLONE_NEWPID)
    for descriptor in given:
        os.close(descriptor)
    return _Child(pid, socket.socket(fileno=report), limits)
