"""The rewards ``qa_em`` and ``qa_f1``."""

from __future__ import annotations

import pytest

import gem
from gem.policies import ScriptedPolicy, make_policy
from gem_envs_qa import plugin
from gem_questions.rewards import make_reward, score_episode
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory, Transition


def said(text: str, answer: object) -> Trajectory:
    """Return an episode of one action, whose right answer is in its info."""
    return Trajectory(None, 0, [Transition("o", text, 0.0, True, False, {"answer": answer})])


@pytest.mark.parametrize(
    ("text", "answer", "exact", "f1"),
    [
        ("<answer>The Eiffel Tower</answer>", "eiffel tower", 1.0, 1.0),
        ("<answer>Tower of London</answer>", "the tower", 0.0, 0.5),
        ("\\boxed{Paris}", ["Lyon", "Paris"], 1.0, 1.0),
        ("<answer></answer>", "Paris", 0.0, 0.0),
        ("<answer>" + "Paris " * 10_000 + "</answer>", "Paris", 0.0, 0.0),
    ],
)
def test_both_metrics_are_as_in_squad(text: str, answer: object, exact: float, f1: float) -> None:
    """Each reward pays its own metric, and both are parts of the score."""
    for name, value in (("qa_em", exact), ("qa_f1", f1)):
        score = score_episode(make_reward(name), said(text, answer))
        assert score.value == value
        assert score.parts == {"exact_match": exact, "f1": f1}


@pytest.mark.parametrize("env_id", ["qa:Atlas-v0", "logic:RuleWorlds-v0"])
@pytest.mark.parametrize("seed", range(3))
def test_a_recorded_episode_gets_what_the_environment_paid(env_id: str, seed: int) -> None:
    """Right and wrong answers to the questions of the environments are graded alike, from a file."""
    with gem.make(env_id) as env:
        for policy in (make_policy("reference", env), ScriptedPolicy(["<answer>nothing of the kind</answer>"] * 99)):
            episode = Trajectory.from_dict(play_episode(env, policy, seed=seed).to_dict())
            reward = make_reward("qa_em")
            score = score_episode(reward, episode)
            assert (score.value, score.readable) == (float(bool(episode.success)), True), score.reasons
            reward.close()


def test_the_plugin_offers_them() -> None:
    """The names lead to the classes."""
    assert {type(make_reward(name)).__name__ for name in plugin.gem_rewards()} == {"QaExactMatchReward", "QaF1Reward"}
