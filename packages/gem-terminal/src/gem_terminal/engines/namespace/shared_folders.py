"""Snapshots as folders in memory that containers share, as lower layers of their overlays: :func:`send_shared`.

The file systems of a snapshot are mounted in a mount namespace of their own, and live as long as a descriptor of it or
a container that began from it. A snapshot of such a container adds one file system to those that it began from; small
ones become one (:func:`_count_to_merge`), so that a chain of snapshots has few.

Files with several names are no part of a shared layer, since an overlay would separate them at the first write: the
file ``linked`` has a copy of them, and each container begins with its own.

The fork server imports this module, so it needs only the standard library and :mod:`gem_processes`.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gem_processes import linux
from gem_terminal.engines.namespace.saved_files import (
    SavedEntry,
    Saver,
    apply_entry,
    copy_content,
    extents_of,
    folder_entry,
    folder_of,
    restore,
    save,
    wanted_of,
    with_large_pages,
)
from gem_terminal.engines.namespace.stacked_folders import FoundEntry, attributes_of, opened_as, walk

__all__ = ["RESERVE", "TOP", "SharedLayer", "folder_of_layer", "restore_linked", "send_copy_of_shared", "send_shared"]

TOP = "top"
"""The mount point of a container's own file system, in the folder that all are mounted in."""
RESERVE = "reserve"
"""The file, in a container's own file system on a disk, that takes the room of the shared layers."""
_PLACES = tuple(f"l{number}" for number in range(14))
_FILES, _LINKED = "files", "linked"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_ENTRY = 20_000
"""Copying a file costs as much as this many bytes."""


class SharedLayer(NamedTuple):
    """A file system of a snapshot."""

    name: str
    """Its mount point, in the folder that all are mounted in."""
    size: int
    """Bytes that it takes of a disk."""
    files: int


def folder_of_layer(place: str, name: str) -> str:
    """Return the folder that an overlay has as a lower layer."""
    return f"{place}/{name}/{_FILES}"


def send_shared(
    path: str | int,
    place: str,
    channel: int,
    layers: Sequence[Sequence[object]] = (),
    bases: Sequence[str] = (),
    mounts: str | None = None,
) -> None:
    """Copy a container's files into folders, and send the namespace that they are mounted in, with their layers.

    Moves this process to its own mounts.

    Args:
        path: the upper folder of the container's overlay, or a descriptor of a copy of its files.
        place: an empty folder, on which all is mounted.
        channel: the descriptor of a socket.
        layers: the :class:`SharedLayer` items that the container began from, topmost first.
        bases: the folders of its image, topmost first.
        mounts: the file of the mount namespace that these layers are mounted in; None without layers.

    Raises:
        OSError: if the memory does not suffice.
    """
    below = [SharedLayer(*layer) for layer in layers]  # type: ignore[arg-type]  # from JSON
    top, reserved = -1, 0
    if isinstance(path, str):
        top = folder_of(path)
        with suppress(FileNotFoundError):
            reserved = os.stat(f"{path.rpartition('/')[0]}/{RESERVE}").st_size  # noqa: PTH116  # pathlib is slower
    if mounts is not None:
        namespace = os.open(mounts, os.O_RDONLY | os.O_CLOEXEC)
        linux.setns(namespace, linux.CLONE_NEWNS)
        os.close(namespace)
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    if below:
        linux.detach(f"{place}/{TOP}")
    else:
        linux.mount("tmpfs", place, "size=1m,mode=700")
        for name in (*_PLACES, TOP):
            os.mkdir(f"{place}/{name}", 0o700)  # noqa: PTH102  # pathlib is slower
    if not isinstance(path, str):
        with_large_pages(f"{place}/{TOP}", "mode=700")
        os.mkdir(f"{place}/{TOP}/{_FILES}")  # noqa: PTH102  # the same
        restore(path, f"{place}/{TOP}/{_FILES}")
        top = folder_of(f"{place}/{TOP}/{_FILES}")
    count = _count_to_merge(top, reserved, below)
    name = next(each for each in _PLACES if each not in [layer.name for layer in below])
    with_large_pages(f"{place}/{name}", "mode=700")
    stacked = [folder_of(folder_of_layer(place, layer.name)) for layer in below]
    _fill(f"{place}/{name}", top, stacked[:count], stacked[count:] + [folder_of(base) for base in bases])
    for each in stacked:
        os.close(each)
    os.close(top)
    for gone in (*(layer.name for layer in below[:count]), *(() if isinstance(path, str) else (TOP,))):
        linux.detach(f"{place}/{gone}")
    made = [_measured(place, name), *below[count:]]
    with socket.socket(fileno=channel) as connection:
        holder = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        socket.send_fds(connection, [json.dumps(made).encode()], [holder])


def send_copy_of_shared(path: int, place: str, channel: int, layers: Sequence[str], bases: Sequence[str]) -> None:
    """Copy the folders of a snapshot into one file, and send its descriptor. Moves this process to other mounts.

    Args:
        path: a descriptor of the mount namespace of the snapshot.
        place: the folder on which all is mounted there.
        channel: the descriptor of a socket.
        layers: the names of its layers, topmost first.
        bases: the folders of its image, topmost first.

    Raises:
        OSError: if the memory does not suffice.
    """
    linux.setns(path, linux.CLONE_NEWNS)
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    with_large_pages(f"{place}/{TOP}", "mode=700")
    copy = os.open(f"{place}/{TOP}", os.O_RDWR | os.O_TMPFILE, 0o600)
    linked = f"{place}/{TOP}/{_FILES}"
    os.mkdir(linked)  # noqa: PTH102  # pathlib is slower
    top = folder_of(linked) if restore_linked(place, layers[0], linked) else None
    stacked = [folder_of(folder_of_layer(place, name)) for name in layers]
    save(top, copy, stacked, bases=[folder_of(base) for base in bases])
    with socket.socket(fileno=channel) as connection:
        socket.send_fds(connection, [b"."], [copy])


def restore_linked(place: str, name: str, folder: str) -> bool:
    """Copy the files with several names of a snapshot into the empty upper folder of a container.

    Args:
        place: the folder that all is mounted on.
        name: of the topmost layer.
        folder: the upper folder.

    Returns:
        Whether there are such files.
    """
    try:
        copy = os.open(f"{place}/{name}/{_LINKED}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        restore(copy, folder)
    finally:
        os.close(copy)
    return True


def _count_to_merge(top: int, reserved: int, below: Sequence[SharedLayer]) -> int:
    """Return how many layers become one with the new one: those that are not much larger than what is above them.

    So each entry is copied a few times only, however long a chain is, and the sizes of the layers at least double from
    one to the next; the places suffice for any memory.
    """
    used = os.fstatvfs(top)
    cost = (used.f_blocks - used.f_bfree) * used.f_frsize - reserved + (used.f_files - used.f_ffree) * _ENTRY
    count = 0
    for layer in below:
        own = layer.size + layer.files * _ENTRY
        if own > 2 * cost and len(below) - count < len(_PLACES) - 1:
            break
        cost += own
        count += 1
    return count


def _fill(place: str, top: int, layers: Sequence[int], bases: Sequence[int]) -> None:
    os.mkdir(f"{place}/{_FILES}")  # noqa: PTH102  # pathlib is slower
    sink = _FolderWriter(folder_of(f"{place}/{_FILES}"), f"{place}/{_LINKED}")
    before = os.umask(0)  # a file that begins with its mode needs no call that sets it
    try:
        for found in walk(top, layers, wanted_of(None), bases=bases):
            with suppress(FileNotFoundError):  # deleted at this moment
                sink.add(found)
    finally:
        os.umask(before)
    sink.finish()


def _measured(place: str, name: str) -> SharedLayer:
    used = os.statvfs(f"{place}/{name}")
    size, files = (used.f_blocks - used.f_bfree) * used.f_frsize, used.f_files - used.f_ffree
    with suppress(FileNotFoundError):  # each container has its own copy of these
        size -= os.stat(f"{place}/{name}/{_LINKED}").st_blocks * 512  # noqa: PTH116  # pathlib is slower
    return SharedLayer(name, size, files)


class _FolderWriter:
    """Writes entries into an empty folder that no other process uses, and those with several names into a file.

    Args:
        folder: a descriptor of the folder.
        linked: the path of the file, which exists only if there are such entries.
    """

    def __init__(self, folder: int, linked: str) -> None:
        self._folder = folder
        self._owner = os.geteuid(), os.getegid()
        self._folders: list[tuple[str, SavedEntry]] = []
        self._around: list[tuple[str, SavedEntry | None]] = []
        """The folders around the last entry; None in place of one that ``linked`` has already."""
        self._path = linked
        self._saver: Saver | None = None

    def add(self, found: FoundEntry) -> None:
        """Write an entry; one that another kind has just replaced is left out."""
        path, status = found.path, found.status
        while self._around and self._around[-1][0] and not path.startswith(f"{self._around[-1][0]}/"):
            self._around.pop()
        if found.opened >= 0:
            if path:
                os.mkdir(path, 0o700, dir_fd=self._folder)
            self._folders.append((path or ".", folder_entry(found)))
            self._around.append((path, folder_entry(found, with_marks=False)))
        elif stat.S_ISREG(status.st_mode):
            if status.st_nlink > 1:
                self._add_linked(found)
            else:
                self._add_file(found)
        elif status.st_nlink > 1 and not stat.S_ISCHR(status.st_mode):  # marks of deletions share one inode
            self._add_linked(found)
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(found.name, dir_fd=found.folder), path, dir_fd=self._folder)
            self._set_status(path, status)
        else:
            os.mknod(path, status.st_mode, status.st_rdev, dir_fd=self._folder)
            self._set_status(path, status)
            os.chmod(path, stat.S_IMODE(status.st_mode), dir_fd=self._folder)  # mknod applies the umask

    def finish(self) -> None:
        """Set the attributes of the folders, whose times change with their content."""
        os.fchdir(self._folder)
        for path, entry in reversed(self._folders):
            apply_entry(entry, path)
        os.chdir("/")
        os.close(self._folder)
        if self._saver is not None:
            self._saver.finish()

    def _set_status(self, path: str, status: os.stat_result) -> None:
        os.chown(path, status.st_uid, status.st_gid, dir_fd=self._folder, follow_symlinks=False)
        times = status.st_atime_ns, status.st_mtime_ns
        os.utime(path, ns=times, dir_fd=self._folder, follow_symlinks=False)

    def _add_linked(self, found: FoundEntry) -> None:
        if self._saver is None:
            self._saver = Saver(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        for number, (path, entry) in enumerate(self._around):
            if entry is not None:
                self._saver.entries.append(entry)
                self._around[number] = path, None
        self._saver.add(found)

    def _add_file(self, found: FoundEntry) -> None:
        source = opened_as(found.name, found.folder, os.O_NONBLOCK | os.O_NOCTTY)
        if source is None:
            return
        target = -1
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):  # replaced at this moment
                return
            mode = stat.S_IMODE(status.st_mode)
            target = os.open(found.path, _NEW, mode & 0o777, dir_fd=self._folder)
            extents = extents_of(source, status)
            for begin, end in extents:
                copy_content(source, target, begin, end, begin)
            if not extents or extents[-1][1] < status.st_size:
                os.ftruncate(target, status.st_size)
            # In this order: a change of the owner clears the bits of set-user-id programs and some attributes.
            if (status.st_uid, status.st_gid) != self._owner:
                os.fchown(target, status.st_uid, status.st_gid)
            if mode & ~0o777:
                os.fchmod(target, mode)
            for name, value in attributes_of(source).items():
                os.setxattr(target, name, value)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(source)
            if target >= 0:
                os.close(target)
