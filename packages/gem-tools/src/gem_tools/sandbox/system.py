"""The parts of the system that a program gets: the interpreter, its packages, an environment without secrets."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

__all__ = ["ENVIRONMENT", "hidden_folders", "import_path", "shown_folders"]

_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/box/home",
    "TMPDIR": "/box/tmp",
    "LANG": "C.UTF-8",
    **_ONE_THREAD,
}
"""All environment variables of a program."""


@lru_cache(maxsize=1)
def import_path() -> list[str]:
    """Return the folders from which a program imports: the standard library and the trainer's installed packages."""
    standard = {os.path.realpath(path) for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))}
    wanted = {*standard, *_packages()}
    paths = [path for path in map(os.path.realpath, sys.path) if path in wanted or path.endswith("lib-dynload")]
    return list(dict.fromkeys([*sorted(standard - set(paths)), *paths]))


@lru_cache(maxsize=1)
def shown_folders() -> list[str]:
    """Return the paths that a program sees in addition to the system's own."""
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    folders = [os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64")]
    # Both by their given names, for programs that use sys.prefix, and by their real paths.
    found = [path for path in (*folders, *import_path()) if os.path.isdir(path)]
    return sorted({*(path for path in found if os.path.realpath(path) == path), *map(os.path.realpath, found)})


@lru_cache(maxsize=1)
def hidden_folders() -> list[str]:
    """Return the packages of environments, whose data may contain answers."""
    import importlib.metadata

    names: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == "gem.envs"]
        except Exception:  # noqa: S112 - unreadable packages declare no environments
            continue
        names.update(point.value.partition(":")[0].partition(".")[0] for point in points)
    folders = [os.path.join(path, name) for path in _packages() for name in sorted(names)]
    return [path for path in folders if os.path.isdir(path)]


@lru_cache(maxsize=1)
def _packages() -> tuple[str, ...]:
    """Return the folders of installed packages."""
    installed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in installed if os.path.isdir(path)))
