"""The kinds of files that an agent may hand to the tests: :class:`FileKind`, from the table ``carried_kinds.toml``.

Programs read many files on their own accord: configurations, plug-ins, start-up files, build scripts. No list of them
is complete, so the table lists the opposite: kinds of files that nothing executes or reads as configuration unless it
is told to. Everything else is :attr:`FileKind.OTHER`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from enum import Enum
from fnmatch import translate
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.verdicts.paths import expression_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "FileKind",
    "RepositoryPath",
    "is_library_folder",
    "is_library_form",
    "is_library_source",
    "is_reserved",
    "is_runner",
    "is_setting",
    "is_start_up",
    "is_test_folder",
    "is_test_source",
    "kind_of",
    "known_modules",
    "module_name",
    "protected_names",
    "repository_of",
]

_TEST = re.compile(r"(?i:test.*|(?:.*[._-])?(?:tests?|specs?)(?:[._-].*)?)|.*[a-z0-9](?:Tests?|Specs?|IT)")
"""The stems of source files that runners of tests collect: of pytest, unittest, go, node, jest, RSpec and JUnit."""
_EXECUTABLE = re.compile(
    rb"\x7fELF[\x01\x02][\x01\x02]\x01|MZ.{0,14}\0|\xca\xfe\xba\xbe\0|\xcf\xfa\xed\xfe.{2}\0|\0asm", re.DOTALL
)
"""How compiled programs begin: of Linux, Windows, Java, macOS and WebAssembly. No text does."""
_IMPORTED = (".py", ".pyc", ".so")
_IN_SUBMODULE = re.compile(r"^(?:modules/[^/]+/)+")
_OBJECT = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})")
_INDEX = re.compile(r"objects/(?:pack/|info/commit-graph)")
_PACK = re.compile(r"objects/pack/[\w-]+\.pack")
_BINARY = re.compile(rb"(?![#;/*%!\"'<\[{-])[^\0\r\n]{0,15}\0")
"""How data that are no text begin: with a zero byte in the first line, which is neither a comment nor a heading. In a
comment, or later in a configuration, programs may read over one; shells, Perl and JavaScript may execute what stands
around it."""
_BEGIN = 16


class FileKind(Enum):
    """What a file is for."""

    DATA = "data"
    SOURCE = "source"
    PROGRAM = "programs"
    UNNAMED = "unnamed"
    """Binary data, by how they begin, under a name that no kind lists."""
    OTHER = "other"
    """A configuration, a text without suffix, or anything else that no kind lists."""


class _Table(NamedTuple):
    kinds: dict[str, FileKind]
    others: re.Pattern[str]
    names: re.Pattern[str]
    anywhere: re.Pattern[str]
    start_up: re.Pattern[str]
    settings: re.Pattern[str]
    tests: frozenset[str]
    test_paths: re.Pattern[str]
    runners: frozenset[str]
    modules: frozenset[str]
    libraries: re.Pattern[str]
    library_forms: re.Pattern[str]
    library_folders: frozenset[str]
    repository_files: frozenset[str]
    repository_folders: tuple[str, ...]
    worktree: frozenset[str]


@cache
def _raw() -> dict[str, dict[str, str]]:
    return tomllib.loads(files(__package__).joinpath("carried_kinds.toml").read_text(encoding="utf-8"))


@cache
def _table() -> _Table:
    read = _raw()
    suffixes, reserved, repository = read["suffixes"], read["reserved"], read["repository"]
    return _Table(
        {suffix: FileKind(kind) for kind, listed in suffixes.items() for suffix in listed.split()},
        _patterns(read["names"]["other"]),
        _patterns(reserved["names"]),
        _patterns(reserved["configurations"], reserved["folders"]),
        _patterns(reserved["start_up"]),
        _patterns(reserved["settings"]),
        frozenset(reserved["tests"].split()),
        _endings(reserved["test_paths"]),
        frozenset(reserved["runners"].split()),
        frozenset([*reserved["modules"].split(), *reserved["absent_modules"].split()]),
        _endings(reserved["libraries"]),
        _endings(" ".join(pattern.rpartition(".")[0] for pattern in reserved["libraries"].split())),
        frozenset(
            part
            for path in [*reserved["libraries"].split(), *reserved["test_paths"].split()]
            for part in path.split("/")[:-1]
        )
        - {"lib"},
        frozenset(repository["files"].split()),
        tuple(repository["folders"].split()),
        frozenset(repository["worktree"].split()),
    )


def kind_of(name: str, content: bytes | memoryview) -> FileKind:
    """Return the kind of a file, by its suffix or name, or if no kind lists these, by how it begins."""
    suffix = PurePosixPath(name).suffix[1:].lower()
    if (found := _table().kinds.get(suffix)) is not None:
        return found
    if name in _table().worktree:
        return FileKind.DATA
    if _table().others.fullmatch(name.lower()):
        return FileKind.OTHER
    begin = bytes(content[:_BEGIN])
    if _EXECUTABLE.match(begin):
        return FileKind.PROGRAM
    return FileKind.UNNAMED if _BINARY.match(begin) else FileKind.OTHER


def is_reserved(parts: Sequence[str]) -> bool:
    """Return whether a path has a part that programs look up on their own accord, whatever is in it."""
    return _fits(parts, _table().anywhere) or _fits(parts[-1:], _table().names)


def is_setting(name: str) -> bool:
    """Return whether a file of this name configures what runs or checks a project."""
    return _fits([name], _table().settings)


def is_start_up(parts: Sequence[str]) -> bool:
    """Return whether a path in a library has a part that Python or pytest looks up at its start."""
    return _fits(parts, _table().start_up)


def _fits(parts: Sequence[str], patterns: re.Pattern[str]) -> bool:
    return any(patterns.fullmatch(part.lower()) for part in parts)


def _patterns(*listed: str) -> re.Pattern[str]:
    """Return an expression for the names that fit one of some patterns of the shell."""
    return re.compile("|".join(translate(pattern) for some in listed for pattern in some.split()))


def _endings(patterns: str) -> re.Pattern[str]:
    """Return an expression for paths whose ends fit one of some patterns."""
    return re.compile(f"(?:.*/)?(?:{'|'.join(map(expression_of, patterns.split()))})")


def is_library_source(path: PurePosixPath) -> bool:
    """Return whether a compiler or interpreter would take a new source file in place of one of its library."""
    return _table().libraries.fullmatch(str(path)) is not None


def is_library_form(path: PurePosixPath) -> bool:
    """Return whether a file has the name of a library's source up to its first dot, as compiled forms have."""
    return _table().library_forms.fullmatch(str(path.with_name(path.name.partition(".")[0] or path.name))) is not None


def is_library_folder(name: str) -> bool:
    """Return whether files of a library lie in a folder of this name."""
    return name in _table().library_folders


def is_test_folder(name: str) -> bool:
    """Return whether the source files in a folder of this name are tests."""
    return name.lower() in _table().tests


def is_test_source(path: PurePosixPath) -> bool:
    """Return whether a source file is one that runners of tests collect, by its name or folder."""
    return (
        _TEST.fullmatch(path.stem) is not None
        or any(is_test_folder(part) for part in path.parts[:-1])
        or _table().test_paths.fullmatch(str(path)) is not None
    )


def is_runner(name: str) -> bool:
    """Return whether a source file of this name runs the tests of a project."""
    return name.lower() in _table().runners


def protected_names() -> list[str]:
    """Return an expression of find(1) for what no removed folder takes with it: tests, and what configures them."""
    read = _raw()["reserved"]
    folders = [f"*/{name}/*" for name in read["tests"].split()]
    names = [*read["names"].split(), *read["configurations"].split(), "test[_.-]*", "*[_.-]test.*", "*[_.-]spec.*"]
    words = [word for name in folders for word in ("-o", "-ipath", name)]
    words += [word for name in names for word in ("-o", "-iname", name)]
    return words[1:]


def module_name(path: PurePosixPath) -> str | None:
    """Return the name by which Python imports a file, from its source, its bytecode or a compiled library, or None."""
    return path.name.partition(".")[0] if path.suffix in _IMPORTED else None


def known_modules() -> frozenset[str]:
    """Return the modules of this Python's library, those that a library looks for, and those that tests install."""
    return sys.stdlib_module_names | _table().modules


class RepositoryPath(NamedTuple):
    """A path inside a repository of git."""

    inner: str
    """Relative to the repository; empty for its folder."""

    @property
    def is_configuration(self) -> bool:
        """Whether it is the configuration of the repository or of a submodule."""
        return _IN_SUBMODULE.sub("", self.inner) == "config"

    @property
    def is_references(self) -> bool:
        """Whether it is the file that lists references."""
        return _IN_SUBMODULE.sub("", self.inner) == "packed-refs"

    @property
    def is_index(self) -> bool:
        """Whether it repeats what objects say, for speed."""
        return _INDEX.match(_IN_SUBMODULE.sub("", self.inner)) is not None

    @property
    def is_work_tree_index(self) -> bool:
        """Whether it lists the files of a work tree."""
        return _IN_SUBMODULE.sub("", self.inner) == "index"

    @property
    def is_pack(self) -> bool:
        """Whether it is a file of packed objects, whose index is written anew."""
        return _PACK.fullmatch(_IN_SUBMODULE.sub("", self.inner)) is not None

    @property
    def object_name(self) -> str | None:
        """The digest of the object that a file of its own has; None for other files."""
        found = _OBJECT.fullmatch(_IN_SUBMODULE.sub("", self.inner))
        return found and found[1] + found[2]

    @property
    def is_content(self) -> bool:
        """Whether it is a file or folder of objects, references and logs, which git never executes.

        What repeats them for speed (indexes of packs, graphs of commits) may say something else than they do, and is
        left out. So are references that replace objects.
        """
        table, inner = _table(), _IN_SUBMODULE.sub("", self.inner)
        if inner.startswith("objects/pack/"):
            return self.is_pack
        if f"{inner}/".startswith("refs/replace/"):
            return False
        return (
            inner in ("", "objects", "info", "objects/info")
            or inner in table.repository_files
            or re.fullmatch(r"objects/[0-9a-f]{2}|modules(?:/[^/]+)?", inner) is not None
            or self.object_name is not None
            or any(f"{inner}/".startswith(f"{folder}/") for folder in table.repository_folders)
        )


def repository_of(path: PurePosixPath) -> RepositoryPath | None:
    """Return the part of a path inside a repository: below a folder named ``.git`` or ``NAME.git``; None for others."""
    for number, part in enumerate(path.parts):
        if part.lower().endswith(".git"):
            return RepositoryPath("/".join(path.parts[number + 1 :]))
    return None
