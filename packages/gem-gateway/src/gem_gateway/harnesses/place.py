"""Where an agent program runs: :class:`ProgramPlace`, and the program that runs there, :class:`RunningProgram`."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

__all__ = ["SILENT", "PlacePaths", "PlacedFile", "ProgramPlace", "RunningProgram"]

SILENT = {
    "CI": "1",
    "NO_COLOR": "1",
    "DO_NOT_TRACK": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Settings that many programs understand: no colours, no telemetry, no updates."""

_SHOWN_LINES, _SHOWN_CHARACTERS = 5, 500


class PlacedFile(NamedTuple):
    """A file that a program finds when it starts."""

    text: str
    mode: int = 0o644


@dataclass(frozen=True)
class PlacePaths:
    """The paths in a place, as a program sees them."""

    home: str
    work: str
    """The folder with the program's own files."""
    answer_file: str
    install: str
    drivers: str
    python: str
    """Runs the program, if it is one of Python."""
    client_python: str
    """Runs the command that plays the episode."""
    episode: str
    """That command."""

    @property
    def task_file(self) -> str:
        """The file with the task."""
        return f"{self.work}/task.txt"


class RunningProgram(ABC):
    """A program that runs, with the last of what it wrote."""

    output: bytearray
    errors: bytearray

    @property
    @abstractmethod
    def returncode(self) -> int | None:
        """The exit code; negative, the signal that ended it; None while it runs."""

    @abstractmethod
    async def wait(self) -> None:
        """Wait for its end."""

    @abstractmethod
    async def stop(self) -> None:
        """Kill it, and wait for its end. Calling it again is fine."""

    def last_words(self) -> str:
        """Return the end of its error output, or else of its output, as the end of a message."""
        text = (self.errors.strip() or self.output.strip()).decode(errors="replace")
        shown = "\n".join(text.splitlines()[-_SHOWN_LINES:])[-_SHOWN_CHARACTERS:]
        return f"; it wrote last:\n{shown}" if shown else ""


class ProgramPlace(ABC):
    """Where the program of one episode runs."""

    name: ClassVar[str]
    """For the record of the episode."""
    is_inside: ClassVar[bool] = False
    """Whether the program is where the actions of the episode are carried out."""
    paths: PlacePaths
    """Known after :meth:`prepare`."""

    @property
    def doors(self) -> tuple[socket.socket, socket.socket] | None:
        """The sockets in the place through which its program reaches the gateway and the episode.

        None where it reaches both by their own addresses. Known after :meth:`prepare`.
        """
        return None

    @property
    def seconds_left(self) -> float | None:
        """Seconds after which the environment ends the episode, whatever the program does; None if it does not."""
        return None

    def was_killed(self, program: RunningProgram) -> bool:
        """Return whether anybody but the program itself may have ended it, by a signal. Only after its end."""
        return (program.returncode or 0) < 0

    async def prepare(self) -> None:  # noqa: B027  # most places are ready at once
        """Make the place ready.

        Raises:
            HarnessError: if it cannot be had.
        """

    @abstractmethod
    def variables(self) -> Mapping[str, str]:
        """Return the variables that every program gets here."""

    @abstractmethod
    async def start(
        self,
        files: Mapping[str, PlacedFile],
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        reads_task: bool,
    ) -> RunningProgram:
        """Write files and start the program; called once, after :meth:`prepare`.

        Args:
            files: path → file; relative paths are those of the folder ``work``.
            command: program and arguments.
            environment: its variables.
            reads_task: whether the task is its standard input.

        Raises:
            HarnessError: if the files cannot be written, or the program cannot be started.
        """

    @abstractmethod
    def answer(self) -> str:
        """Return what is in the answer file; empty without one. Only after the end of the program."""

    @abstractmethod
    async def remove(self) -> None:
        """Remove what the place has made. Calling it twice is fine.

        Only after the end of its program, and of the servers that accept from :attr:`doors`: an event loop does not
        watch a socket whose number it knows from one that was closed under it.
        """
