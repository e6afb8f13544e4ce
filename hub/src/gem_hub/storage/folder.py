"""A hub in a folder, written atomically: a reader sees a whole file or none, also after a kill or a power cut.

Each file is written into ``.gem-hub/unfinished`` first, so that what a killed process leaves behind lies there and
nowhere else.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from gem_hub.accounts import account_of
from gem_hub.errors import HubRefusal
from gem_hub.storage.files import PRIVATE, TEMPORARY
from gem_hub.storage.locks import PATIENCE, HeldLock, refused_by_lock
from gem_hub_client.errors import HubError

__all__ = ["FolderLock", "HubFolder"]

_INTENT = f"{PRIVATE}/intent.json"
_CHUNK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


class HubFolder:
    """A folder as a hub's storage; see :class:`gem_hub.storage.HubFiles`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def address(self) -> str:
        return str(self.path)

    def lock(self) -> FolderLock:
        return FolderLock(self)

    def owner(self) -> str | None:
        return account_of(self.path)

    def read(self, path: str) -> bytes | None:
        try:
            return (self.path / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def open_public(self, path: str) -> BinaryIO | None:
        place = self._public(path)
        try:
            return place.open("rb") if place is not None and place.is_file() else None
        except OSError:
            return None

    def is_public_folder(self, path: str) -> bool:
        place = self._public(path)
        return place is not None and place.is_dir()

    @cached_property
    def _real_path(self) -> Path:
        return self.path.resolve()

    def _public(self, path: str) -> Path | None:
        """Return a file or folder of the hub; None if it is private or outside, also through a link."""
        try:
            real = (self.path / path).resolve(strict=True).relative_to(self._real_path)
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links
            return None
        return None if any(part.startswith(".") for part in real.parts) else self.path / path

    def read_all(self, paths: Iterable[str]) -> list[bytes | None]:
        return [self.read(path) for path in paths]

    def exists(self, path: str) -> bool:
        return (self.path / path).exists()

    def size(self, path: str) -> int | None:
        try:
            return (self.path / path).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def create(self, path: str, content: bytes) -> bool:
        with self._temporary() as (file, temporary):
            file.write(content)
            return self._link(file, temporary, path)

    def copy_in(self, source: Path, path: str, sha256: str, size: int) -> bool:
        if self.size(path) == size:
            return False
        with self._temporary() as (file, temporary), source.open("rb") as original:
            digest, copied = hashlib.sha256(), 0
            while chunk := original.read(_CHUNK):
                digest.update(chunk)
                copied += len(chunk)
                file.write(chunk)
            if digest.hexdigest() != sha256 or copied != size:
                raise HubRefusal(
                    f"{source}: has sha256 {digest.hexdigest()} and {copied} bytes, and the record says {sha256} and "
                    f"{size}; has it been built anew meanwhile? Publish it again"
                )
            return self._link(file, temporary, path)

    def replace(self, path: str, content: bytes) -> bool:
        if self.read(path) == content:
            return False
        with self._temporary() as (file, temporary):
            file.write(content)
            _finish(file)
            target = self._target(path)
            temporary.replace(target)
            _sync_folder(target.parent)
        return True

    def replace_all(self, contents: Mapping[str, bytes]) -> None:
        for path, content in contents.items():
            self.replace(path, content)

    def move(self, path: str, target: str) -> None:
        if not self.exists(path):
            return
        if self.exists(target):
            self.remove(path)
            return
        with self._told(target):
            place = self._target(target)
            (self.path / path).replace(place)
            _sync_folder(place.parent)
        self._prune((self.path / path).parent)

    def remove(self, path: str) -> None:
        target = self.path / path
        target.unlink(missing_ok=True)
        self._prune(target.parent)

    def _prune(self, folder: Path) -> None:
        """Remove a folder if it is empty, and then its empty parents, up to the hub itself."""
        with suppress(OSError):
            while folder != self.path:
                folder.rmdir()
                folder = folder.parent

    def files(self, folder: str) -> Iterator[str]:
        for parent, _, names in os.walk(self.path / folder):
            relative = Path(parent).relative_to(self.path)
            yield from ((relative / name).as_posix() for name in names)

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self.path / folder))  # noqa: PTH208  # names alone: no object for each
        except (FileNotFoundError, NotADirectoryError):
            return []

    def used_names(self, folder: str) -> list[str]:
        return [
            name for name in self.names(folder) if any(one.endswith(".json") for one in self.names(f"{folder}/{name}"))
        ]

    def age(self, path: str) -> float:
        try:
            return time.time() - (self.path / path).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    @contextmanager
    def _temporary(self) -> Iterator[tuple[BinaryIO, Path]]:
        folder = self.path / TEMPORARY
        with self._told(TEMPORARY):
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}-{secrets.token_hex(8)}"
        try:
            with self._told(str(path)), path.open("xb") as file:
                yield file, path
        finally:
            path.unlink(missing_ok=True)

    @contextmanager
    def _told(self, path: str) -> Iterator[None]:
        """Say where a disk is full or cannot be written."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise HubError(
                f"{self.path / path}: cannot be written: {error.strerror}. Free space, and run the command again; what "
                "was begun is completed or removed then, and gem hub rebuild does that too"
            ) from error

    def _link(self, file: BinaryIO, temporary: Path, path: str) -> bool:
        _finish(file)
        target = self._target(path)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links; the caller holds the hub's lock, or the name is a digest
            if target.exists():
                return False
            temporary.replace(target)
        _sync_folder(target.parent)
        return True

    def _target(self, path: str) -> Path:
        target = self.path / path
        missing = next((parent for parent in target.parents if parent.is_dir()), self.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if missing != target.parent:
            _sync_folder(missing)
        return target


class FolderLock:
    """A locked file, which the system frees when its holder dies."""

    outlives_holders = False

    def __init__(self, files: HubFolder) -> None:
        self._files = files

    @contextmanager
    def held(self) -> Iterator[HeldLock]:
        private = self._files.path / PRIVATE
        private.mkdir(parents=True, exist_ok=True)
        ignore = private / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        try:
            with FileLock(private / "lock", timeout=PATIENCE):
                yield _HeldFolder(self._files)
        except Timeout as error:
            raise refused_by_lock(self._files.address) from error


class _HeldFolder:
    def __init__(self, files: HubFolder) -> None:
        self._files = files

    @property
    def intent(self) -> bytes | None:
        return self._files.read(_INTENT)

    def decide(self, intent: bytes) -> None:
        self._files.replace(_INTENT, intent)

    def complete(self) -> None:
        self._files.remove(_INTENT)


def _finish(file: BinaryIO) -> None:
    """Flush a file to the disk and close it, because Windows moves no open file."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if the system supports that."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
