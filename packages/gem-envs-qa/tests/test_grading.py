"""Exact match and F1 of short answers."""

from __future__ import annotations

import re
import string
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_qa.grading import exact_match, f1, golds_of, normalised, scores, words_of


def squad_normalised(text: str) -> str:
    """The four steps of SQuAD's script, as its paper describes them."""
    lower = text.lower()
    bare = "".join(character for character in lower if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@given(st.text(alphabet=st.sampled_from("aAnN theTHE.,'-“”ié \n\t") | st.characters(), max_size=40))
def test_normalisation_is_that_of_squad(text: str) -> None:
    """Case, punctuation, articles and blanks go, in SQuAD's order, whatever the text."""
    assert normalised(text) == squad_normalised(text)


@pytest.mark.parametrize(
    ("answer", "gold", "matches"),
    [
        ("Paris", "paris", True), ("The Beatles!", "beatles", True), ("  an  Apple ", "apple", True),
        ("U.S.A.", "usa", True), ("Paris, France", "Paris", False), ("12,345", "12345", True), ("3", 3, True),
        ("3.0", 3, True), ("2.5", 2.5, True), ("true", True, True), ("Rob", ["Bob", "Rob"], True),
        ("Rob", ("Bob", ["Bobby", "Rob"]), True), ("Tim", ["Bob", "Rob"], False), ("Bob", [], False),
        ("None", None, False), ("", "", False), ("", "The", False), ("the", "The", True), ("a", "A", True),
        ("an", "A", False), ("?", "!", False), ("?", "?", True), ("", "?", False), (" ", " ", False),
        ("the the", "", False),
    ],
)  # fmt: skip
def test_exact_match(answer: str, gold: object, matches: bool) -> None:
    """Right answers match in any case, with any article; what normalises to nothing matches only itself."""
    assert exact_match(answer, golds_of(gold)) is matches


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=3))
def test_an_answer_without_words_is_right_only_as_it_stands(answer: str, golds: list[str]) -> None:
    """Nothing but a gold that is the same characters lets an answer pass that normalises to nothing."""
    if exact_match(answer, golds) and not words_of(answer):
        assert answer.strip()
        assert answer.strip().casefold() in [gold.strip().casefold() for gold in golds]


DIFFERENT = [
    ("5", "-5"), ("15", "1.5"), ("23", "2/3"), ("1,5", "15"), ("730", "7:30"), ("19141918", "1914-1918"), ("5", "5!"),
    ("C#", "C++"), ("C", "C#"), ("x2", "x^2"), ("f2", "f(2)"), ("Vitamin", "Vitamin A"), ("007", "7"),
    ("3.10.1", "3101"), ("AB", "A < B"), ("a b", "a = b"), ("12", "1 2"),
]  # fmt: skip
SAME = [
    ("1000000", "1,000,000"), ("-0.50", "-.5"), ("\u22125", "-5"), ("+5", "5"), ("$5", "5"), ("50%", "50"),
    ("42.", "42"), ("(42)", "42"), ("F-16", "F16"), ("the 1990's", "1990s"), ("July 4 1776", "July 4, 1776"),
    ("No. 1", "No. #1"), ("AC/DC", "ACDC"), ("**New York**", "new york"), ("c++.", "C++"), ("H2O", "h2o"),
    ("7:30", "7:30"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), DIFFERENT)
def test_numbers_and_signs_are_no_prose(answer: str, gold: str) -> None:
    """A sign, a decimal point or a bar makes another number, whatever SQuAD's normal form leaves of it."""
    assert not exact_match(answer, [gold])
    assert not exact_match(gold, [answer])
    assert f1(answer, [gold]) < 1.0


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_a_number_is_the_same_in_any_spelling(answer: str, gold: str) -> None:
    """Groups of thousands, the kind of minus, a currency, a full stop; and words with digits as SQuAD has them."""
    assert exact_match(answer, [gold])
    assert exact_match(gold, [answer])


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3), st.data())
def test_numbers_are_equal_where_their_values_are(number: Decimal, data: st.DataObject) -> None:
    """Two decimal numbers match if and only if they are the same number."""
    other = data.draw(st.sampled_from([number, -number, number * 10, number / 10, abs(number), number + 1]))
    assert exact_match(f"{number:,f}", [f"{other:f}"]) is (number == other)
    assert exact_match(f"The answer: {number:f}", [f"answer {other:f}"]) is (number == other)


def test_an_empty_answer_says_that_there_is_none() -> None:
    """As SQuAD 2.0's evaluation has it; a word of the text is then wrong, and an empty answer to any other question."""
    assert scores("", ["unanswerable"]) == scores("Unanswerable.", ["unanswerable"]) == (True, 1.0)
    assert scores("Paris", ["unanswerable"]) == scores("", ["Paris"]) == (False, 0.0)


@pytest.mark.parametrize("letter", "ABCDE")
def test_a_letter_is_read_in_every_dress(letter: str) -> None:
    """Without the options as well; another letter beside it, or an article, makes it none."""
    for form in ("{}", "({})", "{}.", "{})", "{}:", "**{}**", "Answer: {}", "\\boxed{{{}}}", "option {}"):
        assert exact_match(form.format(letter), [letter])
        assert exact_match(form.format(letter.lower()), [letter])
    for form in ("{0}, F", "F, {0}", "the {0}", "{0} or F", "not {0}", "{0}{0}", "-{0}", "F) {0}"):
        assert not exact_match(form.format(letter), [letter])


@pytest.mark.parametrize(
    ("answer", "gold", "share"),
    [
        ("Barack Obama", "Barack Obama", 1.0),
        ("Obama", "Barack Obama", 2 / 3),
        ("the president Barack Obama", "Barack Obama", 0.8),
        ("nobody", "Barack Obama", 0.0),
        ("to be or not to be", "to be", 0.5),
        ("", "Barack Obama", 0.0),
        ("", "The", 0.0),
        ("a", "A", 1.0),
        ("Rob", ["Bob", "Rob Roy"], 2 / 3),
    ],
)
def test_f1(answer: str, gold: object, share: float) -> None:
    """F1 is 2 · shared words / all words of both, over the gold that fits best."""
    assert f1(answer, golds_of(gold)) == pytest.approx(share)


@given(st.text(max_size=30), st.text(max_size=30))
def test_f1_lies_between_0_and_1_and_is_1_for_the_same_words(answer: str, gold: str) -> None:
    """An exact match has F1 1.0; otherwise F1 is 1.0 only for the same words in another order."""
    share = f1(answer, [gold])
    assert 0.0 <= share <= 1.0
    if exact_match(answer, [gold]):
        assert share == 1.0
    elif share == 1.0:
        assert Counter(words_of(answer)) == Counter(words_of(gold))
