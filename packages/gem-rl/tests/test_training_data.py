"""Batches of real episodes, filters, curricula, buffers and figures."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem_rl
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.policies import Policy, ScriptedPolicy
from gem_rl import BatchDiagnostics, CollapseMonitor, ReplayBuffer, TurnBatch
from gem_rollout.trajectory import Trajectory
from gem_rollout.trajectory.transition import Failure, Transition


def episode(*rewards: float, env: str = "a:B-v0", seed: int = 0, **fields: Any) -> Trajectory:
    """Return an episode whose last turn terminates, with these fields in all turns."""
    turns = [Transition("", "", reward, False, False, **fields) for reward in rewards]
    if turns:
        turns[-1].terminated = True
    return Trajectory(EnvSpec(env, "a:B"), seed, turns)


def test_a_batch_of_recorded_episodes() -> None:
    """Tasks are environments, groups are seeds of an environment, failed and ungradable episodes are invalid."""
    cut = episode(3.0, seed=1)
    cut.transitions[-1].terminated = False
    failed = episode(4.0, seed=1)
    failed.failure = Failure("environment", "timeout", "too slow", 1)
    found = [
        episode(1.0, 2.0),
        episode(5.0, info={"grader_fault": "no gold"}),
        cut,
        failed,
        episode(6.0, env="a:C-v0", info={"user_fault": "left"}),
        episode(),
    ]
    batch = TurnBatch.from_trajectories(found)
    np.testing.assert_array_equal(batch.rewards, [1, 2, 5, 3, 4, 6])
    np.testing.assert_array_equal(batch.lengths, [2, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(batch.terminated, [True, True, False, True, True, False])
    np.testing.assert_array_equal(batch.groups, [0, 0, 1, 1, 2, 0])
    np.testing.assert_array_equal(batch.tasks, [0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(batch.valid, [True, False, True, False, False, True])
    by_place = TurnBatch.from_trajectories(found, valid=lambda one: True, group=lambda one: len(one))
    np.testing.assert_array_equal(by_place.groups, [0, 1, 1, 1, 1, 2])
    assert by_place.valid.all()


def test_episodes_of_several_agents_are_taken_apart_first() -> None:
    """Their turns alternate, so one batch of them would discount one agent's rewards by the other's turns."""
    both = episode(1.0, 2.0)
    both.transitions[0].agent, both.transitions[1].agent = "x", "y"
    with pytest.raises(ArgumentError, match="x, y acted"):
        TurnBatch.from_trajectories([both])


SPREAD = TurnBatch.of([0, 10, 0, 1, 5, 5, 0, 2], [1] * 8, groups=[0, 0, 1, 1, 2, 2, 3, 3])
"""Groups with the standard deviations 5, 0.5, 0 and 1."""


@pytest.mark.parametrize(
    ("share", "kept"), [(0.0, {0}), (0.25, {0}), (0.5, {0, 3}), (0.75, {0, 1, 3}), (1.0, {0, 1, 2, 3})]
)
def test_the_most_varied_groups(share: float, kept: set[int]) -> None:
    """StarPO-S keeps a share of the groups."""
    assert set(SPREAD.groups[gem_rl.most_varied_groups(SPREAD, share)].tolist()) == kept


@pytest.mark.parametrize(("groups", "share", "number"), [(100, 0.07, 7), (30, 0.1, 3), (100, 0.29, 29), (10, 0.31, 4)])
def test_a_share_of_the_groups_is_rounded_up_and_never_by_floating_point(
    groups: int, share: float, number: int
) -> None:
    """0.07 · 100 is more than 7 in floating point, and 7 groups stay all the same."""
    batch = TurnBatch.of([value for group in range(groups) for value in (0, group)], [1] * 2 * groups,
                         groups=[group for group in range(groups) for _ in range(2)])  # fmt: skip
    kept = set(batch.groups[gem_rl.most_varied_groups(batch, share)].tolist())
    assert kept == set(range(groups - number, groups))


@pytest.mark.parametrize(("mass", "kept"), [(0.9, {0}), (0.96, {0, 3}), (1.0, {0, 1, 3})])
def test_groups_with_signal(mass: float, kept: set[int]) -> None:
    """The variances are 25, 0.25, 0 and 1; constant groups hold nothing, so they never stay."""
    assert set(SPREAD.groups[gem_rl.signal_groups(SPREAD, mass)].tolist()) == kept


def test_an_invalid_episode_stays_out_of_a_group_that_is_kept() -> None:
    """Of a group with three returns, the two that count are trained on."""
    batch = TurnBatch.of([0, 9, 5, 1, 1, 1], [1] * 6, groups=[0, 0, 0, 1, 1, 1], valid=[True, True, False] * 2)
    assert gem_rl.most_varied_groups(batch, 0.5).tolist() == [True, True, False, False, False, False]
    assert gem_rl.most_varied_groups(batch, 1.0).tolist() == [True, True, False] * 2
    assert gem_rl.signal_groups(batch).tolist() == [True, True, False, False, False, False]


def test_a_share_is_one_of_the_groups_with_a_valid_episode() -> None:
    """Half of four groups, of which two are invalid, is one."""
    batch = TurnBatch.of(
        [0, 9, 0, 5, 1, 1, 1, 1], [1] * 8, groups=[0, 0, 1, 1, 2, 2, 3, 3], valid=[True] * 4 + [False] * 4
    )
    assert gem_rl.most_varied_groups(batch, 0.5).tolist() == [True] * 2 + [False] * 6


def test_a_batch_without_signal_keeps_nothing() -> None:
    """Nor does an invalid episode keep its group."""
    assert not gem_rl.signal_groups(TurnBatch.of([1, 1], [1, 1], groups=[0, 0])).any()
    spoiled = TurnBatch.of([0, 9, 1, 1], [1] * 4, groups=[0, 0, 1, 1], valid=[True, False, True, True])
    assert not gem_rl.signal_groups(spoiled).any()


def test_a_growing_budget_of_turns() -> None:
    """ScalingInter's own numbers: 8, 12 and 15 turns, 80 updates each."""
    budget = gem_rl.ScalingInteraction((8, 12, 15), every=80)
    assert [budget.turns(update) for update in (0, 79, 80, 159, 160, 9999)] == [8, 8, 12, 12, 15, 15]
    assert gem_rl.ScalingInteraction((3, 4, 5), every=(1, 2)).turns(2) == 4
    for turns, every in (((), 1), ((8, 8), 1), ((0, 1), 1), ((1, 2), 0), ((1, 2, 3), (1,))):
        with pytest.raises(ArgumentError):
            gem_rl.ScalingInteraction(turns, every)


def test_difficulty_follows_success() -> None:
    """A level changes after a full window of its own episodes, never by those of the level before."""
    curriculum = gem_rl.DifficultyCurriculum(["easy", "medium", "hard"], window=4)
    assert [curriculum.record(True) for _ in range(4)] == [False, False, False, True]
    assert curriculum.level == "medium"
    assert [curriculum.record(False) for _ in range(4)] == [False, False, False, True]
    assert curriculum.level == "easy"
    assert not any(curriculum.record(False) for _ in range(20)), "nothing is easier"
    rising = gem_rl.DifficultyCurriculum([1, 2, 3], window=3)
    assert [rising.record(True) for _ in range(6)] == [False, False, True] * 2
    # A share from raise_above on raises, and only one below lower_below lowers.
    exact = gem_rl.DifficultyCurriculum([1, 2, 3], raise_above=0.75, lower_below=0.25, window=4)
    assert [exact.record(won) for won in (True, False, True, True)] == [False, False, False, True]
    assert not any(exact.record(won) for won in (False, True, False, False))
    assert exact.level == 2
    with pytest.raises(ArgumentError, match="lower_below < raise_above"):
        gem_rl.DifficultyCurriculum(["easy"], raise_above=0.2, lower_below=0.2)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1), st.floats(0, 1))
def test_mixture_weights_add_up(success: dict[str, float], floor: float) -> None:
    """No task falls below its floor."""
    weights = gem_rl.learning_weights(success, floor)
    assert math.isclose(math.fsum(weights.values()), 1)
    assert min(weights.values()) >= floor / len(weights) * (1 - 1e-12)


def test_mixtures_prefer_what_can_be_learnt() -> None:
    """p(1 − p): a solved task and a hopeless one weigh least."""
    weights = gem_rl.learning_weights({"solved": 1.0, "half": 0.5, "hopeless": 0.0, "hard": 0.1}, floor=0.0)
    assert weights["half"] > weights["hard"] > weights["solved"] == weights["hopeless"] == 0
    assert gem_rl.learning_weights({"x": 0.0, "y": 1.0}) == {"x": 0.5, "y": 0.5}


def aged(version: int | str | None, name: int = 0) -> Trajectory:
    return episode(0.0, seed=name, version=version)


def test_a_buffer_discards_what_is_stale() -> None:
    """An episode is as old as its oldest turn, when it comes and while it waits."""
    buffer = ReplayBuffer(capacity=8, max_staleness=1)
    buffer.advance(5)
    mixed = aged(5)
    mixed.transitions.insert(0, Transition("", "", 0.0, False, False, version=3))
    buffer.add([aged(5, 1), aged(4, 2), aged(3, 3), mixed, aged(None, 4)])
    assert len(buffer) == 3
    buffer.advance()
    assert [one.seed for one in buffer.take()] == [1, 4]
    assert buffer.counts == gem_rl.BufferCounts(added=5, taken=2, stale=3, displaced=0)


def test_a_full_buffer_displaces_the_oldest() -> None:
    """And counts it: nothing vanishes unseen."""
    buffer = ReplayBuffer(capacity=2)
    buffer.add(aged(0, name) for name in range(5))
    assert buffer.counts.displaced == 3
    assert sorted(one.seed or 0 for one in buffer.sample(2)) == [3, 4]
    assert [one.seed for one in buffer.take(1)] == [3]
    with pytest.raises(ArgumentError, match="2 episodes are wanted, and the buffer has 1"):
        buffer.sample(2)


def test_versions_of_the_future_are_refused() -> None:
    """They mean that nobody told the buffer of new weights."""
    buffer = ReplayBuffer(capacity=2)
    for version in (1, "step-3"):
        with pytest.raises(ArgumentError, match="call advance"):
            buffer.add([aged(version)])
    with pytest.raises(ArgumentError, match="cannot go back"):
        buffer.advance(-1)


class AsyncPolicy(Policy[Any, Any]):
    """Says "b" on an event loop."""

    async def reset(self, observation: Any, info: Any) -> None:
        self.began = observation

    async def act(self, observation: Any, info: Any) -> str:
        return "b"


def test_policies_take_turns_by_the_seed() -> None:
    """A synchronous and an asynchronous one; draws follow from the episode's key and the weights."""

    def play(seed: int, weights: Sequence[float] | None = None) -> str:
        policy = gem_rl.CrossPolicy([ScriptedPolicy("a" * 100), AsyncPolicy()], weights)

        async def turns() -> str:
            policy.seed_episode(seed, 0)
            await policy.reset("o", {})
            return "".join([await policy.act("o", {}) for _ in range(40)])

        return asyncio.run(turns())

    assert play(1) == play(1) != play(2)
    assert 5 < play(1).count("a") < 35
    assert play(1, [0, 1]) == "b" * 40
    for weights in ([1], [0, 0], [-1, 2]):
        with pytest.raises(ArgumentError, match="2 weights"):
            play(1, weights)


def test_figures_of_a_batch() -> None:
    """By hand; the failed episode counts nowhere."""
    won = episode(0.0, 1.0, logprobs=[-1.0, -3.0], token_ids=[1, 2], info={"success": True})
    lost = episode(0.0, info={"success": False, "action_status": "malformed"})
    failed = episode(9.0)
    failed.failure = Failure("agent", "timeout", "too slow", 1)
    found = gem_rl.diagnose([won, lost, failed])
    assert found == BatchDiagnostics(
        episodes=2,
        success=0.5,
        mean_return=0.5,
        turns_of_won_episodes=2.0,
        malformed=1 / 3,
        entropy=2.0,
        within_group_spread=0.5,
        constant_groups=0.0,
        constant=False,
    )
    alone = gem_rl.diagnose([won, lost, episode(5.0, seed=7)])  # a group of one has no spread
    assert (alone.within_group_spread, alone.constant_groups) == (0.5, 0.0)
    nothing = gem_rl.diagnose([])
    assert nothing.episodes == 0
    assert math.isnan(nothing.success)


def test_mutual_information_of_known_texts() -> None:
    """Texts that name their prompt give log P, texts that any prompt explains give 0."""
    sure = np.where(np.eye(4, dtype=bool), -1.0, -1000.0)
    assert math.isclose(gem_rl.mutual_information(sure), math.log(4))
    assert gem_rl.mutual_information(np.full((4, 4), -7.0)) == 0
    assert math.isclose(gem_rl.mutual_information(sure - 5000), math.log(4)), "long texts underflow exp"
    for bad in ([], [[1.0, 2.0]], [[math.nan]]):
        with pytest.raises(ArgumentError, match="square matrix"):
            gem_rl.mutual_information(bad)


HEALTHY = BatchDiagnostics(64, 0.5, 0.5, 4.0, 0.1, 1.0, 0.4, 0.1, False)


def spoken(*batches: dict[str, Any]) -> list[str | None]:
    """Return what a monitor says after each batch that differs from a healthy one in these figures."""
    from dataclasses import replace

    monitor = CollapseMonitor(patience=2)
    return [monitor.record(replace(HEALTHY, **figures)) for figures in batches]


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"malformed": 1.0}, "100% of the actions|95% of the actions"),
        ({"constant": True}, "all returns of each of the last 2 batches were equal"),
        ({"entropy": 0.01, "within_group_spread": 0.01}, "echo trap"),
    ],
)
def test_a_collapse_is_said_aloud(figures: dict[str, Any], said: str) -> None:
    """After so many batches in a row, and not before."""
    import re

    first, second, third, fourth = spoken({}, {}, figures, figures)
    assert first is second is third is None
    assert re.search(said, fourth or "")
    assert spoken({}, {}, figures, {}, figures) == [None] * 5, "not in a row"


def test_a_solved_task_is_no_collapse() -> None:
    """Equal returns and low entropy are what success looks like."""
    solved = {"success": 1.0, "constant": True, "entropy": 0.001, "within_group_spread": 0.0}
    assert spoken({}, {}, solved, solved, solved) == [None] * 5
