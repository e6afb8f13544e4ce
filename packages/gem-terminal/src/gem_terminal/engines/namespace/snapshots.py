"""Snapshots of containers of the namespace engine: :class:`NamespaceSnapshot`."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import stat
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import finalize

from gem_terminal.engines.base import ContainerSnapshot, FileChanges
from gem_terminal.engines.namespace.saved_files import (
    CONTENT_FAILED,
    MARK_REPLACED,
    SavedContent,
    is_mark_of_deletion,
    table_of,
)
from gem_terminal.engines.namespace.shared_folders import TOP, SharedLayer, folder_of_layer
from gem_terminal.engines.namespace.spawning import Process, Spawner
from gem_terminal.errors import ContentError, EngineError

__all__ = [
    "ContainerFiles",
    "FileCopy",
    "NamespaceSnapshot",
    "SharedFolders",
    "changes_in",
    "copy_of_container",
    "share_container",
]

_COPIES_IN = 120.0
"""The time limit in seconds for copying the files of a container."""
_ENDS_IN = 5.0
_LONGEST_ANSWER = 8192
"""Bytes."""


class NamespaceSnapshot(ContainerSnapshot):
    """The files of a container, in memory as long as this object exists and is not closed.

    They are folders that containers share, as layers of their overlays, or one file that containers copy; the other
    form is made on first use.

    Args:
        files: how they are kept at first.
        layers: the folders of the container's image, topmost first.
        environment, config: see :class:`~gem_terminal.engines.namespace.container.NamespaceContainer`.
    """

    def __init__(
        self,
        files: SharedFolders | FileCopy,
        layers: Iterable[Path],
        environment: Mapping[str, str],
        config: Mapping[str, Any],
    ) -> None:
        self.layers = tuple(layers)
        self.environment = dict(environment)
        self.config = dict(config)
        self.size = files.size
        self._forms: dict[type, SharedFolders | FileCopy] = {type(files): files}
        self._making = Lock()
        self._closing = finalize(self, _close_all, self._forms)
        self._closing.atexit = False  # the end of the process closes them

    @property
    def is_open(self) -> bool:
        return self._closing.alive

    def shared(self, spawner: Spawner, place: str) -> SharedFolders:
        """Return the folders that containers share.

        Args:
            spawner: copies the files, on first use.
            place: an empty folder, on which the copying process mounts memory for itself.

        Raises:
            EngineError: if the snapshot is closed, or the memory does not suffice.
        """
        return self._form(SharedFolders, lambda copy: share_files(spawner, copy.descriptor, place))

    def copy(self, spawner: Spawner, place: str) -> FileCopy:
        """Return the files as one file; arguments and errors as of :meth:`shared`."""
        return self._form(FileCopy, lambda shared: copy_of_files(spawner, shared, place, self.layers))

    def _form(self, kind: type[_Form], make: Callable[[Any], _Form]) -> _Form:
        with self._making:
            if not self.is_open:
                raise EngineError("the snapshot is closed")
            found = self._forms.get(kind)
            if found is None:
                found = self._forms[kind] = make(next(iter(self._forms.values())))
        assert isinstance(found, kind)
        return found

    def close(self) -> None:
        with self._making:  # another thread may be making the other form
            self._closing()


class SharedFolders(NamedTuple):
    """Folders in memory that containers share."""

    descriptor: int
    """Of the mount namespace that they are mounted in."""
    layers: tuple[SharedLayer, ...]
    """Topmost first."""

    @property
    def size(self) -> int:
        """Bytes that they take of a disk."""
        return sum(layer.size for layer in self.layers)

    @property
    def files(self) -> int:
        """The number of files, folders and marks in all layers."""
        return sum(layer.files for layer in self.layers)


class FileCopy(NamedTuple):
    """A copy of files in one file."""

    descriptor: int

    @property
    def size(self) -> int:
        """Bytes."""
        return os.fstat(self.descriptor).st_size


_Form = TypeVar("_Form", SharedFolders, FileCopy)


def _close_all(forms: dict[type, SharedFolders | FileCopy]) -> None:
    for form in forms.values():
        os.close(form.descriptor)


class ContainerFiles(NamedTuple):
    """Where the files of a container are, as the processes of this machine see them."""

    target: int
    """A descriptor of its first process."""
    builder: int
    """The id of the process that keeps the mounts of its overlay."""
    place: str
    """The folder, among those mounts, that all is mounted on."""
    layers: tuple[SharedLayer, ...]
    """The layers of the snapshot that it began from, topmost first."""
    bases: tuple[Path, ...]
    """The folders of its image, topmost first."""

    @property
    def inside(self) -> str:
        """The folder of its own files, among its mounts."""
        return f"{self.place}/{TOP}" if self.layers else self.place

    @property
    def root(self) -> str:
        """The root of its mounts."""
        return f"/proc/{self.builder}/root"

    @property
    def upper(self) -> str:
        """The upper folder of its overlay."""
        return f"{self.root}{self.inside}/upper"


def copy_of_container(
    spawner: Spawner, files: ContainerFiles, only: Iterable[str] | None = None, most: int | None = None
) -> FileCopy:
    """Return a copy of what differs in a container from its image, moved folders with their content.

    Args:
        spawner: the parent of the container's processes.
        files: the container.
        only: the paths to copy; see :func:`~gem_terminal.engines.namespace.saved_files.save`.
        most: the limit on the sizes of the files together, in bytes.

    Raises:
        ContentError: if the files are larger than ``most``, or lie too deep.
        EngineError: if the container is gone, changes too fast, or the memory does not suffice.
    """
    asked = {
        "path": files.upper,
        "place": files.place,
        "layers": [folder_of_layer(files.root + files.place, layer.name) for layer in files.layers],
        "merged": f"{files.root}{files.inside}/root",
        "bases": list(map(str, files.bases)),
        "only": None if only is None else list(only),
        "most": most,
    }
    descriptor, _ = _asked(spawner, "copy", asked, files.target, most)
    return FileCopy(descriptor)


def share_container(spawner: Spawner, files: ContainerFiles) -> SharedFolders:
    """Return the files of a container as folders that other containers can share; errors as of the function above."""
    asked = {
        "path": files.upper,
        "place": files.place,
        "layers": files.layers,
        "bases": list(map(str, files.bases)),
        "mounts": f"/proc/{files.builder}/ns/mnt" if files.layers else None,
    }
    return _shared(*_asked(spawner, "shared", asked, files.target))


def share_files(spawner: Spawner, copy: int, place: str) -> SharedFolders:
    """Return copied files as folders that containers can share; arguments as of :meth:`NamespaceSnapshot.shared`."""
    return _shared(*_asked(spawner, "shared", {"path": None, "place": place}, copy))


def copy_of_files(spawner: Spawner, shared: SharedFolders, place: str, bases: Sequence[Path]) -> FileCopy:
    """Return a copy of the files in the layers of a snapshot above those of its image; the reverse of the above."""
    names = [layer.name for layer in shared.layers]
    asked = {"path": None, "place": place, "layers": names, "bases": list(map(str, bases))}
    descriptor, _ = _asked(spawner, "copy of shared", asked, shared.descriptor)
    return FileCopy(descriptor)


def _shared(descriptor: int, told: bytes) -> SharedFolders:
    return SharedFolders(descriptor, tuple(SharedLayer(*layer) for layer in json.loads(told)))


def _asked(
    spawner: Spawner, what: str, files: Mapping[str, Any], target: int, most: int | None = None
) -> tuple[int, bytes]:
    """Let a process copy files; return the descriptor that it sends, and what it says with it."""
    ours, theirs = socket.socketpair()
    said = os.memfd_create("said", os.MFD_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR)
    process: Process | None = None
    try:
        with ours, theirs:
            process = spawner.start((), (null, theirs.fileno(), said), target, send=what, files=files)
            theirs.close()
            ours.settimeout(_COPIES_IN)
            told, sent, _, _ = socket.recv_fds(ours, _LONGEST_ANSWER, 1, socket.MSG_CMSG_CLOEXEC)
        if sent:
            return sent[0], told
        if process.wait(_ENDS_IN) == CONTENT_FAILED:
            limit = "" if most is None else f" (the limit is {most} bytes)"
            raise ContentError(f"the files of a container cannot be copied: {_text(said)}{limit}")
        raise EngineError(f"the files of a container cannot be copied: {_text(said) or 'it has ended'}")
    except OSError as error:
        raise EngineError(f"the files of a container cannot be copied: {_text(said) or error}") from error
    finally:
        if process is not None:
            if process.wait(_ENDS_IN) is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            process.close()
        os.close(said)
        os.close(null)


def changes_in(copy: int, folders: Iterable[str]) -> FileChanges:
    """Return the changes of a container in some folders.

    Args:
        copy: a descriptor of the copied files.
        folders: absolute paths.
    """
    places = tuple(f"{folder.strip('/')}/" for folder in folders)
    table = table_of(copy)
    removed: list[str] = []
    buffer = io.BytesIO()
    files: dict[int, str] = {}
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number, entry in enumerate(table):
            if not f"{entry.path}/".startswith(places):
                continue
            if is_mark_of_deletion(entry):
                removed.append(f"/{entry.path}")
                continue
            if MARK_REPLACED in entry.attributes:
                removed.append(f"/{entry.path}")
            member = tarfile.TarInfo(entry.path)
            member.mode, member.uid, member.gid = stat.S_IMODE(entry.mode), entry.uid, entry.gid
            member.mtime = entry.modified // 1_000_000_000
            first = number if entry.same_as < 0 else entry.same_as
            content = None
            if not stat.S_ISREG(entry.mode):
                member.type = _TYPES.get(stat.S_IFMT(entry.mode), tarfile.FIFOTYPE)  # which nobody unpacks
                member.linkname = table[first].target
            elif first in files:
                member.type, member.linkname = tarfile.LNKTYPE, files[first]
            else:
                content = SavedContent(copy, table[first])
                member.size = table[first].size
                files[first] = entry.path
            archive.addfile(member, content)  # type: ignore[arg-type]  # tarfile only calls read
    return FileChanges((("/", buffer.getvalue()),), tuple(removed))


_TYPES = {stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFLNK: tarfile.SYMTYPE}


def _text(said: int) -> str:
    return os.pread(said, 1000, 0).decode(errors="replace").strip()
