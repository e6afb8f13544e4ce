"""Copies of a container's files in one file: :func:`send_copy` and :func:`restore`.

The copied folder is the upper folder of an overlay, so the copy has the marks of deleted files (character devices 0/0)
and of replaced and moved folders (extended attributes). Contents pass from file to file inside the kernel.

A copy is one file without a name: the contents, a table of all entries in JSON, and eight bytes that say where the
table begins. The fork server imports this module, so it needs only the standard library and :mod:`gem_processes`.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from gem_processes import linux
from gem_terminal.engines.namespace.stacked_folders import (
    MARK_MOVED,
    MARK_REPLACED,
    FoundEntry,
    attributes_of,
    opened_as,
    walk,
)

__all__ = [
    "CONTENT_ERRORS",
    "CONTENT_FAILED",
    "MARK_REPLACED",
    "SavedContent",
    "SavedEntry",
    "Saver",
    "apply_entry",
    "check_copy",
    "copy_content",
    "extents_of",
    "folder_entry",
    "folder_of",
    "is_mark_of_deletion",
    "restore",
    "save",
    "send_copy",
    "table_of",
    "wanted_of",
    "with_large_pages",
    "without_large_pages",
]

_AT_ONCE = 1 << 30
_ALIGNED_FROM, _PAGE = 64 << 10, 4096
"""Contents of this size begin at a page, which the kernel copies faster."""
CONTENT_ERRORS = (errno.EFBIG, errno.ENAMETOOLONG)
"""The errors of :func:`save` that the files themselves cause."""
CONTENT_FAILED = 28
"""The exit code of a copying process with one of them."""
_LENGTH = 8
_LONGEST_PATH = 4096 - len("/")
"""Bytes of a path that Linux accepts at once (``PATH_MAX``), relative to the copied folder."""
_LARGE_PAGES, _REMOUNT = ",huge=within_size", 32


class SavedEntry(NamedTuple):
    """A file, folder, link or device."""

    path: str
    """Relative to the copied folder, which is itself the first entry, with an empty path."""
    mode: int
    uid: int
    gid: int
    accessed: int
    """Nanoseconds."""
    modified: int
    device: int
    size: int
    target: str
    """The target of a symbolic link."""
    same_as: int
    """The index of an earlier entry with the same inode; -1 for none."""
    extents: list[tuple[int, int, int]]
    """Position in the file, position in the copy, and length of each part that is no hole."""
    attributes: dict[str, str]
    """Extended attributes, in base 64."""


def is_mark_of_deletion(entry: SavedEntry) -> bool:
    """Return whether an entry says that the file below it is deleted."""
    return stat.S_ISCHR(entry.mode) and entry.device == 0


def send_copy(
    path: str,
    place: str,
    channel: int,
    layers: Sequence[str] = (),
    merged: str | None = None,
    bases: Sequence[str] = (),
    only: Sequence[str] | None = None,
    most: int | None = None,
) -> None:
    """Copy stacked folders and send the descriptor of the copy through a socket. Moves this process to its own mounts.

    Args:
        path: the topmost folder.
        place: an empty folder; a file system in memory is mounted on it.
        channel: the descriptor of the socket.
        layers: the folders below it, topmost first, of snapshots that the container began from.
        merged: the root of the overlay; see :func:`~gem_terminal.engines.namespace.stacked_folders.walk`.
        bases: the folders of its image, topmost first.
        only: the paths to copy; see :func:`save`.
        most: the limit on the sizes of the files together, in bytes.

    Raises:
        OSError: if the memory does not suffice.
    """
    top, below = folder_of(path), [folder_of(each) for each in layers]
    shown = None if merged is None else folder_of(merged)
    images = [folder_of(each) for each in bases]
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    with_large_pages(place, "mode=700")
    copy = os.open(place, os.O_RDWR | os.O_TMPFILE, 0o600)
    save(top, copy, below, shown, images, only, most)
    with socket.socket(fileno=channel) as connection:
        socket.send_fds(connection, [b"."], [copy])


def folder_of(path: str) -> int:
    """Open a folder for reading."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def with_large_pages(place: str, options: str) -> bool:
    """Mount a file system in memory, with large pages where the kernel has them: copying is then three times faster.

    Returns whether it has; :func:`without_large_pages` turns them off for files to come.
    """
    try:
        linux.mount("tmpfs", place, options + _LARGE_PAGES)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        linux.mount("tmpfs", place, options)
        return False
    return True


def without_large_pages(place: str) -> None:
    """Let new files of a file system use small pages, since a large one would fill the holes of a sparse file."""
    linux.mount("tmpfs", place, "huge=never", _REMOUNT)


def save(
    top: int | None,
    copy: int,
    layers: Sequence[int] = (),
    merged: int | None = None,
    bases: Sequence[int] = (),
    only: Sequence[str] | None = None,
    most: int | None = None,
) -> None:
    """Copy stacked folders into a file.

    Processes may change the topmost folder meanwhile. No link is followed, and only regular files are opened.

    Args:
        top: a descriptor of the topmost folder; see :func:`~gem_terminal.engines.namespace.stacked_folders.walk`.
        copy: a descriptor of the file, which is empty.
        layers: descriptors of the folders below it.
        merged: a descriptor of the root of the overlay.
        bases: descriptors of the folders of its image.
        only: the paths to copy, with the folders around them; what lies so deep that no program can name it is left
            out then. None for everything.
        most: the limit on the sizes of all files together, in bytes.

    Raises:
        OSError: with ``EFBIG`` if the files are larger, and ``ENAMETOOLONG`` if some lie too deep.
    """
    saver = Saver(copy, most)
    for found in walk(top, layers, wanted_of(only), merged, bases):
        with suppress(FileNotFoundError):  # deleted at this moment
            saver.add(found)
    saver.finish()


def restore(copy: int, folder: str) -> bool:
    """Recreate a copied tree in an empty folder that no other process uses.

    Args:
        copy: a descriptor of the copy.
        folder: the path of the folder.

    Returns:
        Whether some folders continue others below it, which an overlay follows on request.
    """
    entries, folders = table_of(copy), []
    for entry in entries:
        path = f"{folder}/{entry.path}"
        if entry.same_as >= 0:
            os.link(f"{folder}/{entries[entry.same_as].path}", path, follow_symlinks=False)
        elif stat.S_ISDIR(entry.mode):
            if entry.path:
                os.mkdir(path)  # noqa: PTH102  # pathlib is slower
            folders.append((entry, path))
        elif stat.S_ISREG(entry.mode):
            _restore_file(copy, entry, path)
        else:
            if stat.S_ISLNK(entry.mode):
                os.symlink(entry.target, path)  # noqa: PTH211  # pathlib is slower
            else:
                os.mknod(path, entry.mode, entry.device)
                os.chmod(path, stat.S_IMODE(entry.mode))  # noqa: PTH101  # mknod applies the umask
            os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
            os.utime(path, ns=(entry.accessed, entry.modified), follow_symlinks=False)
    for entry, path in reversed(folders):  # a folder's time changes with its content
        apply_entry(entry, path)
    return any(MARK_MOVED in entry.attributes for entry, _ in folders)


def table_of(copy: int) -> list[SavedEntry]:
    """Return the entries of a copy, each folder before its content."""
    end = os.fstat(copy).st_size - _LENGTH
    begin = int.from_bytes(os.pread(copy, _LENGTH, end), "little")
    return [SavedEntry(*entry) for entry in json.loads(os.pread(copy, end - begin, begin))]


def check_copy(copy: int) -> None:
    """Check that a file of unknown origin is a copy whose entries lie in its own folders, and contents in the file.

    Raises:
        ValueError: if it is not; the message names the entry.
    """
    try:
        table, end = table_of(copy), os.fstat(copy).st_size
        folders: set[str] = set()
        for number, entry in enumerate(table):
            around, slash, name = entry.path.rpartition("/")
            begins = not number and not entry.path and stat.S_ISDIR(entry.mode)
            if not begins and (
                around not in folders or (slash and not around) or name in ("", ".", "..") or "\0" in name
            ):
                raise ValueError(f"{entry.path!r} is in no folder of it")
            if stat.S_ISDIR(entry.mode) and entry.same_as < 0:
                folders.add(entry.path)
            if not -1 <= entry.same_as < number or (entry.same_as >= 0 and stat.S_ISDIR(table[entry.same_as].mode)):
                raise ValueError(f"{entry.path!r} is the same as no entry before it")
            if any(min(at, length, begin) < 0 or at + length > end for begin, at, length in entry.extents):
                raise ValueError(f"the content of {entry.path!r} is not in it")
    except (OSError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"its table cannot be read: {error}") from error


class SavedContent:
    """The content of a regular file, to be read once.

    Args:
        copy: a descriptor of the copy.
        entry: the file.
    """

    def __init__(self, copy: int, entry: SavedEntry) -> None:
        self._copy = copy
        self._extents = entry.extents[::-1]
        self._position, self._size = 0, entry.size

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end only."""
        pieces = []
        while (wanted := min(size, self._size - self._position)) > 0:
            begin, at, length = self._extents[-1] if self._extents else (self._size, 0, 0)
            if self._position < begin:  # a hole
                pieces.append(bytes(min(wanted, begin - self._position)))
            elif self._position < begin + length:
                inner = self._position - begin
                pieces.append(os.pread(self._copy, min(wanted, length - inner), at + inner))
            else:
                self._extents.pop()
                continue
            self._position += len(pieces[-1])
            size -= len(pieces[-1])
        return b"".join(pieces)


class Saver:
    """Writes entries and their contents into a file.

    Args:
        copy: a descriptor of the file, which is empty.
        most: the limit on the sizes of all files together, in bytes; None for no limit.
    """

    def __init__(self, copy: int, most: int | None = None) -> None:
        self.entries: list[SavedEntry] = []
        self._copy = copy
        self._left = most
        self._end = 0
        self._seen: dict[tuple[int, int], int] = {}

    def add(self, found: FoundEntry) -> None:
        """Add an entry; one that another kind has just replaced is left out."""
        status = found.status
        if found.opened >= 0:
            self.entries.append(folder_entry(found))
            return
        if status.st_nlink > 1:
            inode = status.st_dev, status.st_ino
            if (same_as := self._seen.get(inode)) is not None:
                self.entries.append(_entry(found.path, status, same_as=same_as))
                return
            self._seen[inode] = len(self.entries)
        if stat.S_ISREG(status.st_mode):
            self._add_file(found)
        elif stat.S_ISLNK(status.st_mode):
            self.entries.append(_entry(found.path, status, target=os.readlink(found.name, dir_fd=found.folder)))
        else:
            self.entries.append(_entry(found.path, status))

    def finish(self) -> None:
        """Write the table of the entries."""
        table = json.dumps(self.entries).encode()
        with os.fdopen(os.dup(self._copy), "wb") as sink:
            sink.seek(self._end)
            sink.write(table + self._end.to_bytes(_LENGTH, "little"))

    def _add_file(self, found: FoundEntry) -> None:
        source = opened_as(found.name, found.folder, os.O_NONBLOCK | os.O_NOCTTY)
        if source is None:
            return
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):  # replaced at this moment
                return
            if self._left is not None:
                self._left -= status.st_size
                if self._left < 0:
                    raise OSError(errno.EFBIG, "the files are too large")
            extents = [self._copied(source, begin, end) for begin, end in extents_of(source, status)]
            self.entries.append(
                _entry(found.path, status, size=status.st_size, extents=extents, attributes=_encoded(source))
            )
        finally:
            os.close(source)

    def _copied(self, source: int, begin: int, end: int) -> tuple[int, int, int]:
        if end - begin >= _ALIGNED_FROM:
            self._end += -self._end % _PAGE
        at = self._end
        sent = copy_content(source, self._copy, begin, end, at)
        self._end += sent
        return begin, at, sent


def folder_entry(found: FoundEntry, *, with_marks: bool = True) -> SavedEntry:
    """Return the entry of a folder, with the marks of an overlay or without them."""
    attributes = _encoded(found.opened)
    if with_marks and found.is_replaced:
        attributes[MARK_REPLACED] = base64.b64encode(b"y").decode()
    if with_marks and found.moved is not None:
        attributes[MARK_MOVED] = base64.b64encode(os.fsencode(found.moved)).decode()
    return _entry(found.path, found.status, attributes=attributes)


def copy_content(source: int, target: int, begin: int, end: int, at: int) -> int:
    """Copy a part of a file to a position in another one; return its length, less if the file became shorter."""
    position = begin
    os.lseek(target, at, os.SEEK_SET)
    while position < end:
        sent = os.sendfile(target, source, position, min(end - position, _AT_ONCE))
        if not sent:
            break
        position += sent
    return position - begin


def _entry(
    path: str,
    status: os.stat_result,
    *,
    size: int = 0,
    target: str = "",
    same_as: int = -1,
    extents: list[tuple[int, int, int]] | None = None,
    attributes: dict[str, str] | None = None,
) -> SavedEntry:
    times, owner = (status.st_atime_ns, status.st_mtime_ns), (status.st_uid, status.st_gid)
    return SavedEntry(
        path, status.st_mode, *owner, *times, status.st_rdev, size, target, same_as, extents or [], attributes or {}
    )


def _encoded(opened: int) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in attributes_of(opened).items()}


def wanted_of(only: Sequence[str] | None) -> Callable[[str], bool]:
    """Return a function that says whether a path is to be copied, with what is around it.

    It raises OSError with ``ENAMETOOLONG`` for a path that is too long, unless only some paths are asked for.
    """
    places = None if only is None else tuple(f"{path.strip('/')}/".lstrip("/") for path in only)

    def wanted(path: str) -> bool:
        if len(os.fsencode(path)) >= _LONGEST_PATH:
            if places is None:
                raise OSError(errno.ENAMETOOLONG, f"a path is longer than {_LONGEST_PATH} bytes")
            return False
        return places is None or any(f"{path}/".startswith(place) or place.startswith(f"{path}/") for place in places)

    return wanted


def extents_of(source: int, found: os.stat_result) -> list[tuple[int, int]]:
    """Return the begins and ends of the parts of a file that are no holes."""
    if found.st_blocks * 512 >= found.st_size:
        return [(0, found.st_size)] if found.st_size else []
    extents, position = [], 0
    with suppress(OSError):  # ENXIO: no more data
        while position < found.st_size:
            begin = os.lseek(source, position, os.SEEK_DATA)
            position = os.lseek(source, begin, os.SEEK_HOLE)
            extents.append((begin, min(position, found.st_size)))
    return extents


def _restore_file(copy: int, entry: SavedEntry, path: str) -> None:
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for position, at, length in entry.extents:
            os.lseek(target, position, os.SEEK_SET)
            left = length
            while left:
                left -= os.sendfile(target, copy, at + length - left, min(left, _AT_ONCE))
        if not entry.extents or sum(entry.extents[-1][::2]) < entry.size:
            os.truncate(target, entry.size)
        apply_entry(entry, target)
    finally:
        os.close(target)


def apply_entry(entry: SavedEntry, path: int | str) -> None:
    """Give a file or folder the owner, mode, attributes and times of an entry."""
    # In this order: a change of the owner clears the bits of set-user-id programs and some attributes.
    os.chown(path, entry.uid, entry.gid)
    os.chmod(path, stat.S_IMODE(entry.mode))  # noqa: PTH101  # a descriptor
    for name, value in entry.attributes.items():
        os.setxattr(path, name, base64.b64decode(value))
    os.utime(path, ns=(entry.accessed, entry.modified))
