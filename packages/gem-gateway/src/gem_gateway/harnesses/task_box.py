"""A place in the container of a task: :class:`TaskBox`."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from gem.errors import GemError
from gem_gateway.harnesses.box_layer import BOX, BOX_NODE, BOX_PROGRAM, BOX_PYTHON, BOX_SITE, box_layer
from gem_gateway.harnesses.boxed_program import BoxChannel, BoxedProgram
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.place import SILENT, PlacedFile, PlacePaths, ProgramPlace
from gem_gateway.harnesses.table import DRIVERS

__all__ = ["EPISODE_PORT", "GATEWAY_PORT", "TaskBox", "TaskContainer"]

GATEWAY_PORT, EPISODE_PORT = 63129, 63130
"""Ports on 127.0.0.1 in the box."""
_WORK = "/tmp/gem-agent"  # noqa: S108  # in the box
_NODE_SCRIPT = b"#!/usr/bin/env node"


class TaskContainer(Protocol):
    """What an environment's ``agent_box()`` returns, such as :class:`gem_terminal.episodes.agent_box.AgentBox`."""

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the episode's time; None without a limit."""

    def mount(self, source: Path, target: str) -> None:
        """Show a folder of this machine in the container, read-only."""

    def listen(self, port: int) -> socket.socket:
        """Return a socket that listens on 127.0.0.1 in the container."""

    def open(self, command: Iterable[str]) -> BoxChannel:
        """Start a program as the agent's user, in the folder in which its shell begins."""


class TaskBox(ProgramPlace):
    """The container of a task, in which the program works as the agent's shell does.

    Its interpreter, its installation and our scripts are shown there, read-only. Two sockets listen there, from which
    this process accepts; beyond them the program reaches what the task's own network allows.

    Args:
        container: of the episode.
        harness: how the program is run.
        install: the folder with the program.
    """

    name = "task"
    is_inside = True

    def __init__(self, container: TaskContainer, harness: Harness, install: Path) -> None:
        self._container = container
        self._harness = harness
        self._install = install
        self._program: BoxedProgram | None = None
        self._listeners: list[socket.socket] = []

    async def prepare(self) -> None:
        try:
            channel = await asyncio.to_thread(self._open)
        except (GemError, OSError) as error:
            raise HarnessError(f"{self._harness.name} cannot run in the task's container: {error}") from error
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
        gateway, episode = self._listeners
        return gateway, episode

    @property
    def seconds_left(self) -> float | None:
        return self._container.seconds_left

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
        for listener in self._listeners:
            listener.close()

    def _open(self) -> Any:
        """Show the layer, begin to listen, and start the Python of the box; return its channel."""
        container, shown = (
            self._container,
            [(box_layer(self._harness, self._install), BOX), (DRIVERS, f"{BOX}/drivers")],
        )
        if self._harness.installer == "pip":
            shown.append((next(self._install.glob("lib/python*/site-packages")), BOX_SITE))
        elif self._harness.installer == "npm":
            shown.append((self._install, BOX_PROGRAM))
        for source, target in shown:
            container.mount(source, target)
        for port in (GATEWAY_PORT, EPISODE_PORT):
            self._listeners.append(container.listen(port))
        return container.open((BOX_PYTHON, "-I", "-S", f"{BOX}/drivers/in_box.py"))

    def _started_by_node(self, command: Sequence[str]) -> list[str]:
        """Return a command with the Node.js of the box before its script, since the box's own may be another one."""
        first = Path(command[0])
        if self._harness.installer == "npm" and first.is_relative_to(BOX_PROGRAM):
            with suppress(OSError), (self._install / first.relative_to(BOX_PROGRAM)).open("rb") as script:
                if script.readline().strip() == _NODE_SCRIPT:
                    return [BOX_NODE, *command]
        return list(command)
