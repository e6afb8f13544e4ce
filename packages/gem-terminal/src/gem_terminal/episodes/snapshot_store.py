"""Snapshots of episodes on disk, which other processes restore: :class:`SnapshotStore`.

An entry is a JSON file, named by the SHA-256 digest of its bytes: task, state, shell, what the engine needs, and the
digest of the files. These are one file under that digest, for the namespace engine, or an image that the Docker engine
keeps. Both are written under a temporary name and renamed, so an end at any moment leaves nothing half.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

from gem_terminal.engines.base import Engine
from gem_terminal.engines.contexts import cache_folder
from gem_terminal.engines.exclusive import exclusive
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.episodes.episode_snapshots import EpisodeSnapshot
from gem_terminal.episodes.task_session import SessionSnapshot
from gem_terminal.errors import EngineError
from gem_terminal.task import Task

__all__ = ["SnapshotStore", "StoredSnapshot"]

_FORMAT = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_AT_ONCE = 1 << 20
_FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(("engine", "task", "instruction", "files"), str),
    **dict.fromkeys(("state", "record"), dict),
    **dict.fromkeys(("processes", "step", "size"), int),
    "shell": (list, NoneType),
}
"""The types of the fields of an entry."""


@dataclass(frozen=True)
class StoredSnapshot:
    """An entry of a store."""

    digest: str
    task: str
    """The name of its task."""
    engine: str
    size: int
    """Bytes of its files, which other entries may share."""
    last_used: float
    """When it was stored or loaded last, in seconds since the epoch."""


class SnapshotStore:
    """Keeps snapshots in a folder. Any number of processes may use it at once.

    Args:
        folder: the folder; None for one in the cache folder of this user.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "snapshots"
        self._entries, self._files = self.folder / "entries", self.folder / "files"

    def save(self, snapshot: EpisodeSnapshot, engine: Engine) -> str:
        """Store a snapshot; return its digest. The same snapshot has the same digest, and is stored once.

        Args:
            snapshot: an open snapshot.
            engine: the engine of its container.

        Raises:
            EngineError: if the engine stores none, or there is no room.
        """
        for folder in (self._entries, self._files):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        session = snapshot.session
        try:
            with self._scratch() as target:
                record = engine.export_snapshot(session.files, target, self._name())
                target.flush()
                size, files = os.fstat(target.fileno()).st_size, _digest_of(target)
                content = {
                    "format": _FORMAT,
                    "engine": engine.name,
                    "task": snapshot.task.name,
                    "instruction": _text_digest(snapshot.task.instruction),
                    "state": dict(snapshot.state),
                    "shell": session.shell,
                    "processes": session.processes,
                    "step": session.step,
                    "record": record,
                    "files": files,
                    "size": size or session.files.size,
                }
                entry = json.dumps(content, sort_keys=True).encode()
                digest = hashlib.sha256(entry).hexdigest()
                with self._scratch() as written, exclusive(self.folder / "lock", None):
                    written.write(entry)
                    written.flush()
                    self._publish(target, self._files / files)
                    self._publish(written, self._entries / digest)
        except OSError as error:
            raise EngineError(f"the snapshot cannot be stored in {self.folder}: {error}") from error
        return digest

    def load(self, digest: str, tasks: Sequence[Task], engine: Engine) -> EpisodeSnapshot:
        """Return a stored snapshot.

        Args:
            digest: what :meth:`save` returned, in this or another process.
            tasks: the tasks of the environment that will restore it; one of them must be its task.
            engine: an engine of the same kind, on the machine with the same images.

        Raises:
            EngineError: if there is no such entry, it is damaged, or it does not fit the tasks or the engine.
        """
        content = self._content(digest)
        if content["engine"] != engine.name:
            raise EngineError(f"the snapshot {digest} is of the {content['engine']} engine, and this is {engine.name}")
        found = [task for task in tasks if task.name == content["task"]]
        if not found:
            raise EngineError(f"the snapshot {digest} is of the task {content['task']!r}, which is not among the given")
        if _text_digest(found[0].instruction) != content["instruction"]:
            raise EngineError(f"the task {found[0].name!r} has another instruction than when {digest} was stored")
        with self._opened(digest, content["files"]) as files:
            restored = engine.import_snapshot(content["record"], files)
        with suppress(OSError):  # of another user
            os.utime(self._entries / digest)
        shell = content["shell"]
        session = SessionSnapshot(
            restored, None if shell is None else (shell[0], shell[1]), content["processes"], content["step"]
        )
        return EpisodeSnapshot(found[0], content["state"], session)

    def has(self, digest: str) -> bool:
        """Return whether there is an entry, damaged or not."""
        return _DIGEST.fullmatch(digest) is not None and (self._entries / digest).exists()

    def entries(self) -> list[StoredSnapshot]:
        """Return the entries that can be read, the one that was used last first."""
        found = []
        for path in self._entries.glob("*"):
            if _DIGEST.fullmatch(path.name):
                with suppress(EngineError, OSError):  # damaged, or of a later version
                    content = self._content(path.name)
                    used = path.stat().st_mtime
                    found.append(StoredSnapshot(path.name, content["task"], content["engine"], content["size"], used))
        return sorted(found, key=lambda entry: -entry.last_used)

    def discard(
        self,
        *,
        unused_for: float | None = None,
        digests: Iterable[str] = (),
        engines: Mapping[str, Engine] | None = None,
    ) -> int:
        """Remove entries, damaged ones too, and all files that no entry refers to.

        Args:
            unused_for: remove those that nothing has stored or loaded for so many seconds; None for none.
            digests: remove these.
            engines: by name, the engines that keep files of their own; entries of a missing one stay.

        Returns:
            The number of removed entries.
        """
        wanted, count, referred = set(digests), 0, set()
        with exclusive(self.folder / "lock", None):
            staying, leaving = list[dict[str, Any]](), list[tuple[Path, dict[str, Any]]]()
            for path in [path for path in self._entries.glob("*") if _DIGEST.fullmatch(path.name)]:
                content = _parsed(path)
                if content is None:
                    path.unlink(missing_ok=True)
                    count += 1
                    continue
                is_old = unused_for is not None and time.time() - path.stat().st_mtime >= unused_for
                if (path.name in wanted or is_old) and _can_leave(content, engines or {}):
                    leaving.append((path, content))
                else:
                    staying.append(content)
                    referred.update(re.findall(_DIGEST, json.dumps(content)))
            kept = [content.get("record") for content in staying]
            for path, content in leaving:
                if content["files"] == _NOTHING and content["record"] not in kept:  # the engine has them
                    (engines or {})[content["engine"]].discard_export(content["record"], self._name())
                path.unlink(missing_ok=True)
                count += 1
            for path in list(self._files.glob("*")):
                if _DIGEST.fullmatch(path.name) and path.name not in referred:
                    path.unlink(missing_ok=True)
            self._reap()
        return count

    def _name(self) -> str:
        """Return the name of this store, which it keeps wherever its folder moves."""
        path = self.folder / "name"
        with suppress(FileExistsError), path.open("x") as file:
            file.write(secrets.token_hex(8))
        return path.read_text()

    def _content(self, digest: str) -> dict[str, Any]:
        if not _DIGEST.fullmatch(digest):
            raise EngineError(f"{digest!r} is no digest of a snapshot: 64 hexadecimal digits")
        try:
            content = _parsed(self._entries / digest)
        except OSError as error:
            raise EngineError(f"there is no snapshot {digest} in {self.folder} ({error.strerror})") from error
        if content is None:
            raise EngineError(f"the snapshot {digest} in {self.folder} is damaged; remove it with discard()")
        if content["format"] != _FORMAT:
            raise EngineError(f"the snapshot {digest} has the format {content['format']}; this version reads {_FORMAT}")
        return content

    @contextmanager
    def _opened(self, digest: str, files: str) -> Iterator[BinaryIO]:
        """Open the files of an entry, after a look at the digest of what is opened."""
        try:
            with (self._files / files).open("rb") as opened:
                if _digest_of(opened) != files:
                    raise EngineError(f"the files of the snapshot {digest} in {self.folder} are damaged")
                yield opened
        except OSError as error:
            raise EngineError(f"the files of the snapshot {digest} in {self.folder} cannot be read: {error}") from error

    @contextmanager
    def _scratch(self) -> Iterator[BinaryIO]:
        """Open a new file, which is removed unless it gets another name."""
        owner = ContainerOwner.this_process().short_name
        with tempfile.NamedTemporaryFile(dir=self._files, prefix=f".{owner}-", delete=False) as file:
            try:
                yield file  # type: ignore[misc]  # its wrapper has what a file has
            finally:
                Path(file.name).unlink(missing_ok=True)

    def _publish(self, file: BinaryIO, path: Path) -> None:
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o400)
        Path(file.name).replace(path)  # also a damaged one

    def _reap(self) -> None:
        """Remove the unfinished files of ended processes of this machine."""
        for path in self._files.glob(".*-*-*-*"):
            if ContainerOwner.has_ended(path.name[1:]):
                path.unlink(missing_ok=True)


_NOTHING = hashlib.sha256().hexdigest()


def _parsed(entry: Path) -> dict[str, Any] | None:
    """Return the content of an entry; None if it is not what its name says, or no entry of its format."""
    data = entry.read_bytes()
    if hashlib.sha256(data).hexdigest() != entry.name:
        return None
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        return None
    if content["format"] == _FORMAT and not all(isinstance(content.get(key), kind) for key, kind in _FIELDS.items()):
        return None
    return content


def _can_leave(content: Mapping[str, Any], engines: Mapping[str, Engine]) -> bool:
    """Return whether an entry can be removed: one of a later version stays, and what a missing engine keeps."""
    return content["format"] == _FORMAT and (content["files"] != _NOTHING or content["engine"] in engines)


def _digest_of(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(_AT_ONCE):
        digest.update(chunk)
    return digest.hexdigest()


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
