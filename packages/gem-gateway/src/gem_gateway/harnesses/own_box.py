"""A box of its own for the program of an environment without a container: :class:`OwnBox`."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from tempfile import TemporaryFile

from gem_gateway.harnesses.box import EPISODE_PORT, GATEWAY_PORT, SCRIPT, Box
from gem_gateway.harnesses.boxed_program import BoxChannel
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.place import RunningProgram
from gem_processes.container_calls import container_program

__all__ = ["OwnBox", "obstacle_to_own_box"]

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("alternatives", "group", "ld.so.cache", "localtime", "nsswitch.conf", "passwd", "ssl/certs")
"""Of ``/etc``: what programs need to run, and nothing about this machine's users but their names."""
_HOME = "/home/agent"
_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": _HOME, "USER": "agent", "LANG": "C.UTF-8"}
_START = {"PATH": os.environ.get("PATH", os.defpath)}
"""The variables of bubblewrap itself, which the program can read: it is the first process in the box."""
_LISTENS_IN = 60.0
_AT_ONCE = 1 << 16
_ENDS_IN = 10.0
"""Seconds in which bubblewrap ends after the last process in its box."""


class OwnBox(Box):
    """Namespaces of their own, made by bubblewrap: an empty network, own processes, and the programs of this machine.

    Of this machine's files there are ``/usr`` and what belongs to it, read-only; home and temporary files lie in memory
    and vanish. The program is an ordinary user without capabilities.
    """

    name = "own"
    title = "a box of its own"

    _channel: _ProcessChannel | None = None

    def was_killed(self, program: RunningProgram) -> bool:
        return self._channel is not None and self._channel.was_killed

    async def open(self, shown: Mapping[str, Path]) -> BoxChannel:
        ours, theirs = socket.socketpair()
        with ours, theirs, _filter() as calls:
            ports = (str(GATEWAY_PORT), str(EPISODE_PORT))
            # Of this thread, which runs the event loop: bubblewrap's processes die with the thread that started them.
            process = subprocess.Popen(  # noqa: S603  # a fixed command
                [*_command(shown, calls), *SCRIPT, str(theirs.fileno()), *ports],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno(), calls],
                env=_START,
                start_new_session=True,
            )
            theirs.close()
            channel = self._channel = _ProcessChannel(process)
            try:
                ours.settimeout(_LISTENS_IN)
                _, found, _, _ = await asyncio.to_thread(socket.recv_fds, ours, 1, len(ports))
                if len(found) != len(ports):
                    said = await asyncio.to_thread(channel.read, _LISTENS_IN) or b""
                    raise HarnessError(f"bubblewrap starts nothing: {said.decode(errors='replace').strip()[-500:]}")
            except BaseException:
                channel.close()
                raise
        self.listeners.extend(socket.socket(fileno=descriptor) for descriptor in found)
        return channel


@cache
def obstacle_to_own_box() -> str | None:
    """Return why there can be no box on this machine; None if there can be one."""
    if shutil.which("bwrap") is None:
        return "a box needs bubblewrap, which is not installed (Debian: apt install bubblewrap)"
    try:
        with _filter() as calls:
            tried = subprocess.run(  # noqa: S603  # a fixed command
                [*_command({}, calls), "true"],
                capture_output=True,
                timeout=_LISTENS_IN,
                check=False,
                pass_fds=[calls],
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not work here: {error}"
    said = tried.stderr.decode(errors="replace").strip()[-300:]
    return f"bubblewrap does not work here: {said}" if tried.returncode else None


@contextmanager
def _filter() -> Iterator[int]:
    """Hold a file with the filter of system calls, and give its descriptor.

    Raises:
        OSError: if the system calls of this machine are not known.
    """
    program = container_program()
    with TemporaryFile() as file:
        file.write(program)
        file.seek(0)
        yield file.fileno()


def _command(shown: Mapping[str, Path], calls: int) -> list[str]:
    """Return the beginning of the command line that runs a program in a box.

    Args:
        shown: path in the box → folder of this machine.
        calls: a descriptor of the filter of system calls.
    """
    words = ["bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--hostname", "box", "--clearenv", "--seccomp", str(calls)]
    words += [word for name, value in _VARIABLES.items() for word in ("--setenv", name, value)]
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    words += [word for name in _SETTINGS for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", _HOME]  # noqa: S108  # in the box
    words += [word for target, source in shown.items() for word in ("--ro-bind", str(source), target)]
    return [*words, "--chdir", _HOME, "--"]


class _ProcessChannel:
    """The input and output of bubblewrap, whose end is that of all processes in the box.

    Attributes:
        was_killed: whether a signal has ended bubblewrap itself, which no process in the box can send. Known after
            :meth:`close`.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.was_killed = False
        self._has_ended = False
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._input, False)

    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        left, deadline = memoryview(data), time.monotonic() + seconds
        while left:
            if not select([], [self._input], [], max(deadline - time.monotonic(), 0.0))[1]:
                return False
            try:
                left = left[os.write(self._input, left) :]
            except BlockingIOError:
                continue
            except OSError:
                return False
        return True

    def read(self, seconds: float) -> bytes | None:
        if not select([self._output], [], [], seconds)[0]:
            return b""
        data = os.read(self._output, _AT_ONCE)
        self._has_ended = not data
        return data or None

    def close(self) -> None:
        if self._has_ended:
            with suppress(subprocess.TimeoutExpired):
                self.was_killed = self._process.wait(_ENDS_IN) < 0
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
