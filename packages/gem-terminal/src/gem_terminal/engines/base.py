"""What an engine of containers has to give: :class:`Engine`, :class:`Container` and :class:`Channel`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from gem_terminal.output import Cut
from gem_terminal.task import Image, Limits

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Channel", "Container", "Engine", "Finished", "Progress"]

Progress = Callable[[str], None]
"""Told what an engine is doing while it takes long: a line of a build, a layer of a download."""


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end, or was ended."""

    output: bytes
    """What it wrote to stdout and stderr, cut in the middle if it was too much."""
    exit_code: int | None
    """None where it was ended because its time was up."""


class Channel(ABC):
    """The two ends of a process in a container: what is written to it, what it writes."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Write all of it; EngineError if the process has gone."""

    @abstractmethod
    def read(self, seconds: float) -> bytes | None:
        """Return what has come, after at most this time: empty if nothing has, None once the process has gone."""

    @abstractmethod
    def resize(self, columns: int, rows: int) -> None:
        """Tell a terminal its size."""

    @abstractmethod
    def exit_code(self, seconds: float) -> int | None:
        """Return the exit code of a process that has gone, 128 and the number for a signal; None if it goes on."""

    @abstractmethod
    def close(self) -> None:
        """Let go; calling it again does nothing."""


class Container(ABC):
    """A running container of one task."""

    id: str

    @abstractmethod
    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        """Start a process with open ends.

        Raises:
            EngineError: if the container has died, or the engine has.
        """

    def run(
        self,
        command: Iterable[str],
        *,
        seconds: float,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        """Run a process to its end, or to the end of its time, when everything in the container is killed.

        ``stdin`` is written to it and not closed: a process that wants no more has to stop reading by itself.

        Raises:
            EngineError: if the container has died, or the engine has.
        """
        channel = self.open(command, user=user, environment=environment, workdir=workdir)
        kept, deadline = Cut(), time.monotonic() + seconds
        try:
            channel.write(stdin)
            while (left := deadline - time.monotonic()) > 0:
                data = channel.read(left)
                if data is None:
                    return Finished(kept.bytes(), channel.exit_code(max(deadline - time.monotonic(), 0.0)))
                kept.add(data)
            self.kill_all()
            return Finished(kept.bytes(), None)
        finally:
            channel.close()

    @abstractmethod
    def put(self, archive: bytes, folder: str) -> None:
        """Unpack an uncompressed tar archive into a folder, as root."""

    @abstractmethod
    def kill_all(self) -> None:
        """Kill every process of the container but its first, whoever owns it and whatever it traps."""

    @abstractmethod
    def remove(self) -> None:
        """Remove the container with everything in it; calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


class Engine(ABC):
    """Starts containers from images. Safe to use from several threads."""

    name: str

    @abstractmethod
    def check(self) -> None:
        """Raise EngineError if the engine does not work here; the message says what to install or start."""

    @abstractmethod
    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        """Return the reference of an image that is ready to start, which is built or fetched now if need be.

        Images are known by their content, so a folder that has not changed is built once.

        Raises:
            EngineError: if it cannot be built or had; the message ends with what the build printed last.
        """

    @abstractmethod
    def start(self, reference: str, limits: Limits, environment: Mapping[str, str] | None = None) -> Container:
        """Start a container that waits: capabilities dropped, no new privileges, limits applied.

        Raises:
            EngineError: if that fails.
        """

    @abstractmethod
    def reap(self) -> int:
        """Remove what processes that have gone left behind; return how many containers that were."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine; calling it again does nothing."""
