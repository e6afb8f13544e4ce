"""Exact match and F1 of short answers."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_qa.grading import exact_match, f1, golds_of, normalised


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
        ("3.0", 3, False), ("2.5", 2.5, True), ("true", True, True), ("Rob", ["Bob", "Rob"], True),
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
    if exact_match(answer, golds) and not normalised(answer):
        assert answer.strip()
        assert answer.strip().casefold() in [gold.strip().casefold() for gold in golds]


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
        assert Counter(normalised(answer).split()) == Counter(normalised(gold).split())
