"""Episodes while the weights change: none is lost, none comes twice, and long ones are as many as begin."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from itertools import count
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Act, Policy
from gem_rollout import EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey


class Walk(Env[str, str]):
    """Ends after a number of turns."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.left = self.turns
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.left -= 1
        return "go on", 1.0, self.left == 0, False, {}


SHORT, LONG = (EnvSpec(id=f"test:Walk{turns}-v0", entry_point=Walk, kwargs={"turns": turns}) for turns in (1, 12))


class Waits(Policy[Any, Any]):
    """Takes a random number of turns of the event loop for an act, as a server with a queue does."""

    def __init__(self, began: list[EpisodeKey] | None = None, most: int = 6) -> None:
        self.began, self.most = began, most

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.rng = random.Random(seed)

    async def reset(self, observation: Any, info: Info) -> None:
        pass

    async def act(self, observation: Any, info: Info) -> Any:
        for _ in range(self.rng.randrange(self.most)):
            await asyncio.sleep(0)
        return "go"


def alternating(started: list[str] | None = None) -> Any:
    """Yield episodes without end, every second one long, and note each as it begins."""
    for number in count():
        spec = LONG if number % 2 else SHORT
        if started is not None:
            started.append(spec.id)
        yield EpisodeRequest(spec, EpisodeKey(spec.id, number, 0))


def trained(episodes: int, **options: Any) -> tuple[list[gem.Trajectory], list[int], RolloutEngine, list[str]]:
    """Return the first episodes of a trainer that changes the weights after every fourth, and the versions then."""
    started: list[str] = []

    async def run() -> tuple[list[gem.Trajectory], list[int], RolloutEngine]:
        plan = alternating(started)
        engine = RolloutEngine(plan, lambda env: Waits(), concurrency=8, queue_size=4, version=0, **options)
        taken, versions = [], []
        async with engine:
            while len(taken) < episodes:
                taken.append(await anext(engine))
                versions.append(engine.version)
                if len(taken) % 4 == 0:
                    engine.version += 1  # type: ignore[operator]
        return taken, versions, engine  # type: ignore[return-value]

    return *asyncio.run(asyncio.wait_for(run(), 120)), started


def age(trajectory: gem.Trajectory, now: int) -> int:
    return now - min(turn.version for turn in trajectory.transitions)  # type: ignore[type-var, operator, return-value]


@pytest.mark.parametrize("rule", ["finish", "mask", "age"])
def test_long_episodes_are_delivered_as_often_as_they_begin(rule: Any) -> None:
    """No rule that delivers every episode prefers short ones: what is missing of each kind is still being played.

    With an endless replay, no long episode would ever be delivered here: each takes longer than three updates.
    """
    taken, versions, engine, started = trained(400, max_staleness=0, stale=rule)
    keys = [trajectory.key for trajectory in taken]
    assert len(set(keys)) == len(keys)
    delivered, began = Counter(key.env for key in keys), Counter(started)
    for kind in (SHORT.id, LONG.id):
        assert began[kind] - delivered[kind] <= 8 + 4
    stale = [age(trajectory, now) > 0 for trajectory, now in zip(taken, versions, strict=True)]
    assert any(stale)
    counts = engine.counts
    assert counts.dropped == 0
    assert counts.stale - counts.replayed == sum(stale)
    assert [trajectory.metadata.get("versions_behind", 0) for trajectory in taken] == [
        age(trajectory, now) for trajectory, now in zip(taken, versions, strict=True)
    ]
    masked = ["oldest_trained_version" in trajectory.metadata for trajectory in taken]
    assert masked == [rule == "mask" and old for old in stale]
    assert (counts.replayed > 0) == (rule == "age")


def test_a_stale_episode_is_played_anew_a_bounded_number_of_times() -> None:
    """With ``age`` and two replays, the third attempt is delivered, however old it is."""
    attempts = Counter[int]()

    class Counts(Waits):
        async def reset(self, observation: Any, info: Info) -> None:
            attempts[0] += 1

        async def act(self, observation: Any, info: Info) -> Any:
            engine.version += 1  # type: ignore[operator]
            return "go"

    async def run() -> tuple[int, Any]:
        nonlocal engine
        plan = [EpisodeRequest(LONG, EpisodeKey(LONG.id, 0, 0))]
        engine = RolloutEngine(plan, lambda env: Counts(), version=0, max_staleness=3, stale="age", replays=2)
        async with engine:
            return len([trajectory async for trajectory in engine]), engine.counts

    engine: RolloutEngine
    delivered, counts = asyncio.run(asyncio.wait_for(run(), 60))
    assert (delivered, attempts[0]) == (1, 3)
    assert (counts.stale, counts.replayed, counts.dropped) == (3, 2, 0)


def test_cancelled_episodes_are_counted_by_key_and_never_delivered() -> None:
    """What is delivered is fresh; delivered and dropped together are what began, each once; nothing plays on unseen."""
    taken, versions, engine, started = trained(300, max_staleness=1, stale="cancel")
    assert all(age(trajectory, now) <= 1 for trajectory, now in zip(taken, versions, strict=True))
    keys = [*(trajectory.key for trajectory in taken), *engine.dropped]
    assert len(set(keys)) == len(keys)
    assert engine.counts.dropped == len(engine.dropped) > 0
    assert len(started) - len(keys) <= 8 + 4
    assert all(trajectory.failure is None for trajectory in taken)


def test_a_cancelled_episode_ends_while_its_model_answers() -> None:
    """An answer that never comes is no longer waited for, and its place plays the next episode."""
    asked: list[int] = []

    class Hangs(Waits):
        async def act(self, observation: Any, info: Info) -> Any:
            asked.append(len(asked))
            if len(asked) == 1:
                await asyncio.Event().wait()
            return "go"

    async def run() -> tuple[list[gem.Trajectory], RolloutEngine]:
        plan = [EpisodeRequest(SHORT, EpisodeKey(SHORT.id, seed, 0)) for seed in range(2)]
        options: Any = {"version": 0, "max_staleness": 0, "stale": "cancel"}
        engine = RolloutEngine(plan, lambda env: Hangs(), concurrency=1, **options)
        async with engine:
            while not asked:
                await asyncio.sleep(0)
            engine.version = 1
            return [trajectory async for trajectory in engine], engine

    taken, engine = asyncio.run(asyncio.wait_for(run(), 60))
    assert [trajectory.key.seed for trajectory in taken] == [1]
    assert [key.seed for key in engine.dropped] == [0]


def test_the_oldest_turn_decides_on_staleness() -> None:
    """An old version in mid-episode makes the episode stale, whatever came before and after."""
    versions = iter([5, 1, 5])

    class Changing(Waits):
        async def act(self, observation: Any, info: Info) -> Any:
            return Act("go", version=next(versions, 5))

    async def run() -> tuple[list[Any], int]:
        plan = [EpisodeRequest(LONG, EpisodeKey(LONG.id, 0, 0))]
        async with RolloutEngine(plan, lambda env: Changing(), version=5, max_staleness=3) as engine:
            return [trajectory.metadata async for trajectory in engine], engine.counts.stale

    assert asyncio.run(run()) == ([{"versions_behind": 4, "oldest_trained_version": 2}], 1)


@pytest.mark.parametrize("wrong", [None, "step-9", 9.5, float("nan"), True])
def test_with_a_bound_versions_are_integers_that_grow(wrong: Any) -> None:
    """Nothing else says how far apart two versions are, and the bound would be off without a word."""
    with pytest.raises(ArgumentTypeError, match="version must be an int"):
        RolloutEngine([], lambda env: Waits(), version=wrong, max_staleness=1)
    engine = RolloutEngine([], lambda env: Waits(), version=5, max_staleness=1)
    with pytest.raises(ArgumentTypeError, match="version must be an int"):
        engine.version = wrong
    with pytest.raises(ArgumentError, match="cannot go back to 4"):
        engine.version = 4
    assert engine.version == 5
    free = RolloutEngine([], lambda env: Waits())
    for version in ("step-1", 3, None):
        free.version = version  # type: ignore[assignment]
    with pytest.raises(ArgumentTypeError, match="an int, a str or None"):
        free.version = 9.5  # type: ignore[assignment]


def test_several_consumers_share_one_engine() -> None:
    """Each episode goes to one of them, and all end when the plan has."""

    async def run() -> list[list[EpisodeKey]]:
        plan = [EpisodeRequest(SHORT if seed % 2 else LONG, EpisodeKey("e", seed, 0)) for seed in range(60)]
        async with RolloutEngine(plan, lambda env: Waits(), concurrency=8) as engine:

            async def consumer() -> list[EpisodeKey]:
                taken = []
                async for trajectory in engine:
                    taken.append(trajectory.key)
                    await asyncio.sleep(0)
                return taken

            return await asyncio.gather(*(consumer() for _ in range(3)))

    parts = asyncio.run(asyncio.wait_for(run(), 60))
    assert sorted(key.seed for part in parts for key in part) == list(range(60))
    assert all(parts)


def test_impossible_settings_are_refused() -> None:
    """Before anything is played."""
    for wrong in ({"max_staleness": -1}, {"stale": "replay"}, {"replays": -1}, {"stale": "cancel"}):
        with pytest.raises(ArgumentError):
            RolloutEngine([], lambda env: Waits(), **wrong)  # type: ignore[arg-type]
