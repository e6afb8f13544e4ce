"""The changes of an agent that the pristine verifier carries over: :class:`CarryRules`."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.engines.base import FileChanges
from gem_terminal.verdicts import git_configuration
from gem_terminal.verdicts.carried_kinds import (
    FileKind,
    is_library_folder,
    is_library_form,
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
from gem_terminal.verdicts.changed_entries import CarriedArchive, ChangedEntry, entries_of
from gem_terminal.verdicts.declarations import COMMON_FOLDERS, Declarations
from gem_terminal.verdicts.git_objects import is_object
from gem_terminal.verdicts.paths import fits, link_goal, within

__all__ = ["CarriedFiles", "CarryRules"]

_VERIFIER = tuple(map(PurePosixPath, ("/dev", "/logs/verifier", "/proc", "/sys", "/tests")))
"""Paths that are never carried."""
_LINKED = tuple(map(PurePosixPath, ("/bin", "/lib", "/lib64", "/opt", "/sbin", "/usr")))
"""Folders that a carried link may lead to: they are the image's own."""
_SETTINGS = PurePosixPath("/etc")
_RUN = (FileKind.PROGRAM, FileKind.UNNAMED)
"""Kinds that programs execute by a path that they know, whatever the content is: new ones only are carried."""


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
            if member.issym() and (goal := link_goal(path.parent, member.linkname)) is not None:
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
        made = CarriedArchive()
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
        gone = frozenset(map(PurePosixPath, removed))
        longest = max((len(path.parts) for path in gone), default=0)
        kept = tuple(path for path in refused if not gone.isdisjoint(_around(PurePosixPath(path), longest)))
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
        if any(within(path, place) for place in self.added):
            yield str(path)
            if path.parent in self.tools:
                yield from (str(tools / path.name) for tools in self.tools)
            if _SETTINGS in path.parents:
                yield str(_SETTINGS.joinpath(*path.parts[2:3]))
        if member.issym() and (goal := link_goal(path.parent, member.linkname)) is not None:
            yield str(goal)
        is_asked = not member.isdir() and kind_of(path.name, content) in (*_RUN, FileKind.SOURCE)
        if is_asked or _is_in_tests(self._inner(path)):
            yield str(path)
        if _may_run(path, member, content):
            yield from (str(tools / path.name) for tools in self.tools)
        yield from map(str, self._targets_around(path))
        if module_name(path) == "__init__":
            yield from map(str, (path, path.parent))
        if (shadowing := self._shadowing(path)) is not None:
            yield from (str(path), str(shadowing), str(shadowing / "__init__.py"))

    def _has_place(self, path: PurePosixPath, trees: _Trees) -> bool:
        """Return whether changes at a path may be carried at all, whatever they are."""
        if ".." in path.parts or any(within(path, place) for place in _VERIFIER):
            return False
        if any(within(path, place) for place in self.added) and self._is_installed(path, trees):
            return True
        return self._is_named(path) or (
            any(within(path, place) for place in self.declared) and not any(within(path, tools) for tools in self.tools)
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
        goal = link_goal(path.parent, member.linkname)
        return goal is None or not any(within(goal, place) for place in (*self.declared, *_LINKED))

    def _may_be(self, entry: ChangedEntry, trees: _Trees) -> bool:
        """Return whether a file, folder or link of this name and kind may be carried."""
        path, member, content = entry
        if self._is_named(path):
            return True
        if any(within(path, place) for place in self.added):
            plugin = member.isreg() and path.name == "entry_points.txt" and b"pytest11" in bytes(content)
            return not plugin and not is_start_up(path.parts[1:])
        if (inside := repository_of(path)) is not None:
            is_folder = member.isdir() or bool(inside.inner)
            is_content = inside.is_content and is_object(inside.object_name, member, content)
            return is_folder and not member.issym() and (is_content or inside.is_configuration)
        inner = self._inner(path)
        if is_reserved(inner):
            return False
        if any(within(path, place) for place in self._opened):
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
            goal = link_goal(path.parent, member.linkname) if member.issym() else None
            is_looked_up = is_test_folder(path.name) or is_library_folder(path.name)
            return is_mentioned or (goal is not None and trees.has_folder(goal) and not is_looked_up)
        if not is_mentioned:
            if _may_run(path, member, content) and any(str(tools / path.name) in trees.image for tools in self.tools):
                return False
            if kind in _RUN and not is_new:
                return False
            if kind is FileKind.UNNAMED and (_is_in_tests(inner) or is_library_form(path)):
                return False
        if is_runner(path.name) and not (is_new or is_mentioned):
            return False
        is_code = kind in (FileKind.SOURCE, FileKind.PROGRAM)
        if is_code and is_test_source(PurePosixPath(*inner)):  # a library comes before a source
            return is_new and is_mentioned
        return is_mentioned or not (self._shadows(path, trees) or self._encloses_tests(path, trees))

    def _inner(self, path: PurePosixPath) -> tuple[str, ...]:
        """Return the parts of a path below the folder that is declared without a word of the instruction."""
        roots = [*self._opened, *(place for place in self.declared if place not in self.author.paths)]
        return path.parts[max((len(place.parts) for place in roots if within(path, place)), default=1) :]

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
        return self._is_named(path) or path in self.author.paths or any(within(path, place) for place in self._opened)

    def _is_named(self, path: PurePosixPath) -> bool:
        return path in self.author.stated or any(fits(path, pattern) for pattern in self.author.patterns)

    def _shadowing(self, path: PurePosixPath) -> PurePosixPath | None:
        """Return the folder in which Python would find a file as a module of its library; None for other files."""
        name, folder = module_name(path), path.parent
        if name == "__init__":
            name, folder = folder.name, folder.parent
        return folder if name in self.modules else None

    def _targets_around(self, path: PurePosixPath) -> list[PurePosixPath]:
        return [place for place in _around(path, self._longest_target) if place in self.targets]

    @cached_property
    def _longest_target(self) -> int:
        return max((len(target.parts) for target in self.targets), default=0)

    def _seems_made(self, path: PurePosixPath, member: tarfile.TarInfo, trees: _Trees) -> bool:
        """Return whether make would take a new entry, or the folder around it, for a target that it has made.

        A file that has prerequisites may come; it is older than any of them.
        """
        return any(
            str(place) not in trees.image
            and not any(within(mentioned, place) for mentioned in self.author.paths)
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
            and not any(within(folder, goal) for goal in trees.links.values())
            and not self._encloses_tests(begin, trees)  # which would be left behind
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
            within(landing, link) and folder == goal / landing.relative_to(link)
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
            any(within(path, place) for place in self.declared)
            and ".." not in path.parts
            and not any(within(path, place) for place in (*_VERIFIER, *self.tools))
            and (inside.is_content or inside.is_index if inside is not None else not is_reserved(inner))
        )


def _around(path: PurePosixPath, most: int) -> Sequence[PurePosixPath]:
    """Return a path and those around it, as far as they have at most so many parts.

    To list all that are around each path of a deep tree costs the cube of its depth.
    """
    outer = path.parents[-most:] if most else ()
    return (path, *outer) if len(path.parts) <= most else outer


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


def _may_run(path: PurePosixPath, member: tarfile.TarInfo, content: bytes | memoryview) -> bool:
    """Return whether a file would be executed as a command of its name, or read by a shell that looks for one."""
    return not member.isdir() and (bool(member.mode & 0o111) or kind_of(path.name, content) in _RUN)


def _is_ordinary(member: tarfile.TarInfo) -> bool:
    return member.isreg() or member.isdir() or member.issym() or member.islnk()
