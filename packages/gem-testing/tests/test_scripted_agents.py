"""Scripted agents, and playing one episode with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Policy, RandomPolicy, ScriptedPolicy
from gem.text import extract_last_boxed_answer, extract_last_tagged_answer
from gem_rollout import play_episode, rollout
from gem_testing import Violation
from gem_testing.agents import (
    FaultyPolicy,
    FunctionPolicy,
    GarbagePolicy,
    NullPolicy,
    RepeatPolicy,
    ReplayPolicy,
)


class Echo(Env[Any, Any]):
    """Shows a drawn number and what was said; ends after some turns."""

    def __init__(self, turns: int = 30) -> None:
        self.turns = turns

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.left = self.turns
        return f"Say something, {self.rng.random()}", {"turn": 0}

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        self.left -= 1
        return f"{action!r} {self.rng.random()}", 0.5, not self.left, False, {"left": self.left}

    def sample_random_action(self) -> str:
        return f"word {self.action_rng.randrange(100)}"


ECHO = EnvSpec(id="test:Echo-v0", entry_point=Echo)


def said(policy: Policy[Any, Any], seed: int = 0) -> list[Any]:
    return [turn.action for turn in play_episode(gem.make(ECHO), policy, seed).transitions]


def test_play_records_one_episode() -> None:
    """The record has spec, seed, agent, infos, and every turn up to the last observation."""
    env = gem.make(ECHO, turns=2, wrappers="episode_tracking")
    record = play_episode(env, ScriptedPolicy(["a", "b"]), 7, agent="script")
    assert record.spec == env.spec
    assert (record.seed, record.agent, len(record), record.episode_return) == (7, "script", 2, 1.0)
    assert record.reset_info["turn"] == 0
    first, last = record.transitions
    assert first.observation.startswith("Say something")
    assert (first.action, first.terminated) == ("a", False)
    assert last.observation.startswith("'a' ")
    assert (last.action, last.terminated, last.info["left"]) == ("b", True, 0)
    assert record.final_observation.startswith("'b' ")


def test_play_is_what_rollout_records() -> None:
    """One episode alone is the same as one of a batch, but for the times."""
    (batched,) = rollout(ECHO, RandomPolicy, episodes=1, seed=3)
    for turn in batched.transitions:
        turn.act_seconds = turn.step_seconds = None
    batched.started_at = batched.seconds = None
    env = gem.make(ECHO)
    assert play_episode(env, RandomPolicy(env), 3) == batched


def test_play_can_be_broken_off() -> None:
    """After max_turns the record ends without a flag."""
    record = play_episode(gem.make(ECHO), NullPolicy(), 0, max_turns=4)
    assert len(record) == 4
    assert not record.transitions[-1].terminated
    assert not record.transitions[-1].truncated
    with pytest.raises(ArgumentError, match="max_turns must be at least 1"):
        play_episode(gem.make(ECHO), NullPolicy(), 0, max_turns=0)


def test_play_raises_what_the_environment_raises() -> None:
    """A test sees the traceback of the environment, not a truncated episode."""

    class Broken(Echo):
        def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
            raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        play_episode(Broken(), NullPolicy())


def test_the_simple_agents_say_what_they_are_told() -> None:
    """One action for ever, nothing at all, or what a function makes of observation and info."""
    assert set(said(RepeatPolicy("hello"))) == {"hello"}
    assert set(said(NullPolicy())) == {""}
    assert said(FunctionPolicy(lambda observation, info: str(info)))[:2] == ["{'turn': 0}", "{'left': 29}"]


@given(st.integers(min_value=0))
def test_garbage_is_text_that_no_box_or_tag_gives_sense(seed: int) -> None:
    """Garbage can be recorded, and has no word or number in a box or tag that closes."""
    record = play_episode(gem.make(ECHO), GarbagePolicy(seed), 0)
    json.loads(record.to_json())
    for text in said(GarbagePolicy(seed)):
        assert isinstance(text, str)
        for found in (extract_last_boxed_answer(text), extract_last_tagged_answer(text)):
            assert not any(character.isascii() and character.isalnum() for character in found or "")


def test_garbage_is_of_many_kinds() -> None:
    """A few episodes show blanks, noise, lone surrogates, boxes that are empty or open, and broken calls."""
    texts = [text for seed in range(20) for text in said(GarbagePolicy(), seed)]
    kinds = {
        "blank": any(not text.strip() for text in texts),
        "surrogate": any("\ud800" in text for text in texts),
        "empty box": any("\\boxed{}" in text for text in texts),
        "open box": any("\\boxed{" in text and "}" not in text for text in texts),
        "call": any("<tool_call>" in text for text in texts),
    }
    assert all(kinds.values()), kinds
    assert len(set(texts)) > len(texts) / 2


@pytest.mark.parametrize(
    "make_policy", [lambda env: GarbagePolicy(5), lambda env: FaultyPolicy(RandomPolicy(env), 0.4, 5)]
)
def test_chance_depends_on_seed_and_episode_alone(make_policy: Any) -> None:
    """What an agent draws in an episode is the same in any batch, alone, and played a second time."""
    alone = {}
    for seed in range(6):
        env = gem.make(ECHO)
        alone[seed] = [turn.action for turn in play_episode(env, make_policy(env), seed).transitions]
    for num_envs in (1, 4):
        batch = rollout(ECHO, make_policy, episodes=6, num_envs=num_envs)
        assert {record.seed: [turn.action for turn in record.transitions] for record in batch} == alone
    assert alone[0] != alone[1]


def test_garbage_does_not_depend_on_the_hash_seed() -> None:
    """Another process draws the same."""
    code = (
        "from gem_testing.agents import GarbagePolicy\np = GarbagePolicy(3)\np.reset('look', {})\n"
        "print(ascii([p.act('', {}) for _ in range(20)]))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1
    assert len(shown.pop()) > 100


def test_faults_come_at_the_rate() -> None:
    """Over a thousand turns, the share of garbage is near the rate; 0 and 1 are never and always."""
    counts = Counter(
        action == "good" for seed in range(40) for action in said(FaultyPolicy(RepeatPolicy("good"), 0.25), seed)
    )
    # 1200 turns, standard deviation 15: five of them to either side.
    assert 225 <= counts[False] <= 375
    assert set(said(FaultyPolicy(RepeatPolicy("good"), 0.0))) == {"good"}
    assert "good" not in said(FaultyPolicy(RepeatPolicy("good"), 1.0))


def test_a_plan_loses_no_move_to_a_fault() -> None:
    """The other agent's actions come in their order, whatever comes between them, in every episode."""
    policy = FaultyPolicy(ScriptedPolicy(list(range(30))), 0.5)
    for seed in (1, 2):
        kept = [action for action in said(policy, seed) if isinstance(action, int)]
        assert kept == list(range(len(kept)))
        assert 5 < len(kept) < 25


@pytest.mark.parametrize(
    ("policy", "arguments", "error"),
    [
        (GarbagePolicy, (-1,), ArgumentError),
        (GarbagePolicy, (1.5,), ArgumentTypeError),
        (FaultyPolicy, (NullPolicy(), 1.5), ArgumentError),
        (FaultyPolicy, (NullPolicy(), float("nan")), ArgumentError),
    ],
)
def test_impossible_arguments_are_refused(policy: Any, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    """Seeds and rates are checked when the agent is made."""
    with pytest.raises(error):
        policy(*arguments)


def test_replay_policy_plays_a_record_again() -> None:
    """The recorded actions give the recorded episode, as often as it is played."""
    env = gem.make(ECHO)
    record = play_episode(env, RandomPolicy(env), 3)
    policy = ReplayPolicy(record)
    for _ in range(2):
        assert play_episode(gem.make(ECHO), policy, 3) == record


def test_replay_policy_takes_records_from_files() -> None:
    """Observations are compared as JSON holds them."""
    env = gem.make(ECHO, wrappers="messages")
    record = play_episode(env, RandomPolicy(env), 3)
    back = gem.Trajectory.from_dict(json.loads(record.to_json()))
    assert len(play_episode(env, ReplayPolicy(back), 3)) == len(record)


def test_replay_policy_says_where_the_episode_parts() -> None:
    """Another seed shows at once, another length at the end of the record."""
    env = gem.make(ECHO)
    record = play_episode(env, RandomPolicy(env), 3)
    with pytest.raises(Violation, match=r"^after 0 turns of the recorded episode \(seed 3\), the observation was 'Say"):
        play_episode(env, ReplayPolicy(record), 4)
    with pytest.raises(Violation, match=r"\(seed 3\) ends after 30 turns, and this one goes on"):
        play_episode(gem.make(ECHO, turns=31), ReplayPolicy(record), 3)
