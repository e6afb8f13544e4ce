"""A fork server without namespaces, for containers: its executions are confined by Landlock, seccomp and limits.

It needs no privilege. Three kinds of processes: the keeper, which the trainer starts and which measures executions
(:mod:`.restricted_meter`); its child, the server; and the executions, which the server forks. Keeper and server adopt
the processes whose parents end, so that each execution's are found and killed at its end, and all of them at the end of
the server. The server restricts itself with Landlock before the first execution, and each execution restricts itself
further.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gem_processes import landlock, linux, messages, rlimits
from gem_processes.fork_loop import ForkLoop, described, serve
from gem_tools.sandbox.inside import (
    execution,
    process_gate,
    process_primitives,
    restricted_calls,
    restricted_files,
    restricted_meter,
    restricted_processes,
    trees,
    wire,
)
from gem_tools.sandbox.inside.process_gate import ProcessGate
from gem_tools.sandbox.inside.restricted_identity import Identity, Users, become, reads_others
from gem_tools.sandbox.inside.server import TimedExecution, warm_up

__all__ = ["main"]

_COUNT_LASTS = 1.0
"""Seconds for which a count of the user's threads serves."""
_SWEEP = 0.05
"""Seconds in which the server does nothing but end the processes of ended executions."""
_FEW = 100
"""The number of files that the server removes itself."""
_HOME, _TEMPORARY = "home", "tmp"
_A_PROCESS = 0x7FFF0123
"""Stands for the id of the execution's process in the prepared filter; greater than any process id."""


class _Kept(TimedExecution):
    """A running execution, whose processes, memory and files are measured.

    Args:
        pid: its first process.
        interest: the channel of its report.
        limits: its limits.
        mark: see :mod:`.restricted_processes`.
        user: its user.
        scratch: its scratch folder.
        loop: the server.
        channel: of its questions about new processes; None if the kernel or measurements alone limit these.
    """

    def __init__(
        self,
        pid: int,
        interest: socket.socket,
        limits: wire.ExecutionRequest,
        mark: int,
        user: int,
        scratch: str,
        loop: _RestrictedLoop,
        channel: socket.socket | None,
    ) -> None:
        super().__init__(pid, interest, limits)
        self.limits, self.mark, self.user, self.scratch, self._loop = limits, mark, user, scratch, loop
        self._gate = (
            None if channel is None else ProcessGate(loop, channel, limits.processes, self._count, self._set_look)
        )
        self._timed_look = self.look_at
        self._metered_from = self.started + loop.first_look
        self._set_look()
        self.returncode = 0
        self.usage: resource.struct_rusage

    def look(self, now: float) -> None:
        if now >= self._timed_look:
            self.look_at = math.inf
            super().look(now)
            self._timed_look = self.look_at
        if now >= self._metered_from:  # most have ended by then, and cost the meter nothing
            self._metered_from = math.inf
            self._loop.have_measured(self)
        if self._gate is not None and (until := self._gate.waits_until) is not None and now >= until:
            self._gate.hear()
        self._set_look()

    def pause(self, *, is_paused: bool) -> None:
        restricted_processes.kill(self._family(), self.mark, signal.SIGSTOP if is_paused else signal.SIGCONT)

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        self.returncode, self.usage = returncode, usage
        if self._gate is not None:
            self._gate.refuse()
        self._loop.finished.append(self)

    def report(self) -> None:
        """Tell the trainer, after the execution's last process has ended."""
        if self._gate is not None:
            self._gate.close()
        super().ended(self.returncode, self.usage)

    def _set_look(self) -> None:
        waits = self._gate.waits_until if self._gate is not None else None
        looks = (self._timed_look, self._metered_from, math.inf if waits is None else waits)
        self.look_at = min(looks) if self.reason == wire.BY_ITSELF else math.inf

    def _family(self) -> list[int]:
        return restricted_processes.descendants([self.pid, *self._loop.orphans(self.mark)])

    def _count(self) -> int:
        return restricted_processes.measure(self._family(), sys.maxsize).threads


class _RestrictedLoop(ForkLoop):
    """The server.

    Args:
        control: the channel.
        version: the version of Landlock.
        roots: see :func:`.restricted_files.coarse_roots`.
        users: the users of executions.
        scratch: the folder of all scratch folders.
        meter: the channel of the meter.
    """

    def __init__(
        self,
        control: socket.socket,
        version: int,
        roots: Sequence[str],
        users: Users,
        scratch: str,
        meter: socket.socket,
    ) -> None:
        super().__init__(control)
        self.finished: list[_Kept] = []
        self.base_memory = restricted_processes.measure([os.getpid()], sys.maxsize).memory
        self._version, self._roots, self._users, self._scratch = version, roots, users, scratch
        self._address_space = rlimits.address_space()
        self._traces = users.identity is Identity.SHARED or reads_others()
        self._meter = meter
        self.hear(meter, self._hear_meter)
        self._filter = restricted_calls.filter_for(
            version,
            _A_PROCESS,
            own_user=users.identity is not Identity.SHARED,
            own_files=users.identity in (Identity.OWN, Identity.READS_ALL),
            counts_shared_memory=self._traces,
        )
        self._made = 0
        self._most_marks = min(resource.getrlimit(restricted_calls.MARK)[1] & (2**31 - 1), 2**31 - 1)
        self._threads, self._counted_at = 0, -math.inf
        # Nothing but these measurements limits the processes of a root that cannot change its user.
        self._asks = users.identity is Identity.SHARED and process_gate.works()
        unlimited = users.identity is Identity.SHARED and os.getuid() == 0 and not self._asks
        self.first_look = restricted_meter.LOOK / 10 if unlimited else restricted_meter.LOOK
        """Seconds from the start of an execution to its first measurement."""

    def start(self, body: bytes, descriptors: list[int]) -> _Kept | None:
        limits = wire.unpack_request(body)
        interest, *given = descriptors
        self._made += 1
        mark = self._made % self._most_marks
        user = self._users.take()
        folder = f"{self._scratch}/{os.urandom(8).hex()}"
        self._make_scratch(folder, user)
        most_threads = self._most_threads(limits.processes)
        channel, theirs = socket.socketpair() if self._asks else (None, None)
        pid = os.fork()
        if pid == 0:
            confine = partial(self._confine, limits, folder, user, mark, most_threads)
            execution.execute_program(given, confine, kept=None if theirs is None else theirs.fileno())
        if theirs is not None:
            theirs.close()
        for descriptor in given:
            os.close(descriptor)
        return _Kept(pid, socket.socket(fileno=interest), limits, mark, user, folder, self, channel)

    def have_measured(self, kept: _Kept) -> None:
        """Have an execution measured from now on."""
        metered = restricted_meter.MeteredExecution(
            pid=kept.pid,
            mark=kept.mark,
            memory=kept.limits.memory + self.base_memory,
            disk=kept.limits.disk,
            # A process that may begin is counted a little later.
            threads=kept.limits.processes * (2 if self._asks else 1),
            scratch=kept.scratch,
            counts_shared=self._traces,
        )
        with suppress(OSError):  # the keeper ends, and this process with it
            restricted_meter.watch(self._meter, metered)

    def _hear_meter(self) -> None:
        """Kill an execution that exceeds a limit."""
        pid, mark, reason = restricted_meter.receive(self._meter)
        child = self.child(pid)
        if isinstance(child, _Kept) and child.mark == mark and child.reason == wire.BY_ITSELF:
            child.kill(reason)

    def settle(self) -> None:
        """End what the processes of ended executions have left, and report the executions that have left nothing."""
        if not self.finished:
            return
        waiting, until = self.finished, time.monotonic() + _SWEEP
        while waiting:
            left: dict[int, list[int]] = {}
            for process in self._adopted():
                left.setdefault(restricted_processes.mark_of(process), []).append(process)
            for ended in [ended for ended in waiting if ended.mark not in left]:
                waiting.remove(ended)
                self._users.give_back(ended.user)
                self._remove(ended.scratch)
                ended.report()
            for ended in waiting:
                # All at once, because those that are spared have children meanwhile.
                restricted_processes.kill(restricted_processes.descendants(left[ended.mark]), ended.mark)
            if time.monotonic() >= until:
                return  # the end of each process that was killed leads here again
            self._reap_adopted(left)

    def orphans(self, mark: int) -> list[int]:
        """Return the processes of an execution that this process has adopted."""
        return [process for process in self._adopted() if restricted_processes.mark_of(process) == mark]

    def _adopted(self) -> set[int]:
        return set(restricted_processes.children(os.getpid())) - self.children

    def _reap_adopted(self, left: dict[int, list[int]]) -> None:
        for process in [process for processes in left.values() for process in processes]:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)

    def _make_scratch(self, folder: str, user: int) -> None:
        for path in (folder, f"{folder}/{_HOME}", f"{folder}/{_TEMPORARY}"):
            os.mkdir(path, 0o700)
            if self._users.identity is not Identity.SHARED:
                os.chown(path, user, user)

    def _most_threads(self, processes: int) -> int | None:
        """Return the limit of the user's threads from which that of an execution follows; None where it asks."""
        if self._users.identity is not Identity.SHARED:
            return processes
        if self._asks:
            return None
        now = time.monotonic()
        if now - self._counted_at > _COUNT_LASTS:
            self._threads, self._counted_at = restricted_processes.threads_of_user(os.getuid()), now
        # What runs beside it must not use up its share. Measurements keep each to its own.
        return self._threads + processes * (1 + len(self.children))

    def _confine(
        self, limits: wire.ExecutionRequest, scratch: str, user: int, mark: int, most_threads: int | None
    ) -> None:
        home = f"{scratch}/{_HOME}"
        os.chdir(home)
        os.environ.update(HOME=home, TMPDIR=f"{scratch}/{_TEMPORARY}")
        sys.path[0] = home
        os.umask(0o022)
        become(self._users.identity, user)
        linux.die_with_parent()  # after the change of user, which would undo it
        resource.setrlimit(restricted_calls.MARK, (mark, mark))
        if most_threads is None:
            with socket.socket(fileno=execution.KEPT) as channel:
                process_gate.ask_about_processes(channel)
        else:
            rlimits.lower_limits({"RLIMIT_NPROC": most_threads})
        rlimits.lower_limits(
            {
                "RLIMIT_AS": limits.memory + self._address_space,
                "RLIMIT_FSIZE": limits.disk,
                "RLIMIT_NOFILE": limits.open_files,
                "RLIMIT_CORE": 0,
                "RLIMIT_MSGQUEUE": 0,
                "RLIMIT_MEMLOCK": 1 << 16,
            }
        )
        if math.isfinite(limits.cpu_seconds):  # the server measures more precisely
            rlimits.lower_limits({"RLIMIT_CPU": math.ceil(limits.cpu_seconds) + 1})
        restricted_files.restrict_execution(self._version, self._roots, scratch)
        own = struct.pack("=I", os.getpid())
        linux.seccomp(self._filter.replace(struct.pack("=I", _A_PROCESS), own))
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _remove(self, folder: str) -> None:
        """Remove a scratch folder, in a process of its own if that takes long."""
        with suppress(OSError):  # most programs leave nothing there
            for path in (f"{folder}/{_HOME}", f"{folder}/{_TEMPORARY}", folder):
                os.rmdir(path)
            return
        if trees.tree_usage(folder, math.inf, _FEW)[1] <= _FEW:
            trees.remove_tree(folder)
        elif os.fork() == 0:
            trees.remove_tree(folder)
            os._exit(0)


def main() -> None:
    """Start the server and wait for it; see the module.

    The arguments of the command are those of :func:`gem_tools.sandbox.inside.server.main`, with ``scratch`` (the folder
    for scratch folders) and ``version`` (the highest version of Landlock to use).
    """
    wanted, control = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    try:
        trainer = os.pidfd_open(wanted["trainer"])
        if os.getppid() != wanted["trainer"]:
            return
        linux.no_new_privileges()
        linux.adopt_orphans()
        scratch = f"{os.path.realpath(wanted['scratch'])}/gem-{os.urandom(8).hex()}"
        os.mkdir(scratch)
        os.chmod(scratch, 0o711)  # noqa: S103  # executions with users of their own pass through
        ours, meter = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server = os.fork()
    except BaseException as error:
        messages.send(control, messages.ERROR, 0, described(error))
        os._exit(1)
    if server == 0:
        ours.close()
        serve(control, partial(_prepare, control, wanted, scratch, meter))
        restricted_processes.end_all_children()
        trees.remove_tree(scratch)
        os._exit(0)
    control.close()
    meter.close()
    restricted_meter.RestrictedMeter(ours, [trainer, os.pidfd_open(server)], server).run()
    restricted_processes.end_all_children()
    trees.remove_tree(scratch)


def _prepare(control: socket.socket, wanted: dict[str, Any], scratch: str, meter: socket.socket) -> Callable[[], None]:
    rlimits.prefer_to_kill()
    linux.adopt_orphans()
    version = min(landlock.abi(), wanted["version"])
    if not version:
        raise OSError("this kernel has no Landlock, or does not allow it here")
    process_primitives.install()
    warm_up(wanted["path"], wanted["allowed"], wanted["modules"])
    users = Users([path for path in wanted["path"] if os.path.isdir(path)], scratch)
    roots = restricted_files.shown_roots(wanted["shown"])
    restricted_files.restrict_server(version, roots, set(wanted["hidden"]), scratch)
    coarse = restricted_files.coarse_roots(roots, scratch)
    return _RestrictedLoop(control, version, coarse, users, scratch, meter).run
