"""Copies the repository's Markdown files into the tree of pages, with links that lead to the other pages.

In the repository a link is a path from the file that holds it, so that it works wherever the files are shown. A link to
a document becomes a link to its page, one to a folder leads to the folder's README or a list of its files, and one to
any other file lets the reader load that file.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown_it import MarkdownIt

from devtools.site.navigation import page_of

__all__ = ["PATTERNS", "copy_documents", "documents", "relinked"]

PATTERNS = ("*.md", "docs/**/*.md", "packages/*/README.md", "hub/README.md", "hub/index/README.md", "benchmarks/*.md")
OTHERS = ("changelog.d/README.md", "hub/official_roots/README.md")
"""Further documents that the others link to."""

_TARGET = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


class DeadLinkError(ValueError):
    """A document links to a path that does not exist."""


def documents(root: Path) -> dict[str, str]:
    """Return the page of each document: path in the repository → page."""
    found = {path.relative_to(root).as_posix() for pattern in PATTERNS for path in root.glob(pattern)}
    return {document: page_of(document) for document in sorted(found | {d for d in OTHERS if (root / d).is_file()})}


def copy_documents(root: Path, target: Path, extra: Mapping[str, str]) -> list[str]:
    """Write every document as a page below ``target``; return the pages.

    Args:
        root: the repository.
        target: the folder of the pages' sources.
        extra: page → Markdown that follows the document, such as the navigation of the front page.

    Raises:
        DeadLinkError: if a link leads nowhere.
    """
    pages = documents(root)
    for document, page in pages.items():
        text = relinked((root / document).read_text(encoding="utf-8"), document, page, pages, root, target)
        place = target / f"{page}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + extra.get(page, ""), encoding="utf-8")
    return list(pages.values())


def relinked(text: str, document: str, page: str, pages: Mapping[str, str], root: Path, target: Path) -> str:
    """Return a document's text with the links of its page."""

    def replaced(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document), match[2]))
        anchor = match[3] or ""
        found = next((other for other in (path, f"{path}/README.md") if other in pages), None)
        if found is not None:
            return f"{match[1]}{_from(page, pages[found])}.md{anchor}"
        source = root / path
        if path.startswith("..") or not source.exists():
            raise DeadLinkError(f"{document}: the link {match[2]!r} leads to no file of the repository")
        if source.is_dir():
            return f"{match[1]}{_from(page, _folder_page(root, path, target))}.md"
        return f"{match[1]}{_loaded(page, _file(root, path, target))}"

    code = set(_lines_of_code(text))
    lines = text.splitlines(keepends=True)
    return "".join(line if number in code else _TARGET.sub(replaced, line) for number, line in enumerate(lines))


def _file(root: Path, path: str, target: Path) -> str:
    """Copy a file that a reader may load; return its path among the pages."""
    place = target / "files" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes((root / path).read_bytes())
    return f"files/{path}"


def _folder_page(root: Path, path: str, target: Path) -> str:
    """Write a page that lists the files of a folder without a README; return the page."""
    page = f"folders/{path}"
    files = sorted(file for file in (root / path).iterdir() if file.is_file())
    links = [f"- [{file.name}]({_loaded(page, _file(root, f'{path}/{file.name}', target))})" for file in files]
    place = target / f"{page}.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(["---", "orphan: true", "---", "", f"# {path}", "", *links, ""]), encoding="utf-8")
    return page


def _loaded(page: str, file: str) -> str:
    """Return the link from a page to a file; Markdown that is no page would be taken for one."""
    return f"path:{_from(page, file)}" if file.endswith(".md") else _from(page, file)


def _from(page: str, other: str) -> str:
    """Return the relative path from one page to another."""
    return os.path.relpath(other, posixpath.dirname(page) or ".").replace(os.sep, "/")


def _lines_of_code(text: str) -> Iterator[int]:
    for token in MarkdownIt().parse(text):
        if token.type in ("fence", "code_block") and token.map is not None:
            yield from range(*token.map)
