"""What an engine of containers has to give: :class:`Engine`, :class:`Container` and :class:`Channel`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gem.processes.fork_hooks import after_fork_in_child
from gem_terminal.errors import EngineError
from gem_terminal.output import Cut
from gem_terminal.task import Image, Limits

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BOUNDS", "About", "Channel", "Container", "Engine", "Finished", "Progress", "Stage", "tell"]


@dataclass(frozen=True)
class Stage:
    """What an engine is doing while an image is made ready: a step of a build, a download."""

    text: str
    done: int | None = None
    """Steps that have begun, or bytes that have come; None where that cannot be told."""
    total: int | None = None
    """Of so many."""


Progress = Callable[[Stage], None]
"""Told what an engine is doing while it takes long, in the thread that waits for it."""

BOUNDS = ("memory", "pids", "cpu", "disk", "network")
"""What an engine may be able to bound."""


def tell(progress: Progress | None, stage: Stage) -> None:
    """Tell whoever wants to know."""
    if progress is not None:
        progress(stage)


@dataclass(frozen=True)
class About:
    """What there is to know of an engine before it is used."""

    version: str
    bounds: Mapping[str, bool]
    """Each of :data:`BOUNDS` → whether the limit of a task is kept here."""


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
    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        """Write all of it; False if the process has gone, or has not taken all of it after this time."""

    @abstractmethod
    def read(self, seconds: float) -> bytes | None:
        """Return what has come, after at most this time: empty if nothing has, None once the process has gone.

        What others that hold its output write afterwards is not waited for.
        """

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
    kills: int = 0
    """How many times everything in it was killed; who sees it grow knows that what it had started has gone."""

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
            channel.write(stdin, seconds)  # one that wants none of it may have ended, and says why
            while (left := deadline - time.monotonic()) > 0:
                data = channel.read(left)
                if data is None:
                    code = channel.exit_code(max(deadline - time.monotonic(), 0.0))
                    if code is None:  # it has closed its output, and goes on
                        break
                    return Finished(kept.bytes(), code)
                kept.add(data)
            self.kill_all()
            return Finished(kept.bytes(), None)
        finally:
            channel.close()

    @abstractmethod
    def put(self, archive: bytes, folder: str) -> None:
        """Unpack an uncompressed tar archive into a folder, as root."""

    @abstractmethod
    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        """Return an uncompressed tar archive of a file or folder, as root sees it; None if there is none.

        The names in it are relative to the folder that the path is in, as Docker's ``get_archive`` has them. Links are
        given as links, and nothing but regular files is opened. What else holds of a tree that a hostile process made
        is not known: whoever unpacks the archive chooses what of it to trust.

        Args:
            path: from the root; a link at its end is not followed.
            most: bytes that the archive may have, and that are held at once.

        Raises:
            EngineError: if it is larger, it changes so fast that it cannot be read, or the container has died.
        """

    @abstractmethod
    def kill_all(self) -> None:
        """Kill every process of the container but its first, whoever owns it and whatever it traps."""

    def survivors(self) -> int:
        """Return how many processes there are besides the first, and one that it may have started to wait for.

        They are counted from outside, so that nothing in the container has a say in it. An engine that cannot look
        into a container from outside counts none.

        Raises:
            EngineError: if the container or the engine has died.
        """
        return 0

    def troubles(self, suspected: bool = False) -> tuple[str, ...]:
        """Return what has befallen the container since this was last asked: limits that it met, in words.

        Where processes fill all the room that they have, so that nothing else can run, they are killed.

        Args:
            suspected: whether a process ended in a way that makes it worth asking the engine, which takes a while.

        Raises:
            EngineError: if the container or the engine has died.
        """
        return ()

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
    """Starts containers from images. Safe to use from several threads, and in a forked child, which begins anew."""

    name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        engine = super().__new__(cls)
        after_fork_in_child(engine.begin_anew)
        return engine

    @abstractmethod
    def check(self) -> None:
        """Raise EngineError if the engine does not work here; the message says what to install or start."""

    def about(self) -> About:
        """Return which version it is and what it can bound here; starts no container.

        Raises:
            EngineError: if it does not work here.
        """
        return About("", dict.fromkeys(BOUNDS, False))

    def has_base(self, name: str) -> bool:
        """Tell whether an image is here under the name that a Dockerfile uses after ``FROM``; fetches nothing."""
        return False

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        """Make an image known under the name that a Dockerfile uses after ``FROM``.

        Args:
            name: for example ``"debian:bookworm-slim"``.
            archive: a tar archive, packed or not: of a root file system, or of an image as ``docker save`` writes it.
            progress: told how far it is.

        Raises:
            EngineError: if it is no such archive, or this engine takes none.
        """
        raise EngineError(
            f"the {self.name} engine takes no base images; push {name} to the registry that it fetches from"
        )

    def discard_images(self, keep: Iterable[Image]) -> int:
        """Remove the images that were built here, but for those of ``keep``; return how many.

        Raises:
            EngineError: if this engine cannot.
        """
        raise EngineError(f"the {self.name} engine removes no images; they are its registry's")

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

    def rest(self) -> None:  # noqa: B027  # most engines have nothing of the kind
        """Let go of what is of use to running containers alone, if there are none; it comes back with the next one."""

    def begin_anew(self) -> None:  # noqa: B027  # the same
        """Become as new in a forked child: close its copies of what is open, ask nothing of what is its parent's."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine; calling it again does nothing."""
