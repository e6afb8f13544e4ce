"""What an image's makefiles make: :func:`targets_of`.

Make takes a target without prerequisites for made as soon as something of its name is there, so that an empty folder
``check`` would pass ``make check``. Targets that ``.PHONY`` names are made in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

__all__ = ["FIND_RULES", "targets_of"]

FIND_RULES = r"""
find "$@" -xdev -maxdepth 6 -type f \( -name Makefile -o -name makefile -o -name GNUmakefile \) \
  -exec grep -H '^[^#[:space:]][^=]*:' /dev/null {} + 2>/dev/null"""
"""Commands of a shell that print the rules of the makefiles in some folders, each behind its makefile and a colon."""
_RULE = re.compile(r"(/.*/)(?:GNUm|[mM])akefile:([^:=#]+?)\s*::?(?!=)\s*([^;#]*)")


def targets_of(told: str) -> Mapping[PurePosixPath, bool]:
    """Return the paths of the targets in some rules, and whether they have prerequisites.

    Patterns, and names that contain variables, are left out.

    Args:
        told: the output of :data:`FIND_RULES`.
    """
    found: dict[PurePosixPath, bool] = {}
    phony: set[PurePosixPath] = set()
    for line in told.splitlines():
        if (rule := _RULE.match(line)) is None:
            continue
        folder, names, prerequisites = PurePosixPath(rule[1]), rule[2].split(), rule[3].split()
        if names == [".PHONY"]:
            phony.update(folder / name for name in prerequisites)
        for name in names:
            if not re.search(r"[%$*?\\]", name) and not name.startswith("."):
                found[folder / name] = found.get(folder / name, False) or bool(prerequisites)
    return {path: has for path, has in found.items() if path not in phony}
