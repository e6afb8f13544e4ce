"""The fork server: a warm interpreter in a jail that forks a process for each execution and enforces its time limit.

The trainer starts ``main``, which enters the jail and forks the server, the first process of a namespace. When
the server ends, the kernel kills all processes in the namespace. The process outside waits for the end of the trainer
or of the server, ends the other one, and measures the memory of executions (:mod:`.watchdog`).

Each execution has a process namespace, whose first process is an :class:`~gem_processes.linux.Init`; the program is the
second. It also has network and IPC namespaces from a :class:`~.namespace_pool.NamespacePool`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial

from gem_processes import linux, messages, rlimits
from gem_processes.fork_loop import Child, ForkLoop, described, serve
from gem_tools.sandbox.inside import allowed_imports, cgroups, execution, jail, refused_calls, watchdog, wire
from gem_tools.sandbox.inside.namespace_pool import NamespacePool
from gem_tools.sandbox.inside.restricted_processes import descendants

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource

__all__ = ["TimedExecution", "main", "warm_up"]

_EVERYDAY = (
    "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "io", "itertools", "json", "math", "operator", "os", "random", "re", "statistics", "string", "textwrap",
    "time", "traceback", "typing",
)  # fmt: skip
"""Modules that most programs import, small enough that each fork may copy them."""

_HASTE = 0.005
"""Seconds between two checks of the CPU time of an execution close to its limit."""
_MEASURED_FROM = 0.1
"""Seconds after which the memory of an execution is measured; shorter ones cannot fill much."""
_HELD = ("gem", "gem_tools")
"""Packages of the server itself, which a program must not find imported."""


class TimedExecution(Child):
    """A running execution, which ends at its limits of time.

    Args:
        pid: its process id.
        interest: the channel of its report.
        limits: its limits.
    """

    def __init__(self, pid: int, interest: socket.socket, limits: wire.ExecutionRequest) -> None:
        super().__init__(pid, interest)
        self.started = time.monotonic()
        self.deadline = self.started + limits.seconds
        self.cpu_limit = limits.cpu_seconds
        self.look_at = min(self.deadline, self.started + self.cpu_limit)
        self.reason = wire.BY_ITSELF

    def look(self, now: float) -> None:
        if now >= self.deadline:
            self.kill(wire.OUT_OF_TIME)
            return
        # The clock of another process, by the numbering of the kernel's posix-timers.h.
        left = self.cpu_limit - time.clock_gettime((~self.pid << 3) | 2)
        if left <= 0:
            self.kill(wire.OUT_OF_CPU)
        else:
            self.look_at = min(self.deadline, now + max(left, _HASTE))

    def end(self) -> None:
        self.kill(wire.STOPPED)

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        seconds = time.monotonic() - self.started
        self.send(wire.pack_answer(self.reason, returncode, seconds, usage.ru_utime + usage.ru_stime))

    def send(self, answer: bytes) -> None:
        """Report the end to the trainer."""
        assert self.interest is not None
        with contextlib.suppress(OSError):  # the trainer has ended, or has closed the execution
            self.interest.send(answer)
        self.interest.close()

    def kill(self, reason: int) -> None:
        """Kill it, and report this reason."""
        if self.reason == wire.BY_ITSELF:
            self.reason = reason
            self.look_at = math.inf
            os.kill(self.pid, signal.SIGKILL)


class _JailedExecution(TimedExecution):
    """A running execution in a process namespace of its own, which ends with all processes there.

    Args:
        pid: the program.
        interest: the channel of its report.
        limits: its limits.
        init: the first process of its namespace.
        measured: called once, after a while, to have the memory of the execution measured.
        released: called when no process of the execution is left.
        cgroup: its control group.
    """

    def __init__(
        self,
        pid: int,
        interest: socket.socket,
        limits: wire.ExecutionRequest,
        init: linux.Init,
        measured: Callable[[], None],
        released: Callable[[], None],
        cgroup: cgroups.ExecutionCgroup | None,
    ) -> None:
        super().__init__(pid, interest, limits)
        self._init: linux.Init | None = init
        self._measured, self._released, self._cgroup = measured, released, cgroup
        self._measured_from = self.started + _MEASURED_FROM
        self._answer = b""
        self._has_others = False
        self.look_at = min(self.look_at, self._measured_from)

    def look(self, now: float) -> None:
        if now >= self._measured_from:
            self._measured_from = math.inf
            self._measured()
        super().look(now)
        self.look_at = min(self.look_at, self._measured_from)

    def pause(self, *, is_paused: bool) -> None:
        """Stop all processes of the namespace, or let them go on, also those that have left the program's group."""
        number = signal.SIGSTOP if is_paused else signal.SIGCONT
        os.kill(self.pid, number)  # the program first: it is this process's child, and mostly alone
        if is_paused or self._has_others:
            self._has_others = self._signal_others(number)

    def _signal_others(self, number: int) -> bool:
        """Send a signal to the processes that the program has left or started; return whether there are any."""
        signalled: set[int] = set()
        while new := self._others() - signalled:
            held = {}
            for process in new:
                with contextlib.suppress(OSError):  # it has ended
                    held[process] = os.pidfd_open(process)
            still = self._others()  # only now, as a number may have passed to another process before it was held
            for process, descriptor in held.items():
                with contextlib.suppress(OSError):
                    if process in still:
                        signal.pidfd_send_signal(descriptor, number)
                os.close(descriptor)
            signalled |= new
        return bool(signalled)

    def _others(self) -> set[int]:
        """Return the processes of the namespace but the program and the first, which adopts those whose parents end."""
        if self._init is None:
            return set()
        return set(descendants([self.pid, self._init.pid])) - {self.pid, self._init.pid}

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        if self._cgroup is not None and self._cgroup.ran_out() and self.reason == wire.BY_ITSELF:
            self.reason = wire.OUT_OF_MEMORY
        super().ended(returncode, usage)

    def send(self, answer: bytes) -> None:
        self._answer = answer
        self.look_at = math.inf
        if self._init is not None:
            os.kill(self._init.pid, signal.SIGKILL)  # the kernel kills all other processes of the namespace first
        else:
            super().send(answer)
            self._released()

    def init_ended(self) -> None:
        """Report the end of the execution, if the program has been reaped."""
        self._init = None
        if self._answer:
            self.send(self._answer)

    def kill(self, reason: int) -> None:
        if not self._answer:
            super().kill(reason)
            if self._init is not None:
                os.kill(self._init.pid, signal.SIGKILL)


class _InitChild(Child):
    """The first process of an execution's namespace."""

    def __init__(self, pid: int, execution: _JailedExecution) -> None:
        super().__init__(pid)
        self._execution = execution

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        self._execution.init_ended()


class _ExecutionLoop(ForkLoop):
    def __init__(
        self,
        control: socket.socket,
        processes: int,
        binds: list[jail.ScratchBind],
        meter: socket.socket,
        folder: int | None,
    ) -> None:
        super().__init__(control)
        self._binds = binds
        self._processes = processes
        self._own = os.open("self/ns/pid", os.O_RDONLY, dir_fd=processes)
        self._base_memory = rlimits.address_space(processes)
        self._cgroups = None if folder is None else cgroups.CgroupPool(folder)
        self._meter = meter
        self.hear(meter, self._hear_meter)
        self._namespaces = NamespacePool(processes)
        self._filter = refused_calls.execution_filter()
        linux.seccomp(refused_calls.server_filter(self._namespaces.families))

    def start(self, body: bytes, descriptors: list[int]) -> Child:
        limits = wire.unpack_request(body)
        interest, *given = descriptors
        namespaces = self._namespaces.take()
        cgroup = None
        if self._cgroups is not None:
            cgroup = self._cgroups.take(limits.memory, limits.disk, limits.processes)
        # The program and its descendants live in a process namespace that ends with its first process.
        linux.unshare(linux.CLONE_NEWPID)
        init = linux.Init()
        pid = os.fork()
        if pid == 0:
            confine = partial(execution.confine, limits, self._binds, self._base_memory, self._filter)
            execution.execute_program(given, confine, namespaces, None if cgroup is None else cgroup.entrance)
        linux.setns(self._own, linux.CLONE_NEWPID)
        for descriptor in given:
            os.close(descriptor)
        measured, released = partial(self._measure, pid, limits.memory), partial(self._release, namespaces, cgroup)
        started = _JailedExecution(pid, socket.socket(fileno=interest), limits, init, measured, released, cgroup)
        self.add(_InitChild(init.pid, started))
        return started

    def _release(self, namespaces: dict[int, int], cgroup: cgroups.ExecutionCgroup | None) -> None:
        if self._cgroups and cgroup:
            self._cgroups.give_back(cgroup)
        self._namespaces.give_back(namespaces)

    def _measure(self, pid: int, memory: int) -> None:
        """Have the memory of an execution measured, where the jail has a ``/proc``."""
        with contextlib.suppress(OSError):  # the program has just ended
            folder = os.open(f"/proc/{pid}/root/proc", os.O_RDONLY | os.O_DIRECTORY)
            try:
                watchdog.watch(self._meter, pid, memory, folder)
            finally:
                os.close(folder)

    def _hear_meter(self) -> None:
        """Kill an execution that has too much memory."""
        child = self.child(watchdog.receive(self._meter))
        if isinstance(child, _JailedExecution):
            child.kill(wire.OUT_OF_MEMORY)


def main() -> None:
    """Start the server in the jail and wait for it; see the module.

    The arguments of the command are JSON with ``trainer`` (its process id), ``shown`` and ``hidden`` (see
    :func:`jail.enter`), ``path`` (folders to import from), ``allowed`` (see :mod:`.allowed_imports`), ``modules`` (to
    import) and ``cgroups`` (the folder of control groups, or null); the descriptor of the channel.
    """
    wanted, control = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    try:
        trainer = os.pidfd_open(wanted["trainer"])
        if os.getppid() != wanted["trainer"]:
            return
        rlimits.prefer_to_kill()
        folder = cgroups.open_folder(wanted["cgroups"])
        processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        jail.enter(wanted["shown"], wanted["hidden"])
        ours, meter = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
    except BaseException as error:
        messages.send(control, messages.ERROR, 0, described(error))
        os._exit(1)
    if pid == 0:

        def prepare() -> Callable[[], None]:
            linux.die_with_parent()
            os.close(trainer)
            ours.close()
            jail.inhabit()
            warm_up(wanted["path"], wanted["allowed"], wanted["modules"])
            return _ExecutionLoop(control, processes, jail.scratch_binds(wanted["shown"]), meter, folder).run

        serve(control, prepare)
        os._exit(0)
    control.close()
    meter.close()
    watchdog.JailWatchdog(ours, [trainer, os.pidfd_open(pid)]).run()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def warm_up(path: list[str], allowed: dict[str, list[str]], modules: list[str]) -> None:
    """Import what programs need, and leave nothing of the server for them to find; see :func:`main`."""
    import site

    sys.path[:] = path
    allowed_imports.install(**allowed)
    sys.argv = ["<python>"]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    for name in (*_EVERYDAY, *modules):
        with contextlib.suppress(Exception):  # the program that imports the module gets the error
            importlib.import_module(name)
    sys.path.insert(0, jail.HOME)
    for name in [name for name in sys.modules if name.partition(".")[0] in _HELD]:
        del sys.modules[name]
    execution.note_generators()
    gc.collect()
    gc.freeze()
    gc.disable()
