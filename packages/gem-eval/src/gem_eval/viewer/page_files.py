"""The files of the page, and the policy under which a browser runs them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["CONTENT_SECURITY_POLICY", "PageFile", "page_files"]

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        # No text can become markup or code, not even by a mistake in the page's own scripts.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)

_CONTENT_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript"}


class PageFile(NamedTuple):
    """A file of the page."""

    content: bytes
    content_type: str


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by name."""
    found = {}
    for file in files("gem_eval.viewer").joinpath("page").iterdir():
        content_type = _CONTENT_TYPES.get(file.name.rpartition(".")[2])
        if content_type is not None:
            found[file.name] = PageFile(file.read_bytes(), content_type)
    return found
