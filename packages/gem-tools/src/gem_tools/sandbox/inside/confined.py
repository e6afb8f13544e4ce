"""Runs one whole program in a jail: :func:`main` confines it, watches its memory, and reports its end.

Three processes. The launcher is outside. The warden is the first of the new process namespace: when it ends, the kernel
ends all others there. The program is the warden's child, with fewer privileges, in a user namespace of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from gem_processes import linux, rlimits
from gem_processes.fork_loop import reset_signals
from gem_tools.sandbox.inside import jail, refused_calls

__all__ = ["BEGUN", "ENDED", "FAILED", "OUT_OF_MEMORY", "main"]

BEGUN, ENDED, OUT_OF_MEMORY, FAILED = "begun", "ended", "memory", "failed"
"""The first words of the messages to the caller. With BEGUN comes the descriptor of the program's home."""

_LOOK = 0.1
"""Seconds between two measurements of memory."""


def main() -> None:
    """Run a program.

    The arguments of the command are JSON with ``command``, ``environment``, ``shown`` (see :func:`jail.enclose`),
    ``memory`` and ``disk`` (bytes, of all processes together), ``processes``, and ``seconds`` of processor time of each
    process; and the descriptor of the caller's socket.
    """
    order, caller = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    try:
        linux.die_with_parent()
        reset_signals()
        rlimits.prefer_to_kill()
        os.umask(0o022)  # the folders of the jail are root's, and the program is not
        jail.separate()
        alive, held = os.pipe()
        warden = os.fork()
        if warden == 0:
            os.close(held)
            _guard(order, caller, alive)
    except BaseException as error:
        _fail(caller, error)
    os.close(alive)
    caller.close()
    os.waitpid(warden, 0)
    os._exit(0)


def _guard(order: dict[str, Any], caller: socket.socket, alive: int) -> NoReturn:
    """Confine this process, start the program, and wait for its end."""
    try:
        jail.enclose(order["shown"])
        linux.die_with_parent()
        linux.unshare(linux.CLONE_NEWNS)
        disk = order["disk"]
        linux.mount_tmpfs(jail.BOX, f"mode=755,size={disk},nr_inodes={1024 + disk // 16384}")
        for name in (jail.HOME, *jail.SCRATCH.values()):
            os.mkdir(name)
        for bind in jail.scratch_binds(order["shown"]):
            jail.bind_into_scratch(bind)
        os.chdir(jail.HOME)
        home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        # The program has the same user; it must not reach this process's memory and rights.
        linux.make_opaque()
        program = os.fork()
        if program == 0:
            _become(order, caller)
        linux.drop_capabilities()
        socket.send_fds(caller, [BEGUN.encode()], [home])
        os.close(home)
        caller.send(_watch(program, order["memory"], alive).encode())
    except BaseException as error:
        _fail(caller, error)
    os._exit(0)


def _become(order: dict[str, Any], caller: socket.socket) -> NoReturn:
    try:
        os.setsid()
        disk, memory, seconds = order["disk"], order["memory"], int(order["seconds"]) + 1
        rlimits.lower_limits({"RLIMIT_NPROC": order["processes"]})
        # A user namespace without a map: no process can change its user, and processes are counted for root as well.
        linux.unshare(linux.CLONE_NEWUSER)
        rlimits.lower_limits(
            {"RLIMIT_AS": memory, "RLIMIT_FSIZE": disk, "RLIMIT_CORE": 0, "RLIMIT_CPU": seconds, "RLIMIT_NOFILE": 4096}
        )
        linux.bound_capabilities(())
        linux.drop_capabilities()
        os.dup2(caller.fileno(), 3, inheritable=False)
        linux.close_from(4)
        caller = socket.socket(fileno=3)
        linux.seccomp(refused_calls.program_filter())
        command = order["command"]
        os.execve(command[0], command, order["environment"])  # noqa: S606  # no shell is wanted
    except BaseException as error:
        _fail(caller, error)


def _fail(caller: socket.socket, error: BaseException) -> NoReturn:
    with contextlib.suppress(OSError):
        caller.send(f"{FAILED} {error}".encode(errors="backslashreplace")[:2000])
    os._exit(1)


def _watch(program: int, memory: int, alive: int) -> str:
    """Wait for the end of the program, of its memory, or of the launcher. Return the message to the caller."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signalled, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    while True:
        ended = _reap(program)
        if ended is not None:
            return f"{ENDED} {ended}"
        if _used_memory(memory) > memory:
            return OUT_OF_MEMORY
        ready, _, _ = select.select([alive, signalled], [], [], _LOOK)
        if alive in ready:
            os._exit(1)
        if signalled in ready:
            os.read(signalled, 4096)


def _reap(program: int) -> int | None:
    """Reap ended processes. Return the exit code of the program, negative for a signal; None while it runs."""
    with contextlib.suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return None
            if process == program:
                return os.waitstatus_to_exitcode(status)
    return None


def _used_memory(limit: int) -> int:
    """Return the bytes that all processes and the scratch folder use; shared pages count once if that could matter."""
    status = os.statvfs(jail.BOX)
    files = (status.f_blocks - status.f_bfree) * status.f_frsize
    processes = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    resident = sum(_resident(name) for name in processes)
    if files + resident <= limit:
        return files + resident
    return files + sum(_proportional(name) for name in processes)


def _resident(process: str) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):  # it has just ended
        return 0


def _proportional(process: str) -> int:
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError):
        return _resident(process)
