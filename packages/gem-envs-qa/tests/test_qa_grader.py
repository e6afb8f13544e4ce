"""The grader of short answers, by its name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_qa import QaEnv
from gem_envs_qa.qa_reward import QaExactMatchReward
from gem_questions import QuestionEnv
from gem_questions.rewards import GoldReading, Grader, make_grader, make_reward
from gem_questions.schemas import ChoiceGold


@pytest.mark.parametrize(
    ("answer", "gold", "verdict", "how"),
    [
        ("the Eiffel Tower!", "Eiffel tower", "same", "exact_match"),
        ("Paris", {"text": ["London", "paris"]}, "same", "exact_match"),
        ("Rome", {"value": "Paris", "aliases": ["City of Light"]}, "different", "exact_match"),
        (1867, "1867", "same", "exact_match"),
        ("x" * 20_000, "Paris", "different", "too_long"),
        ("Paris", None, "unreadable", "no_gold"),
        ("Paris", {"name": "Paris"}, "unreadable", "no_gold"),
        (None, "Paris", "different", "exact_match"),
    ],
)
def test_a_verdict_and_how_it_was_reached(answer: Any, gold: Any, verdict: str, how: str) -> None:
    """Exact match decides; where nothing could be right, the grader says so."""
    grader = make_grader("qa")
    assert isinstance(grader, Grader)
    result = grader.grade(answer, gold)
    assert (result.verdict, result.how, result.correct) == (verdict, how, verdict == "same")


def test_how_a_gold_is_read() -> None:
    """All right answers in the words that are compared; one without words stays as it is; of options the right one."""
    grader = make_grader("qa")
    assert grader.read("?") == GoldReading("?", "text", True)
    assert grader.read(ChoiceGold("B", {"A": "3", "B": "4"})) == GoldReading("B of A, B", "option", True)
    assert grader.read(["The Who", "who"]) == GoldReading("who", "text", True)
    assert grader.read("Yes.") == GoldReading("yes", "yes or no", True)
    assert grader.read(["A", "B"]) == GoldReading("a | b", "text", True)
    assert grader.read(float("nan")) == GoldReading("", "nothing", False)


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", "value", "x"]), inner),
)


@given(ANYTHING, ANYTHING)
def test_nothing_makes_it_raise(answer: Any, gold: Any) -> None:
    """Whatever the answer and the gold are, there is a verdict, and it agrees with the reading."""
    grader = make_grader("qa")
    assert (grader.grade(answer, gold).verdict == "unreadable") is not grader.read(gold).readable


def test_the_verdict_is_in_the_info_of_an_episode() -> None:
    """``same`` and ``different``; an answer without the tag is unreadable."""
    env: QuestionEnv = QaEnv(dataset=[{"question": "Who?", "answer": "Ann"}])
    verdicts = []
    for action in ("<answer>ann</answer>", "<answer>Bea</answer>", "ann"):
        env.reset()
        verdicts.append(env.step(action)[4].get("grade"))
    assert verdicts == ["same", "different", "unreadable"]


def test_a_reward_that_has_no_readable_gold_says_so() -> None:
    """Its score is unreadable, not a zero for a wrong answer."""
    reward = make_reward("qa_em")
    assert isinstance(reward, QaExactMatchReward)
    assert not reward.grade("Ann", {"name": "Ann"}).readable
    assert reward.grade("Ann", {"text": ["Ann"]}).value == 1.0
