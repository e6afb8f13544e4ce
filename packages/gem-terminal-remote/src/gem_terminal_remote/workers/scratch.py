"""The files that a worker keeps for its clients' uploads: :class:`WorkerScratch` and :class:`SessionFiles`."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from itertools import count
from pathlib import Path, PurePosixPath
from threading import Lock

from gem_terminal.engines.archives import unpack
from gem_terminal.engines.contexts import cache_folder
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError

__all__ = ["SessionFiles", "WorkerScratch"]

_MOST_MEMBERS = 250_000


class WorkerScratch:
    """A folder of this process. Those of processes that were killed are removed when the next one begins."""

    def __init__(self, parent: Path | None = None) -> None:
        folder = (parent or cache_folder()) / "workers"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = ContainerOwner.this_process()
        for left in folder.glob(f"{owner.machine}-*-*-*"):
            _, pid, began, _ = left.name.split("-", 3)
            if pid.isdigit() and not ContainerOwner(owner.host, int(pid), began).is_alive():
                shutil.rmtree(left, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{owner.machine}-{owner.pid}-{owner.began}-", dir=folder))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


class SessionFiles:
    """Uploads and unpacked build contexts of one session.

    Args:
        parent: the folder to make its own in.
        most: the size limit of all of them together in bytes.
    """

    def __init__(self, parent: Path, most: int) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=parent))
        self._most = most
        self._used = 0
        self._lock = Lock()
        self._uploads: dict[int, Path] = {}
        self._contexts: dict[str, Path] = {}
        self._numbers = count(1)

    def append(self, number: int | None, data: bytes) -> int:
        """Append data to an upload, or begin one; return its number.

        Raises:
            EngineError: if the session has no such upload, or no room for the data.
        """
        with self._lock:
            if self._used + len(data) > self._most:
                raise EngineError(f"the worker takes {self._most >> 20} MiB of files from one client, and not more")
            self._used += len(data)
            if number is None:
                number = next(self._numbers)
                self._uploads[number] = self._folder / f"upload-{number}"
            path = self._upload(number)
        with path.open("ab") as file:
            file.write(data)
        return number

    def taken(self, number: int) -> Path:
        """Return the file of an upload, which is no upload from then on; :meth:`drop` removes it."""
        with self._lock:
            path = self._upload(number)
            del self._uploads[number]
            return path

    def drop(self, path: Path) -> None:
        """Remove the file of an upload."""
        with self._lock:
            self._used -= path.stat().st_size
        path.unlink()

    def context(self, digest: str) -> Path | None:
        """Return the folder of a build context; None if it was not uploaded."""
        with self._lock:
            return self._contexts.get(digest)

    def add_context(self, digest: str, archive: Path) -> Path:
        """Unpack a build context, and return its folder.

        Raises:
            EngineError: if the archive is malformed, too large, or has files or links that lead out of the folder.
        """
        with self._lock:
            room = self._most - self._used
        size = _checked_size(archive, room)
        with self._lock:
            self._used += size
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        unpack(archive, folder)
        root = folder.resolve()
        for path in root.rglob("*"):
            if path.is_symlink() and root not in path.resolve().parents:
                raise EngineError(
                    f"the link {path.relative_to(root)} leads out of the build context; a worker takes no such folder"
                )
        with self._lock:
            self._contexts[digest] = root
        return root

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _upload(self, number: int) -> Path:
        try:
            return self._uploads[number]
        except KeyError:
            raise EngineError(f"there is no upload {number}") from None


def _checked_size(archive: Path, room: int) -> int:
    size = 0
    try:
        with tarfile.open(archive, mode="r:") as members:
            for number, member in enumerate(members):
                size += member.size + 512
                if number >= _MOST_MEMBERS or size > room or member.size < 0:
                    raise EngineError(f"a build context may have {_MOST_MEMBERS} files and {room >> 20} MiB here")
                if not (member.isreg() or member.isdir() or member.issym() or member.islnk()) or member.issparse():
                    raise EngineError(f"{member.name!r:.200} in the build context is neither file, folder nor link")
                for name in (member.name, member.linkname if member.islnk() else ""):
                    if name.startswith("/") or ".." in PurePosixPath(name).parts:
                        raise EngineError(f"{name!r:.200} leads out of the build context")
    except (tarfile.TarError, ValueError, EOFError, OverflowError) as error:
        raise EngineError(f"the build context is no tar archive: {error}") from error
    return size
