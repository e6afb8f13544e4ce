"""Reads installers' pages like pip and uv: HTML (PEP 503) and JSON (PEP 691)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

__all__ = ["JSON_TYPE", "UNSAID_IN_HTML", "Link", "SimplePage", "kind_of", "read_html", "read_json", "read_list"]

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
UNSAID_IN_HTML = ("size", "published")
"""What of a :class:`Link` only JSON says."""
_HTML_TYPES = ("text/html", "application/vnd.pypi.simple.v1+html")


@dataclass(frozen=True)
class Link:
    """A page's data on one file; None for data that HTML lacks."""

    filename: str
    url: str
    sha256: str
    requires_python: str
    yanked: str | None
    metadata_sha256: str
    """Of the metadata beside the file; empty if the page promises none."""
    size: int | None = None
    published: str | None = None


@dataclass(frozen=True)
class SimplePage:
    """A page about one package."""

    status: str
    links: tuple[Link, ...]
    name: str = ""
    """Empty in HTML, which lacks it."""
    versions: tuple[str, ...] = ()


def kind_of(content_type: str) -> str:
    """Return ``html`` or ``json`` for what installers take a Content-Type for; empty for what they refuse."""
    essence = content_type.partition(";")[0].strip().lower()
    return "html" if essence in _HTML_TYPES else "json" if essence == JSON_TYPE else ""


def read_html(content: bytes) -> SimplePage:
    """Return an HTML page.

    Raises:
        ValueError: if it is none.
    """
    parser = _Parser()
    parser.feed(content.decode("utf-8"))
    parser.close()
    if "html" not in parser.seen:
        raise ValueError("it is no HTML")
    return SimplePage(parser.meta.get("pypi:project-status") or "active", tuple(map(_link_of, parser.anchors)))


def read_list(content: bytes) -> list[str]:
    """Return the names that the HTML page about all packages lists, sorted; ValueError if it is none."""
    parser = _Parser()
    parser.feed(content.decode("utf-8"))
    parser.close()
    if "html" not in parser.seen:
        raise ValueError("it is no HTML")
    return sorted(text for _, text in parser.anchors)


def read_json(content: bytes) -> SimplePage:
    """Return a JSON page.

    Raises:
        ValueError: if it is none.
    """
    try:
        document = json.loads(content)
        status = document.get("project-status", {}).get("status", "active")
        links = tuple(map(_link_in, document["files"]))
        return SimplePage(status, links, document["name"], tuple(document["versions"]))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{error!r} is missing or of the wrong type") from error


class _Parser(HTMLParser):
    """Collects the elements that installers use."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: set[str] = set()
        self.meta: dict[str, str] = {}
        self.anchors: list[tuple[dict[str, str | None], str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        given = dict(attrs)
        if tag == "meta" and given.get("name"):
            self.meta[str(given["name"])] = given.get("content") or ""
        if tag == "base":
            raise ValueError("it has a <base>, which changes where its links lead")
        if tag == "a":
            self._inside = True
            self.anchors.append((given, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            attributes, text = self.anchors[-1]
            self.anchors[-1] = (attributes, text + data)


def _link_of(anchor: tuple[dict[str, str | None], str]) -> Link:
    attributes, text = anchor
    url, _, fragment = (attributes.get("href") or "").partition("#")
    beside = attributes.get("data-core-metadata") or attributes.get("data-dist-info-metadata") or ""
    return Link(
        text,
        url,
        fragment.removeprefix("sha256="),
        attributes.get("data-requires-python") or "",
        (attributes["data-yanked"] or "") if "data-yanked" in attributes else None,
        beside.removeprefix("sha256="),
    )


def _link_in(entry: dict[str, Any]) -> Link:
    yanked = entry.get("yanked", False)
    beside = entry.get("core-metadata") or entry.get("dist-info-metadata") or {}
    return Link(
        entry["filename"],
        entry["url"],
        entry["hashes"].get("sha256", ""),
        entry.get("requires-python") or "",
        None if yanked is False else "" if yanked is True else str(yanked),
        beside.get("sha256", "") if isinstance(beside, dict) else "",
        entry["size"],
        entry["upload-time"],
    )
