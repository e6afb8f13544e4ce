from __future__ import annotations

from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from site_pages import Element, parsed

from gem_hub.site.readme import MOST, readme_html
from gem_hub.site.text import readable, tag_slug, web_address

ALLOWED = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "ul", "ol", "li"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![pixel](https://tracker.example/pixel.png)",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\tscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[click](vbscript:x)",
    "[click](file:///etc/passwd)",
    "[click](//evil.example/x)",
    "[click](docs/install.md)",
    "[click](#top)",
    '[click](https://fine.example "onmouseover=alert(1)")',
    '[click](https://fine.example/"onmouseover="alert(1))',
    "<https://fine.example/><svg/onload=alert(1)>",
    "<javascript:alert(1)>",
    "[ref]\n\n[ref]: javascript:alert(1)",
    "[![pixel](https://tracker.example/p.png)](javascript:alert(1))",
    "<style>body{display:none}</style>",
    '<iframe src="https://evil.example"></iframe>',
    "<form action=https://evil.example><input name=password></form>",
    "<a href='javascript:alert(1)'>x</a>",
    "<!-- --!><script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    "| a |\n|---|\n| <script>alert(1)</script> |",
    "</div></section></main><script>alert(1)</script>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "\u202etxet desrever\u202c",
]


def check(text: str, content_type: str = "text/markdown") -> Element:
    """Assert that a readme can do nothing, and return it."""
    html = str(readme_html(readable(text), content_type))
    tree = parsed(html)
    for element in tree.all():
        assert element.name in ALLOWED
        names = {"a": {"href", "rel"}, "ol": {"start"}}.get(element.name, set())
        assert set(element.attributes) <= names
        if "href" in element.attributes:
            assert element.attributes["href"].startswith(("https://", "http://"))
            assert element.attributes["rel"] == "nofollow noopener noreferrer"
    assert not set(html) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\x00\x1b")
    return tree


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("content_type", ["text/markdown; charset=UTF-8", "text/x-rst", ""])
def test_a_hostile_readme_can_do_nothing(text: str, content_type: str) -> None:
    """Whatever a readme tries, what is left is text, plain elements and links to the web."""
    check(text, content_type)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_second_wall_holds_alone(text: str) -> None:
    """Were HTML let through and nothing unlinked, no script, event, picture or strange scheme would get past it."""
    careless = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    with patch("gem_hub.site.readme._parser", lambda: careless), patch("gem_hub.site.readme._tame"):
        html = str(readme_html(readable(text), "text/markdown"))
    for element in parsed(html).all():
        assert element.name in ALLOWED
        assert element.attributes.keys() <= {"a": {"href", "rel"}, "ol": {"start"}}.get(element.name, set())
        assert urlsplit(element.attributes.get("href", "")).scheme in ("", "http", "https")


markdown = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.sampled_from(list("[]()<>!`*_|&;:\"'\n #-\\")), st.text(max_size=8)),
    max_size=12,
).map("".join)


@given(markdown)
@example("[a](<javascript:alert(1)>)")
def test_no_mixture_of_hostile_parts_gets_through(text: str) -> None:
    """Parts put together at random get through as little as each alone."""
    check(text)


def test_html_is_shown_as_it_was_written() -> None:
    """Elements in a readme are its text, so that nothing of it is lost."""
    assert check("a <b>bold</b> <script>x</script>").text == "a <b>bold</b> <script>x</script>\n"


def test_a_readme_stays_readable() -> None:
    """Headings sink below those of the page; code, tables and links to the web stay; pictures become their texts."""
    tree = check(
        "# Title\n\nSee [the docs](https://docs.example/a?b=1&c=2) and [here](other.md).\n\n"
        "![A **board**](board.png)\n\n"
        "```python\nx = 1 < 2\n```\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n###### Deep\n"
    )
    assert [tree.one("h3").text, tree.one("h6").text] == ["Title", "Deep"]
    assert tree.one("a").attributes["href"] == "https://docs.example/a?b=1&c=2"
    assert "and here." in tree.text
    assert "A board" in tree.text
    assert tree.one("pre").text == "x = 1 < 2\n"
    assert [cell.text for cell in tree.all("td")] == ["1", "2"]


def test_what_is_no_markdown_is_shown_as_written() -> None:
    """A readme in another language is one preformatted text."""
    tree = check("Title\n=====\n\n.. raw:: html\n\n   <script>alert(1)</script>\n\n*x*", "text/x-rst")
    assert tree.one("pre").text.splitlines()[:2] == ["Title", "====="]
    assert "*x*" in tree.text
    assert "<script>" in tree.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "*a " * 50_000, "> " * 50_000, "`" * 50_000, "<" * 50_000, "|a" * 20_000 + "\n|-", "a" * 10**6],
    ids=["brackets", "emphasis", "quotes", "backticks", "angles", "a table", "one word"],
)
def test_a_huge_readme_is_cut_and_rendered(text: str) -> None:
    """Text made to cost time or depth is rendered all the same, and no more than the limit of it."""
    tree = check(text)
    assert len(tree.text) <= 2 * MOST


@pytest.mark.parametrize(
    ("address", "usable"),
    [
        ("https://example.org/a?b=c#d", True), ("http://example.org", True), ("javascript:alert(1)", False),
        ("JAVASCRIPT:alert(1)", False), ("data:text/html,x", False), ("file:///etc/passwd", False),
        ("//example.org/", False), ("https:evil", False), ("https://", False), ("https://[", False),
        ("https://exa mple.org", False), ("https://example.org/\"onclick='x'", False), ("", False),
        ("git@example.org:a/b", False),
    ],
)  # fmt: skip
def test_only_addresses_of_the_web_are_linked(address: str, usable: bool) -> None:
    """A link leads to a host by http or https, or is none."""
    assert web_address(address) == (address if usable else "")


@pytest.mark.parametrize("tag", ["", ".", "..", "../x", "a/b", "a\\b", "a b", "<b>", "a.", "é", "x" * 65, "a\n", "%2e"])
def test_a_tag_that_is_no_folder_has_no_page(tag: str) -> None:
    """What could lead out of its folder, or is not plain, never becomes a path."""
    assert tag_slug(tag) == ""


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_readable_leaves_no_control_characters(value: object) -> None:
    """Of control characters only the ends of lines stay, however deep a text lies; a second time changes nothing."""

    def texts(found: object) -> list[str]:
        if isinstance(found, str):
            return [found]
        if isinstance(found, dict):
            return [text for key, item in found.items() for text in [key, *texts(item)]]
        return [text for item in found for text in texts(item)]  # type: ignore[attr-defined]

    once = readable(value)
    assert all(ord(c) >= 32 or c == "\n" for text in texts(once) for c in text)
    assert readable(once) == once
