"""The hub client's copy of the grammar of environment ids against gem-core's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gem.errors import InvalidIdError
from gem.ids import normalized_distribution
from gem.ids import parse_id as core_parse_id
from gem_hub_client.errors import HubError
from gem_hub_client.ids import base_id, is_id, parse_id
from gem_hub_client.names import normalized_name

IDS = st.tuples(
    st.sampled_from(["", "", "my-envs/", "2My.Envs_2/"]),
    st.sampled_from(["game", "G", "a-b.c_2"]),
    st.just(":"),
    st.sampled_from(["Sudoku", "2", "a-b", "a.b_c-v3", "v1"]),
    st.sampled_from(["", "-v0", "-v1", "-v01", "-v123456789", "-v1234567890", "-v"]),
    st.sampled_from(["", "-easy", "-1.b_c", "--x", "-v2"]),
).map("".join)
STRAYS = st.sampled_from([*"-._:/ \n9é", "::", "-v", "/a"])


@st.composite
def near_ids(draw: st.DrawFn) -> str:
    """Return an id into which something was put that may not belong there."""
    text = draw(IDS)
    place = draw(st.sampled_from([0, 1, text.index(":"), text.index(":") + 1, len(text)]))
    return text[:place] + draw(STRAYS) + text[place:]


def reading(parse: Callable[[str], tuple[Any, ...]], text: str) -> tuple[Any, ...] | str:
    """Return the parts into which a parser splits a text, or the message with which it refuses it."""
    try:
        return tuple(parse(text))
    except (InvalidIdError, HubError) as error:
        return str(error)


@settings(max_examples=6 * settings.default.max_examples)  # a text costs microseconds
@given(st.one_of(IDS, near_ids(), st.text(max_size=20)))
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
