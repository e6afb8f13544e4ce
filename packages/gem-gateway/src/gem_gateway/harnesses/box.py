"""A box in which an agent program runs, brought there with its interpreter: :class:`Box`."""

from __future__ import annotations

import asyncio
import json
import socket
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from gem.errors import GemError
from gem_gateway.harnesses.box_layer import BOX, BOX_NODE, BOX_PROGRAM, BOX_PYTHON, BOX_SITE, box_layer
from gem_gateway.harnesses.boxed_program import BoxChannel, BoxedProgram
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.place import SILENT, PlacedFile, PlacePaths, ProgramPlace, RunningProgram
from gem_gateway.harnesses.table import DRIVERS

__all__ = ["EPISODE_PORT", "GATEWAY_PORT", "SCRIPT", "Box"]

GATEWAY_PORT, EPISODE_PORT = 63129, 63130
"""Ports on 127.0.0.1 in the box."""
SCRIPT = (BOX_PYTHON, "-I", "-S", f"{BOX}/drivers/in_box.py")
"""Runs the program in the box."""
_WORK = "/tmp/gem-agent"  # noqa: S108  # in the box
_NODE_SCRIPT = b"#!/usr/bin/env node"


class Box(ProgramPlace):
    """A box. The program's interpreter, its installation and our scripts are shown in it, read-only.

    Two sockets listen there, from which this process accepts.

    Args:
        harness: how the program is run.
        install: the folder with the program.
    """

    title: ClassVar[str]
    """For messages."""

    def __init__(self, harness: Harness, install: Path) -> None:
        self._harness = harness
        self._install = install
        self._program: BoxedProgram | None = None
        self.listeners: list[socket.socket] = []

    @abstractmethod
    async def open(self, shown: Mapping[str, Path]) -> BoxChannel:
        """Fill :attr:`listeners`, for gateway and episode, and run :data:`SCRIPT` in the box; return its channel.

        Args:
            shown: path in the box → folder of this machine.
        """

    async def prepare(self) -> None:
        try:
            channel = await self.open(await asyncio.to_thread(self._shown))
        except (GemError, OSError) as error:
            raise HarnessError(f"{self._harness.name} cannot run in {self.title}: {error}") from error
        self._program = BoxedProgram(channel)
        told = await self._program.begin()
        self.paths = PlacePaths(
            home=str(told.get("home") or "/"),
            work=_WORK,
            answer_file=f"{_WORK}/answer.txt",
            install=BOX_PROGRAM,
            drivers=f"{BOX}/drivers",
            python=BOX_PYTHON,
            client_python=BOX_PYTHON,
            episode=f"{_WORK}/episode",
        )

    @property
    def doors(self) -> tuple[socket.socket, socket.socket]:
        gateway, episode = self.listeners
        return gateway, episode

    def was_killed(self, program: RunningProgram) -> bool:
        return False  # by nobody who is in the box; what ends the box itself is found out by others

    def variables(self) -> Mapping[str, str]:
        return SILENT

    async def start(
        self,
        files: Mapping[str, PlacedFile],
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        reads_task: bool,
    ) -> BoxedProgram:
        assert self._program is not None
        request = {
            "files": files,
            "command": self._started_by_node(command),
            "environment": dict(environment),
            "folder": None if self.is_inside else self.paths.work,
            "stdin": self.paths.task_file if reads_task else None,
            "answer": self.paths.answer_file if self._harness.answer == "file" else None,
        }
        self._program.run(json.dumps(request))
        return self._program

    def answer(self) -> str:
        return "" if self._program is None else self._program.answer

    async def remove(self) -> None:
        if self._program is not None:
            await self._program.stop()
        for listener in self.listeners:
            listener.close()

    def _shown(self) -> dict[str, Path]:
        shown = {BOX: box_layer(self._harness, self._install), f"{BOX}/drivers": DRIVERS}
        if self._harness.installer == "pip":
            shown[BOX_SITE] = next(self._install.glob("lib/python*/site-packages"))
        elif self._harness.installer == "npm":
            shown[BOX_PROGRAM] = self._install
        return shown

    def _started_by_node(self, command: Sequence[str]) -> list[str]:
        """Return a command with the Node.js of the box before its script, since the box's own may be another one."""
        first = Path(command[0])
        if self._harness.installer == "npm" and first.is_relative_to(BOX_PROGRAM):
            with suppress(OSError), (self._install / first.relative_to(BOX_PROGRAM)).open("rb") as script:
                if script.readline().strip() == _NODE_SCRIPT:
                    return [BOX_NODE, *command]
        return list(command)
