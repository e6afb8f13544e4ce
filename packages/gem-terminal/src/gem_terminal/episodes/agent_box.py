"""The container of an episode as the box of an agent program that plays it: :class:`AgentBox`."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gem_terminal.engines.base import Channel, Container

__all__ = ["AgentBox"]


class AgentBox:
    """Runs the programs of an agent where its shell runs: as the same user, in the same folder.

    Args:
        container: of the episode, which removes it.
        place: the user, the working folder and the variables of its processes.
        seconds_left: returns the seconds left of the episode's time; None without a limit.
    """

    def __init__(
        self, container: Container, place: Mapping[str, Any], seconds_left: Callable[[], float | None]
    ) -> None:
        self._container = container
        self._place = dict(place)
        self._seconds_left = seconds_left

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the episode's time; None without a limit. After it, the next action ends the episode."""
        return self._seconds_left()

    def mount(self, source: Path, target: str) -> None:
        """See :meth:`Container.mount <gem_terminal.engines.base.Container.mount>`."""
        self._container.mount(source, target)

    def listen(self, port: int) -> socket.socket:
        """See :meth:`Container.listen <gem_terminal.engines.base.Container.listen>`."""
        return self._container.listen(port)

    def open(self, command: Iterable[str]) -> Channel:
        """Start a program and return its channel.

        Raises:
            EngineError: if the container or the engine died.
        """
        return self._container.open(command, **self._place)
