"""The archives of an agent's changes: read as :class:`ChangedEntry`, written by :class:`CarriedArchive`."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.engines.base import FileChanges
from gem_terminal.verdicts.paths import LONGEST_PATH

__all__ = ["CarriedArchive", "ChangedEntry", "entries_of"]

_MOST_MEMBERS = 250_000


class ChangedEntry(NamedTuple):
    """A file, folder or link that an agent has changed or made."""

    path: PurePosixPath
    member: tarfile.TarInfo
    content: bytes | memoryview
    """Of a regular file, or of the file that a hard link is another name of."""


def entries_of(changes: FileChanges) -> Iterator[ChangedEntry]:
    """Yield the changed entries with their absolute paths; targets of hard links become names below the root."""
    links: set[PurePosixPath] = set()
    folders: set[PurePosixPath] = set()
    seen: set[PurePosixPath] = set()
    contents: dict[str, memoryview] = {}
    for parent, archive in changes.archives:
        base = PurePosixPath(parent)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as given:
            for number, member in enumerate(given):
                if number >= _MOST_MEMBERS or member.size < 0:
                    raise ValueError(f"it has more than {_MOST_MEMBERS} entries, or a malformed one")
                names = PurePosixPath(member.name).parts
                if not names or ".." in names or names[0] == "/" or len(member.name) > LONGEST_PATH:
                    continue
                path = base.joinpath(*names)
                inside_link = bool(links) and path.parent not in folders and not links.isdisjoint(path.parents)
                if path in seen or inside_link:  # no real tree is like that
                    continue
                if member.isdir():
                    folders.add(path)
                content: bytes | memoryview = b""
                if member.isreg():
                    content = memoryview(archive)[member.offset_data : member.offset_data + member.size]
                    if member.issparse() or len(content) < member.size:
                        raise EOFError(f"{member.name} is cut off")
                    contents[str(path).lstrip("/")] = content
                elif member.islnk():
                    member.linkname = str(base.joinpath(*PurePosixPath(member.linkname).parts)).lstrip("/")
                    if member.linkname not in contents:  # no engine lists a link before its file
                        continue
                    content = contents[member.linkname]
                if not changes.has(path):
                    continue
                seen.add(path)
                if member.issym():
                    links.add(path)
                yield ChangedEntry(path, member, content)


class _Reader:
    """A part of an archive as a file, without a copy of it."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._left = memoryview(content)

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end only."""
        data, self._left = bytes(self._left[:size]), self._left[size:]
        return data


class CarriedArchive:
    """An archive that is written with permitted fields only."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115  # closed by close()
        self._files: set[str] = set()
        self._latest = int(time.time()) - 1

    def add(self, path: PurePosixPath, member: tarfile.TarInfo, content: bytes | memoryview, is_old: bool) -> None:
        """Add an entry; a hard link to a file that is not in the archive becomes a file of its own.

        No time is later than this: make would take what an agent built for newer than the tests. What make makes has
        the oldest time of all, so that it is made anew.
        """
        copy = tarfile.TarInfo(str(path).lstrip("/"))
        copy.uid, copy.gid, copy.mtime = member.uid, member.gid, 0 if is_old else min(int(member.mtime), self._latest)
        copy.mode = member.mode & (0o3777 if member.isdir() else 0o1777)
        if member.islnk() and member.linkname in self._files:
            copy.type, copy.linkname = tarfile.LNKTYPE, member.linkname
        elif member.issym():
            copy.type, copy.linkname = tarfile.SYMTYPE, member.linkname
        elif member.isdir():
            copy.type = tarfile.DIRTYPE
        else:
            copy.size = len(content)
            self._files.add(copy.name)
        self._tar.addfile(copy, _Reader(content))  # type: ignore[arg-type]  # tarfile only calls read

    def close(self) -> bytes:
        self._tar.close()
        return self._buffer.getvalue()
