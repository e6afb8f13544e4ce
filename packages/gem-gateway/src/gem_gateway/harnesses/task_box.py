"""The container of a task as the box of an agent program: :class:`TaskBox`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from gem_gateway.harnesses.box import EPISODE_PORT, GATEWAY_PORT, SCRIPT, Box
from gem_gateway.harnesses.boxed_program import BoxChannel
from gem_gateway.harnesses.harness import Harness

__all__ = ["TaskBox", "TaskContainer"]


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


class TaskBox(Box):
    """The container of a task, in which the program works as the agent's shell does.

    Beyond the two sockets it reaches what the task's own network allows.

    Args:
        container: of the episode.
        harness: how the program is run.
        install: the folder with the program.
    """

    name = "task"
    title = "the task's container"
    is_inside = True

    def __init__(self, container: TaskContainer, harness: Harness, install: Path) -> None:
        super().__init__(harness, install)
        self._container = container

    @property
    def seconds_left(self) -> float | None:
        return self._container.seconds_left

    async def open(self, shown: Mapping[str, Path]) -> BoxChannel:
        return await asyncio.to_thread(self._open, shown)

    def _open(self, shown: Mapping[str, Path]) -> BoxChannel:
        for target, source in shown.items():
            self._container.mount(source, target)
        for port in (GATEWAY_PORT, EPISODE_PORT):
            self.listeners.append(self._container.listen(port))
        return self._container.open(SCRIPT)
