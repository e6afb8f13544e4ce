"""The hub client's copy of the grammar of environment ids against gem-core's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gem.errors import InvalidIdError
from gem.ids import normalized_distribution
from gem.ids import parse_id as core_parse_id
from gem_hub_client.errors import HubError
from gem_hub_client.ids import base_id, is_id, parse_id
from gem_hub_client.names import normalized_name

# Mostly the characters that the grammar gives a meaning to, so that many texts are ids or almost ids.
PARTS = st.sampled_from(
    ["game", "Sudoku", "-v0", "-v1", "-v01", "-v123456789", "-v1234567890", "-easy", "v", "-", "_", ".", ":", "/"]
)
TEXTS = st.one_of(
    st.lists(PARTS, max_size=9).map("".join),
    st.from_regex(re.compile(r"([a-z0-9._-]+/)?[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+(-v[0-9]{1,10})?(-[a-z_.-]+)?\n?")),
    st.text(max_size=30),
)


def reading(parse: Callable[[str], tuple[Any, ...]], text: str) -> tuple[Any, ...] | str:
    """Return the parts into which a parser splits a text, or the message with which it refuses it."""
    try:
        return tuple(parse(text))
    except (InvalidIdError, HubError) as error:
        return str(error)


@given(TEXTS)
def test_both_read_every_text_alike(text: str) -> None:
    """The client and gem-core take the same texts for ids, split them alike, and refuse all others in one wording."""
    expected = reading(core_parse_id, text)
    assert reading(parse_id, text) == expected
    assert is_id(text) == isinstance(expected, tuple)
    if is_id(text):
        assert base_id(text) == core_parse_id(text)._replace(variant=None).unowned


@given(st.text(max_size=40))
def test_both_normalize_names_of_distributions_alike(name: str) -> None:
    """A distribution's name has one normal form."""
    assert normalized_name(name) == normalized_distribution(name)
