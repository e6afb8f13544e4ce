"""Environments whose episodes are numbered tasks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gem.errors import ArgumentError, StateError
from gem.numbered_tasks import TASKS, NumberedTaskEnv
from gem.state_fields import StateFields
from gem.text_env import MoveResult


class _WordForm:
    def read(self, text: str, /) -> str | None:
        return text or None

    def sample(self, rng: random.Random, /) -> str:
        return f"{rng.randrange(10)}"


class ParityEnv(NumberedTaskEnv[str]):
    """Say whether the number of the task is even."""

    form = _WordForm()
    saved = StateFields(task=int)

    def __init__(self) -> None:
        super().__init__(3)

    def _instructions(self) -> str:
        return f"Is {self.task} even?"

    def _play(self, move: str) -> MoveResult:
        return self._answered((move == "yes") is (self.task % 2 == 0))


def test_the_number_of_the_task_is_drawn_from_the_seed() -> None:
    """The same seed is the same task, and every number is below the number of tasks."""
    env = ParityEnv()
    numbers = []
    for seed in (0, 1, 0):
        env.reset(seed=seed)
        numbers.append(env.task)
    assert numbers[0] == numbers[2] != numbers[1]
    assert all(0 <= number < TASKS for number in numbers)


def test_a_task_can_be_chosen_by_its_number() -> None:
    """The reset option takes the first and the last number, and draws nothing."""
    env = ParityEnv()
    env.reset(seed=0)
    before = env.rng.getstate()
    for number in (0, TASKS - 1):
        env.reset(options={"task": number})
        assert env.task == number
    assert env.rng.getstate() == before


@pytest.mark.parametrize("number", [-1, TASKS])
def test_a_number_that_no_task_has_is_refused(number: int) -> None:
    """Neither an option nor a state can name a task outside the set."""
    env = ParityEnv()
    with pytest.raises(ArgumentError, match="task"):
        env.reset(options={"task": number})
    env.reset(seed=0)
    state: dict[str, Any] = env.get_state()
    state["episode"]["task"] = number
    with pytest.raises(StateError, match="task"):
        env.set_state(state)


@pytest.mark.parametrize(("answer", "correct"), [("yes", True), ("no", False)])
def test_the_info_of_the_last_step_says_whether_the_answer_was_right(answer: str, correct: bool) -> None:
    """A right answer earns 1.0 and a wrong one 0.0; the closing line says which it was."""
    env = ParityEnv()
    env.reset(options={"task": 4})
    observation, reward, terminated, _, info = env.step(answer)
    assert (reward, terminated, info["correct"]) == (float(correct), True, correct)
    assert ("That is right." in observation) is correct


def test_a_step_without_an_answer_says_nothing_of_one() -> None:
    """The score of an episode is gone when the next one begins."""
    env = ParityEnv()
    env.reset(options={"task": 4})
    env.step("yes")
    env.reset(options={"task": 4})
    assert "correct" not in env.step("")[4]
