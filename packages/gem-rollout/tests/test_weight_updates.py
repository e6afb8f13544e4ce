"""Weights that change while episodes run: calls in flight are awaited, dropped or kept, and none is asked meanwhile."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, VectorError
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Act, Policy
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey
from gem_rollout.weight_gate import CallsInFlight


class Walk(Env[str, str]):
    """Counts its steps, of which it takes six."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return "0", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return str(self.turn), 0.0, self.turn == 6, False, {}


WALK = EnvSpec(id="test:Walk-v0", entry_point=Walk)


class Weights:
    """What all policies of a test share: the weights, and who reads them while they change."""

    def __init__(self) -> None:
        self.version, self.changing, self.torn = 0, False, 0
        self.in_flight = self.cancelled = self.asked = 0
        self.told: list[int] = []
        self.lock = threading.Lock()

    def read(self) -> int:
        with self.lock:
            self.torn += self.changing
            return self.version


class OnLoop(Policy[Any, Any]):
    """Reads the weights at the beginning and at the end of a call, as a forward pass does."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.rng = random.Random(seed)

    async def act(self, observation: Any, info: Info) -> Act:
        weights = self.weights
        weights.asked += 1
        weights.in_flight += 1
        try:
            before = weights.read()
            for _ in range(self.rng.randrange(5)):
                await asyncio.sleep(0)
            return Act(observation, metadata={"read": [before, weights.read()]})
        except asyncio.CancelledError:
            weights.cancelled += 1
            raise
        finally:
            weights.in_flight -= 1

    def weights_changed(self, version: int) -> None:
        self.weights.told.append(version)


class InThread(OnLoop):
    """The same in a function."""

    def act(self, observation: Any, info: Info) -> Act:  # type: ignore[override]
        weights = self.weights
        with weights.lock:
            weights.asked += 1
            weights.in_flight += 1
        before = weights.read()
        after = weights.read()
        with weights.lock:
            weights.in_flight -= 1
        return Act(observation, metadata={"read": [before, after]})


class Many(OnLoop):
    """The same for many at once."""

    async def act_many(self, observations: list[Any], infos: list[Info]) -> list[Act]:
        weights = self.weights
        weights.asked += len(observations)
        weights.in_flight += 1
        before = weights.read()
        for _ in range(3):
            await asyncio.sleep(0)
        weights.in_flight -= 1
        return [Act(one, metadata={"read": [before, weights.read()]}) for one in observations]


def trained(
    policy: Callable[[Weights], Any], calls: CallsInFlight, updates: list[int], limits: EpisodeLimits | None = None
) -> tuple[list[gem.Trajectory], Weights]:
    """Play twelve episodes; after so many turns of the loop each time, the weights take as many to change."""
    weights, shared = Weights(), None
    if policy is Many:
        shared = Many(weights)

    async def run() -> list[gem.Trajectory]:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, seed, 0)) for seed in range(12)]
        engine = RolloutEngine(plan, lambda env: shared or policy(weights), concurrency=5, version=0, limits=limits)

        async def update() -> None:
            for version, pause in enumerate(updates, 1):
                for _ in range(pause):
                    await asyncio.sleep(0)
                async with engine.updating(version, calls=calls):
                    assert calls == "keep" or weights.in_flight == 0
                    asked = weights.asked
                    with weights.lock:
                        weights.changing = calls != "keep"
                    for _ in range(pause):
                        await asyncio.sleep(0)
                    with weights.lock:
                        weights.version, weights.changing = version, False
                    assert calls == "keep" or weights.asked == asked

        async with engine:
            updating = asyncio.ensure_future(update())
            episodes = [episode async for episode in engine]
            await updating
        assert engine.version == len(updates)
        return episodes

    return asyncio.run(run()), weights


@given(
    policy=st.sampled_from([OnLoop, InThread, Many]),
    calls=st.sampled_from(["wait", "drop", "keep"]),
    updates=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    limits=st.sampled_from([None, EpisodeLimits(act_timeout=60.0)]),
)
def test_no_policy_reads_weights_that_change(
    policy: Any, calls: Any, updates: list[int], limits: EpisodeLimits | None
) -> None:
    """Whatever becomes of the calls in flight, every episode is played to its end, and each turn is of one version."""
    episodes, weights = trained(policy, calls, updates, limits)
    assert [len(episode) for episode in episodes] == [6] * 12
    assert [episode.failure for episode in episodes] == [None] * 12
    assert weights.torn == 0
    for episode in episodes:
        versions = [turn.version for turn in episode.transitions]
        assert versions == sorted(versions, key=lambda version: version or 0)
        assert [turn.observation for turn in episode.transitions] == [str(turn) for turn in range(6)]
        if calls != "keep":
            assert [turn.metadata["read"] for turn in episode.transitions] == [[one, one] for one in versions]
    assert weights.told == sorted(weights.told)
    if calls != "drop":
        assert weights.asked == 72


def test_dropped_calls_are_made_again() -> None:
    """With the new weights, and only those: the others lose nothing."""
    weights = Weights()
    begun = asyncio.Event()

    class Slow(OnLoop):
        async def act(self, observation: Any, info: Info) -> Act:
            weights.asked += 1
            assert getattr(asyncio.current_task(), "cancelling", int)() == 0  # as a task group of a policy needs it
            before = weights.read()
            if observation == "3" and before == 0:
                begun.set()
                await asyncio.Event().wait()
            return Act(observation, metadata={"read": before})

    async def run() -> gem.Trajectory:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, 0, 0))]
        async with RolloutEngine(plan, lambda env: Slow(weights), version=0) as engine:
            await begun.wait()
            async with engine.updating(1, calls="drop"):
                weights.version = 1
            return await anext(engine)

    episode = asyncio.run(run())
    assert [turn.version for turn in episode.transitions] == [0, 0, 0, 1, 1, 1]
    assert [turn.metadata["read"] for turn in episode.transitions] == [0, 0, 0, 1, 1, 1]
    assert weights.asked == 7
    assert weights.told == [1]


@pytest.mark.parametrize("many", [False, True])
def test_what_cannot_be_cancelled_is_awaited(many: bool) -> None:
    """A function in a thread and a batch in this process go on reading the weights, so they are not dropped."""
    weights, begun, may_end = Weights(), threading.Event(), threading.Event()

    def read() -> Act:
        begun.set()
        assert may_end.wait(60)
        return Act("x", metadata={"read": weights.read()})

    class Function(OnLoop):
        def act(self, observation: Any, info: Info) -> Act:  # type: ignore[override]
            return read()

    class Batch(OnLoop):
        async def act_many(self, observations: list[Any], infos: list[Info]) -> list[Act]:
            return [await asyncio.to_thread(read) for _ in observations]

    async def run() -> gem.Trajectory:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, 0, 0))]
        limits = EpisodeLimits(act_timeout=60.0)
        policy = (Batch if many else Function)(weights)
        async with RolloutEngine(plan, lambda env: policy, version=0, limits=limits) as engine:
            await asyncio.to_thread(begun.wait)
            threading.Timer(0.05, may_end.set).start()
            async with engine.updating(1, calls="drop"):
                assert may_end.is_set()
                weights.version = 1
            return await anext(engine)

    episode = asyncio.run(run())
    assert [turn.metadata["read"] for turn in episode.transitions] == [0, 1, 1, 1, 1, 1]


def test_an_episode_that_is_stopped_and_dropped_ends() -> None:
    """Its call is not made again, though the engine stops while the weights change."""
    begun, cleaned = asyncio.Event(), asyncio.Event()
    asked = []

    class Tidies(Policy[Any, Any]):
        async def act(self, observation: Any, info: Info) -> str:
            asked.append(observation)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await cleaned.wait()
            return "x"

    async def run() -> int:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, 0, 0))]
        async with RolloutEngine(plan, lambda env: Tidies(), version=0) as engine:
            await begun.wait()

            async def update() -> None:
                async with engine.updating(1, calls="drop"):
                    pass

            updating = asyncio.ensure_future(update())
            await asyncio.sleep(0)
            engine.stop()
            cleaned.set()
            await updating
            for _ in range(9):
                await asyncio.sleep(0)
        return engine.counts.running

    assert asyncio.run(asyncio.wait_for(run(), 60)) == 0
    assert asked == ["0"]


def test_agents_of_one_environment_are_held_and_dropped_alike() -> None:
    """Each turn has the version with which its agent was asked."""
    weights = Weights()
    stuck = asyncio.Event()

    class Slow(OnLoop):
        def __init__(self, agent: str) -> None:
            super().__init__(weights)
            self.agent = agent

        async def act(self, observation: Any, info: Info) -> Act:
            if self.agent == "b" and weights.read() == 0:
                stuck.set()
                await asyncio.Event().wait()
            return Act("x")

    class Both(MultiAgentEnv):
        def __init__(self) -> None:
            super().__init__(["a", "b"], mode="parallel")

        def _begin(self) -> None:
            self.turn = 0

        def observe(self, agent: str) -> str:
            return "go on"

        def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
            self.turn += 1
            return {}, {}, dict.fromkeys(self.agents, self.turn == 2), {}, {}

    spec = EnvSpec(id="test:Both-v0", entry_point=Both)

    async def run() -> gem.Trajectory:
        plan = [EpisodeRequest(spec, EpisodeKey(spec.id, 0, 0))]
        async with RolloutEngine(plan, lambda env, agent: Slow(agent), version=0) as engine:
            await stuck.wait()
            async with engine.updating(1, calls="drop"):
                weights.version = 1
            return await anext(engine)

    episode = asyncio.run(run())
    assert episode.failure is None
    assert [(turn.agent, turn.version) for turn in episode.transitions] == [("a", 0), ("b", 1), ("a", 1), ("b", 1)]


def test_an_update_that_fails_leaves_the_old_weights() -> None:
    """The turns go on, with the version that they had; wrong versions are refused before anything waits."""

    async def run() -> list[gem.Trajectory]:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, seed, 0)) for seed in range(3)]
        weights = Weights()
        engine = RolloutEngine(plan, lambda env: OnLoop(weights), version=2)
        with pytest.raises(VectorError, match="while the engine is running"):
            async with engine.updating(3):
                pass
        async with engine:
            with suppress(ZeroDivisionError):
                async with engine.updating(3, calls="drop"):
                    with pytest.raises(VectorError, match="updating already"):
                        async with engine.updating(4):
                            pass
                    1 / 0  # noqa: B018
            with pytest.raises(ArgumentError, match="cannot go back to 1"):
                async with engine.updating(1):
                    pass
            with pytest.raises(ArgumentError, match="calls"):
                async with engine.updating(3, calls="abort"):  # type: ignore[arg-type]
                    pass
            assert engine.version == 2
            assert weights.told == []
            return [episode async for episode in engine]

    episodes = asyncio.run(run())
    assert {turn.version for episode in episodes for turn in episode.transitions} == {2}
    assert [len(episode) for episode in episodes] == [6, 6, 6]


@pytest.mark.parametrize("calls", ["wait", "drop"])
def test_an_engine_that_stops_while_weights_change_ends(calls: Any) -> None:
    """Calls that wait for the end of an update are dropped with their episodes."""

    async def run() -> int:
        plan = [EpisodeRequest(WALK, EpisodeKey(WALK.id, seed, 0)) for seed in range(8)]
        weights = Weights()
        async with RolloutEngine(plan, lambda env: OnLoop(weights), concurrency=4, version=0) as engine:
            await anext(engine)
            async with engine.updating(1, calls=calls):
                engine.stop()
            return len([episode async for episode in engine])

    assert asyncio.run(asyncio.wait_for(run(), 60)) < 8
