"""Copies of a container's files in memory: :func:`send_copy` and :func:`restore`.

The copied folder is the upper folder of an overlay, so the copy has the marks of deleted files (character devices 0/0)
and of replaced folders (extended attributes). Contents pass from file to file inside the kernel.

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
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gem_processes import linux

__all__ = [
    "CONTENT_ERRORS",
    "CONTENT_FAILED",
    "MARK_REPLACED",
    "SavedContent",
    "SavedEntry",
    "is_mark_of_deletion",
    "restore",
    "save",
    "send_copy",
    "table_of",
    "with_large_pages",
    "without_large_pages",
]

MARK_REPLACED = "trusted.overlay.opaque"
"""The attribute of a folder that hides the folder of the same path below it (overlayfs.rst of Linux)."""
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


def send_copy(path: str, place: str, channel: int, only: Sequence[str] | None = None, most: int | None = None) -> None:
    """Copy a folder and send the descriptor of the copy through a socket. Moves this process to its own mounts.

    Args:
        path: the folder.
        place: an empty folder; a file system in memory is mounted on it.
        channel: the descriptor of the socket.
        only: the paths to copy; see :func:`save`.
        most: the limit on the sizes of the files together, in bytes.

    Raises:
        OSError: if the memory does not suffice.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    with_large_pages(place, "mode=700")
    copy = os.open(place, os.O_RDWR | os.O_TMPFILE, 0o600)
    save(folder, copy, only, most)
    with socket.socket(fileno=channel) as connection:
        socket.send_fds(connection, [b"."], [copy])


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


def save(folder: int, copy: int, only: Sequence[str] | None = None, most: int | None = None) -> None:
    """Copy a folder into a file.

    Processes may change the folder meanwhile. No link is followed, and only regular files are opened.

    Args:
        folder: a descriptor of the folder.
        copy: a descriptor of the file, which is empty.
        only: the paths to copy, with the folders around them; what lies so deep that no program can name it is left
            out then. None for everything.
        most: the limit on the sizes of all files together, in bytes.

    Raises:
        OSError: with ``EFBIG`` if the files are larger, and ``ENAMETOOLONG`` if some lie too deep.
    """
    saver = _Saver(copy, only, most)
    saver.add_tree(folder)
    table = json.dumps(saver.entries).encode()
    with os.fdopen(os.dup(copy), "wb") as sink:
        sink.write(table + (sink.tell()).to_bytes(_LENGTH, "little"))


def restore(copy: int, folder: str) -> None:
    """Recreate a copied tree in an empty folder that no other process uses.

    Args:
        copy: a descriptor of the copy.
        folder: the path of the folder.
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
        _set_attributes(entry, path)


def table_of(copy: int) -> list[SavedEntry]:
    """Return the entries of a copy, each folder before its content."""
    end = os.fstat(copy).st_size - _LENGTH
    begin = int.from_bytes(os.pread(copy, _LENGTH, end), "little")
    return [SavedEntry(*entry) for entry in json.loads(os.pread(copy, end - begin, begin))]


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


class _Saver:
    def __init__(self, copy: int, only: Sequence[str] | None, most: int | None) -> None:
        self.entries: list[SavedEntry] = []
        self._copy = copy
        self._only = None if only is None else tuple(f"{path.strip('/')}/".lstrip("/") for path in only)
        self._left = most
        self._end = 0
        self._seen: dict[int, int] = {}

    def add_tree(self, folder: int) -> None:
        """Add a folder and everything in it, with one folder open at a time."""
        found = os.fstat(folder)
        self._append("", found, attributes=_attributes(folder))
        here, path = os.dup(folder), ""
        around = [(found, iter(_names(here)))]
        try:
            while around:
                name = next(around[-1][1], None)
                if name is None:
                    around.pop()
                    if around:
                        above = _parent(here, around[-1][0])
                        os.close(here)
                        here, path = above, path.rpartition("/")[0]
                    continue
                inner = f"{path}/{name}" if path else name
                if not self._is_wanted(inner):
                    continue
                with suppress(FileNotFoundError):  # deleted at this moment
                    below = self._add(here, name, inner)
                    if below is not None:
                        os.close(here)
                        here, path = below, inner
                        around.append((os.fstat(here), iter(_names(here))))
        finally:
            os.close(here)

    def _is_wanted(self, path: str) -> bool:
        if len(os.fsencode(path)) >= _LONGEST_PATH:
            if self._only is None:
                raise OSError(errno.ENAMETOOLONG, f"a path is longer than {_LONGEST_PATH} bytes")
            return False
        return self._only is None or any(
            f"{path}/".startswith(wanted) or wanted.startswith(f"{path}/") for wanted in self._only
        )

    def _add(self, folder: int, name: str, path: str) -> int | None:
        """Add an entry; return a descriptor of it if it is a folder."""
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            inner = _opened(name, folder, os.O_DIRECTORY)
            if inner is not None:
                self._append(path, os.fstat(inner), attributes=_attributes(inner))
            return inner
        if found.st_nlink > 1:
            if (same_as := self._seen.get(found.st_ino)) is not None:
                self._append(path, found, same_as=same_as)
                return None
            self._seen[found.st_ino] = len(self.entries)
        if stat.S_ISREG(found.st_mode):
            self._add_file(folder, name, path)
        elif stat.S_ISLNK(found.st_mode):
            self._append(path, found, target=os.readlink(name, dir_fd=folder))
        else:
            self._append(path, found)
        return None

    def _add_file(self, folder: int, name: str, path: str) -> None:
        source = _opened(name, folder, os.O_NONBLOCK | os.O_NOCTTY)
        if source is None:
            return
        try:
            found = os.fstat(source)
            if not stat.S_ISREG(found.st_mode):  # replaced at this moment
                return
            if self._left is not None:
                self._left -= found.st_size
                if self._left < 0:
                    raise OSError(errno.EFBIG, "the files are too large")
            extents = [self._copied(source, begin, end) for begin, end in _extents(source, found)]
            self._append(path, found, size=found.st_size, extents=extents, attributes=_attributes(source))
        finally:
            os.close(source)

    def _copied(self, source: int, begin: int, end: int) -> tuple[int, int, int]:
        if end - begin >= _ALIGNED_FROM:
            self._end += -self._end % _PAGE
        at, position = self._end, begin
        os.lseek(self._copy, at, os.SEEK_SET)
        while position < end:
            sent = os.sendfile(self._copy, source, position, min(end - position, _AT_ONCE))
            if not sent:  # the file became shorter
                break
            position += sent
        self._end += position - begin
        return begin, at, position - begin

    def _append(
        self,
        path: str,
        found: os.stat_result,
        *,
        size: int = 0,
        target: str = "",
        same_as: int = -1,
        extents: list[tuple[int, int, int]] | None = None,
        attributes: dict[str, str] | None = None,
    ) -> None:
        times, device = (found.st_atime_ns, found.st_mtime_ns), found.st_rdev
        owner = (found.st_uid, found.st_gid)
        self.entries.append(
            SavedEntry(
                path, found.st_mode, *owner, *times, device, size, target, same_as, extents or [], attributes or {}
            )
        )


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def _parent(folder: int, expected: os.stat_result) -> int:
    """Return a descriptor of the folder around a folder.

    Raises:
        OSError: with ``ESTALE`` if a process has moved the folder since.
    """
    found = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    if not os.path.samestat(os.fstat(found), expected):
        os.close(found)
        raise OSError(errno.ESTALE, "the folders change too fast")
    return found


def _opened(name: str, folder: int, flags: int) -> int | None:
    """Open a file or folder; None if another kind has just replaced it."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOATIME | flags, dir_fd=folder)
    except NotADirectoryError:
        return None
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ELOOP):
            return None
        raise


def _extents(source: int, found: os.stat_result) -> list[tuple[int, int]]:
    if found.st_blocks * 512 >= found.st_size:
        return [(0, found.st_size)] if found.st_size else []
    extents, position = [], 0
    with suppress(OSError):  # ENXIO: no more data
        while position < found.st_size:
            begin = os.lseek(source, position, os.SEEK_DATA)
            position = os.lseek(source, begin, os.SEEK_HOLE)
            extents.append((begin, min(position, found.st_size)))
    return extents


def _attributes(opened: int) -> dict[str, str]:
    return {name: base64.b64encode(os.getxattr(opened, name)).decode() for name in os.listxattr(opened)}


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
        _set_attributes(entry, target)
    finally:
        os.close(target)


def _set_attributes(entry: SavedEntry, path: int | str) -> None:
    # In this order: a change of the owner clears the bits of set-user-id programs and some attributes.
    os.chown(path, entry.uid, entry.gid)
    os.chmod(path, stat.S_IMODE(entry.mode))  # noqa: PTH101  # a descriptor
    for name, value in entry.attributes.items():
        os.setxattr(path, name, base64.b64decode(value))
    os.utime(path, ns=(entry.accessed, entry.modified))
