"""What executions without namespaces of their own may read and write, as rules of Landlock.

The fork server restricts itself once, to the system's programs and libraries, the interpreter, the installed packages
without those of environments, and the folder of all scratch folders. Each execution restricts itself further, to the
same without ``/proc``, and to its own scratch folder. Landlock has no rule that hides a folder below one that is shown,
so where a package is hidden, its neighbours are shown one by one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from gem_processes.landlock import EXECUTE, LIST, READ, READ_FILE, REMOVE_DIR, SCRATCH, WRITE_FILE, Ruleset
from gem_tools.sandbox.inside.jail import PROGRAMS, SETTINGS

__all__ = ["coarse_roots", "restrict_execution", "restrict_server", "shown_roots"]

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_OWN = tuple(f"/proc/self/{name}" for name in ("fd", "maps", "stat", "statm", "status"))


def shown_roots(shown: Sequence[str]) -> list[str]:
    """Return the files and folders that executions can read, without those that lie below others.

    Args:
        shown: the folders of the interpreter and its packages.
    """
    found = sorted({os.path.realpath(path) for path in (*PROGRAMS, *shown) if os.path.exists(path)})
    roots: list[str] = []
    for path in found:
        if not roots or not path.startswith(f"{roots[-1]}/"):
            roots.append(path)
    return roots


def coarse_roots(roots: Sequence[str], scratch: str) -> list[str]:
    """Return few folders that hold all that executions can read, and not the folder of all scratch folders.

    The server's restrictions apply to executions too, so theirs need not be as fine, and each rule costs time.
    """
    found = set()
    for path in (*roots, *map(os.path.realpath, (*SETTINGS, *_DEVICES))):
        top = f"/{path.split('/')[1]}"
        found.add(path if os.path.realpath(scratch).startswith(f"{top}/") else top)
    return sorted(found)


def restrict_server(version: int, roots: Sequence[str], hidden: Collection[str], scratch: str) -> None:
    """Restrict the fork server, and with it all executions.

    Args:
        version: the version of Landlock.
        roots: the folders that executions can read.
        hidden: real paths of files and folders below these that cannot be read.
        scratch: the folder of all scratch folders.

    Raises:
        OSError: if the kernel refuses.
    """
    rules = Ruleset(version)
    for root in roots:
        for path, access in _visible(root, hidden):
            rules.allow_path(path, access)
    for path in SETTINGS:
        rules.allow_path(path, READ)
    for path in _DEVICES:
        rules.allow_path(path, READ_FILE | WRITE_FILE)
    rules.allow_path("/proc", READ)
    rules.allow_path(scratch, SCRATCH)
    rules.allow_path(os.path.dirname(scratch), REMOVE_DIR)  # to remove it at the end
    rules.restrict()


def restrict_execution(version: int, roots: Sequence[str], scratch: str) -> None:
    """Restrict an execution of a restricted server to what it may read, and to its own scratch folder.

    Args:
        version: the version of Landlock.
        roots: see :func:`coarse_roots`.
        scratch: its scratch folder.

    Raises:
        OSError: if the kernel refuses.
    """
    rules = Ruleset(version)
    for root in roots:
        rules.allow_path(root, READ | EXECUTE | WRITE_FILE)
    for path in _OWN:
        rules.allow_path(path, READ)
    rules.allow_path(scratch, SCRATCH)
    rules.restrict()


def _visible(path: str, hidden: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the files and folders to allow, so that everything below a path is visible but what is hidden."""
    if path in hidden:
        return
    inside = [name for name in hidden if name.startswith(f"{path}/")]
    if not inside:
        yield path, READ | EXECUTE
        return
    yield path, LIST
    with os.scandir(path) as entries:
        # A link shows nothing: its target is visible elsewhere, or not at all.
        names = sorted(entry.path for entry in entries if not entry.is_symlink())
    for name in names:
        yield from _visible(name, inside)
