"""Executions without a jail, for systems that have none: :class:`PlainLauncher`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence

from gem_processes.fork_loop import PAUSE, RESUME
from gem_processes.fork_server import bare_python
from gem_tools.sandbox.inside import wire
from gem_tools.sandbox.inside.trees import remove_tree
from gem_tools.sandbox.launcher import Launcher
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running
from gem_tools.sandbox.system import ENVIRONMENT, allowed_modules, import_path

__all__ = ["PlainLauncher"]

_LOOK = 0.01
"""Seconds between two checks whether a program has ended."""


class PlainLauncher(Launcher):
    """Starts each program as a process group in an empty folder, and kills the group at the end.

    Args:
        libraries: the installed libraries that programs may import; None for all.
    """

    tier = "plain"

    def __init__(self, libraries: tuple[str, ...] | None = None) -> None:
        self._imports = {"path": import_path(libraries is None), "allowed": allowed_modules(libraries or ())}

    def start(self, limits: Limits, descriptors: Sequence[int], *, session: bool = False) -> Running:
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        ours, theirs = socket.socketpair()
        held = [os.dup(descriptor) for descriptor in descriptors]
        guard = threading.Thread(
            target=_guard,
            args=(theirs, limits, [*held, out_write, err_write], session, self._imports),
            daemon=True,
            name="gem-plain",
        )
        guard.start()
        return Running(ours, out_read, err_read, limits)


def _guard(
    report: socket.socket, limits: Limits, descriptors: list[int], session: bool, imports: dict[str, object]
) -> None:
    """Run a program, enforce its time limit, and report its end."""
    folder = tempfile.mkdtemp(prefix="gem-sandbox-")
    try:
        started = time.monotonic()
        process = _launch(folder, limits, descriptors, session, imports)
        for descriptor in descriptors:
            os.close(descriptor)
        descriptors.clear()
        reason = _wait(report, process, None if session else started + limits.seconds)
        _kill_group(process)
        before = time.monotonic()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu_seconds = used.ru_utime + used.ru_stime
        over = limits.cpu_seconds is not None and cpu_seconds >= limits.cpu_seconds
        if over and process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and reason == wire.BY_ITSELF:
            reason = wire.OUT_OF_CPU
        answer = wire.pack_answer(reason, process.returncode, before - started, cpu_seconds)
        with contextlib.suppress(OSError):  # the caller has stopped waiting
            report.send(answer)
    finally:
        report.close()
        for descriptor in descriptors:
            os.close(descriptor)
        remove_tree(folder)


def _launch(
    folder: str, limits: Limits, descriptors: list[int], session: bool, imports: dict[str, object]
) -> subprocess.Popen[bytes]:
    first, second, stdout, stderr = descriptors
    passed = second if session else first
    arguments = {
        **imports,
        "program": passed,
        "channel": passed if session else None,
        "memory": limits.memory,
        "disk": limits.disk,
        "open_files": limits.open_files,
        "cpu_seconds": limits.cpu_seconds,
        "processes": limits.processes,
    }
    return subprocess.Popen(  # noqa: S603 - this interpreter
        [*bare_python("gem_tools.sandbox.inside.plain"), json.dumps(arguments)],
        env={**ENVIRONMENT, "HOME": folder, "TMPDIR": folder},
        cwd=folder,
        pass_fds=[passed],
        stdin=first if session else second,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _wait(report: socket.socket, process: subprocess.Popen[bytes], deadline: float | None) -> int:
    """Wait for the program's end, its time limit, or a stop by the trainer; return the reason.

    Requests to pause are ignored: nothing would end a stopped process if the trainer were killed.
    """
    while not _has_ended(process):
        left = _LOOK if deadline is None else min(_LOOK, deadline - time.monotonic())
        if left <= 0:
            return wire.OUT_OF_TIME
        if select.select([report], [], [], left)[0]:
            message = report.recv(16)  # an unread message would make the kernel drop the answer
            if not message or message.strip(PAUSE + RESUME):
                return wire.STOPPED
    return wire.BY_ITSELF


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the program has ended, without reaping it."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Before the process is reaped, because its id may be reused afterwards.
    with contextlib.suppress(OSError):  # macOS reports an ended group this way
        os.killpg(process.pid, signal.SIGKILL)
