"""The changes of an agent that the pristine verifier carries over: :class:`CarryRules`."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.engines.base import FileChanges
from gem_terminal.task import Task
from gem_terminal.verdicts import git_configuration
from gem_terminal.verdicts.carried_kinds import (
    FileKind,
    is_library_folder,
    is_library_source,
    is_reserved,
    is_runner,
    is_setting,
    is_start_up,
    is_test_folder,
    is_test_source,
    kind_of,
    known_modules,
    module_name,
    repository_of,
)

__all__ = [
    "COMMON_FOLDERS",
    "CarriedFiles",
    "CarryRules",
    "ChangedEntry",
    "Declarations",
    "declarations_of",
    "entries_of",
    "home_of",
]

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
_SETTINGS = PurePosixPath("/etc")

_LONGEST_NAME = 4096
_LARGEST_OBJECT, _PORTION = 256 << 20, 1 << 20
"""Bytes of an object of git, and of it at once."""
_MOST_MEMBERS = 250_000
_PATH = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))(?:/[\w.+@-]+)+", re.MULTILINE)
_PATH_AT_HOME = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))~(?:/[\w.+@-]+)+", re.MULTILINE)
_WORD = re.compile(r"[\w+@.-]+")


class Declarations(NamedTuple):
    """What the author of a task says about the files that count."""

    stated: tuple[PurePosixPath, ...] = ()
    """Paths in ``pristine_paths`` of the metadata: carried whatever they are. What is in such a folder is carried too,
    unless its name is reserved for programs that run tests."""
    patterns: tuple[str, ...] = ()
    """Patterns there, with ``*``, ``?`` and ``**``: what fits is carried whatever it is."""
    paths: tuple[PurePosixPath, ...] = ()
    """Paths that the instruction mentions."""
    names: frozenset[str] = frozenset()
    """Words of the instruction, which may be names of files."""

    @property
    def places(self) -> tuple[PurePosixPath, ...]:
        """The paths and folders that this declares."""
        folders = [PurePosixPath(re.split(r"/[^/]*[*?]", pattern, maxsplit=1)[0] or "/") for pattern in self.patterns]
        return tuple(dict.fromkeys((*self.stated, *folders, *self.paths)))


class CarriedFiles(NamedTuple):
    """Changes that are safe to lay over a fresh container."""

    archive: bytes
    """An archive to unpack at the root."""
    folders: tuple[str, ...]
    """Folders in it, each before its content; what else the image has at such a path must be removed first."""
    others: tuple[str, ...]
    """Files and links in it; a folder that the image has at such a path must be removed first."""
    removed: tuple[str, ...]
    """Paths to remove before that."""
    refused: tuple[str, ...]
    """Changed paths that are left behind."""
    undeclared: tuple[str, ...] = ()
    """Those of them, outside repositories, that a word of the task's author would let through."""
    kept: tuple[str, ...] = ()
    """Those of them that lie in removed folders: where the image has a file there, it stays."""
    sheltered: tuple[str, ...] = ()
    """Removed paths which, if they are folders, leave the image's tests in them behind."""
    packs: tuple[str, ...] = ()
    """Packs of objects of git, which need an index."""
    indexes: tuple[str, ...] = ()
    """Indexes of work trees of git, whose marks would hide changes from it."""


class ChangedEntry(NamedTuple):
    """A file, folder or link that an agent has changed or made."""

    path: PurePosixPath
    member: tarfile.TarInfo
    content: bytes | memoryview
    """Of a regular file, or of the file that a hard link is another name of."""


class _Trees:
    """The agent's entries, and the image below them."""

    def __init__(self, entries: Iterable[ChangedEntry]) -> None:
        self.types: dict[PurePosixPath, bytes] = {}
        self.links: dict[PurePosixPath, PurePosixPath] = {}
        """Links → where they lead to."""
        self.image: Mapping[str, bool] = {}
        """Paths of the image → whether they are folders. Only those that :class:`CarryRules` asks for."""
        for path, member, _ in entries:
            self.types[path] = member.type
            if member.issym() and (goal := _goal(path.parent, member.linkname)) is not None:
                self.links[path] = goal

    def has_folder(self, path: PurePosixPath) -> bool:
        """Return whether a path is a folder, and no link to one, when the agent's files lie over the image."""
        made = self.types.get(path)
        return self.image.get(str(path), False) if made is None else made == tarfile.DIRTYPE


@dataclass(frozen=True)
class CarryRules:
    """The rules by which changes are carried.

    Carried are files of the kinds that :mod:`~gem_terminal.verdicts.carried_kinds` lists, folders, links that stay in
    the declared paths or lead to the image's tools, and the content of repositories of git. Left behind are devices,
    pipes and sockets; set-user-id bits of files; what lies on the search path or in the virtual environments of the
    image; files whose names begin with a dot; configurations, build files and everything else that programs read on
    their own accord; what make would take for a target that it has made; sources of tests; new modules that would take
    the place of Python's library; and changes of the image's own scripts and programs. The author opens these by
    naming them; see :class:`Declarations`.
    """

    declared: tuple[PurePosixPath, ...]
    """The folders and files whose changes are carried."""
    author: Declarations = field(default_factory=Declarations)
    tools: tuple[PurePosixPath, ...] = ()
    """Folders whose files stay those of the image: its search paths, and its virtual environments."""
    added: tuple[PurePosixPath, ...] = ()
    """Folders in which new files are carried, and changes of the image's files are not: installed packages."""
    modules: frozenset[str] = field(default_factory=known_modules)
    """Names that Python imports from its library, from installed packages, or from beside the tests."""
    targets: Mapping[PurePosixPath, bool] = field(default_factory=dict)
    """Paths that the image's makefiles make, and whether they have prerequisites."""
    landings: frozenset[PurePosixPath] = frozenset()
    """Folders into which the tests copy their files."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The declared paths, without those inside others."""
        paths = sorted({*self.declared, *self.added})
        return tuple(str(path) for path in paths if not any(other in path.parents for other in paths))

    def carried(self, changes: FileChanges, look: Callable[[Sequence[str]], Mapping[str, bool]]) -> CarriedFiles:
        """Return the part of the changes to carry.

        Args:
            changes: the changes in :attr:`folders`.
            look: returns which of some paths exist in the image, and whether they are folders.

        Raises:
            tarfile.TarError, EOFError, OverflowError, ValueError: if an archive is none.
        """
        made = _Archive()
        folders, others, refused, undeclared = list[str](), list[str](), list[str](), list[str]()
        replaced = list[str]()
        entries = list(entries_of(changes))
        trees = _Trees(entries)
        trees.image = look(tuple(dict.fromkeys(asked for entry in entries for asked in self._questions(entry))))
        for entry in entries:
            path, member, content = entry
            if not _is_ordinary(member):  # it may have taken the place of a file of the image
                replaced.append(str(path))
                continue
            if not self._has_place(path, trees) or self._leads_out(path, member):
                refused.append(str(path))
                continue
            if not self._may_be(entry, trees):
                refused.append(str(path))
                undeclared += [str(path)] if repository_of(path) is None else []
                continue
            (folders if member.isdir() else others).append(str(path))
            if (member.isreg() or member.islnk()) and not self._is_named(path):
                content = _cleaned(path, content)
            made.add(path, member, content, is_old=path in self.targets)
        removed = tuple(path for path in (*changes.removed, *replaced) if self._may_remove(PurePosixPath(path)))
        gone = frozenset(removed)
        kept = tuple(path for path in refused if not gone.isdisjoint(map(str, (path, *PurePosixPath(path).parents))))
        sheltered = tuple(path for path in removed if not self._is_meant(PurePosixPath(path)))
        inner = {path: repository_of(PurePosixPath(path)) for path in others if not self._is_named(PurePosixPath(path))}
        return CarriedFiles(
            made.close(),
            tuple(folders),
            tuple(others),
            removed,
            (*refused, *replaced),
            tuple(undeclared),
            kept,
            sheltered,
            tuple(path for path, inside in inner.items() if inside is not None and inside.is_pack),
            tuple(path for path, inside in inner.items() if inside is not None and inside.is_work_tree_index),
        )

    def _questions(self, entry: ChangedEntry) -> Iterator[str]:
        """Yield the paths of the image that the rules on an entry depend on."""
        path, member, content = entry
        if any(_within(path, place) for place in self.added):
            yield str(path)
            if path.parent in self.tools:
                yield from (str(tools / path.name) for tools in self.tools)
            if _SETTINGS in path.parents:
                yield str(_SETTINGS.joinpath(*path.parts[2:3]))
        if member.issym() and (goal := _goal(path.parent, member.linkname)) is not None:
            yield str(goal)
        if _is_in_tests(self._inner(path)):
            yield str(path)
        elif not member.isdir() and (kind := kind_of(path.name, content)) in (FileKind.PROGRAM, FileKind.SOURCE):
            yield str(path)
            if kind is FileKind.PROGRAM:
                yield from (str(tools / path.name) for tools in self.tools)
        yield from map(str, self._targets_around(path))
        if module_name(path) == "__init__":
            yield from map(str, (path, path.parent))
        if (shadowing := self._shadowing(path)) is not None:
            yield from (str(path), str(shadowing), str(shadowing / "__init__.py"))

    def _has_place(self, path: PurePosixPath, trees: _Trees) -> bool:
        """Return whether changes at a path may be carried at all, whatever they are."""
        if ".." in path.parts or any(_within(path, place) for place in _VERIFIER):
            return False
        if any(_within(path, place) for place in self.added) and self._is_installed(path, trees):
            return True
        return self._is_named(path) or (
            any(_within(path, place) for place in self.declared)
            and not any(_within(path, tools) for tools in self.tools)
        )

    def _is_installed(self, path: PurePosixPath, trees: _Trees) -> bool:
        """Return whether a path in :attr:`added` is new and hides no command or setting of the image."""
        asked = [str(path)]
        if path.parent in self.tools:
            asked += [str(tools / path.name) for tools in self.tools]
        if _SETTINGS in path.parents:  # those of a new package lie in a folder of their own
            asked.append(str(_SETTINGS.joinpath(*path.parts[2:3])))
            if path.parent == _SETTINGS and trees.types.get(path) != tarfile.DIRTYPE:
                return False
        return trees.image.keys().isdisjoint(asked)

    def _leads_out(self, path: PurePosixPath, member: tarfile.TarInfo) -> bool:
        """Return whether a link leads neither into the declared paths nor to the tools of the image."""
        if not member.issym():
            return False
        goal = _goal(path.parent, member.linkname)
        return goal is None or not any(_within(goal, place) for place in (*self.declared, *_LINKED))

    def _may_be(self, entry: ChangedEntry, trees: _Trees) -> bool:
        """Return whether a file, folder or link of this name and kind may be carried."""
        path, member, content = entry
        if self._is_named(path):
            return True
        if any(_within(path, place) for place in self.added):
            plugin = member.isreg() and path.name == "entry_points.txt" and b"pytest11" in bytes(content)
            return not plugin and not is_start_up(path.parts[1:])
        if (inside := repository_of(path)) is not None:
            is_folder = member.isdir() or bool(inside.inner)
            is_content = inside.is_content and _is_object(inside.object_name, member, content)
            return is_folder and not member.issym() and (is_content or inside.is_configuration)
        inner = self._inner(path)
        if is_reserved(inner):
            return False
        if any(_within(path, place) for place in self._opened):
            return True
        if self._seems_made(path, member, trees):
            return False
        is_mentioned = path in self.author.paths or path.name in self.author.names
        if _is_hidden(inner, is_mentioned):
            return False
        is_new = str(path) not in trees.image
        if _is_in_tests(inner) and not is_new and path not in self.author.paths:  # what the tests expect
            return member.isdir() and trees.image[str(path)]
        if member.isdir():
            return True
        kind = kind_of(path.name, content)
        if kind is FileKind.OTHER:
            goal = _goal(path.parent, member.linkname) if member.issym() else None
            is_looked_up = is_test_folder(path.name) or is_library_folder(path.name)
            return is_mentioned or (goal is not None and trees.has_folder(goal) and not is_looked_up)
        if kind is FileKind.PROGRAM and not is_mentioned:
            is_command = any(str(tools / path.name) in trees.image for tools in self.tools)
            if is_command or not is_new:
                return False
        if is_runner(path.name) and not (is_new or is_mentioned):
            return False
        if kind is not FileKind.DATA and is_test_source(PurePosixPath(*inner)):  # a library comes before a source
            return is_new and is_mentioned
        return is_mentioned or not (self._shadows(path, trees) or self._encloses_tests(path, trees))

    def _inner(self, path: PurePosixPath) -> tuple[str, ...]:
        """Return the parts of a path below the folder that is declared without a word of the instruction."""
        roots = [*self._opened, *(place for place in self.declared if place not in self.author.paths)]
        return path.parts[max((len(place.parts) for place in roots if _within(path, place)), default=1) :]

    @property
    def _opened(self) -> tuple[PurePosixPath, ...]:
        """Folders whose files may be of any kind: stated ones, and mentioned ones that hold settings by their place."""
        return (
            *self.author.stated,
            *(
                path
                for path in self.author.paths
                if _SETTINGS in path.parents or any(part.startswith(".") for part in path.parts)
            ),
        )

    def _is_meant(self, path: PurePosixPath) -> bool:
        """Return whether the author names exactly this path, or opens a folder around it."""
        return self._is_named(path) or path in self.author.paths or any(_within(path, place) for place in self._opened)

    def _is_named(self, path: PurePosixPath) -> bool:
        return path in self.author.stated or any(_fits(path, pattern) for pattern in self.author.patterns)

    def _shadowing(self, path: PurePosixPath) -> PurePosixPath | None:
        """Return the folder in which Python would find a file as a module of its library; None for other files."""
        name, folder = module_name(path), path.parent
        if name == "__init__":
            name, folder = folder.name, folder.parent
        return folder if name in self.modules else None

    def _targets_around(self, path: PurePosixPath) -> list[PurePosixPath]:
        return [place for place in (path, *path.parents) if place in self.targets]

    def _seems_made(self, path: PurePosixPath, member: tarfile.TarInfo, trees: _Trees) -> bool:
        """Return whether make would take a new entry, or the folder around it, for a target that it has made.

        A file that has prerequisites may come; it is older than any of them.
        """
        return any(
            str(place) not in trees.image
            and not any(_within(mentioned, place) for mentioned in self.author.paths)
            and (place != path or not member.isreg() or not self.targets[place])
            for place in self._targets_around(path)
        )

    def _shadows(self, path: PurePosixPath, trees: _Trees) -> bool:
        """Return whether a new file would be taken in place of one of a library.

        For a module of Python that is so in any folder that is on the search path, which the tests decide. Modules
        inside packages have longer names: a folder is a package if the image says so, or if it is new and no link leads
        to it.
        """
        if str(path) in trees.image:
            return False
        folder = self._shadowing(path)
        if folder is None:
            return is_library_source(path)
        begin = folder / "__init__.py"
        is_new_package = (
            begin in trees.types
            and str(folder) not in trees.image
            and folder not in self.author.paths
            and not any(_within(folder, goal) for goal in trees.links.values())
        )
        return str(begin) not in trees.image and not is_new_package

    def _encloses_tests(self, path: PurePosixPath, trees: _Trees) -> bool:
        """Return whether a new file would make a package of a folder in which tests may lie, which imports it.

        Such are folders at the root or declared for every task, whose module nobody imports, and unless the instruction
        names them, the folders of the image and those that the tests copy their files to. All are packages without it.
        """
        folder = path.parent
        if module_name(path) != "__init__" or str(path) in trees.image:
            return False
        if len(folder.parts) < 3 or str(folder) in COMMON_FOLDERS:
            return True
        is_named = folder in self.author.paths or folder.name in self.author.names
        return not is_named and (str(folder) in trees.image or self._is_landing(folder, trees))

    def _is_landing(self, folder: PurePosixPath, trees: _Trees) -> bool:
        """Return whether the tests copy their files to a folder, by its own path or through a link."""
        return folder in self.landings or any(
            _within(landing, link) and folder == goal / landing.relative_to(link)
            for link, goal in trees.links.items()
            for landing in self.landings
        )

    def _may_remove(self, path: PurePosixPath) -> bool:
        if self._is_named(path):
            return True
        inside, inner = repository_of(path), self._inner(path)
        is_meant = inside is not None or self._is_meant(path)
        if not is_meant and (_is_test(inner) or (is_setting(path.name) and path.name not in self.author.names)):
            return False
        return (
            any(_within(path, place) for place in self.declared)
            and ".." not in path.parts
            and not any(_within(path, place) for place in (*_VERIFIER, *self.tools))
            and (inside.is_content or inside.is_index if inside is not None else not is_reserved(inner))
        )


def declarations_of(task: Task, home: PurePosixPath | None = None) -> Declarations:
    """Return what a task's author declares: in ``pristine_paths`` of its metadata, and in the instruction.

    Args:
        task: the task.
        home: the meaning of ``~``.
    """
    given = task.metadata.get("pristine_paths")
    stated = (
        [path for path in given if isinstance(path, str) and path.startswith("/")] if isinstance(given, list) else []
    )
    text = "\n".join([task.instruction, *(step.instruction for step in task.steps)])
    mentioned = [PurePosixPath(found.rstrip(".")) for found in _PATH.findall(text)]
    if home is not None:
        mentioned += [home / found.rstrip(".").lstrip("~/") for found in _PATH_AT_HOME.findall(text)]
    is_pattern = re.compile(r"[*?]").search
    return Declarations(
        tuple(PurePosixPath(path) for path in stated if not is_pattern(path)),
        tuple(path for path in stated if is_pattern(path)),
        tuple(
            dict.fromkeys(
                path
                for path in mentioned
                if ".." not in path.parts and path not in _BROAD and not any(_within(path, never) for never in _NEVER)
            )
        ),
        frozenset(word.rstrip(".") for word in _WORD.findall(text)),
    )


def _is_hidden(parts: Sequence[str], is_mentioned: bool) -> bool:
    """Return whether a folder's name begins with a dot, or that of a file which is no data and not mentioned."""
    *around, name = parts or ("",)
    is_open = is_mentioned or kind_of(name, b"") is FileKind.DATA
    return any(part.startswith(".") for part in around) or (name.startswith(".") and not is_open)


def _cleaned(path: PurePosixPath, content: bytes | memoryview) -> bytes | memoryview:
    """Return a file without what git would execute, or take in place of a commit."""
    inside = repository_of(path)
    if inside is not None and inside.is_configuration:
        return git_configuration.clean(bytes(content))
    if inside is not None and inside.is_references:
        return b"".join(line for line in bytes(content).splitlines(keepends=True) if b" refs/replace/" not in line)
    return content


def _is_in_tests(parts: Sequence[str]) -> bool:
    """Return whether a path has a folder of tests around it."""
    return any(map(is_test_folder, parts[:-1]))


def _is_test(parts: Sequence[str]) -> bool:
    """Return whether a path is a folder of tests, lies in one, or is a file that runners of tests collect."""
    if any(map(is_test_folder, parts)):
        return True
    is_source = bool(parts) and kind_of(parts[-1], b"") in (FileKind.SOURCE, FileKind.PROGRAM)
    return is_source and is_test_source(PurePosixPath(*parts))


def _is_object(name: str | None, member: tarfile.TarInfo, content: bytes | memoryview) -> bool:
    """Return whether a file of one object of git has the digest that its name says; git takes it as it is."""
    if name is None or member.isdir():
        return name is None
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    inflate, left = zlib.decompressobj(), memoryview(content)
    try:
        for size in range(0, _LARGEST_OBJECT, _PORTION):
            digest.update(inflate.decompress(left, _PORTION))
            left = memoryview(inflate.unconsumed_tail)
            if inflate.eof or not left:
                return size < _LARGEST_OBJECT and inflate.eof and digest.hexdigest() == name
    except zlib.error:
        pass
    return False


class _Reader:
    """A part of an archive as a file, without a copy of it."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._left = memoryview(content)

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end only."""
        data, self._left = bytes(self._left[:size]), self._left[size:]
        return data


class _Archive:
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
                if not names or ".." in names or names[0] == "/" or len(member.name) > _LONGEST_NAME:
                    continue
                path = base.joinpath(*names)
                inside_link = path.parent not in folders and not links.isdisjoint(path.parents)
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


def _is_ordinary(member: tarfile.TarInfo) -> bool:
    return member.isreg() or member.isdir() or member.issym() or member.islnk()


def _goal(folder: PurePosixPath, target: str) -> PurePosixPath | None:
    """Return where a link in a folder leads, if that does not depend on other links; None otherwise."""
    if not target or len(target) > _LONGEST_NAME:
        return None
    parts = PurePosixPath(target).parts
    while parts and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    return None if ".." in parts else folder.joinpath(*parts)


def _fits(path: PurePosixPath, pattern: str) -> bool:
    pieces = re.split(r"(\*\*|\*|\?)", pattern)
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(meanings.get(piece) or re.escape(piece) for piece in pieces)
    return re.fullmatch(expression, str(path), re.DOTALL) is not None


def _within(path: PurePosixPath, place: PurePosixPath) -> bool:
    # A path is text with its separators here: to list its parents costs the square of its depth.
    return path == place or str(path).startswith("/" if str(place) == "/" else f"{place}/")


def home_of(passwd: Sequence[str], user: str | None) -> PurePosixPath | None:
    """Return the home of a user, given by name or number, from the lines of ``/etc/passwd``."""
    for line in passwd:
        fields = line.split(":")
        if len(fields) >= 6 and (user or "root") in (fields[0], fields[2]) and fields[5].startswith("/"):
            return PurePosixPath(fields[5])
    return None
