"""Several attempts at one task, with feedback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeFinishedError, ResetNeededError
from gem.policies import ScriptedPolicy
from gem.registry import make
from gem.wrappers.attempts import Attempts, attempt_feedback
from gem_questions import Grade, QuestionEnv
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory

ROWS = [{"q": f"What is {n} squared?", "a": str(n * n)} for n in range(31, 41)]


class Squares(QuestionEnv):
    """Asks for squares; pays -0.1 for no number."""

    def __init__(self, parts: bool = False) -> None:
        self.parts = parts
        super().__init__(ROWS)

    def question(self, row: Mapping[str, Any]) -> Any:
        text = str(row["q"])
        return [{"type": "text", "text": text}] if self.parts else text

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        if not isinstance(action, str) or not action.isdigit():
            return Grade(-0.1, correct=False, well_formed=False)
        return Grade(float(action == row["a"]), action == row["a"], info={"told": row["a"]})

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        return str(row["a"])


class Pin(Env[str, str]):
    """Two turns an attempt, the first of which pays a little; says nothing of success, and tells the pin at the end."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.pin, self.turn, self.first = self.rng.randint(10, 99), 0, ""
        return "Two digits, one a turn.", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        if self.turn == 1:
            self.first = action
            return "And the second?", 0.25, False, False, {"turn": 1}
        right = self.first + action == str(self.pin)
        return f"It was {self.pin}.", float(right), True, action == "cut", {"turn": 2}

    def get_state(self) -> dict[str, Any]:
        return {"pin": self.pin, "turn": self.turn, "first": self.first, **self.generator_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.set_generator_state(state)
        self.pin, self.turn, self.first = state["pin"], state["turn"], state["first"]


@given(
    wrong=st.lists(st.sampled_from(["1", "no", "", "22"]), max_size=4), limit=st.integers(1, 4), seed=st.integers(0, 99)
)
def test_the_last_attempt_is_paid(wrong: list[str], limit: int, seed: int) -> None:
    """However many fail before it; without a right one, the last that there is. Nothing shown holds the answer."""
    env = Attempts(Squares(), limit)
    observation, info = env.reset(seed=seed)
    answer, shown = env.row["a"], [str(observation)]
    assert info["attempt"] == 0
    for number, action in enumerate([*wrong, answer], start=1):
        observation, reward, terminated, truncated, info = env.step(action)
        right, last = action == answer, number == limit
        assert (terminated, info["attempt"], info["turn"], info["correct"]) == (right or last, number, number, right)
        assert truncated is (last and not right and limit > 1)
        if terminated:
            assert reward == (1.0 if right else 0.0 if action.isdigit() else -0.1)
            break
        assert reward == 0.0
        shown.append(observation)
    assert not any(answer in text for text in shown)
    with pytest.raises(EpisodeFinishedError):
        env.step(answer)


def test_the_observation_says_what_is_left() -> None:
    """The first one the number of attempts; the later ones what was wrong, and the question again if it is wanted."""
    env, brief = Attempts(Squares(), 3), Attempts(Squares(), 3, repeat=False)
    question = str(Squares().reset(seed=5)[0])
    for each in (env, brief):
        assert each.reset(seed=5)[0] == f"{question}\n\nYou have up to 3 attempts."
    said = "That answer does not have the requested format. You have 2 more attempts."
    assert (env.step("?")[0], brief.step("?")[0]) == (f"{said}\n\n{question}", said)
    assert brief.step("1")[0] == "That is not right. You have 1 more attempt."
    assert Attempts(Squares(), 1).reset(seed=5)[0] == question


def test_pictures_are_shown_again() -> None:
    """Content parts stay content parts, with the feedback before them."""
    env = Attempts(Squares(parts=True), 2)
    first, _ = env.reset(seed=1)
    again, *_ = env.step("1")
    assert first[-1] == {"type": "text", "text": "You have up to 2 attempts."}
    assert again == [{"type": "text", "text": "That is not right. You have 1 more attempt."}, first[0]]


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"action_status": "malformed", "correct": False}, "does not have the requested format"),
        ({"grade": "unreadable", "action_status": "legal"}, "could not be read"),
        ({"failure": "time limit", "tests_passed": 3, "tests_total": 9}, "fails: time limit, with 3 of 9 tests passed"),
        ({"failure": None, "tests_passed": 3, "tests_total": 9}, "is not right"),
        ({"correct": False, "answer": "42", "gold": "42", "expected": "42"}, "is not right"),
    ],
)
def test_feedback_says_what_is_known_and_never_the_answer(info: dict[str, Any], said: str) -> None:
    """Only known keys are read."""
    assert said in attempt_feedback(info)
    assert "42" not in attempt_feedback(info)


def test_attempts_cost_with_a_discount() -> None:
    """Each attempt before the paid one."""
    env = Attempts(Squares(), 3, discount=0.5)
    env.reset(seed=2)
    env.step("1")
    env.step("2")
    assert env.step(env.row["a"])[1] == 0.25


def test_the_next_episodes_do_not_depend_on_the_attempts() -> None:
    """Resets without a seed ask the same questions, whether one attempt was made or three."""

    def questions(actions: list[str]) -> list[Any]:
        env = Attempts(Squares(), 3)
        asked = [env.reset(seed=7)[0]]
        for _ in range(6):
            for action in actions:
                env.step(action)
            asked.append(env.reset()[0])
        return asked

    assert questions([]) == questions(["1"]) == questions(["1", "2", "3"])


def test_tasks_of_several_turns_begin_again() -> None:
    """Success follows from the declared range; the end that tells the answer is shown only when all is over."""
    spec = EnvSpec("test:Pin", Pin, reward_range=(0.0, 1.0))
    env = Attempts(make(spec), 2)
    env.reset(seed=3)
    pin = str(env.unwrapped.pin)  # type: ignore[attr-defined]
    wrong = "0" + pin[1]
    rewards = []
    for action in wrong:
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
    assert (rewards, terminated, truncated, info["attempt"], info["turn"]) == ([0.25, 0.0], False, False, 1, 2)
    assert pin not in str(observation)
    assert "Two digits" in str(observation)
    env.step(pin[0])
    observation, reward, terminated, truncated, info = env.step(pin[1])
    assert (reward, terminated, truncated, info["turn"]) == (1.0, True, False, 4)
    assert observation == f"It was {pin}."


def test_a_state_in_the_middle_survives_json() -> None:
    """Another instance goes on with the same attempts at the same question."""
    env, twin = Attempts(Squares(), 3), Attempts(Squares(), 3)
    env.reset(seed=4)
    env.step("1")
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert [twin.step("2"), twin.step(twin.row["a"])] == [env.step("2"), env.step(env.row["a"])]
    assert twin.reset() == env.reset()


def test_a_record_applies_it_again() -> None:
    """By its arguments; the recorded attempts and feedback are those that are played again."""
    spec = EnvSpec("test:Squares", f"{__name__}:Squares", turns="single", reward_range=(-0.1, 1.0))
    env = make(spec, wrappers=gem.wrapper("attempts", max_attempts=2, discount=0.5))
    episode = Trajectory.from_dict(play_episode(env, ScriptedPolicy(["1", "2"]), seed=1).to_dict())
    assert episode.spec is not None
    assert episode.spec.wrappers[0].kwargs == {"max_attempts": 2, "discount": 0.5}
    assert [turn.reward for turn in episode.transitions] == [0.0, 0.0]
    assert "1 more attempt." in str(episode.transitions[1].observation)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"max_attempts": 0}, ArgumentError),
        ({"max_attempts": "2"}, ArgumentTypeError),
        ({"discount": 1.5}, ArgumentError),
        ({"repeat": 1}, ArgumentTypeError),
        ({"feedback": 3}, ArgumentTypeError),
        ({"feedback": "gem.nowhere:nothing"}, ImportError),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, error: type[Exception]) -> None:
    """When the wrapper is made."""
    with pytest.raises(error):
        Attempts(Squares(), **arguments)


def test_an_environment_without_a_state_has_one_attempt() -> None:
    """And promises no more."""
    env = Attempts(OneWay(), 3)
    assert env.reset(seed=1)[0] == "Guess."
    assert env.step("x")[2:4] == (True, False)


class OneWay(Env[str, str]):
    """No state can be taken of it."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return "Guess.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "No.", 0.0, True, False, {}


def test_nothing_can_be_attempted_before_a_reset() -> None:
    """The environment says so."""
    with pytest.raises(ResetNeededError):
        Attempts(Squares()).step("1")
