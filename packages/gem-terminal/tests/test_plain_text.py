"""Output of programs in messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_terminal.plain_text import plain_text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("\x1b[91mE: no package\x1b[0m\n", "E: no package\n"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        ("10 %\r50 %\r100 %\ndone\r\n", "100 %\ndone\n"),
        ("a\tb\x00\x07\x7f\x9b31mc\x1b", "a\tbc"),
        ("\x1b(Bok \x1b[38;2;1;2;3mü\u2028", "ok ü\u2028"),
    ],
)
def test_colours_titles_and_progress_leave_the_text(output: str, text: str) -> None:
    """What a terminal would show remains."""
    assert plain_text(output) == text


@given(st.text(st.sampled_from("\x1b[]m0;?\x07\\\r\nab\x9b\x00P")))
def test_no_control_character_is_left(output: str) -> None:
    """Of any output only newlines and tabs stay, and a second pass changes nothing."""
    text = plain_text(output)
    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in text)
    assert plain_text(text) == text


def test_the_time_is_linear() -> None:
    """Unfinished escapes in large numbers do no harm."""
    for piece in ("\x1b", "\x1b[", "\x1b]", "\x1bP", "\r", "\x9b"):
        plain_text(piece * 200_000)
