"""The declared forms of actions: what they read, what they refuse, and that their own samples fit."""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.action_forms import (
    BoxedChoice,
    BoxedNumber,
    BoxedNumbers,
    BoxedPattern,
    BoxedText,
    LenientForm,
    read_move,
)
from gem.errors import ArgumentError, NotSupportedError

FORMS = {
    "choice": BoxedChoice("up", "down", "upward", "a+b"),
    "number": BoxedNumber(-3, 12),
    "numbers": BoxedNumbers((1, 9), (-5, 5), (0, 0)),
    "pattern": BoxedPattern(r"([A-C])\s([A-C])", examples=("A B", "C A")),
    "text": BoxedText("Paris", "C++ {draft}"),
    "lenient number": LenientForm(BoxedNumber(-3, 12)),
    "lenient pattern": LenientForm(BoxedPattern(r"(dig|fill) (\d+) (\d+)", examples=("dig 1 2", "fill 3 4"))),
    "lenient letter": LenientForm(BoxedChoice("k", "m")),
    "lenient text": LenientForm(BoxedText("Paris", "C++ {draft}"), free_text=True),
}


@pytest.mark.parametrize(
    ("form", "text", "move"),
    [
        ("choice", "I go \\boxed{up}, no, \\boxed{ DOWN }.", "down"),
        ("choice", "\\boxed{upward}", "upward"),
        ("choice", "\\boxed{a+b}", "a+b"),
        ("choice", "\\boxed{aab}", None),
        ("choice", "\\boxed{up} \\boxed{left}", "up"),
        ("choice", "up", None),
        ("number", "\\boxed{ 12 }", 12),
        ("number", "\\boxed{-3}", -3),
        ("number", "\\boxed{+007}", 7),
        ("number", "\\boxed{13}", None),
        ("number", "\\boxed{1.5}", None),
        ("number", "\\boxed{٣}", None),
        ("number", "\\boxed{" + "9" * 5000 + "}", None),
        ("numbers", "\\boxed{9, -5 ,0}", (9, -5, 0)),
        ("numbers", "\\boxed{9 -5 0}", (9, -5, 0)),
        ("numbers", "\\boxed{9 -6 0}", None),
        ("numbers", "\\boxed{9 -5}", None),
        ("numbers", "\\boxed{9,,5 0}", None),
        ("text", "\\boxed{x} \\boxed{C++ {draft} }", "C++ {draft}"),
        ("text", "\\boxed{ }", None),
        ("text", "x", None),
        ("lenient number", "\\boxed{\\text{5}}", 5),
        ("lenient number", "\\boxed{5} or \\boxed{ \\text{7} }", 7),
        ("lenient number", "\\boxed{\\text{\\text{5}}}", None),
        ("lenient number", "\\text{5}", None),
        ("lenient number", "\\Boxed{5}", None),
        ("lenient number", "\\boxed{five}", None),
        ("lenient letter", "\\boxed{K}", "k"),
        ("lenient letter", "\\boxed{\u212a}", None),
        ("lenient text", "\\boxed{\\text{Paris, Texas}}", "Paris, Texas"),
        ("lenient text", "\\boxed{C++ {draft}}", "C++ {draft}"),
    ],
)
def test_a_form_reads_the_last_box_that_fits(form: str, text: str, move: Any) -> None:
    """Without surrounding blanks; None where no box fits."""
    assert FORMS[form].read(text) == move


@pytest.mark.parametrize(
    ("action", "move"),
    [
        ("\\boxed{5}", 5),
        ({"role": "assistant", "content": "\\boxed{5}"}, 5),
        (None, None),
        (b"\\boxed{5}", None),
        ({}, None),
    ],
)
def test_a_move_is_read_from_any_action(action: object, move: int | None) -> None:
    """A text, an assistant message, and anything else as no text."""
    assert read_move(FORMS["number"], action) == move


def test_a_pattern_returns_its_match() -> None:
    """With the groups of the expression."""
    match = FORMS["pattern"].read("\\boxed{A B} \\boxed{A D}")
    assert match is not None
    assert match.groups() == ("A", "B")


@given(
    verb=st.sampled_from(["dig", "DIG", "Dig", "\\text{dig}", "\\text{ Dig }"]),
    separators=st.lists(st.sampled_from([" ", "  ", ",", ", ", " ,\n", "\t"]), min_size=2, max_size=2),
    ends=st.lists(st.sampled_from(["", " ", "\n ", ","]), min_size=2, max_size=2),
    cell=st.tuples(st.integers(0, 99), st.integers(0, 99)),
)
def test_a_lenient_form_takes_capitals_blanks_commas_and_text(
    verb: str, separators: list[str], ends: list[str], cell: tuple[int, int]
) -> None:
    """In any mixture they read as the move that the plain form takes; the plain form itself refuses all but that."""
    inner = f"{verb}{separators[0]}{cell[0]}{separators[1]}{cell[1]}"
    action, plain = f"\\boxed{{{ends[0]}{inner}{ends[1]}}}", f"dig {cell[0]} {cell[1]}"
    form = FORMS["lenient pattern"]
    match = form.read(action)
    assert match is not None
    assert match.groups() == ("dig", str(cell[0]), str(cell[1]))
    assert (form.form.read(action) is None) == (action != f"\\boxed{{{plain}}}")


@given(text=st.text(alphabet="\\boxedtx{} 1-,AupC", max_size=60))
def test_a_lenient_form_takes_all_that_the_plain_one_takes(text: str) -> None:
    """Forgiveness never loses a move."""
    lenient = FORMS["lenient number"]
    for action in (text, f"{text}\\boxed{{{text}}}", f"{text}\\boxed{{5}}"):
        assert lenient.form.read(action) is None or lenient.read(action) is not None


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 2**32), before=st.text(max_size=20))
def test_samples_fit_their_form(form: str, seed: int, before: str) -> None:
    """A sampled action is read, also after other text; the same generator gives the same action."""
    action = FORMS[form].sample(random.Random(seed))
    assert FORMS[form].read(before + action) is not None
    assert FORMS[form].sample(random.Random(seed)) == action


@pytest.mark.parametrize("form", FORMS)
def test_every_choice_is_sampled(form: str) -> None:
    """Sampling reaches more than one action."""
    rng = random.Random(1)
    assert len({FORMS[form].sample(rng) for _ in range(50)}) > 1


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(alphabet="\\boxed{} 1-,AupC", max_size=60))
def test_reading_raises_nothing(form: str, text: str) -> None:
    """A form answers any text with a move or None, and so does a pickled copy."""
    move, other = FORMS[form].read(text), pickle.loads(pickle.dumps(FORMS[form])).read(text)
    assert (move is None) == (other is None)


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "\\boxed{" * n,
    lambda n: "\\boxed{" + " " * n,
    lambda n: "\\boxed{1" + " " * n,
    lambda n: "\\boxed{1" + "," * n,
    lambda n: "\\boxed{" + "1" * n,
    lambda n: "\\boxed{1 " * n,
    lambda n: "\\boxed{{}" * n,
    lambda n: "\\text{" * n,
    lambda n: "\\boxed{\\text{1} " * n,
    lambda n: "\\boxed{" + "\\text{}" * n,
]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", HOSTILE)
def test_reading_takes_linear_time(form: str, text: Callable[[int], str]) -> None:
    """Eight times the text takes far less than 64 times as long."""

    def seconds(action: str) -> float:
        begin = time.process_time()
        FORMS[form].read(action)
        return time.process_time() - begin

    short, long = text(5_000), text(40_000)
    limit = 30 * max(min(seconds(short) for _ in range(5)), 1e-4)
    assert any(seconds(long) < limit for _ in range(5))


@pytest.mark.parametrize(
    "make", [BoxedChoice, BoxedNumbers, lambda: BoxedNumber(3, 1), lambda: BoxedNumbers((1, 2), (2, 1))]
)
def test_impossible_forms_are_refused(make: Callable[[], Any]) -> None:
    """No words, no numbers, an empty range."""
    with pytest.raises(ArgumentError):
        make()


@pytest.mark.parametrize("form", [BoxedPattern("x"), BoxedText()])
def test_a_form_without_examples_cannot_be_sampled(form: Any) -> None:
    """The error says what to do."""
    with pytest.raises(NotSupportedError, match="give it some, or override _random_action"):
        form.sample(random.Random(1))
