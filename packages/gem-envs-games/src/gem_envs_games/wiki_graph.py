"""The encyclopedia that comes with the package, and the interface of a wiki that the game needs.

``data/encyclopedia.txt`` is plain text: a heading ``= Title =``, then the page, in which ``[[Title]]`` or
``[[Title|shown text]]`` is a link; a link's first letter may be small. Every page can be reached from every other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

__all__ = ["LONGEST_TITLE", "Encyclopedia", "Page", "Wiki", "encyclopedia", "title_key"]

LONGEST_TITLE = 255
"""Maximum number of characters of a title; MediaWiki allows the same number of bytes."""

_FARTHEST = 6
_HEADING = re.compile(r"^= (.+) =$", re.MULTILINE)
_LINK = re.compile(r"\[\[([^][|]+)(?:\|([^][]+))?\]\]")


class Page(NamedTuple):
    """A page of a wiki."""

    title: str
    text: str
    """Its beginning, as plain text; may be empty."""
    links: tuple[str, ...]
    """Titles of the pages it links to, except itself, each once, in a fixed order."""


class Wiki(Protocol):
    """A source of pages for the game. Live wikis raise :class:`gem_envs_games.wiki_backends.BackendError`."""

    def draw_pair(self, rng: Random, max_turns: int) -> tuple[Page, Page]:
        """Draw a page to start from, which has links, and another one to reach."""

    def page(self, title: str) -> Page:
        """Return the page that a link leads to, which may have another title; one without links if there is none."""

    def has(self, page: Page) -> bool:
        """Return whether ``page`` can be one of this wiki, as far as known without a request to a server."""

    def close(self) -> None:
        """Release all resources; a second call does nothing."""


def title_key(title: str) -> str:
    """Return the key that all titles of one page share: neither case nor kind of blanks matters."""
    return " ".join(unicodedata.normalize("NFC", title).replace("_", " ").split()).casefold()


class Encyclopedia:
    """A wiki of known pages; immutable, so that all games share that of :func:`encyclopedia`."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = {page.title: page for page in pages}
        self._by_key = {title_key(page.title): page for page in pages}
        self._forward = {page.title: page.links for page in pages}
        backward: dict[str, list[str]] = {page.title: [] for page in pages}
        for page in pages:
            for link in page.links:
                backward[link].append(page.title)
        self._backward = backward
        self.titles = tuple(self._pages)
        # Kept for later games: a few bytes for each pair of pages.
        self._levels_from = cache(lambda title: _levels(self._forward, title))
        self._steps_to = lru_cache(maxsize=64)(lambda title: _steps(_levels(self._backward, title)))

    def __reduce__(self) -> tuple[Any, ...]:
        return encyclopedia, ()

    def draw_pair(self, rng: Random, max_turns: int) -> tuple[Page, Page]:
        """Draw any page, and one 2 … 6 links from it but at most ``max_turns``."""
        start = rng.choice(self.titles)
        levels = self._levels_from(start)[min(2, max_turns) : min(_FARTHEST, max_turns) + 1]
        place = rng.randrange(sum(map(len, levels)))
        for level in levels:
            if place < len(level):
                break
            place -= len(level)
        return self._pages[start], self._pages[level[place]]

    def page(self, title: str) -> Page:
        return self._by_key.get(title_key(title)) or Page(title, "", ())

    def has(self, page: Page) -> bool:
        return self._pages.get(page.title) == page

    def close(self) -> None:
        """Do nothing: the pages are shared."""

    def next_link(self, title: str, target: str) -> str | None:
        """Return the first link of a page that is on a shortest way to ``target``; None if either is unknown."""
        if title not in self._pages or target not in self._pages:
            return None
        steps = self._steps_to(target)
        return min(self._forward[title], key=steps.__getitem__)


@cache
def encyclopedia() -> Encyclopedia:
    """Return the encyclopedia of this package, read on first use."""
    text = (Path(__file__).parent / "data" / "encyclopedia.txt").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return Encyclopedia(
        [_read_page(title, " ".join(body.split())) for title, body in zip(parts[::2], parts[1::2], strict=True)]
    )


def _read_page(title: str, body: str) -> Page:
    linked = (target[0].upper() + target[1:] for target, _ in _LINK.findall(body))
    links = tuple(dict.fromkeys(target for target in linked if target != title))
    return Page(title, _LINK.sub(lambda link: link[2] or link[1], body), links)


def _levels(links: Mapping[str, Sequence[str]], start: str) -> tuple[tuple[str, ...], ...]:
    """Return the pages that are 0, 1, 2 … links from ``start``, by breadth-first search."""
    seen = {start}
    levels: list[tuple[str, ...]] = [(start,)]
    while levels[-1]:
        level = dict.fromkeys(link for title in levels[-1] for link in links[title] if link not in seen)
        seen.update(level)
        levels.append(tuple(level))
    return tuple(levels[:-1])


def _steps(levels: Sequence[Sequence[str]]) -> dict[str, int]:
    return {title: steps for steps, level in enumerate(levels) for title in level}
