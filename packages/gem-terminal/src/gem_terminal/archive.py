"""Tar archives of folders that are copied into a container, or from one container to another."""

from __future__ import annotations

import fnmatch
import io
import re
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from gem_terminal.task import Artifact

__all__ = ["archive_of", "file_archive", "files_archive", "files_in", "folders", "has_open_modes", "sanitize_artifact"]

_LONGEST_NAME = 4096
"""The longest path of Linux in bytes (``PATH_MAX``)."""
_MOST_MEMBERS = 250_000
"""The limit on entries of an archive; each takes about a kilobyte of memory."""


def archive_of(
    sources: Iterable[Path], root: str, *, readable: bool = False, existing: bool = False, renewed: bool = False
) -> bytes:
    """Return a tar archive of files, and of the content of folders, under ``root/``: owned by root, with their modes.

    Args:
        sources: files and folders; missing ones are left out.
        root: the folder inside the archive.
        readable: whether every user may read the files and execute scripts (``*.sh``), independent of the modes.
        renewed: whether the files have the time of this moment, so that make takes nothing of before for newer.
        existing: whether the folder ``root`` exists where the archive is unpacked, and keeps its mode and owner.
    """
    buffer = io.BytesIO()
    now = int(time.time())

    def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        if readable:
            member.mode |= 0o555 if member.isdir() or member.name.endswith(".sh") else 0o444
        if renewed:
            member.mtime = now
        return member

    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for source in sources:
            if source.is_dir() and existing:
                for child in sorted(source.iterdir()):
                    archive.add(child, arcname=f"{root}/{child.name}", filter=owned_by_root)
            elif source.exists():
                arcname = root if source.is_dir() else f"{root}/{source.name}"
                archive.add(source, arcname=arcname, filter=owned_by_root)
    return buffer.getvalue()


def file_archive(name: str, content: bytes, mode: int = 0o644) -> bytes:
    """Return a tar archive of one file, which belongs to root."""
    return files_archive({name: (content, mode)}, "")


def files_archive(files: Mapping[str, tuple[bytes, int]], root: str) -> bytes:
    """Return a tar archive of files below a folder, which belong to root.

    Args:
        files: path below the folder → content and mode.
        root: the folder inside the archive; empty for none.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, (content, mode) in files.items():
            member = tarfile.TarInfo(f"{root}/{name}" if root else name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def folders(*paths: str) -> bytes:
    """Return a tar archive of empty folders that every user may write to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in paths:
            member = tarfile.TarInfo(path)
            member.type, member.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(member)
    return buffer.getvalue()


def sanitize_artifact(
    archive: bytes, artifact: Artifact, artifacts: Sequence[Artifact], never: Sequence[str] = ()
) -> bytes:
    """Make an archive of an artifact safe to unpack in another container, at the same path.

    Files, folders, and links to other artifacts are kept. Links to other places, such as the tests, are dropped, and
    so are devices, pipes, set-user-id bits, and names that leave the artifact.

    Args:
        archive: the archive of ``Container.get``; it may be hostile.
        artifact: the artifact of the archive.
        artifacts: all artifacts of the task.
        never: paths that are dropped with their content.

    Returns:
        An archive to unpack at the root.

    Raises:
        tarfile.TarError, EOFError, OverflowError, ValueError: if the data is not an archive.
    """
    source = PurePosixPath(artifact.source)
    sources = [PurePosixPath(other.source) for other in artifacts]
    barred = [PurePosixPath(path) for path in never]
    left_out = [re.compile(f"(?:^|/){fnmatch.translate(each)[:-2]}(?:/|$)") for each in artifact.exclude]
    buffer = io.BytesIO()
    files: dict[str, str] = {}
    seen: set[PurePosixPath] = set()
    links: set[PurePosixPath] = set()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as given, tarfile.open(fileobj=buffer, mode="w") as made:
        for number, member in enumerate(given):
            if number >= _MOST_MEMBERS or member.size < 0:
                raise ValueError(f"it has more than {_MOST_MEMBERS} entries, or a malformed one")
            names = PurePosixPath(member.name).parts
            if not names or names[0] != source.name or ".." in names or len(member.name) > _LONGEST_NAME:
                continue
            if any(pattern.search("/".join(names[1:])) for pattern in left_out):
                continue
            path = source.joinpath(*names[1:])
            if path in seen or not links.isdisjoint(path.parents):  # no real tree is that deep
                continue
            if any(path == kept_out or kept_out in path.parents for kept_out in barred):
                continue
            seen.add(path)
            content: bytes | memoryview = b""
            copy = _plain_header(member, path)
            if member.issym():
                links.add(path)
                if not _stays_inside(path.parent, member.linkname, sources):
                    continue
                copy.type, copy.linkname = tarfile.SYMTYPE, member.linkname
            elif member.islnk() and member.linkname in files:
                copy.type, copy.linkname = tarfile.LNKTYPE, files[member.linkname]
            elif member.isdir():
                copy.type = tarfile.DIRTYPE
            elif member.isreg() and not member.issparse():
                content = memoryview(archive)[member.offset_data : member.offset_data + member.size]
                if len(content) < member.size:
                    raise EOFError(f"{member.name} is cut off")
                copy.size = member.size
                files[member.name] = copy.name
            else:
                continue
            made.addfile(copy, io.BytesIO(content))
    return buffer.getvalue()


def files_in(archive: bytes, longest: Mapping[str, int]) -> dict[str, bytes | ValueError]:
    """Return the contents of files in an archive.

    Args:
        archive: the result of ``Container.get``.
        longest: the name of a member → its size limit in bytes.

    Returns:
        Name → content, or the error that prevents reading it; missing members are left out.
    """
    found: dict[str, bytes | ValueError] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as given:
            for member in given:
                if member.name not in longest:
                    continue
                if not member.isreg() or member.issparse():
                    found[member.name] = ValueError("it is not a regular file")
                elif member.size > longest[member.name]:
                    found[member.name] = ValueError(f"it is longer than {longest[member.name]} bytes")
                else:
                    found[member.name] = archive[member.offset_data : member.offset_data + member.size]
    except tarfile.TarError as error:
        return {name: ValueError(f"it cannot be read: {error}") for name in longest}
    return found


def has_open_modes(archive: bytes, names: Sequence[str]) -> bool:
    """Return whether other users than the owner, and other groups, may write one of these files and folders."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as given:
            return any(member.name in names and member.mode & 0o022 and not member.mode & 0o1000 for member in given)
    except tarfile.TarError:
        return False


def _plain_header(member: tarfile.TarInfo, path: PurePosixPath) -> tarfile.TarInfo:
    """Return a header with the permitted fields of another one of any type."""
    copy = tarfile.TarInfo(str(path).lstrip("/"))
    copy.mode, copy.uid, copy.gid, copy.mtime = member.mode & 0o1777, member.uid, member.gid, int(member.mtime)
    return copy


def _stays_inside(folder: PurePosixPath, target: str, sources: Sequence[PurePosixPath]) -> bool:
    """Return whether a link leads to a path inside the artifacts, whatever other links it passes.

    The target may first go up from the link's own folder, which is not a link, and then down. Every link on the way
    down stays inside for the same reason. It must not go up again, because the folder at that point is unknown.
    """
    if not target or len(target) > _LONGEST_NAME:
        return False
    parts = PurePosixPath(target).parts
    goal = folder
    while parts and parts[0] == "..":
        goal, parts = goal.parent, parts[1:]
    goal = goal.joinpath(*parts)
    return ".." not in parts and any(source == goal or source in goal.parents for source in sources)
