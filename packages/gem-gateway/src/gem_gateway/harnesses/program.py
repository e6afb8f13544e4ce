"""An agent program that runs: :class:`AgentProgram`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.place import RunningProgram

__all__ = ["AgentProgram"]

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_KEPT_OUTPUT = 1 << 20
"""Bytes of the end of the standard output that are kept: an answer may be all of it."""
_KEPT_ERRORS = 1 << 14
_FLOOD = 1 << 16
"""Bytes read at once above which a program waits: one that floods its output slows down itself, and nobody else."""
_PAUSE = 0.01
_STOP_SECONDS = 10.0
"""Seconds in which the supervisor kills what a program has started; then its group is killed with it."""


class AgentProgram(RunningProgram, asyncio.SubprocessProtocol):
    """A program under its supervisor, with the last of what it wrote. Belongs to the thread of the event loop."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport

    @classmethod
    async def start(
        cls, command: Sequence[str], *, folder: Path, environment: Mapping[str, str], stdin: str = os.devnull
    ) -> AgentProgram:
        """Start a program.

        Args:
            command: program and arguments.
            folder: its working folder.
            environment: all of its variables; nothing is inherited.
            stdin: a file that it reads as its standard input.

        Raises:
            HarnessError: if the system starts no further process.
        """
        loop = asyncio.get_running_loop()
        try:
            _, program = await loop.subprocess_exec(
                cls,
                *(sys.executable, "-I", str(_SUPERVISOR), stdin, *command),
                stdin=asyncio.subprocess.PIPE,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a null byte in an argument is the second
            raise HarnessError(f"{command[0]} cannot be started: {error}") from error
        return program

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode()

    async def wait(self) -> None:
        await self._exited.wait()

    async def stop(self) -> None:
        """Kill the program and everything that it has started, and wait for their end."""
        with suppress(AttributeError):
            cast(Any, self._transport.get_pipe_transport(0)).close()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._exited.wait(), _STOP_SECONDS)
        self.kill()
        await self._exited.wait()
        self._transport.close()

    def kill(self) -> None:
        """Kill the supervisor's process group at once; what has left the group survives."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept, most = (self.output, _KEPT_OUTPUT) if fd == 1 else (self.errors, _KEPT_ERRORS)
        kept += data
        del kept[:-most]
        if len(data) >= _FLOOD:
            pipe = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(fd))
            pipe.pause_reading()
            asyncio.get_running_loop().call_later(_PAUSE, _resume, pipe)

    def process_exited(self) -> None:
        self._exited.set()


def _resume(pipe: asyncio.ReadTransport) -> None:
    if not pipe.is_closing():
        pipe.resume_reading()
