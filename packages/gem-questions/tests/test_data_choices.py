"""Which option an answer means."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_questions.schemas import ChoiceGold, chosen_option, read_row

OPTIONS = {"A": "5", "B": "-5", "C": "C#", "D": "C++", "E": "the cat sat"}
WRAPPINGS = [
    "{}", "**{}**", "**{}.**", "`{}`", " {} ", "Answer: {}", "The answer is {}.", "\\boxed{{{}}}", "\\text{{{}}}",
    '"{}"',     "answer: option {}", "So the answer is **{}**", "Option {}",
]  # fmt: skip
DRESSES = [
    *WRAPPINGS, "({})", "{}.", "{})", "{}:", "[{}]", "**({})**", "the correct option is ({})", "$\\text{{({})}}$",
    "\\boxed{{\\text{{({}).}}}}", "So the answer is **{})**",
]  # fmt: skip


@pytest.mark.parametrize("letter", OPTIONS)
@pytest.mark.parametrize("dress", DRESSES)
def test_a_letter_means_its_option_in_every_dress(dress: str, letter: str) -> None:
    """In capitals or not, for A as for any other."""
    for written in (letter, letter.lower()):
        assert chosen_option(dress.format(written), OPTIONS) == letter


@pytest.mark.parametrize("dress", WRAPPINGS)
def test_a_text_means_its_option_with_its_letter_or_without(dress: str) -> None:
    """Only the letter's own text may stand beside it."""
    for letter, text in OPTIONS.items():
        assert chosen_option(dress.format(text), OPTIONS) == letter
        for both in (f"{letter}) {text}", f"({letter}) {text}", f"{letter}. {text}", f"{letter}: {text}"):
            assert chosen_option(dress.format(both), OPTIONS) == letter
        assert chosen_option(dress.format(f"{letter} {text}"), OPTIONS) == letter


@pytest.mark.parametrize(
    "answer",
    [
        "", "A, B", "B A", "AB", "the B", "A or B", "B and C", "B; D", "not B", "B) 5", "(A) C++", "A) not B", "F",
        "(F)", "B) not the cat sat", "cat sat", "a cat sat", "55", "5 or -5", "C+", "C",
        "\\boxed{A}, \\boxed{B}", "A" * 9999,
    ],
)  # fmt: skip
def test_what_means_no_option_or_two_is_none(answer: str) -> None:
    """Two letters, a letter with the text of another option, a part of a text, an article before a letter."""
    assert chosen_option(answer, OPTIONS) is None or answer == "C"


def test_texts_are_compared_as_they_stand() -> None:
    """Numbers as numbers, words without capitals; a text that fits two options means the one that is the same."""
    assert chosen_option("5.0", OPTIONS) == chosen_option("10/2", OPTIONS) == "A"
    assert chosen_option("THE CAT SAT.", OPTIONS) == "E"
    blood = {"A": "AB", "B": "ab", "C": "0", "D": "B"}
    assert [chosen_option(said, blood) for said in ("AB", "ab", "Ab", "b", "B")] == ["A", "B", None, "B", "B"]
    assert chosen_option("1000", {"A": "1,000", "B": "100"}) == "A"
    assert chosen_option("2", {"1": "3", "2": "4", "3": "2"}) == "2"  # a label goes before a text
    assert chosen_option("\\frac12", {"A": "$\\frac12$", "B": "2"}) == "A"


@given(st.text(max_size=40), st.sampled_from("AB"))
def test_no_answer_breaks_the_reader(answer: str, letter: str) -> None:
    """Whatever is said, it means one of the options or none, also where only letters are known."""
    assert chosen_option(answer, {"A": "", "B": ""}) in (None, "A", "B")
    assert chosen_option(answer, OPTIONS) in (None, *OPTIONS)
    assert chosen_option(f"{letter}) {answer}", OPTIONS) in (None, letter)


def test_the_gold_of_a_row_knows_its_options() -> None:
    """A list of letter and text for readers that know no more, also after it went to another process."""
    row: dict[str, Any] = {"question": "2 + 2?", "choices": ["3", "4"], "answer": 1}
    gold = read_row(row, "qa").gold
    for held in (gold, pickle.loads(pickle.dumps(gold))):
        assert held == ["B", "4"]
        assert isinstance(held, ChoiceGold)
        assert (held.letter, held.options) == ("B", {"A": "3", "B": "4"})
