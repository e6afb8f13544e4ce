"""The rewards exact, numeric and environment."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.rewards.numeric import read_number
from gem_questions.rewards import make_reward, score_episode
from gem_rollout.trajectory import Trajectory, Transition


def said(text: Any, *, info: dict[str, Any] | None = None, reward: float = 0.0) -> Trajectory:
    """Return an episode of one action."""
    return Trajectory(None, 0, [Transition("o", text, reward, True, False, info or {})])


def value(name: str, text: Any, **arguments: Any) -> float:
    """Return the value of a reward for a text; it must be readable."""
    score = score_episode(make_reward(name, **arguments), said(text))
    assert score.readable, score.reasons
    return score.value


@pytest.mark.parametrize(
    ("text", "answer", "normalize", "right"),
    [
        ("Paris", "paris", ("case",), True),
        ("Paris", "paris", (), False),
        ("  Paris  ", "Paris", (), True),
        ("New   York", "New York", ("space",), True),
        ("New   York", "New York", (), False),
        ("the U.S.", "us", ("case", "punctuation", "articles"), True),
        ("\uff30aris", "Paris", ("unicode",), True),
        ("\uff30aris", "Paris", (), False),
        ("Lyon", ["Paris", "Lyon"], "case,space", True),
        ("Rome", ["Paris", "Lyon"], "case,space", False),
        ("5", 5, (), True),
        ("x" * 100_000, "x", (), False),
        ("\ud800", "\ud800", ("case", "space", "punctuation", "unicode", "articles"), True),
    ],
)
def test_exact_compares_normalized_text(text: str, answer: Any, normalize: Any, right: bool) -> None:
    """Only what the caller excludes does not count."""
    assert value("exact", text, answer=answer, normalize=normalize) == float(right)


def test_exact_refuses_what_it_cannot_compare() -> None:
    """An unknown normalization is refused at once; a right answer that is no text is unreadable."""
    with pytest.raises(ArgumentError, match="normalize must be one of"):
        make_reward("exact", answer="x", normalize=["lower"])
    assert not score_episode(make_reward("exact", answer={"a": 1}), said("x")).readable


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", "5"),
        ("it is 1,234.50 dollars", "1234.50"),
        ("1, 2, 3", "3"),
        ("1,2", "2"),
        ("1,2345", "2345"),
        ("5,", "5"),
        ("5,e3", "5"),
        ("5,,7,.", "7"),
        ("1,234e3", "1234E+3"),
        ("-3", "-3"),
        ("\u22123.5", "-3.5"),
        ("8/4", "2"),
        ("it is 1 1/2.", "1.5"),
        ("-3/4", "-0.75"),
        ("(\u22121/8)", "-0.125"),
        ("5 / 2", "2.5"),
        ("so 6/3 = 2", "2"),
        ("-\\frac{8}{4}", "-2"),
        ("1/0", None),
        ("1/2/2020", None),
        ("3-5", None),
        ("10 - 3", None),
        ("2*3", None),
        ("2 \\times 3", None),
        ("2^{10}", None),
        ("5!", None),
        ("12:30", None),
        ("x = -3", "-3"),
        ("total: 5", "5"),
        ("COVID-19", "19"),
        ("1e3", "1E+3"),
        ("2.5e-3", "0.0025"),
        (".5", "0.5"),
        ("50%", "0.50"),
        ("50 %", "0.50"),
        ("7.", "7"),
        ("none", None),
        ("", None),
        ("v2", None),
        ("\u0665", None),
        ("1e99999", "1"),
        ("**5**", "5"),
        ("60 km/h", "60"),
    ],
)
def test_the_last_number_is_read(text: str, number: str | None) -> None:
    """Separators, signs, exponents and percent signs are understood, and nothing else is."""
    assert read_number(text) == (None if number is None else Decimal(number))


@given(st.text(alphabet="0123456789.,+-eE%\u2212 \n", max_size=200))
def test_no_text_breaks_the_reading_of_numbers(text: str) -> None:
    """Whatever stands in the text, there is a number or none."""
    found = read_number(text)
    assert found is None or found.is_finite()


@given(st.integers(-(10**12), 10**12), st.integers(0, 6))
def test_a_number_is_read_as_it_is_written(number: int, places: int) -> None:
    """With or without separators, the value is exact."""
    decimal = Decimal(number).scaleb(-places)
    assert read_number(f"so {decimal:f}") == decimal
    assert read_number(f"so {decimal:,f}.") == decimal


@pytest.mark.parametrize(
    ("text", "arguments", "right"),
    [
        ("0.5", {"answer": "1/2 = 0.5"}, True),
        ("0.333", {"answer": 1 / 3}, False),
        ("0.333", {"answer": 1 / 3, "absolute": 0.001}, True),
        ("101", {"answer": 100, "relative": 0.01}, True),
        ("101.1", {"answer": 100, "relative": 0.01}, False),
        ("no idea", {"answer": 3}, False),
        ("10000000000000000000000000001", {"answer": "10000000000000000000000000000", "relative": 0}, False),
        ("7", {"answer": [5, 7]}, True),
    ],
)
def test_numeric_compares_within_the_tolerance(text: str, arguments: dict[str, Any], right: bool) -> None:
    """The larger tolerance counts, and comparison is exact."""
    assert value("numeric", text, **arguments) == float(right)


def test_numeric_without_a_right_number_is_unreadable() -> None:
    """A right answer that is no number is a fault of the set, not of the agent."""
    assert score_episode(make_reward("numeric", answer="many"), said("3")).metadata["unreadable"] == "no_answer_known"


def test_numeric_reads_a_megabyte_in_time_of_its_end_alone() -> None:
    """Only the end of a long answer is read."""
    assert read_number("1 " * 500_000 + "7") == 7
    assert read_number("1" * 1_000_000) is not None


def test_environment_gives_what_the_environment_paid() -> None:
    """The return, the success, and the reward of each turn."""
    won = said("x", info={"success": True}, reward=0.25)
    assert score_episode(make_reward("environment"), won).value == 0.25
    assert score_episode(make_reward("environment", of="success"), won).value == 1.0
    assert make_reward("environment").per_turn(won) == [0.25]
    assert not score_episode(make_reward("environment", of="success"), said("x")).readable
