"""The list of all pages for language models, ``llms.txt`` (https://llmstxt.org): title, link and a line for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from devtools.site.navigation import Section, page_of

__all__ = ["FILE", "llms_text"]

FILE = "llms.txt"

_LONGEST = 160
"""Characters of the line on a page."""

_FOLDERS = {"environments": "Environments", "reference": "Reference", "packages": "Packages", "folders": "Files"}
"""First folder of a page that no section lists → the heading under which it stands."""

_WITHOUT_TEXT = ("genindex", "py-modindex", "search", "index")
"""Pages that Sphinx adds for readers of a browser, and the front page, which is the beginning of the list."""


class _Beginning(HTMLParser):
    """The first heading of a page and the first paragraph after it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts = {"h1": "", "p": ""}
        self._inside: str | None = None
        self._in_mark = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_mark = ("class", "headerlink") in attrs
        if self._inside is None and tag in self.texts and not self.texts[tag] and (tag == "h1" or self.texts["h1"]):
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._in_mark = False
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is not None and not self._in_mark:
            self.texts[self._inside] += data


def llms_text(pages: Path, sections: Sequence[Section]) -> str:
    """Return the text of the list.

    Args:
        pages: the folder of the built pages; each HTML file in it is listed once.
        sections: the navigation, whose order and headings the list has.

    Raises:
        FileNotFoundError: if the navigation lists a page that was not built.
    """
    front = _beginning(pages / "index.html")
    lines = [f"# {front['h1']}", "", f"> {front['p']}"]
    for heading, listed in _grouped(pages, sections):
        lines += ["", f"## {heading}", ""]
        for page in listed:
            texts = _beginning(pages / f"{page}.html")
            line = f"- [{texts['h1'] or page}]({page}.html)"
            lines.append(f"{line}: {texts['p']}" if texts["p"] else line)
    return "\n".join(lines) + "\n"


def _grouped(pages: Path, sections: Sequence[Section]) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with its pages: those of the navigation in its order, then the others by their names."""
    built = {path.relative_to(pages).with_suffix("").as_posix() for path in pages.rglob("*.html")}
    groups = {section.title: [page_of(document) for document in section.documents] for section in sections}
    listed = {page for group in groups.values() for page in group}
    for page in sorted(built - listed - set(_WITHOUT_TEXT)):
        groups.setdefault(_FOLDERS.get(page.partition("/")[0], "Further pages"), []).append(page)
    yield from groups.items()


def _beginning(path: Path) -> dict[str, str]:
    texts = _Beginning(path.read_text(encoding="utf-8")).texts
    return {tag: _line(text) for tag, text in texts.items()}


def _line(text: str) -> str:
    """Return a text as one line without link brackets, cut between words."""
    line = re.sub(r"[\[\]]", "", " ".join(text.split()))
    return line if len(line) <= _LONGEST else line[:_LONGEST].rpartition(" ")[0] + " …"
