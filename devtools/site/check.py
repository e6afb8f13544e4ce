"""Reads the built pages as a browser would: every link has a target, and no page asks for anything from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["faults"]

_LOADS = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src"}
_LINKED = ("stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "manifest", "shortcut")
_ELSEWHERE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//", re.IGNORECASE)


class _Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADS and _LOADS[tag] in given:
            self.loads.append(given[_LOADS[tag]])
        if tag == "link" and set(given.get("rel", "").lower().split()) & set(_LINKED):
            self.loads.append(given.get("href", ""))


def faults(folder: Path) -> list[str]:
    """Return a sentence for each fault of the pages in a folder, in the order of their names."""

    @cache
    def page(path: Path) -> _Page:
        return _Page(path.read_text(encoding="utf-8"))

    found = [fault for path in sorted(folder.rglob("*.html")) for fault in _faults_of(folder, path, page)]
    sheets = [path for path in sorted(folder.rglob("*.css")) if _ELSEWHERE.search(path.read_text(encoding="utf-8"))]
    return [*found, *(f"{sheet.relative_to(folder)}: loads a file from elsewhere" for sheet in sheets)]


def _faults_of(folder: Path, path: Path, page: Callable[[Path], _Page]) -> Iterator[str]:
    shown = path.relative_to(folder)
    for address in page(path).loads:
        if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
            yield f"{shown}: loads {address}"
    for address in [*page(path).links, *page(path).loads]:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or (not parts.path and not parts.fragment):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            yield f"{shown}: {address!r} leads nowhere"
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors:
            yield f"{shown}: {address!r} names an anchor that is not there"
