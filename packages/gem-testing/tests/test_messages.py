"""Values in messages: the part that differs is shown whole, whatever surrounds it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_testing.messages import differing_parts, shorten

CONTEXT = st.text(alphabet="ab/", max_size=300)


@given(CONTEXT, CONTEXT, st.text(alphabet="xy", max_size=150), st.text(alphabet="zw", max_size=150))
def test_a_difference_is_shown_whole(before: str, after: str, old: str, new: str) -> None:
    """Both parts hold what one text has and the other has not."""
    shown_old, shown_new = differing_parts(f"{before}{old}{after}", f"{before}{new}{after}")
    assert old in shown_old
    assert new in shown_new


@given(CONTEXT, CONTEXT)
def test_what_two_texts_share_is_cut(before: str, after: str) -> None:
    """A part holds no more than the difference, and twenty characters on either side of it."""
    shown, _ = differing_parts(f"{before}X{after}", f"{before}Y{after}")
    assert len(shown) <= max(60, 1 + 2 * 20 + len("……"))


@pytest.mark.parametrize("length", [10, 80, 200])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_path_is_shown_whole(length: int, place: str) -> None:
    """The folder that an environment adds to a path is named, however long it is."""
    entries = [f"/usr/lib/python3.{minor}/site-packages" for minor in range(10)]
    added = "/" + "checkout/" * (length // 9) + "tests"
    changed = [added, *entries] if place == "first" else [*entries, added]
    _, now = differing_parts(os.pathsep.join(entries), os.pathsep.join(changed))
    assert added in now


def test_an_endless_difference_is_cut() -> None:
    """A message stays readable where nearly everything differs."""
    old, new = differing_parts("a" * 10_000, "b" * 10_000)
    assert len(old) == len(new) == 401
    assert old.endswith("…")


def test_a_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    """A repr that raises does not reach the message."""

    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shorten(Shy()) == "<Shy>"
