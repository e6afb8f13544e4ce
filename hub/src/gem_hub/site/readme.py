"""Rendering a package's readme: Markdown without HTML, without pictures, and with links to the web alone.

Three walls, each of which would do: the Markdown parser passes no HTML through, what it makes is reduced to a list of
harmless elements, and the page's content policy runs no foreign script and loads nothing foreign.
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
"""Characters of a readme that are shown."""

_ELEMENTS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "ul", "ol", "li"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_SHIFT = 2
"""Levels by which headings sink: the page has a first and second level of its own."""


def readme_html(text: str, content_type: str) -> Markup:
    """Return a readme as HTML that can do nothing.

    Args:
        text: free of control characters; see :func:`gem_hub.site.text.readable`.
        content_type: from the metadata; any other type than Markdown is shown as plain text.
    """
    shown = text[:MOST]
    kind = content_type.partition(";")[0].strip().casefold()
    if kind not in ("text/markdown", ""):
        return Markup("<pre>{}</pre>").format(shown)
    tokens = _parser().parse(shown)
    _tame(tokens)
    html = _parser().renderer.render(tokens, _parser().options, {})
    return Markup(  # noqa: S704  # what it may hold is listed above
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
    """Sink headings, replace pictures by their texts, and unlink what does not lead to the web."""
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
