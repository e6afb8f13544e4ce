"""The changes of an agent that the pristine verifier carries over: :class:`CarryRules`."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.engines.base import FileChanges
from gem_terminal.task import Task

__all__ = ["COMMON_FOLDERS", "CarriedFiles", "CarryRules", "home_of", "named_paths"]

COMMON_FOLDERS = ("/app", "/data", "/home", "/mnt", "/output", "/srv", "/var/www", "/workspace")
"""Folders that are declared for every task, beside its working folder and the home of its agent."""

_NEVER = tuple(
    map(
        PurePosixPath,
        (
            "/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/logs", "/proc", "/run", "/sbin",
            "/solution", "/sys", "/tests", "/usr", "/etc/alternatives", "/etc/bash.bashrc", "/etc/environment",
            "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/passwd",
            "/etc/profile", "/etc/profile.d", "/etc/shadow", "/etc/sudoers",
        ),
    )
)  # fmt: skip
"""Paths that a mention in an instruction does not declare: tools, places of the tests, and what every shell reads."""
_VERIFIER = tuple(map(PurePosixPath, ("/dev", "/logs/verifier", "/proc", "/sys", "/tests")))
"""Paths that are never carried."""
_BROAD = frozenset(map(PurePosixPath, ("/", "/etc", "/opt", "/root", "/tmp", "/var", "/var/lib")))  # noqa: S108
"""Folders whose mention is no declaration; that of a path inside them is."""
_LINKED = tuple(map(PurePosixPath, ("/bin", "/lib", "/lib64", "/opt", "/sbin", "/usr")))
"""Folders that a carried link may lead to: they are the image's own."""

_RUNS_TESTS = re.compile(
    r"conftest\.py|\.?pytest\.(?:ini|toml)|pytest|_pytest|pluggy|pytest\.py|sitecustomize(?:\.py)?|usercustomize(?:\.py)?|.*\.pth"
    r"|\.venv|pyvenv\.cfg"
)
"""Names of files and folders whose only effect is on the programs that run tests."""
_HOOK = re.compile(r"(?:^|/)(?:\.git|[^/]*\.git)/hooks/")
_GIT_CONFIGURATION = re.compile(r"(?:^|/)(?:\.git|[^/]*\.git)/(?:modules/.*/)?config(?:\.worktree)?$")
_COMMANDS_OF_GIT = re.compile(
    rb"^\s*(?:askpass|[a-z0-9.-]*command|clean|smudge|process|driver|editor|fsmonitor|gitproxy|helper|hookspath|pager"
    rb"|path|program|sshcommand|textconv|trustexitcode|tool|[a-z0-9-]+\s*=\s*!)|^\s*\[\s*(?:alias|include|includeif|pager)",
    re.IGNORECASE,
)
"""Lines of a configuration of git that make it execute a command or read another configuration."""
_LONGEST_NAME = 4096
_MOST_MEMBERS = 250_000
_PATH = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))(?:/[\w.+@-]+)+", re.MULTILINE)
_PATH_AT_HOME = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))~(?:/[\w.+@-]+)+", re.MULTILINE)


class CarriedFiles(NamedTuple):
    """Changes that are safe to lay over a fresh container."""

    archive: bytes
    """An archive to unpack at the root."""
    folders: tuple[str, ...]
    """Folders in it, each before its content; a link of the image at such a path must be removed first."""
    removed: tuple[str, ...]
    """Paths to remove before that."""
    refused: tuple[str, ...]
    """Changed paths that are left behind."""


@dataclass(frozen=True)
class CarryRules:
    """The rules by which changes are carried.

    Carried are files, folders, and links that stay in the declared paths or lead to the image's tools. Left behind are
    devices, pipes and sockets; set-user-id bits of files; what lies on the search path or in the virtual environments
    of the image; dot files directly in a home; hooks of git, and lines of its configuration that execute something;
    and names such as ``conftest.py`` and ``sitecustomize.py``. A path that the task's author names is carried, whatever
    it is, except by the mention of a folder around it.
    """

    declared: tuple[PurePosixPath, ...]
    """The folders and files whose changes are carried."""
    named: frozenset[PurePosixPath] = frozenset()
    """Paths that the author names: exempt from the rules on names."""
    tools: tuple[PurePosixPath, ...] = ()
    """Folders whose files stay those of the image: its search path, and its virtual environments."""
    homes: tuple[PurePosixPath, ...] = ()
    """Home folders."""
    added: tuple[PurePosixPath, ...] = ()
    """Folders in which new files are carried, and changes of the image's files are not: installed packages."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The declared paths, without those inside others."""
        paths = sorted({*self.declared, *self.added})
        return tuple(str(path) for path in paths if not any(other in path.parents for other in paths))

    def carried(self, changes: FileChanges, existing: Callable[[Sequence[str]], frozenset[str]]) -> CarriedFiles:
        """Return the part of the changes to carry.

        Args:
            changes: the changes in :attr:`folders`.
            existing: returns the paths that exist in the image.

        Raises:
            tarfile.TarError, EOFError, OverflowError, ValueError: if an archive is none.
        """
        made, folders, refused = _Archive(), list[str](), list[str]()
        installed = self._installed(changes, existing) if self.added else frozenset()
        for path, member, content in _members(changes):
            is_declared = any(_within(path, place) for place in self.declared)
            if self._refuses(path, member) or not (is_declared or path in installed):
                refused.append(str(path))
                continue
            if member.isreg() and member.name.endswith("entry_points.txt") and b"pytest11" in bytes(content):
                refused.append(str(path))
                continue
            if member.isdir():
                folders.append(str(path))
            if member.isreg() and _GIT_CONFIGURATION.search(str(path)) and path not in self.named:
                content = _without_commands(bytes(content))
            if not made.add(path, member, content):
                refused.append(str(path))
        removed = tuple(path for path in changes.removed if self._may_remove(PurePosixPath(path)))
        return CarriedFiles(made.close(), tuple(folders), removed, tuple(refused))

    def _may_remove(self, path: PurePosixPath) -> bool:
        return any(_within(path, place) for place in self.declared) and not self._keeps(path)

    def _installed(
        self, changes: FileChanges, existing: Callable[[Sequence[str]], frozenset[str]]
    ) -> frozenset[PurePosixPath]:
        """Return the new paths in :attr:`added` that hide no command of the image."""
        new = [path for path, _, _ in _members(changes) if any(_within(path, place) for place in self.added)]
        rivals = {path: [str(tools / path.name) for tools in self.tools] for path in new if path.parent in self.tools}
        asked = dict.fromkeys([*map(str, new), *(each for some in rivals.values() for each in some)])
        found = existing(tuple(asked))
        return frozenset(path for path in new if found.isdisjoint([str(path), *rivals.get(path, ())]))

    def _refuses(self, path: PurePosixPath, member: tarfile.TarInfo) -> bool:
        if self._keeps(path) or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            return True
        return member.issym() and not self._may_lead_to(path.parent, member.linkname)

    def _keeps(self, path: PurePosixPath) -> bool:
        """Return whether a path stays as it is in the image."""
        if ".." in path.parts or not any(_within(path, place) for place in (*self.declared, *self.added)):
            return True
        if any(_within(path, place) for place in _VERIFIER):
            return True
        if path in self.named:
            return False
        if any(_within(path, tools) for tools in self.tools):
            return not any(_within(path, place) for place in self.added)
        if any(home in path.parents and path.relative_to(home).parts[0].startswith(".") for home in self.homes):
            return not any(_within(path, name) for name in self.named if name not in self.homes)
        if _HOOK.search(str(path)):
            return True
        around = max((len(name.parts) for name in self.named if name in path.parents), default=0)
        return any(_RUNS_TESTS.fullmatch(part) for part in path.parts[around:])

    def _may_lead_to(self, folder: PurePosixPath, target: str) -> bool:
        """Return whether a link stays in the declared paths or leads to the tools of the image."""
        if not target or len(target) > _LONGEST_NAME:
            return False
        parts = PurePosixPath(target).parts
        goal = folder
        while parts and parts[0] == "..":
            goal, parts = goal.parent, parts[1:]
        goal = goal.joinpath(*parts)
        return ".." not in parts and any(_within(goal, place) for place in (*self.declared, *_LINKED))


def named_paths(task: Task, home: PurePosixPath | None = None) -> tuple[PurePosixPath, ...]:
    """Return the paths that a task's author declares: in ``pristine_paths`` of its metadata, and in the instruction.

    Args:
        task: the task.
        home: the meaning of ``~``.
    """
    given = task.metadata.get("pristine_paths")
    declared = [PurePosixPath(path) for path in given if isinstance(path, str)] if isinstance(given, list) else []
    text = "\n".join([task.instruction, *(step.instruction for step in task.steps)])
    mentioned = [PurePosixPath(found.rstrip(".")) for found in _PATH.findall(text)]
    if home is not None:
        mentioned += [home / found.rstrip(".").lstrip("~/") for found in _PATH_AT_HOME.findall(text)]
    return tuple(
        dict.fromkeys(
            [path for path in declared if path.is_absolute()]
            + [
                path
                for path in mentioned
                if ".." not in path.parts and path not in _BROAD and not any(_within(path, never) for never in _NEVER)
            ]
        )
    )


class _Archive:
    """An archive that is written with permitted fields only."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115  # closed by close()
        self._files: set[str] = set()

    def add(self, path: PurePosixPath, member: tarfile.TarInfo, content: bytes | memoryview) -> bool:
        """Add an entry; return False for a hard link to a file that is not carried."""
        copy = tarfile.TarInfo(str(path).lstrip("/"))
        copy.uid, copy.gid, copy.mtime = member.uid, member.gid, int(member.mtime)
        copy.mode = member.mode & (0o3777 if member.isdir() else 0o777)
        if member.islnk():
            if member.linkname not in self._files:
                return False
            copy.type, copy.linkname = tarfile.LNKTYPE, member.linkname
        elif member.issym():
            copy.type, copy.linkname = tarfile.SYMTYPE, member.linkname
        elif member.isdir():
            copy.type = tarfile.DIRTYPE
        else:
            copy.size = len(content)
            self._files.add(copy.name)
        self._tar.addfile(copy, io.BytesIO(content))
        return True

    def close(self) -> bytes:
        self._tar.close()
        return self._buffer.getvalue()


def _members(changes: FileChanges) -> Iterator[tuple[PurePosixPath, tarfile.TarInfo, bytes | memoryview]]:
    """Yield the changed entries with their absolute paths; targets of hard links become names below the root."""
    links: set[PurePosixPath] = set()
    seen: set[PurePosixPath] = set()
    for parent, archive in changes.archives:
        base = PurePosixPath(parent)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as given:
            for number, member in enumerate(given):
                if number >= _MOST_MEMBERS or member.size < 0:
                    raise ValueError(f"it has more than {_MOST_MEMBERS} entries, or a malformed one")
                names = PurePosixPath(member.name).parts
                if not names or ".." in names or names[0] == "/" or len(member.name) > _LONGEST_NAME:
                    continue
                path = base.joinpath(*names)
                if path in seen or not links.isdisjoint(path.parents):  # no real tree is like that
                    continue
                if not changes.has(path):
                    continue
                seen.add(path)
                if member.issym():
                    links.add(path)
                if member.islnk():
                    member.linkname = str(base.joinpath(*PurePosixPath(member.linkname).parts)).lstrip("/")
                content: bytes | memoryview = b""
                if member.isreg():
                    content = memoryview(archive)[member.offset_data : member.offset_data + member.size]
                    if member.issparse() or len(content) < member.size:
                        raise EOFError(f"{member.name} is cut off")
                yield path, member, content


def _without_commands(configuration: bytes) -> bytes:
    return b"".join(line for line in _joined(configuration) if not _COMMANDS_OF_GIT.match(line.lstrip(b"\xef\xbb\xbf")))


def _joined(configuration: bytes) -> Iterable[bytes]:
    """Yield the lines; one that ends with a backslash goes on in the next, and an assignment may follow a heading."""
    text = configuration.replace(b"\r\n", b"\n").replace(b"\\\n", b"")
    for line in text.splitlines(keepends=True):
        heading, closed, rest = line.partition(b"]")
        if closed and heading.lstrip().startswith(b"[") and rest.strip():
            yield heading + b"]\n"
            yield rest
        else:
            yield line


def _within(path: PurePosixPath, place: PurePosixPath) -> bool:
    return path == place or place in path.parents


def home_of(passwd: Sequence[str], user: str | None) -> PurePosixPath | None:
    """Return the home of a user, given by name or number, from the lines of ``/etc/passwd``."""
    for line in passwd:
        fields = line.split(":")
        if len(fields) >= 6 and (user or "root") in (fields[0], fields[2]) and fields[5].startswith("/"):
            return PurePosixPath(fields[5])
    return None
