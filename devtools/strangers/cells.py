"""The cells of the matrix: who runs the README's commands, where, with what installed, and beside what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

from devtools.shell import ROOT, fail

__all__ = ["AXES", "HOMES", "LOADED", "PRIVATE", "Cell", "all_cells", "choose", "readme_commands"]

HOMES = {"root": "/root", "ordinary": "/home/stranger"}
"""User → home. An ordinary user has no sudo, and belongs to no group but their own."""
FOLDERS = {
    "home": "/home/stranger/gem",
    "srv": "/srv/gem",
    "tmp": "/tmp/gem",  # noqa: S108  # of a machine of its own
    "umlauts": "/opt/Bücher und Prüfungen/gem",
    "private": "/opt/private/gem",
}
"""Path → the checkout's folder."""
PRIVATE = "/opt/private"
"""A folder of mode 0700 that belongs to the user."""
LOADED = "loaded"

AXES: Mapping[str, tuple[str, ...]] = {
    "user": tuple(HOMES),
    "software": ("nothing", "everything"),
    "path": tuple(FOLDERS),
    "load": ("idle", LOADED),
}


@dataclass(frozen=True)
class Cell:
    """One machine."""

    user: str
    software: str
    path: str
    load: str

    @property
    def name(self) -> str:
        """The values of the axes, such as ``ordinary/nothing/home/idle``."""
        return f"{self.user}/{self.software}/{self.path}/{self.load}"

    @property
    def account(self) -> str:
        """The user's name on the machine."""
        return "root" if self.user == "root" else "stranger"

    @property
    def folder(self) -> str:
        """The folder of the checkout."""
        return FOLDERS[self.path]


def all_cells() -> list[Cell]:
    """Return every cell of the matrix."""
    return [Cell(*values) for values in product(*AXES.values())]


def choose(patterns: Sequence[str], axes: Mapping[str, Sequence[str]]) -> list[Cell]:
    """Return the cells that match one of some patterns and have one of the values chosen for each axis.

    Args:
        patterns: names in which ``*`` stands for any characters, or their beginnings, such as ``root/nothing``; empty
            for all cells.
        axes: axis → values; an axis that is missing or has none is free.

    Raises:
        SystemExit: if a pattern, or all of this together, matches no cell.
    """
    for pattern in patterns:
        if not any(_matches(cell, pattern) for cell in all_cells()):
            axis = " / ".join(f"{{{', '.join(values)}}}" for values in AXES.values())
            fail(f"no cell is called {pattern!r}; cells are called {axis}, and * stands for any characters")
    cells = [
        cell
        for cell in all_cells()
        if (not patterns or any(_matches(cell, pattern) for pattern in patterns))
        and all(not values or getattr(cell, axis) in values for axis, values in axes.items())
    ]
    if not cells:
        fail("no cell has all of that; python3 dev.py strangers --list shows the cells")
    return cells


def _matches(cell: Cell, pattern: str) -> bool:
    return fnmatchcase(cell.name, pattern) or fnmatchcase(cell.name, f"{pattern.rstrip('/')}/*")


def readme_commands(text: str | None = None) -> dict[str, str]:
    """Return the two commands with which the README sets everything up: ``demo`` and ``test``.

    They are the blocks of one line that run dev.py, so that what a cell runs is what the README says.

    Args:
        text: the text of the README; by default that of this checkout.

    Raises:
        SystemExit: if the README has other blocks that run dev.py, or lacks one of the two.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8") if text is None else text
    blocks = [str(block) for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    lines = [block.strip() for block in blocks if re.search(r"\bdev\.py\b", block)]
    found = {match[1]: line for line in lines if (match := re.fullmatch(r"\S+ dev\.py (\w+)", line))}
    if list(found) != ["demo", "test"] or len(lines) != 2:
        fail(f"the README must have one block of one line for dev.py demo, then one for dev.py test; it has {lines}")
    return found
