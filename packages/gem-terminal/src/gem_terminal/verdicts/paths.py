"""Paths of a container as text: what lies within what, fits a pattern, or is the goal of a link."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

__all__ = ["LONGEST_PATH", "expression_of", "fits", "link_goal", "within"]

LONGEST_PATH = 4096
"""Characters of a path, as Linux allows them."""
_MEANINGS = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


def link_goal(folder: PurePosixPath, target: str) -> PurePosixPath | None:
    """Return where a link in a folder leads, if that does not depend on other links; None otherwise."""
    if not target or len(target) > LONGEST_PATH:
        return None
    parts = PurePosixPath(target).parts
    while parts and parts[0] == "..":
        folder, parts = folder.parent, parts[1:]
    return None if ".." in parts else folder.joinpath(*parts)


def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern: no ``/`` fits ``*`` and ``?``, and any text ``**``."""
    return "".join(_MEANINGS.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*|\*|\?)", pattern))


def fits(path: PurePosixPath, pattern: str) -> bool:
    """Return whether a path fits a pattern of :func:`expression_of`."""
    return re.fullmatch(expression_of(pattern), str(path), re.DOTALL) is not None


def within(path: PurePosixPath, place: PurePosixPath) -> bool:
    """Return whether a path is a place or lies in it."""
    # A path is text with its separators here: to list its parents costs the square of its depth.
    return path == place or str(path).startswith("/" if str(place) == "/" else f"{place}/")
