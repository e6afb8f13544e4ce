"""A task's folder: :class:`FolderWorkspace`, whose methods cannot leave it."""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from gem.errors import GemError

__all__ = ["FileTree", "FolderWorkspace", "WorkspaceFileError"]

FileTree = dict[str, str | None]
"""Path, with ``/`` between its parts → text of a file, or None for a folder."""

_PREFIX = "gem-files-"
_LOCK = "lock"
_LONGEST_FILE = 1 << 20
_MOST_BYTES = 32 << 20
_MOST_ENTRIES = 5_000
_DEEPEST = 20
_FIRST_TIME = 1_717_200_000
"""The time of the first file, in seconds: 2024-06-01. Times are a count of writes, so that episodes repeat."""
_ABANDONED_SECONDS = 3600
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkspaceFileError(GemError):
    """A call on a file failed; the message tells the agent why."""


class FolderWorkspace:
    """A folder of its own with the files of a task, removed in the end.

    Every path is followed from the folder, one part after the other, without symbolic links. So no path leads out of
    it, whatever a server of the user does to the folder at the same time. A folder whose process was killed is removed
    by the next process that makes one.

    Args:
        files: what it holds.
    """

    def __init__(self, files: Mapping[str, str | None]) -> None:
        self.fault: str | None = None
        _remove_abandoned()
        home = tempfile.mkdtemp(prefix=_PREFIX)
        lock = os.open(Path(home) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.folder = str(Path(home) / "files")
        """For servers of tools that the user configures."""
        self._remove = weakref.finalize(self, _remove, home, lock, os.getpid())
        Path(self.folder).mkdir()
        self._writes = 0
        for path, content in files.items():
            self.make_directory(path) if content is None else self.write(path, content)

    @classmethod
    def copy_of(cls, start: Path) -> FolderWorkspace:
        """Return a workspace with the files of a folder, of any content; symbolic links and pipes stay out.

        Raises:
            WorkspaceFileError: if a file cannot be read.
        """
        made = cls({})
        try:
            shutil.copytree(start, made.folder, ignore=_special, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            made.close()
            raise WorkspaceFileError(f"{start} cannot be copied: {error}") from error
        return made

    def list_directory(self, path: str) -> list[str]:
        """Return a line for each entry of a folder, sorted."""
        with self._opened(path) as folder:
            return [f"[{kind}] {name}" for name, kind in _entries(folder)]

    def tree(self) -> list[str]:
        """Return the paths of all files, and of folders with a slash at their ends, sorted."""
        return sorted(path if kind != "folder" else f"{path}/" for path, kind, _ in self._walk())

    def search(self, pattern: str) -> list[str]:
        """Return the paths whose name, or whose whole path, fits a pattern with ``*`` and ``?``."""
        return [
            path
            for path in self.tree()
            if fnmatch.fnmatchcase(path.rstrip("/").rpartition("/")[2], pattern) or fnmatch.fnmatchcase(path, pattern)
        ]

    def read(self, path: str) -> str:
        """Return the text of a file."""
        with self._parent(path) as (folder, name):
            return _read(folder, name, path)

    def write(self, path: str, content: str) -> None:
        """Write a file, in a folder that exists."""
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise WorkspaceFileError("the content is not valid Unicode") from None
        if len(data) > _LONGEST_FILE:
            raise WorkspaceFileError(f"a file has at most {_LONGEST_FILE:,} bytes")
        self._check_room(len(data))
        with self._parent(path) as (folder, name), _explained(path):
            # Without blocking: the entry may be a pipe that nobody reads.
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with _regular(os.open(name, flags, 0o644, dir_fd=folder), "wb", path) as stream:
                stream.truncate()
                stream.write(data)
            self._writes += 1
            moment = _FIRST_TIME + self._writes
            os.utime(name, (moment, moment), dir_fd=folder, follow_symlinks=False)

    def make_directory(self, path: str) -> None:
        """Make a folder in a folder that exists."""
        self._check_room(0)
        with self._parent(path) as (folder, name), _explained(path):
            os.mkdir(name, 0o755, dir_fd=folder)

    def move(self, source: str, target: str) -> None:
        """Move or rename a file or a folder; nothing may be at the target."""
        with self._parent(source) as (here, old), self._parent(target) as (there, new):
            if _status(there, new) is not None:
                raise WorkspaceFileError(f"{target} exists")
            with _explained(source):
                os.rename(old, new, src_dir_fd=here, dst_dir_fd=there)

    def delete(self, path: str) -> None:
        """Delete a file or an empty folder."""
        with self._parent(path) as (folder, name), _explained(path):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            (os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink)(name, dir_fd=folder)

    def info(self, path: str) -> str:
        """Return kind, size and time of a file."""
        with self._parent(path) as (folder, name):
            status = _status(folder, name)
        if status is None:
            raise WorkspaceFileError(f"{path}: No such file or directory")
        kind = _kind(status.st_mode)
        if kind != "file":
            return f"{path}: {kind}"
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(status.st_mtime))
        return f"{path}: file of {status.st_size} bytes, changed {moment}"

    def snapshot(self) -> dict[str, Any]:
        """Return every path with its text, None for a folder, or a tuple for anything else."""
        return {path: content for path, _, content in self._walk()}

    def close(self) -> None:
        """Remove the folder. A second call does nothing."""
        self._remove()

    def _walk(self) -> Iterator[tuple[str, str, Any]]:
        count = 0
        pending = [("", 0)]
        while pending:
            path, depth = pending.pop()
            with self._opened(path or ".") as folder:
                for name, kind in _entries(folder):
                    count += 1
                    if count > _MOST_ENTRIES or depth > _DEEPEST:
                        raise WorkspaceFileError("the folder holds too much")
                    inner = f"{path}/{name}" if path else name
                    if kind == "folder":
                        pending.append((inner, depth + 1))
                        yield inner, kind, None
                    elif kind == "file":
                        try:
                            yield inner, kind, _read(folder, name, inner)
                        except WorkspaceFileError as error:
                            yield inner, kind, ("no text", str(error))
                    else:
                        yield inner, kind, (kind,)

    def _check_room(self, size: int) -> None:
        entries = total = 0
        for _, _, content in self._walk():
            entries += 1
            total += len(content) if isinstance(content, str) else 0
        if entries >= _MOST_ENTRIES or total + size > _MOST_BYTES:
            raise WorkspaceFileError("the folder is full")

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Open a folder, one part of the path after the other."""
        parts = _parts(path)
        with _explained(path):
            folder = os.open(self.folder, _FOLDER)
        try:
            for part in parts:
                with _explained(path):
                    inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the folder of a path; yield it and the last part."""
        parts = _parts(path)
        if not parts:
            raise WorkspaceFileError("the path names the folder itself")
        with self._opened("/".join(parts[:-1]) or ".") as folder:
            yield folder, parts[-1]


def _special(folder: str, names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if not stat.S_ISREG(mode := os.lstat(Path(folder) / name).st_mode) and not stat.S_ISDIR(mode)
    ]


def _parts(path: str) -> list[str]:
    if "\0" in path or path.startswith("/"):
        raise WorkspaceFileError(f"a path is relative to the folder of the task, got {path!r:.200}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise WorkspaceFileError(f"a path must not contain '..', got {path!r:.200}")
    if len(parts) > _DEEPEST:
        raise WorkspaceFileError(f"a path has at most {_DEEPEST} parts")
    return parts


def _entries(folder: int) -> list[tuple[str, str]]:
    with os.scandir(folder) as found:
        return sorted((entry.name, _kind(entry.stat(follow_symlinks=False).st_mode)) for entry in found)


def _kind(mode: int) -> str:
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "special"


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):
        return None


def _regular(descriptor: int, mode: str, path: str) -> IO[bytes]:
    """Return the stream of a descriptor, which must be of a regular file; close any other.

    ``os.fdopen`` raises for a folder and leaves its descriptor open.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise WorkspaceFileError(f"{path} is no file")
    return os.fdopen(descriptor, mode)


def _read(folder: int, name: str, path: str) -> str:
    with _explained(path):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with _regular(os.open(name, flags, dir_fd=folder), "rb", path) as stream:
            data = stream.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        raise WorkspaceFileError(f"{path} has more than {_LONGEST_FILE:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise WorkspaceFileError(f"{path} is no text in UTF-8") from None


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn an error of the system into one for the agent, without the folder's place in the file system."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the path cannot be used"
        raise WorkspaceFileError(f"{path:.200}: {reason}") from None


@cache
def _remove_abandoned() -> None:
    """Remove, once in each process, the folders whose process ended without removing them."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if home.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            lock = home / _LOCK
            if not lock.exists():  # its process is about to make it, or was killed just then
                if time.time() - home.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(home, ignore_errors=True)
                continue
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(home, ignore_errors=True)


def _remove(home: str, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves the folder to its parent
        shutil.rmtree(home, ignore_errors=True)
    os.close(lock)
