"""The reward ``math``."""

from __future__ import annotations

from typing import Any

import pytest

import gem
from gem.policies import ScriptedPolicy, make_policy
from gem_envs_math import grader, plugin
from gem_envs_math.math_reward import MathReward
from gem_questions.rewards import make_reward, score_episode
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory, Transition


def said(text: Any, answer: Any) -> Trajectory:
    """Return an episode of one action, whose right answer is in its info."""
    return Trajectory(None, 0, [Transition("o", text, 0.0, True, False, {"answer": answer})])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("agent", ["reference", "other"])
def test_a_recorded_episode_gets_what_the_environment_paid(seed: int, agent: str) -> None:
    """The episode, read from a file, is graded anew with the answer of its question."""
    with gem.make("math:WordProblems-v0") as env:
        policy = make_policy("reference", env) if agent == "reference" else ScriptedPolicy(["it is \\boxed{-17}"])
        episode = Trajectory.from_dict(play_episode(env, policy, seed=seed).to_dict())
    reward = make_reward("math")
    score = score_episode(reward, episode)
    assert (score.value, score.readable) == (episode.episode_return, True)
    reward.close()


@pytest.mark.parametrize(
    ("text", "answer", "value"),
    [
        ("so \\boxed{\\frac12}", "0.5", 1.0),
        ("so \\boxed{3}", ["2", "3"], 1.0),
        ("so \\boxed{3}", "2", 0.0),
        ("so 2", "2", 0.0),
        ("", "2", 0.0),
    ],
)
def test_answers_are_compared_as_mathematics(text: str, answer: Any, value: float) -> None:
    """The grader's rules hold, and an answer outside the box is none."""
    score = score_episode(MathReward(), said(text, answer))
    assert (score.value, score.readable) == (value, True)


@pytest.mark.parametrize("how", ["timeout", "crash"])
def test_a_comparison_that_did_not_end_is_unreadable(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """It pays nothing, and says that the grader could not tell."""
    monkeypatch.setattr(grader, "grade", lambda said, gold, **settings: grader.GradeResult("unreadable", how))
    score = score_episode(MathReward(), said("\\boxed{2}", "2"))
    assert (score.value, score.metadata["unreadable"]) == (0.0, how)


def test_a_judge_decides_what_the_grader_cannot_read() -> None:
    """A function, or another reward by name, is asked where the verdict would be "unreadable", and nowhere else."""
    asked: list[tuple[str, str, str | None]] = []

    def judge(answer: str, gold: str, question: str | None) -> bool | None:
        asked.append((answer, gold, question))
        return "seven" in answer

    reward = MathReward(judge=judge)
    episodes = [said(f"\\boxed{{{text}}}", "7 #") for text in ("about seven #", "about eight #", "7 #")]
    assert [score_episode(reward, episode).value for episode in episodes] == [1.0, 0.0, 1.0]
    assert asked == [("about seven #", "7 #", "o"), ("about eight #", "7 #", "o")]
    by_name = MathReward(judge={"name": "exact", "extract": "text"})
    assert score_episode(by_name, said("\\boxed{about 7 #}", "about  7 #")).metadata["how"] in ("judge", "text")
    assert score_episode(by_name, said("\\boxed{some 7 #}", "7 #")).metadata["how"] == "judge"
    reward.close()
    by_name.close()


def test_what_counts_as_done_is_the_environments_or_an_argument() -> None:
    """An episode of a set that wants numbers worked out is graded so; elsewhere the argument declares it."""
    with gem.make("math:GSM8K", dataset=[{"problem": "Two times nine?", "answer": "18"}]) as env:
        episode = Trajectory.from_dict(play_episode(env, ScriptedPolicy([r"\boxed{9\cdot 2}"]), seed=0).to_dict())
    assert (episode.episode_return, score_episode(MathReward(), episode).value) == (0.0, 0.0)
    undone = said(r"\boxed{9\cdot 2}", "18")
    assert [score_episode(MathReward(done=done), undone).value for done in (None, "equal", "computed")] == [
        1.0,
        1.0,
        0.0,
    ]


def test_the_plugin_offers_it() -> None:
    """The name leads to the class."""
    assert list(plugin.gem_rewards()) == ["math"]
    assert isinstance(make_reward("math", extract="text"), MathReward)
