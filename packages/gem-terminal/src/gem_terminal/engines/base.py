"""The interface of a container engine: :class:`Engine`, :class:`Container` and :class:`Channel`."""

from __future__ import annotations

import re
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypedDict

from gem.fork_hooks import after_fork_in_child
from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits, SideCar

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = [
    "LIMIT_NAMES",
    "Channel",
    "Container",
    "ContainerSnapshot",
    "ContainerSpec",
    "Engine",
    "EngineInfo",
    "EngineLoad",
    "ExecResult",
    "FileChanges",
    "ImageProcess",
    "ProcessOptions",
    "Progress",
    "ProgressStage",
    "refuse_host_network",
    "report_stage",
]


@dataclass(frozen=True)
class ProgressStage:
    """A stage of preparing an image: a step of a build, or a download."""

    text: str
    done: int | None = None
    """Steps begun, or bytes received; None if unknown."""
    total: int | None = None
    """Total number of steps or bytes; None if unknown."""


_UNDECODED = re.compile(r"[\udc80-\udcff]")
Progress = Callable[[ProgressStage], None]
"""A callback for the stages of a slow preparation; called in the thread that waits."""

LIMIT_NAMES = ("memory", "pids", "cpu", "disk", "network")
"""The resources that an engine may be able to limit."""


def refuse_host_network(limits: ResourceLimits) -> None:
    """Raise EngineError for the first of several containers that would have the network of this machine."""
    if limits.host_network:
        raise EngineError("containers of one task cannot share the network of this machine; pass network=True")


def report_stage(progress: Progress | None, stage: ProgressStage) -> None:
    """Report a stage to the callback, if there is one."""
    if progress is not None:
        progress(stage)


@dataclass(frozen=True)
class EngineInfo:
    """The version and the capabilities of an engine."""

    version: str
    bounds: Mapping[str, bool]
    """Each of :data:`LIMIT_NAMES` → whether the engine enforces that limit on this machine."""
    network: str = ""
    """What the network of a task is, in a few words, or what is missing for one."""


class EngineLoad(NamedTuple):
    """How busy an engine is that several processes share."""

    others: int
    """The containers of other processes."""
    most: int
    """The most containers of all processes at a time."""


@dataclass(frozen=True)
class ExecResult:
    """The result of a process in a container."""

    output: bytes
    """Its stdout and stderr; the middle of a long output is cut out."""
    exit_code: int | None
    """None if the process was killed at its time limit."""


class ContainerSpec(NamedTuple):
    """A container that is to be started: the arguments of :meth:`Engine.start`, and its names in its network."""

    reference: str
    limits: ResourceLimits
    environment: Mapping[str, str]
    names: tuple[str, ...] = ()
    """By which the other containers of its network reach it, that of its service first."""


class ProcessOptions(TypedDict, total=False):
    """What a process in a container may have of its own, in place of what the image says."""

    terminal: bool
    """Whether its input and output are a terminal."""
    user: str | None
    environment: Mapping[str, str] | None
    """Variables in addition to those of the container."""
    workdir: str | None


class ImageProcess(NamedTuple):
    """The process that an image runs by itself."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str | None = None
    workdir: str | None = None


class Channel(ABC):
    """The input and the output of a process in a container."""

    @abstractmethod
    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        """Write all data. Returns False if the process has ended or does not read all of it within ``seconds``."""

    @abstractmethod
    def read(self, seconds: float) -> bytes | None:
        """Return the available output after at most ``seconds``: empty if there is none, None after the process ended.

        The method does not wait for other processes that hold the output open.
        """

    @abstractmethod
    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""

    @abstractmethod
    def exit_code(self, seconds: float) -> int | None:
        """Return the exit code of an ended process, 128 plus the number of a signal; None if it still runs."""

    @abstractmethod
    def close(self) -> None:
        """Close the channel. A second call does nothing."""


class ContainerSnapshot(ABC):
    """The files of a container at one moment, from which any number of containers can begin.

    It excludes processes, and so everything that only they hold: open files, mounts, shared memory. It does not change
    when its container continues or ends. It is removed when it is closed or forgotten, at the latest with this process.
    """

    size: int
    """Bytes that it takes, as far as known."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the snapshot was not closed."""

    @abstractmethod
    def close(self) -> None:
        """Remove the files. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class FileChanges:
    """The differences between folders of a container and its image. A hostile process may have made them."""

    archives: tuple[tuple[str, bytes], ...]
    """Folders, and uncompressed tar archives whose names are relative to them."""
    removed: tuple[str, ...]
    """Absolute paths that are gone, or whose folder was replaced by another one."""
    changed: frozenset[str] | None = None
    """The paths in the archives that differ, with their folders; None if all do. U+FFFD replaces each byte that is not
    UTF-8."""

    def has(self, path: PurePosixPath) -> bool:
        """Return whether a path in an archive differs from the image."""
        return self.changed is None or _UNDECODED.sub("\ufffd", str(path)) in self.changed


class Container(ABC):
    """A running container of one task."""

    snapshots_in_milliseconds = False
    """Whether :meth:`snapshot` costs so little that it pays to take one at every step of an episode."""

    id: str
    kills: int = 0
    """The number of times that all processes were killed. After an increase, a caller's processes no longer exist."""

    @abstractmethod
    def open(self, command: Iterable[str], **options: Unpack[ProcessOptions]) -> Channel:
        """Start a process and return its channel.

        Raises:
            EngineError: if the container or the engine died.
        """

    def run(
        self,
        command: Iterable[str],
        *,
        seconds: float,
        stdin: bytes = b"",
        **options: Unpack[ProcessOptions],
    ) -> ExecResult:
        """Run a process to its end. At the time limit, all processes of the container are killed.

        ``stdin`` is written and not closed, so the process must stop reading by itself.

        Raises:
            EngineError: if the container or the engine died.
        """
        channel = self.open(command, **options)
        kept, deadline = BoundedOutput(), time.monotonic() + seconds
        try:
            channel.write(stdin, seconds)  # a process that does not read may have ended; its output says why
            while (left := deadline - time.monotonic()) > 0:
                data = channel.read(left)
                if data is None:
                    code = channel.exit_code(max(deadline - time.monotonic(), 0.0))
                    if code is None:  # it closed its output and still runs
                        break
                    return ExecResult(kept.bytes(), code)
                kept.add(data)
            self.kill_all()
            return ExecResult(kept.bytes(), None)
        finally:
            channel.close()

    @abstractmethod
    def put(self, archive: bytes, folder: str) -> None:
        """Unpack an uncompressed tar archive into a folder, as root."""

    @abstractmethod
    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        """Return an uncompressed tar archive of a file or folder, read as root; None if the path does not exist.

        Names are relative to the parent folder of the path, as in Docker's ``get_archive``. Links stay links, and only
        regular files are opened. A hostile process may have made the tree, so the caller must check the archive before
        unpacking it.

        Args:
            path: an absolute path; a link at its end is not followed.
            most: the size limit of the archive in bytes; no more are held in memory.

        Raises:
            ContentError: if the archive is larger, or the tree changes too fast to be read.
            EngineError: if the container died.
        """

    @abstractmethod
    def kill_all(self) -> None:
        """Kill every process of the container except its first, regardless of owners and signal handlers."""

    def survivors(self) -> int:
        """Return the number of processes, without the first process and the helper that it may wait for.

        The engine counts from outside, so that processes in the container cannot influence the number. An engine that
        cannot look into a container from outside returns 0.

        Raises:
            EngineError: if the container or the engine died.
        """
        return 0

    def reached_limits(self, suspected: bool = False) -> tuple[str, ...]:
        """Describe the limits that the container reached since the last call.

        If the processes have reached their limit and nothing else can run, the engine kills them.

        Args:
            suspected: whether the end of a process suggests that a limit was reached, so that the engine makes a
                slower check.

        Raises:
            EngineError: if the container or the engine died.
        """
        return ()

    def changes(self, folders: Iterable[str], *, most: int = 1 << 30) -> FileChanges:
        """Return the differences between folders, or files, and the image.

        An engine that knows no differences returns the whole folders, to replace those of the image.

        Args:
            folders: absolute paths, none inside another; missing ones are left out.
            most: the size limit of the content in bytes.

        Raises:
            ContentError: if the content is larger, or cannot be copied for another reason that the agent decides.
            EngineError: if the container died.
        """
        archives, removed = [], []
        for folder in folders:
            archive = self.get(folder, most=most)
            if archive is not None:
                most -= len(archive)
                archives.append((folder.rpartition("/")[0] or "/", archive))
            removed.append(folder)
        return FileChanges(tuple(archives), tuple(removed))

    def snapshot(self) -> ContainerSnapshot:
        """Copy the files that differ from the image; ``Engine.restore`` starts containers with them.

        Processes continue meanwhile. A file that one of them writes at this moment may be copied half-written, as a
        sudden end of the machine would leave it.

        Raises:
            EngineError: if the engine takes no snapshots, there is no room, or the container died.
        """
        raise EngineError("this engine takes no snapshots of containers; use the docker or the namespace engine")

    def mount(self, source: Path, target: str) -> None:
        """Show a folder or file of this machine in the container, read-only. It is no part of the container's files.

        Mounts below the folder are left out. Where the target is missing, it is made, as an empty folder.

        Args:
            source: its path on this machine.
            target: an absolute path in the container; for a file, one that exists there.

        Raises:
            EngineError: if the engine or this machine cannot do that, or the container died.
        """
        raise EngineError("this engine shows no folders of this machine in its containers; use docker or namespace")

    def listen(self, port: int) -> socket.socket:
        """Return a socket that listens on 127.0.0.1 in the container, and from which this process accepts.

        Connections to it are the one way out of a container without a network. It works until it is closed, or all
        processes of a Docker container had to be killed by a restart.

        Raises:
            EngineError: if the engine or this machine cannot do that, the container has the network of this machine,
                or the port is taken.
        """
        raise EngineError("this engine lets nothing listen in its containers; use docker or namespace")

    @abstractmethod
    def remove(self) -> None:
        """Remove the container and all its files. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Engine(ABC):
    """Starts containers from images. Usable from several threads; a forked child starts with a clean state."""

    name: str
    unenforced: tuple[str, ...] = ()
    """Those of :data:`LIMIT_NAMES` that the engine does not enforce on this machine, as far as it knows at once."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        engine = super().__new__(cls)
        after_fork_in_child(engine.reset_after_fork)
        return engine

    @abstractmethod
    def check(self) -> None:
        """Raise EngineError if the engine does not work on this machine; the message names what to install or start."""

    def about(self) -> EngineInfo:
        """Return the version and the enforceable limits, without starting a container.

        Raises:
            EngineError: if the engine does not work on this machine.
        """
        return EngineInfo("", dict.fromkeys(LIMIT_NAMES, False))

    def load(self) -> EngineLoad | None:
        """Return how busy the engine is, as far as it knows at once; None if it does not count other processes."""
        return None

    def has_base(self, name: str) -> bool:
        """Return whether the engine has an image under a name for ``FROM`` in a Dockerfile; downloads nothing."""
        return False

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        """Add an image under a name for ``FROM`` in a Dockerfile.

        Args:
            name: for example ``"debian:bookworm-slim"``.
            archive: a tar archive, compressed or not: a root file system, or an image that ``docker save`` wrote.
            progress: receives the stages.

        Raises:
            EngineError: if the file is no such archive, or the engine accepts none.
        """
        raise EngineError(f"the {self.name} engine accepts no base images; push {name} to the registry of the cluster")

    def discard_images(self, keep: Iterable[Image]) -> int:
        """Remove the images that GEM built, except those in ``keep``; return the number of removed images.

        Raises:
            EngineError: if the engine cannot remove images.
        """
        raise EngineError(f"the {self.name} engine removes no images; its registry manages them")

    @abstractmethod
    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        """Build or pull an image unless it exists, and return its reference.

        A digest of the content identifies an image, so an unchanged folder is built once.

        Raises:
            EngineError: if the image cannot be built or pulled; the message ends with the last output of the build.
        """

    @abstractmethod
    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        """Start a waiting container with dropped capabilities, no new privileges, and limits.

        Raises:
            EngineError: if the container does not start.
        """

    def restore(
        self, snapshot: ContainerSnapshot, limits: ResourceLimits, environment: Mapping[str, str] | None = None
    ) -> Container:
        """Start a waiting container with the files of a snapshot of this engine.

        Args:
            snapshot: the snapshot.
            limits: the limits of the new container; its disk must hold the files.
            environment: variables in addition to those of the container of the snapshot.

        Raises:
            EngineError: if the snapshot is closed or another engine's, or the container does not start.
        """
        raise EngineError(f"the {self.name} engine takes no snapshots of containers; use docker or namespace")

    def export_snapshot(self, snapshot: ContainerSnapshot, target: BinaryIO, store: str) -> dict[str, Any]:
        """Write the files of a snapshot to a file, unless the engine itself keeps them.

        Args:
            snapshot: an open snapshot of this engine.
            target: an empty file.
            store: the name of the store, a word; what the engine keeps for one store, another one cannot discard.

        Returns:
            A JSON object for :meth:`import_snapshot` of the same engine in another process.

        Raises:
            EngineError: if the snapshot is closed or another engine's, there is no room, or the engine stores none.
        """
        raise EngineError(f"the {self.name} engine stores no snapshots; use docker or namespace")

    def import_snapshot(self, record: Mapping[str, Any], files: BinaryIO) -> ContainerSnapshot:
        """Return a snapshot again.

        Args:
            record: the object of :meth:`export_snapshot`.
            files: the file that it wrote, which the caller closes.

        Raises:
            EngineError: if the record or the file is not of this engine, or something that it needs is gone.
        """
        raise EngineError(f"the {self.name} engine stores no snapshots; use docker or namespace")

    def discard_export(self, record: Mapping[str, Any], store: str) -> None:  # noqa: B027  # most engines keep nothing
        """Remove what the engine itself keeps of an exported snapshot for a store.

        Open snapshots, of this process and of others, go on.
        """

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        """Check that the engine can run side-cars in one network.

        Raises:
            EngineError: if it cannot; the message gives the reason.
        """
        raise EngineError(f"the {self.name} engine runs no tasks with several containers; use docker or namespace")

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        """Start a container whose network others will join.

        Args:
            spec: the container.
            names: the names of all containers of the network.
            beside: the containers that :meth:`start_beside` will start, for engines that must know them beforehand.

        Raises:
            EngineError: if the container does not start.
        """
        raise NotImplementedError

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        """Start a waiting container in the network of another one, from which it is removed first.

        Args:
            first: the container of :meth:`start_first`.
            spec: the container.
            names: the names of all containers of the network.

        Raises:
            EngineError: if the container does not start.
        """
        raise NotImplementedError

    def image_process(self, reference: str) -> ImageProcess:
        """Return the process that an image runs by itself.

        Raises:
            EngineError: if the engine cannot tell.
        """
        raise NotImplementedError

    @abstractmethod
    def reap(self) -> int:
        """Remove the containers of processes that no longer exist; return the number of removed containers."""

    def release_idle(self) -> None:  # noqa: B027  # most engines have no such helpers
        """Release helpers that only running containers need, if no container runs; the next start restores them."""

    def reset_after_fork(self) -> None:  # noqa: B027  # the same
        """Reset the engine in a forked child: close copied descriptors and use no connection of the parent."""

    @abstractmethod
    def close(self) -> None:
        """Release the engine's connections and helpers. A second call does nothing."""
