"""The parts of the system that a program gets: the interpreter, its packages, an environment without secrets."""

from __future__ import annotations

import glob
import importlib.metadata
import os
import re
import sys
import sysconfig
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

from gem.errors import ArgumentError

__all__ = ["ENVIRONMENT", "allowed_modules", "hidden_folders", "import_path", "linked_packages", "shown_folders"]

_SHARED_PREFIXES = ("/usr", "/usr/local")
"""Installations that the interpreter shares with the administrator's other programs."""
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108  # only compared with
_CODE = (".py", ".pyi", ".pyc", ".pyd", ".so", ".pyx", ".pxd", ".c", ".h")

_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/box/home",
    "TMPDIR": "/box/tmp",
    "LANG": "C.UTF-8",
    "USER": "gem",
    "LOGNAME": "gem",
    # Each further arena takes 64 MiB of the address space, which is limited, for every few threads.
    "MALLOC_ARENA_MAX": "1",
    # Arrow's own allocator, which pandas uses for texts, reserves a gibibyte of it at once.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    **_ONE_THREAD,
}
"""All environment variables of a program."""


@lru_cache(maxsize=2)
def import_path(packages: bool = True) -> list[str]:
    """Return the folders from which a program imports.

    Args:
        packages: also the trainer's installed packages, after the standard library.
    """
    standard = {os.path.realpath(path) for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))}
    wanted = {*standard, *_packages()} if packages else standard
    paths = [path for path in map(os.path.realpath, sys.path) if path in wanted or path.endswith("lib-dynload")]
    return list(dict.fromkeys([*sorted(standard - set(paths)), *paths]))


@lru_cache(maxsize=1)
def shown_folders() -> list[str]:
    """Return the paths of files and folders that a program sees in addition to the system's own."""
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    paths = [path for prefix in prefixes for path in _parts(prefix)]
    # Both by their given names, for programs that use sys.prefix, and by their real paths.
    found = [path for path in (*paths, *import_path()) if os.path.exists(path)]
    real = {*(path for path in found if os.path.realpath(path) == path), *map(os.path.realpath, found)}
    links = {link for path in (*found, sys.executable) for link in _links_above(path)}
    # Folders for temporary files belong to the program, also where links lie in them.
    return sorted({*real, *linked_packages(), *(link for link in links if not link.startswith(_TEMPORARY))})


def _links_above(path: str) -> list[str]:
    """Return the links among the folders above a path, and among those above what they lead to."""
    found: list[str] = []
    waiting = [os.path.dirname(path)]
    while waiting:
        folder = "/"
        for part in waiting.pop().split("/"):
            folder = os.path.join(folder, part)
            if os.path.islink(folder):
                if folder not in found:
                    found.append(folder)
                    waiting.append(os.path.normpath(os.path.join(os.path.dirname(folder), os.readlink(folder))))
                break
    return found


@lru_cache(maxsize=1)
def linked_packages() -> list[str]:
    """Return where the packages lie that are links in the folders of installed packages, but those of environments.

    A package is a link itself, or each of its files is one into a folder that has all files of the package (the link
    mode ``symlink`` of uv).
    """
    found: set[str] = set()
    hidden = {_normalized(distribution.metadata["Name"]) for distribution in _answer_keepers()}
    hidden_paths = {path for distribution in _answer_keepers() for path in _files(distribution)}
    for folder in _packages():
        for entry in os.scandir(folder):
            name, _, kind = entry.name.rpartition(".")
            if entry.is_symlink():
                if entry.path not in hidden_paths:
                    found.add(os.path.realpath(entry.path))
            elif kind == "dist-info" and _normalized(name.partition("-")[0]) not in hidden:
                metadata = os.path.join(entry.path, "METADATA")
                if os.path.islink(metadata):
                    found.add(os.path.dirname(os.path.dirname(os.path.realpath(metadata))))
    return sorted(path for path in found if os.path.exists(path))


def _parts(prefix: str) -> list[str]:
    """Return the parts of an installation that its interpreter needs."""
    if prefix not in _SHARED_PREFIXES:
        # A sub-interpreter finds the packages of its environment by pyvenv.cfg.
        return [os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
    patterns = ("bin/python*", "lib/lib*.so*", f"lib/python{sys.version_info[0]}.{sys.version_info[1]}", "lib/python3")
    return [path for pattern in patterns for path in glob.glob(os.path.join(prefix, pattern))]


@lru_cache(maxsize=2)
def hidden_folders(packages: bool = True) -> list[str]:
    """Return the files and folders that appear empty, since their data may contain answers.

    These are the packages and modules of environments; of the distributions that only environments require, those that
    hold data more than code; and all packages that this process cannot import, for example those of the interpreter
    below a virtual environment.

    Args:
        packages: False hides all installed packages.
    """
    importable = list(_packages())
    folders = {path for shown in (*shown_folders(), *_SYSTEM_LIBRARIES) for path in _package_folders(shown)}
    foreign = sorted(folders.difference(importable))
    if not packages:
        return [*importable, *linked_packages(), *foreign]
    found = {path for distribution in _answer_keepers() for path in _files(distribution)}
    return [*sorted(path for path in found if os.path.exists(path)), *foreign]


def _package_folders(shown: str) -> list[str]:
    """Return the folders of installed packages in a shown folder."""
    patterns = ("python*/*-packages", "*-packages") if os.path.basename(shown).startswith("lib") else ("*-packages",)
    return [
        os.path.realpath(path) for pattern in patterns for path in glob.glob(os.path.join(glob.escape(shown), pattern))
    ]


def _answer_keepers() -> list[importlib.metadata.Distribution]:
    """Return the installed distributions that are environments, or the data of environments alone."""
    installed: dict[str, importlib.metadata.Distribution] = {}
    required_by: dict[str, set[str]] = {}
    environments: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            name = _normalized(distribution.metadata["Name"])
            points = [point for point in distribution.entry_points if point.group == "gem.envs"]
            requirements = [_normalized(line) for line in distribution.requires or ()]
        except Exception:  # noqa: S112 - unreadable packages declare no environments
            continue
        installed.setdefault(name, distribution)
        for requirement in requirements:
            required_by.setdefault(requirement, set()).add(name)
        if points:
            environments.add(name)
    keepers = set(environments)
    while more := {
        name
        for name, users in required_by.items()
        if name in installed and name not in keepers and users <= keepers and _is_data(installed[name])
    }:
        keepers |= more
    return [installed[name] for name in sorted(keepers)]


def _is_data(distribution: importlib.metadata.Distribution) -> bool:
    """Return whether more than half of a distribution's bytes are no code."""
    sizes = {True: 0, False: 0}
    for file in distribution.files or ():
        if ".dist-info/" not in str(file):
            sizes[file.suffix in _CODE] += file.size or 0
    return sizes[False] > sizes[True]


def _files(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the modules and packages of a distribution, with the bytecode of single modules."""
    points = [point for point in distribution.entry_points if point.group == "gem.envs"]
    names = {point.value.partition(":")[0].partition(".")[0] for point in points}
    tops = {file.parts[0] for file in distribution.files or () if len(file.parts) > 1}
    tops |= {str(file) for file in distribution.files or () if len(file.parts) == 1 and file.suffix in _CODE}
    tops = {top for top in tops if not top.endswith((".dist-info", ".egg-info")) and top not in ("..", "__pycache__")}
    found: set[str] = set()
    for folder in _packages():
        place = glob.escape(folder)
        found |= {os.path.join(folder, top) for top in tops}
        for name in {*names, *(top.partition(".")[0] for top in tops)}:
            found.add(os.path.join(folder, name))
            for pattern in (f"{name}.py", f"{name}.*.so", f"{name}.so", f"__pycache__/{name}.*.pyc"):
                found.update(glob.glob(os.path.join(place, pattern)))
    return found


@lru_cache(maxsize=64)
def allowed_modules(libraries: tuple[str, ...]) -> dict[str, list[str]]:
    """Return what a program may import besides the standard library, and where it lies.

    Returns:
        ``names``: the top-level modules of the libraries and of all that they depend on; ``folders``: the folders of
        installed packages. Both are empty without a library.

    Raises:
        ArgumentError: if a library is not installed, as every verdict would then depend on this machine.
    """
    folders = list(_packages())
    for library in libraries:
        if PathFinder.find_spec(library, folders) is None:
            raise ArgumentError(f"libraries names {library!r}, which is not installed; install it, or leave it out")
    if not libraries:
        return {"names": [], "folders": []}
    tops: dict[str, set[str]] = {}
    for top, distributions in importlib.metadata.packages_distributions().items():
        for distribution in distributions:
            tops.setdefault(_normalized(distribution), set()).add(top)
    names = set(libraries)
    waiting = [name for name, own in tops.items() if not own.isdisjoint(names)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in tops:
            continue
        seen.add(name)
        names |= tops[name]
        requirements = importlib.metadata.requires(name) or ()
        waiting += [_normalized(line) for line in requirements if not re.search(r";.*\bextra\b", line)]
    return {"names": sorted(names), "folders": folders}


def _normalized(requirement: str) -> str:
    """Return the normalized name of the distribution that a requirement names (PEP 503)."""
    found = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


@lru_cache(maxsize=1)
def _packages() -> tuple[str, ...]:
    """Return the folders of installed packages."""
    installed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in installed if os.path.isdir(path)))
