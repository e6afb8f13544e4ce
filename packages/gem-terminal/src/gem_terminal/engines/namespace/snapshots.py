"""Snapshots of containers of the namespace engine: :class:`NamespaceSnapshot`."""

from __future__ import annotations

import io
import os
import signal
import socket
import stat
import tarfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from gem_terminal.engines.base import ContainerSnapshot, FileChanges
from gem_terminal.engines.namespace.saved_files import (
    CONTENT_FAILED,
    MARK_REPLACED,
    SavedContent,
    is_mark_of_deletion,
    table_of,
)
from gem_terminal.engines.namespace.spawning import Process, Spawner
from gem_terminal.errors import ContentError, EngineError

__all__ = ["NamespaceSnapshot", "changes_in", "copy_of_files"]

_COPIES_IN = 120.0
"""The time limit in seconds for copying the files of a container."""
_ENDS_IN = 5.0


class NamespaceSnapshot(ContainerSnapshot):
    """The files of a container, in memory as long as this object exists and is not closed.

    Args:
        copy: a descriptor of the copied files.
        layers: the folders of the container's image, topmost first.
        environment, config: see :class:`~gem_terminal.engines.namespace.container.NamespaceContainer`.
    """

    def __init__(
        self, copy: int, layers: Iterable[Path], environment: Mapping[str, str], config: Mapping[str, Any]
    ) -> None:
        self.layers = tuple(layers)
        self.environment = dict(environment)
        self.config = dict(config)
        self.size = os.fstat(copy).st_size
        self._copy = copy
        self._closing = finalize(self, os.close, copy)
        self._closing.atexit = False  # the end of the process closes it

    @property
    def is_open(self) -> bool:
        return self._closing.alive

    @property
    def copy(self) -> int:
        """The descriptor of the copied files.

        Raises:
            EngineError: if the snapshot is closed.
        """
        if not self.is_open:
            raise EngineError("the snapshot is closed")
        return self._copy

    def close(self) -> None:
        self._closing()


def copy_of_files(
    spawner: Spawner, target: int, upper: str, place: str, only: Iterable[str] | None = None, most: int | None = None
) -> int:
    """Return the descriptor of a copy of a container's files.

    Args:
        spawner: the parent of the container's processes.
        target: a descriptor of the container's first process.
        upper: the folder of the files.
        place: an empty folder, on which the copying process mounts memory for itself.
        only: the paths to copy; see :func:`~gem_terminal.engines.namespace.saved_files.save`.
        most: the limit on the sizes of the files together, in bytes.

    Raises:
        ContentError: if the files are larger than ``most``, or lie too deep.
        EngineError: if the container is gone, changes too fast, or the memory does not suffice.
    """
    ours, theirs = socket.socketpair()
    said = os.memfd_create("said", os.MFD_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR)
    process: Process | None = None
    try:
        with ours, theirs:
            asked = {"path": upper, "place": place, "only": None if only is None else list(only), "most": most}
            process = spawner.start((), (null, theirs.fileno(), said), target, save=asked)
            theirs.close()
            ours.settimeout(_COPIES_IN)
            _, copies, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if copies:
            return copies[0]
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
