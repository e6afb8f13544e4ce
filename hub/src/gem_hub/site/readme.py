"""Renders a package's readme: Markdown without HTML, without images, and with links only to the web.

Three independent layers protect the page: the Markdown parser drops HTML, a sanitizer reduces its output to a list of
harmless elements, and the page's content policy blocks foreign scripts and resources.
"""

from __future__ import annotations

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from gem_hub.site.text import web_address

__all__ = ["MOST", "readme_html"]

MOST = 100_000
"""The largest number of characters of a readme on a page."""

_ELEMENTS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "ul", "ol", "li"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_SHIFT = 2
"""The number of levels by which headings move down, because the page has its own first and second level."""


def readme_html(text: str, content_type: str) -> Markup:
    """Return a readme as harmless HTML.

    Args:
        text: the readme without control characters; see :func:`gem_hub.site.text.readable`.
        content_type: from the metadata; any other type than Markdown is shown as plain text.
    """
    shown = text[:MOST]
    kind = content_type.partition(";")[0].strip().casefold()
    if kind not in ("text/markdown", ""):
        return Markup("<pre>{}</pre>").format(shown)
    tokens = _parser().parse(shown)
    _tame(tokens)
    html = _parser().renderer.render(tokens, _parser().options, {})
    return Markup(  # noqa: S704  # sanitized above
        nh3.clean(
            html,
            tags=_ELEMENTS,
            attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
            url_schemes={"http", "https"},
            link_rel="nofollow noopener noreferrer",
        )
    )


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _tame(tokens: list[Token]) -> None:
    """Move headings down, replace images by their texts, and remove links that do not lead to the web."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _SHIFT)}"
        if token.children:
            token.children = _tamed_line(token.children)


def _tamed_line(tokens: list[Token]) -> list[Token]:
    kept = []
    linked: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            linked.append(bool(web_address(str(token.attrGet("href") or ""))))
            if linked[-1]:
                kept.append(token)
        elif token.type == "link_close":
            if linked.pop():
                kept.append(token)
        elif token.type == "image":
            words = "".join(child.content for child in token.children or ())
            kept.append(Token("text", "", 0, content=words))
        else:
            kept.append(token)
    return kept
