"""The checks that constructors use on their arguments."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.arguments import boolean, check_names, choice, integer, nearest, real, seed_value, string
from gem.errors import ArgumentError, ArgumentTypeError, GemError, UnknownArgumentError

HUGE = 10**5000  # Python refuses to print it


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.just(HUGE),
    st.just(-HUGE),
    st.builds(Unprintable),
)


@given(ANYTHING, st.integers(-10, 10), st.integers(0, 10))
def test_integer_returns_ints_in_range_and_refuses_the_rest(value: Any, low: int, span: int) -> None:
    """An int that is no bool and lies in the closed range comes back; anything else is one of two errors."""
    if type(value) is not int:
        with pytest.raises(ArgumentTypeError, match="n must be an int"):
            integer("n", value, minimum=low, maximum=low + span)
    elif low <= value <= low + span:
        assert integer("n", value, minimum=low, maximum=low + span) is value
    else:
        with pytest.raises(ArgumentError, match=r"n must be at (least|most)"):
            integer("n", value, minimum=low, maximum=low + span)


@given(ANYTHING)
def test_real_returns_finite_floats_and_refuses_the_rest(value: Any) -> None:
    """A finite number in the range comes back as a float; anything else is a GEM error, never another one."""
    if type(value) in (int, float) and -1 <= value <= 1:
        result = real("x", value, minimum=-1.0, maximum=1.0)
        assert type(result) is float
        assert result == value
    else:
        with pytest.raises(GemError, match="x must be"):
            real("x", value, minimum=-1.0, maximum=1.0)


@pytest.mark.parametrize("value", [HUGE, -HUGE, float("inf"), float("nan")], ids=["huge", "-huge", "inf", "nan"])
def test_real_without_a_range_refuses_what_no_float_can_hold(value: float) -> None:
    """Infinities, NaN and ints beyond the largest float are an ArgumentError also where no range is given."""
    with pytest.raises(ArgumentError, match="x must be finite"):
        real("x", value)


@given(ANYTHING)
def test_boolean_takes_true_and_false_alone(value: Any) -> None:
    """0, 1 and other truthy or falsy values are refused."""
    if isinstance(value, bool):
        assert boolean("b", value) is value
    else:
        with pytest.raises(ArgumentTypeError, match="b must be True or False"):
            boolean("b", value)


@given(ANYTHING)
def test_string_takes_text_that_is_not_empty(value: Any) -> None:
    """A str with at least one character comes back; the two ways of being none are two errors."""
    if isinstance(value, str) and value:
        assert string("s", value) is value
    else:
        with pytest.raises(ArgumentError if value == "" else ArgumentTypeError, match="s must"):
            string("s", value)


@given(ANYTHING)
def test_choice_takes_options_of_their_own_type(value: Any) -> None:
    """1 is not True and 1.0 is not 1; the message lists what there is."""
    options: list[Any] = [1, "easy", None]
    if any(type(value) is type(option) and value == option for option in options):
        assert choice("c", value, options) is value
    else:
        with pytest.raises(ArgumentError, match="c must be one of 1, 'easy', None"):
            choice("c", value, options)


class Index:
    """An int of another library, as NumPy has them."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Small(IntEnum):
    THREE = 3


@pytest.mark.parametrize("value", [Index(3), Small.THREE])
def test_anything_that_says_it_is_an_int_becomes_one(value: Any) -> None:
    """Seeds and numbers are plain ints afterwards, which JSON can hold."""
    for found in (seed_value(value), integer("n", value, minimum=3, maximum=3)):
        assert type(found) is int
        assert found == 3
    with pytest.raises(ArgumentError, match="n must be at least 4, got 3"):
        integer("n", value, minimum=4)
    with pytest.raises(ArgumentError, match="got -1"):
        seed_value(Index(-1))


@given(ANYTHING)
def test_a_seed_is_any_non_negative_int(value: Any) -> None:
    """Ints of any size from 0 are seeds; bools, negative numbers and everything else are refused."""
    if type(value) is not int:
        with pytest.raises(ArgumentTypeError, match="seed must be a non-negative int"):
            seed_value(value)
    elif value < 0:
        with pytest.raises(ArgumentError, match="seed must be a non-negative int"):
            seed_value(value)
    else:
        assert seed_value(value) is value


def test_messages_stay_short() -> None:
    """However long the value, the message shows no more than the start of it."""
    with pytest.raises(ArgumentTypeError) as caught:
        integer("n", "x" * 1_000_000)
    assert len(str(caught.value)) < 200


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """A misspelt argument names the one that was meant; where none is near, all are listed."""
    with pytest.raises(UnknownArgumentError, match="Sudoku has no argument 'clue'; did you mean 'clues'"):
        check_names("Sudoku", ["scale", "clue"], ["scale", "clues"])
    with pytest.raises(UnknownArgumentError, match="it takes scale, clues"):
        check_names("Sudoku", ["zzz"], ["scale", "clues"])
    with pytest.raises(UnknownArgumentError, match="it takes none"):
        check_names("Sudoku", ["zzz"], [])
    check_names("Sudoku", ["clues"], ["scale", "clues"])


def test_nearest_is_none_where_nothing_is_near() -> None:
    """The hint is one of the known names or None."""
    assert nearest("concatt", ["concat", "messages"]) == "concat"
    assert nearest("q", ["concat", "messages"]) is None
    assert nearest("q", []) is None
