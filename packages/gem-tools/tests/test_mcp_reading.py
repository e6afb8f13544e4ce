"""What becomes of what servers send: lines, names, and results."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import AudioContent, CallToolResult, ImageContent, TextContent

from gem_tools.mcp import results, stdio
from gem_tools.mcp.names import public_names
from gem_tools.mcp.results import cut, tool_result
from gem_tools.mcp.stdio import _id_in, _Lines, _TooLong


@given(st.binary(max_size=200), st.lists(st.integers(1, 50)))
def test_lines_do_not_depend_on_how_they_arrive(content: bytes, sizes: list[int]) -> None:
    """However the bytes are cut into chunks, the lines are those that end in a newline."""
    lines = _Lines()
    found: list[Any] = []
    rest = content
    for size in [*sizes, len(content) + 1]:
        found += lines.feed(rest[:size])
        rest = rest[size:]
    assert found == content.split(b"\n")[:-1]


def test_of_a_line_beyond_the_bound_only_the_edges_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length is counted, its middle is dropped, and the line after it is whole."""
    monkeypatch.setattr(stdio, "LONGEST_MESSAGE", 10_000)
    lines = _Lines()
    found: list[Any] = []
    for chunk in (b"a" * 4000, b"b" * 4000, b"c" * 4000, b"d" * 100, b"e\nwhole\n"):
        found += lines.feed(chunk)
        assert sum(map(len, lines._parts)) <= 10_000
    long, whole = found
    assert long == _TooLong(b"a" * 1024 + b"c" * 923 + b"d" * 100 + b"e", 12_101)
    assert whole == b"whole"


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "result": 5}', 7),
        (b'{"id": "seven", "result": 5}', "seven"),
        (b'{"jsonrpc": "2.0", "id": 7, "result": {"id": 8,', 7),
        (b'{"result": {"id": 8 broken, "jsonrpc": "2.0", "id": 7}', 7),
        (b'{"result": {"id": 8', None),
        (b'{"id": 7, "method": "sampling"}', None),
        (b'{"id": true, "result": 5}', None),
        (b'{"id": [7]}', None),
        (b"INFO id: 7", None),
        (b"[" * 100_000, None),
    ],
)
def test_an_unreadable_response_is_matched_with_its_request_only_if_that_is_certain(
    line: bytes, identifier: Any
) -> None:
    """An id counts at the top of the object, never one that is nested in it."""
    assert _id_in(line) == identifier


@given(st.lists(st.tuples(st.sampled_from(["", "a_", "b_"]), st.text(max_size=80)), max_size=20, unique=True))
def test_every_tool_has_a_name_of_its_own_that_chat_apis_allow(tools: list[tuple[str, str]]) -> None:
    """Whatever servers call their tools; and a name that is allowed as it is stays."""
    tools = list({prefix + name: (prefix, name) for prefix, name in tools}.values())
    names = public_names(tools)
    assert len(set(names)) == len(names) == len(tools)
    for (prefix, original), name in zip(tools, names, strict=True):
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", prefix + original):
            assert name == prefix + original


def test_a_changed_name_does_not_depend_on_the_other_tools() -> None:
    """The digest is that of the original name alone."""
    assert public_names([("", "a.b"), ("", "a_b")])[0] == public_names([("", "a_b"), ("", "a.b")])[1]
    assert public_names([("", "x" * 70)])[0] == public_names([("", "y"), ("", "x" * 70)])[1]


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_text_that_is_cut_keeps_both_ends(text: str, longest: int) -> None:
    """A short text stays as it is; a long one says how much is left out."""
    shown = cut(text, longest)
    if len(text) <= longest:
        assert shown == text
    else:
        assert f"{len(text) - longest} characters left out" in shown
        assert text.startswith(shown.split("\n[… ")[0])


def test_a_result_without_content_says_so_or_shows_its_data() -> None:
    """An agent is never shown nothing at all."""
    assert "returns nothing" in tool_result(CallToolResult(content=[]), 100).text
    assert tool_result(CallToolResult(content=[], structured_content={"a": 1}), 100).text == '{"a": 1}'
    failed = tool_result(CallToolResult(content=[], is_error=True), 100)
    assert not failed.ok
    assert "failed" in failed.text


def test_pictures_beyond_the_bound_are_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on all of them together."""
    monkeypatch.setattr(results, "LONGEST_CONTENT", 10)
    answer = CallToolResult(content=[ImageContent(data="AAAA", mime_type="image/png")] * 3)
    result = tool_result(answer, 1000)
    assert len(result.content) == 2
    assert "too large" in result.text


def test_data_beyond_the_bound_and_unknown_content_do_no_harm() -> None:
    """Large data is left out; a kind of content that nobody knows is named."""
    large = CallToolResult(content=[TextContent(text="t")], structured_content={"a": "x" * (2 << 20)})
    assert tool_result(large, 100).data is None
    odd: Any = SimpleNamespace(content=[SimpleNamespace(type="smell")], structured_content=None, is_error=False)
    assert "unknown type smell" in tool_result(odd, 100).text
    sound = CallToolResult(content=[AudioContent(data="AAAA", mime_type="audio/flac")])
    assert "no chat API accepts it" in tool_result(sound, 1000).text


def test_lone_surrogates_in_data_do_not_break_the_result() -> None:
    """Such data cannot be sent as UTF-8, but it can be held."""
    answer = CallToolResult(content=[TextContent(text="\ud800")], structured_content={"a": "\ud800"})
    assert tool_result(answer, 100).text == "?"
