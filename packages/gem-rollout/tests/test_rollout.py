"""Running policies in batches of environments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.policies import RandomPolicy
from gem_rollout import rollout, summarize
from gem_rollout.replay import replay
from gem_rollout.trajectory.outcome import success_text

FAULTY_SEEDS = {3: "reset", 5: "step"}


class Walk(Env[str, str]):
    """Ends after a drawn number of turns; fails where the seed says so."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.fault = FAULTY_SEEDS.get(seed or 0)
        if self.fault == "reset":
            raise RuntimeError("no way in")
        self.left = self.rng.randint(1, 5)
        return f"{self.left} to go", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if self.fault:
            raise RuntimeError("no way on")
        self.left -= 1
        return f"{self.left} to go", 0.25, self.left == 0, False, {"success": True} if self.left == 0 else {}

    def sample_random_action(self) -> str:
        return str(self.action_rng.random())


WALK = EnvSpec(id="test:Walk-v0", entry_point=Walk)


def run(**arguments: Any) -> list[gem.Trajectory]:
    return list(rollout(WALK, RandomPolicy, **arguments))


def essence(trajectories: list[gem.Trajectory]) -> dict[int | None, list[Any]]:
    """What must not depend on the batch: each seed's observations, actions and rewards."""
    return {
        t.seed: [(step.observation, step.action, step.reward, step.info) for step in t.transitions]
        for t in trajectories
    }


@pytest.mark.parametrize("mode", ["sync", "thread"])
@pytest.mark.parametrize("num_envs", [1, 3, 50])
def test_episodes_do_not_depend_on_the_batch(mode: str, num_envs: int) -> None:
    """Each episode has a seed of its own and is the same in any batch and mode."""
    trajectories = run(num_envs=num_envs, episodes=12, seed=100, mode=mode)
    assert sorted(t.seed or 0 for t in trajectories) == list(range(100, 112))
    assert essence(trajectories) == essence(run(num_envs=2, episodes=12, seed=100, mode="sync"))


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_a_fault_is_one_episode_and_the_next_goes_on_in_a_new_environment(mode: str) -> None:
    """Faults in reset and step are recorded with their reason, and all other episodes are played."""
    trajectories = {t.seed: t for t in run(num_envs=2, episodes=10, seed=0, mode=mode)}
    assert len(trajectories) == 10
    assert trajectories[3].error == "RuntimeError: no way in"
    assert trajectories[5].error == "RuntimeError: no way on"
    sound = [t for t in trajectories.values() if t.error is None]
    assert len(sound) == 8
    assert all(t.transitions[-1].terminated for t in sound)
    # Random actions come from the environment that is played in, so they follow from the episode's seed.
    assert essence(sound) == essence([t for t in run(num_envs=1, episodes=10, seed=0) if t.error is None])
    (summary,) = summarize(trajectories.values())
    assert (summary.episodes, summary.errors, summary.success_rate) == (8, 2, 1.0)
    assert (summary.successes, summary.judged, summary.unknown) == (8, 8, 2)


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((1, 3, 0), "33.3 %, 1 of 3"),
        ((13, 39, 1), "33.3 %, 13 of 39 + 1 unknown: 32.5 … 35.0 %"),
        ((0, 0, 2), ""),
        ((0, 0, 0), ""),
    ],
)
def test_a_share_has_its_count_and_its_bounds(counts: tuple[int, int, int], shown: str) -> None:
    """If no unknown episode succeeded, and if each did; without a known outcome there is no share."""
    assert success_text(*counts) == shown


def test_a_record_names_the_wrappers_that_it_was_played_in() -> None:
    """The recorded spec lists the wrappers of the batch, so that the episode can be replayed."""
    (record,) = run(num_envs=1, episodes=1, wrappers="concat_with_action")
    assert record.spec is not None
    assert [applied.entry_point for applied in record.spec.wrappers] == ["gem.wrappers.text_history:ConcatWithAction"]
    assert replay(record).result == "same"


def test_summaries_are_the_textbook_s() -> None:
    """Mean and standard error of the returns, by environment."""
    trajectories = run(episodes=8, seed=20)
    returns = [t.episode_return for t in trajectories]
    mean = sum(returns) / 8
    (summary,) = summarize(trajectories)
    assert summary.mean_return == pytest.approx(mean)
    variance = sum((value - mean) ** 2 for value in returns) / 7
    assert summary.standard_error == pytest.approx((variance / 8) ** 0.5)
    assert summary.mean_turns == pytest.approx(sum(map(len, trajectories)) / 8)


def test_one_slow_environment_holds_up_nobody() -> None:
    """While one step hangs, all episodes of the other environments are played."""
    release = threading.Event()

    class Slow(Walk):
        def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
            release.wait(60)
            return super().step(action)

    slow = EnvSpec(id="test:Slow-v0", entry_point=Slow)
    played: Iterator[gem.Trajectory] = rollout([slow, WALK], RandomPolicy, num_envs=3, episodes=6, seed=20)
    first = [next(played) for _ in range(6)]
    assert [t.spec and t.spec.id for t in first] == ["test:Walk-v0"] * 6
    release.set()
    assert {t.spec and t.spec.id for t in played} == {"test:Slow-v0"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs must be at least 1"),
        ({"episodes": 0}, "episodes must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: dict[str, int], message: str) -> None:
    """The message names the argument."""
    with pytest.raises(ArgumentError, match=message):
        run(**arguments)


def test_no_environment_is_refused() -> None:
    """An empty list is an error, not an empty result."""
    with pytest.raises(ArgumentError, match="at least one environment"):
        list(rollout([], RandomPolicy))
