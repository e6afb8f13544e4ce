"""The process of a local server: a process group with recorded error output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.errors import MCPServerError

__all__ = ["ServerProcess", "silence_inherited"]

_GRACE_SECONDS = 1.0
"""The time limit for a server to end after its input is closed, and again after a termination signal."""

_KEPT = 8192
"""The number of the last bytes of error output that are kept."""

_SHOWN_LINES = 10
_SHOWN_CHARACTERS = 1000

_CHUNK = 1 << 16

_DESCRIPTORS: set[int] = set()
"""This process's ends of all servers' pipes."""


class ServerProcess:
    """A running server and its three pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._stderr = process.stderr
        self._kept = bytearray()
        self._pipes = set(_descriptors(process))
        _DESCRIPTORS.update(self._pipes)

    @classmethod
    async def start(cls, server: ServerConfig) -> ServerProcess:
        """Start a server.

        Raises:
            MCPServerError: if the program does not exist or cannot be started.
        """
        from mcp.client.stdio import get_default_environment

        environment = {**get_default_environment(), **dict(server.environment)}
        program, *arguments = server.command
        found = shutil.which(program, path=environment.get("PATH"))
        if found is None:
            raise MCPServerError(f"MCP server {server.name} cannot be started: there is no program {program!r}")
        try:
            process = await asyncio.create_subprocess_exec(
                found,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                cwd=server.folder,
                start_new_session=True,
            )
        except OSError as error:
            raise MCPServerError(f"MCP server {server.name} cannot be started: {error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended, according to the system; the loop may not have noticed yet."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # asyncio has reaped it
            return True

    async def keep_stderr(self) -> None:
        """Read the error output to its end and keep the last part."""
        while chunk := await self._stderr.read(_CHUNK):
            self._kept += chunk
            del self._kept[:-_KEPT]
            if len(chunk) == _CHUNK:
                await asyncio.sleep(0.01)  # a flood of error output slows down the server, and no other one

    async def describe_end(self) -> str:
        """Describe the server's end, with the last lines of its error output, as the end of a sentence."""
        code = await self._exit_code(0.5)
        how = "" if code is None else f" (killed by signal {-code})" if code < 0 else f" (exit code {code})"
        return how + self.error_output()

    def error_output(self) -> str:
        """Return the last lines of the error output as the end of a message."""
        lines = self._kept.decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
        shown = "\n".join(lines)[-_SHOWN_CHARACTERS:]
        return f"; its error output ends with:\n{shown}" if shown else ""

    def kill(self) -> None:
        """Kill the server and its process group immediately."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    async def stop(self) -> None:
        """Close the server's input, wait for its end, and kill it if necessary."""
        self.stdin.close()
        for stronger in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if await self._exit_code(_GRACE_SECONDS) is not None:
                break
            self._signal(stronger)
        await self._exit_code(_GRACE_SECONDS)
        self.kill()  # the processes that the server left behind
        # A grandchild outside the group may hold a pipe open. This closes it; asyncio has no public access to it.
        with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
            self._process._transport.close()  # type: ignore[attr-defined]
        _DESCRIPTORS.difference_update(self._pipes)

    async def _exit_code(self, seconds: float) -> int | None:
        # ``wait()`` would also wait for pipes that a grandchild holds open.
        deadline = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.005)
        return self._process.returncode

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)


def silence_inherited() -> None:
    """Close the parent's pipes in a forked child, so that the parent's servers notice when the parent closes them.

    The descriptors stay reserved, so a destructor of the parent's objects cannot close a reused number.
    """
    if not _DESCRIPTORS:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in _DESCRIPTORS:
        with contextlib.suppress(OSError):
            os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
    _DESCRIPTORS.clear()


def _descriptors(process: asyncio.subprocess.Process) -> Iterator[int]:
    transport = getattr(process, "_transport", None)
    for number in range(3):
        pipe = None if transport is None else transport.get_pipe_transport(number)
        file = None if pipe is None else pipe.get_extra_info("pipe")
        if file is not None:
            yield file.fileno()
