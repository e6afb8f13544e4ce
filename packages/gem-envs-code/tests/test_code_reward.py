"""The reward ``code``."""

from __future__ import annotations

from typing import Any

import pytest

import gem
from gem.policies import ScriptedPolicy, make_policy
from gem_envs_code import plugin
from gem_questions.rewards import make_reward, score_episode
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory, Transition

DOUBLE = {"inputs": ["1", "2", "5"], "outputs": ["2", "4", "10"]}


def program(body: str, **metadata: Any) -> Trajectory:
    """Return an episode whose action is a program."""
    return Trajectory(None, 0, [Transition("o", f"```python\n{body}\n```", 0.0, True, False)], metadata=metadata)


@pytest.mark.parametrize(
    ("body", "value", "share"),
    [
        ("print(2 * int(input()))", 1.0, 1.0),
        ("n = int(input())\nprint(2 * n if n < 5 else 0)", 0.0, 2 / 3),
        ("n = int(input())\nprint(2 * n if n > 1 else 0)", 0.0, 2 / 3),
        ("import sys\nsys.exit(3)", 0.0, 0.0),
    ],
)
def test_a_program_must_pass_all_tests(body: str, value: float, share: float) -> None:
    """With ``reward="fraction"`` each of them counts."""
    for kind, paid in (("all", value), ("fraction", share)):
        reward = make_reward("code", tests=DOUBLE, reward=kind)
        score = score_episode(reward, program(body))
        assert (score.value, score.readable) == (paid, True)
        reward.close()


def test_a_slow_program_runs_into_the_limit() -> None:
    """Which is the reward's own where it has one."""
    slow = program("import time\nwhile time.process_time() < 0.3:\n    pass\nprint(2 * int(input()))")
    for seconds, failure in ((None, None), (0.1, "time limit")):
        reward = make_reward("code", tests=DOUBLE, seconds=seconds)
        assert score_episode(reward, slow).metadata["failure"] == failure
        reward.close()


def test_tests_may_be_in_the_record() -> None:
    """By the key that is named; without it the score is unreadable."""
    right = program("print(2 * int(input()))", tests=DOUBLE)
    reward = make_reward("code", tests_key="tests")
    assert score_episode(reward, right).value == 1.0
    assert score_episode(reward, program("print(1)")).metadata["unreadable"] == "no_answer_known"
    assert not score_episode(reward, program("print(1)", tests="no tests")).readable
    reward.close()


def test_an_answer_without_a_program_earns_nothing() -> None:
    """That is the agent's fault, and readable."""
    nothing = Trajectory(None, 0, [Transition("o", "I do not know", 0.0, True, False)])
    score = score_episode(make_reward("code", tests=DOUBLE), nothing)
    assert (score.value, score.readable) == (0.0, True)


@pytest.mark.parametrize("agent", ["reference", "other"])
def test_a_recorded_episode_gets_what_the_environment_paid(agent: str) -> None:
    """The problem's tests come from its environment, read from a file."""
    with gem.make("code:Mini-v0") as env:
        policy = make_policy("reference", env) if agent == "reference" else ScriptedPolicy(["```python\nprint(1)\n```"])
        episode = Trajectory.from_dict(play_episode(env, policy, seed=1).to_dict())
    reward = make_reward("code")
    score = score_episode(reward, episode)
    assert (score.value, score.readable) == (episode.episode_return, True), score.reasons
    reward.close()


def test_an_environment_without_programs_has_no_tests() -> None:
    """A question of another kind is unreadable."""
    assert not score_episode(make_reward("code"), program("print(1)")).readable


def test_the_plugin_offers_it() -> None:
    """The name leads to the class."""
    assert [type(make_reward(name)).__name__ for name in plugin.gem_rewards()] == ["CodeReward"]
