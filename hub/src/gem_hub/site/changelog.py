"""The pages' data on a package's changelog: that of the wheel, or else the section of its readme."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from packaging.version import InvalidVersion, Version

__all__ = ["Changelog", "changelog_of"]

MARKDOWN = "text/markdown"

_TITLE = re.compile(r"\W*(change ?log|changes|release (notes|history)|history|news|what.s new)\W*", re.IGNORECASE)
_VERSION = re.compile(r"\d+(\.\d+)+\S*|\d+")
_MOST = 100_000
"""Characters of a text in which headings are looked for."""


@dataclass(frozen=True)
class Changelog:
    """What an author says is new."""

    origin: str
    """Where it comes from, in a few words."""
    content_type: str
    current: str
    """The entry of the page's release; empty if none can be told apart."""
    rest: str
    """All other entries."""


@dataclass(frozen=True)
class _Heading:
    line: int
    level: int
    text: str


def changelog_of(entry: Mapping[str, Any]) -> Changelog | None:
    """Return the changelog of a release; None without one.

    Args:
        entry: the release in ``envs/NAME.json``, made readable.
    """
    text, file = str(entry.get("changelog") or ""), str(entry.get("changelog_file") or "")
    if text and not file.casefold().endswith(".md"):
        return Changelog(f"{file} of the wheel", "text/plain", "", text)
    if text:
        return _divided(text.splitlines(), f"{file} of the wheel", entry["version"])
    # A readme without a type is shown as Markdown as well.
    kind = entry["description_content_type"].partition(";")[0].strip().casefold()
    section = _section(entry["description"]) if kind in (MARKDOWN, "") else []
    return _divided(section, "the readme", entry["version"])


def _section(readme: str) -> list[str]:
    """Return the lines below the heading of a readme's changelog, up to the next heading of its level."""
    lines = readme[:_MOST].splitlines()
    headings = _headings(lines)
    for number, heading in enumerate(headings):
        if _TITLE.fullmatch(heading.text):
            return lines[heading.line + 1 : _end(headings, number, len(lines))]
    return []


def _divided(lines: Sequence[str], origin: str, version: str) -> Changelog | None:
    """Return a changelog with the entry of one version apart from all others; None for an empty one."""
    headings = _headings(lines)
    for number, heading in enumerate(headings):
        if _is_of(heading.text, version):
            end = _end(headings, number, len(lines))
            rest = [*lines[: heading.line], *lines[end:]]
            return Changelog(origin, MARKDOWN, "\n".join(lines[heading.line : end]), _text(rest))
    rest_alone = _text(lines)
    return Changelog(origin, MARKDOWN, "", rest_alone) if rest_alone else None


def _text(lines: Sequence[str]) -> str:
    """Return lines as a text; empty if nothing but a title is left."""
    text = "\n".join(lines).strip()
    return "" if _TITLE.fullmatch(text) else text


def _end(headings: Sequence[_Heading], number: int, last: int) -> int:
    later = (other.line for other in headings[number + 1 :] if other.level <= headings[number].level)
    return next(later, last)


def _is_of(heading: str, version: str) -> bool:
    """Return whether the first version in a heading is this one, in any spelling: "v0.1", "[0.1.0] - 2026-01-31"."""
    match = _VERSION.search(heading)
    if match is None:
        return False
    try:
        return Version(match[0].rstrip("]):,*_")) == Version(version)
    except InvalidVersion:
        return False


def _headings(lines: Sequence[str]) -> list[_Heading]:
    """Return the headings of a Markdown text; lines of code are none."""
    tokens = MarkdownIt("commonmark", {"html": False}).parse("\n".join(lines))
    return [
        _Heading(token.map[0], int(token.tag[1:]), inline.content)
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.map is not None and token.level == 0
    ]
