"""The rollout engine: concurrency, faults, limits, retries, staleness, stopping."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, EpisodeLimitError, VectorError
from gem.policies import Act, Policy, RandomPolicy
from gem.vector.engine_access import EngineAccess
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine, mixture, plan_episodes, rollout
from gem_rollout.replay import replay
from gem_rollout.trajectory import EpisodeKey

TURNS = 3
blocked = threading.Event()
"""Set when a test ends, so that no thread stays behind."""


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    blocked.clear()
    yield
    blocked.set()


class Trial(Env[str, str]):
    """Three turns; what else happens is the fault, for the seeds below 100."""

    def __init__(self, fault: str = "", mends: bool = False) -> None:
        if fault == "init":
            raise RuntimeError("cannot be built")
        self.fault = fault
        self.mends = mends

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn, self.seed = 0, seed or 0
        self.faulty = self.fault if self.seed < 100 else ""
        if self.mends:
            self.fault = ""
        self._fail("reset")
        return f"start {self.rng.random()}", {}

    def step(self, action: str) -> tuple[str, Any, Any, Any, Any]:
        self.turn += 1
        if self.turn == 2:
            self._fail("step")
            if self.faulty == "nan":
                return "", float("nan"), False, False, {}
            if self.faulty == "info":
                return "", 0.0, False, False, {"lock": threading.Lock()}
            if self.faulty == "tuple":
                return ("", 0.0)  # type: ignore[return-value]
        return f"{action} {self.rng.random()}", 1.0, self.turn == TURNS, False, {"turn": self.turn}

    def sample_random_action(self) -> str:
        return str(self.action_rng.random())

    def _fail(self, where: str) -> None:
        if self.faulty == f"{where} raises":
            raise RuntimeError(f"{where} failed")
        if self.faulty == f"{where} exits":
            raise SystemExit(3)
        if self.faulty == f"{where} blocks":
            blocked.wait(60)


class Turns(Policy[Any, Any]):
    """Acts at once; counts the calls in flight, over all instances of a subclass."""

    async def act(self, observation: Any, info: Info) -> Any:
        return "go"


def trial(fault: str = "", **kwargs: Any) -> EnvSpec:
    return EnvSpec(id="test:Trial-v0", entry_point=Trial, kwargs={"fault": fault, **kwargs})


def play(spec: EnvSpec, make_policy: Any, episodes: int = 8, **arguments: Any) -> list[gem.Trajectory]:
    async def run() -> list[gem.Trajectory]:
        async with RolloutEngine(plan_episodes(spec, episodes, seed=96), make_policy, **arguments) as engine:
            return [trajectory async for trajectory in engine]

    return asyncio.run(asyncio.wait_for(run(), 60))


def _all_end(threads: set[threading.Thread]) -> bool:
    """Whether all threads end: one that has done its work may still be about to."""
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def actions_of(trajectory: gem.Trajectory) -> list[Any]:
    return [turn.action for turn in trajectory.transitions]


ENVIRONMENT_FAULTS = {
    "init": ("not_made", 0),
    "reset raises": ("exception", 0),
    "reset exits": ("exception", 0),
    "reset blocks": ("timeout", 0),
    "step raises": ("exception", 1),
    "step exits": ("exception", 1),
    "step blocks": ("timeout", 1),
    "nan": ("invalid_result", 1),
    "info": ("invalid_result", 1),
    "tuple": ("exception", 1),
}


@pytest.mark.parametrize(
    ("fault", "mode"),
    [
        (fault, mode)
        for fault in ENVIRONMENT_FAULTS
        for mode in ("sync", "thread")
        if mode == "thread" or "blocks" not in fault  # sync mode cannot interrupt an environment
    ],
)
@pytest.mark.parametrize("make_policy", [RandomPolicy, lambda env: Turns()], ids=["plain", "async"])
def test_a_fault_of_an_environment_is_one_failed_episode(
    fault: str, mode: str, make_policy: Callable[[Any], Any]
) -> None:
    """The record says that the environment failed, how and when; all other episodes are finished."""
    kind, turn = ENVIRONMENT_FAULTS[fault]
    limits = EpisodeLimits(step_timeout=0.05 if "blocks" in fault else None)
    played = play(trial(fault), make_policy, mode=mode, limits=limits, concurrency=3)
    assert sorted(t.seed or 0 for t in played) == list(range(96, 104))
    for trajectory in played:
        if fault == "init" or (trajectory.seed or 0) < 100:
            assert trajectory.failure is not None
            assert (trajectory.failure.source, trajectory.failure.kind) == ("environment", kind)
            assert trajectory.failure.turn == turn
            assert trajectory.stop_reason is None
            assert trajectory.error
        else:
            assert (trajectory.failure, len(trajectory), trajectory.stop_reason) == (None, TURNS, "terminated")
        assert trajectory.to_json()


def test_many_hangs_in_one_place_spoil_no_later_episode() -> None:
    """After more hangs than a vector environment rebuilds after, the episodes that are sound are still played."""

    async def run() -> list[gem.Trajectory]:
        plan = plan_episodes(trial("step blocks"), 14, seed=90)
        limits = EpisodeLimits(step_timeout=0.02)
        async with RolloutEngine(plan, lambda env: Turns(), concurrency=1, limits=limits) as engine:
            return [trajectory async for trajectory in engine]

    played = asyncio.run(asyncio.wait_for(run(), 60))
    assert [t.seed for t in played if t.failure is None] == [100, 101, 102, 103]
    assert {t.failure.kind for t in played if t.failure} == {"timeout"}


class Hostile(Turns):
    """Does one wrong thing in the second turn of the episodes below 100."""

    def __init__(self, wrong: Callable[[], Any]) -> None:
        self.wrong = wrong
        self.turn = 0

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.seed = seed

    async def reset(self, observation: Any, info: Info) -> None:
        self.turn = 0

    def next(self) -> Any:
        self.turn += 1
        return self.wrong() if self.turn == 2 and self.seed < 100 else "go"

    async def act(self, observation: Any, info: Info) -> Any:
        return self.next()


class HostileInThread(Hostile):
    """The same with plain functions."""

    def reset(self, observation: Any, info: Info) -> None:
        self.turn = 0

    def act(self, observation: Any, info: Info) -> Any:
        return self.next()


class EndpointDown(Exception):
    """Says itself what it means."""

    failure_source = "endpoint"
    failure_kind = "server_error"


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


POLICY_FAULTS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "raises": (raising(RuntimeError("no idea")), "agent", "exception"),
    "exits": (raising(SystemExit(2)), "agent", "exception"),
    "interrupts": (raising(asyncio.CancelledError()), "agent", "exception"),
    "times out": (raising(TimeoutError("too slow")), "agent", "timeout"),
    "endpoint": (raising(EndpointDown("503")), "endpoint", "server_error"),
    "none": (lambda: None, "agent", "invalid_action"),
    "object": (object, "agent", "invalid_action"),
    "act of none": (lambda: Act(None), "agent", "invalid_action"),
    "exception as value": (lambda: RuntimeError("a value"), "agent", "invalid_action"),
}


@pytest.mark.parametrize("limits", [EpisodeLimits(), EpisodeLimits(act_timeout=30)], ids=["no limit", "limit"])
@pytest.mark.parametrize("kind", [Hostile, HostileInThread])
@pytest.mark.parametrize("fault", POLICY_FAULTS)
def test_a_fault_of_a_policy_is_one_failed_episode(fault: str, kind: type[Hostile], limits: EpisodeLimits) -> None:
    """The record says whose fault it was; the finished turns are in it, and all other episodes are finished."""
    wrong, source, expected = POLICY_FAULTS[fault]
    played = play(trial(), lambda env: kind(wrong), concurrency=3, limits=limits)
    assert sorted(t.seed or 0 for t in played) == list(range(96, 104))
    for trajectory in played:
        if (trajectory.seed or 0) < 100:
            assert trajectory.failure is not None
            assert (trajectory.failure.source, trajectory.failure.kind) == (source, expected)
            assert (trajectory.failure.turn, len(trajectory)) == (1, 1)
        else:
            assert (trajectory.failure, len(trajectory)) == (None, TURNS)
        assert trajectory.to_json()


@pytest.mark.parametrize("method", ["reset", "seed_episode", "make"])
def test_a_policy_that_cannot_begin_is_a_failed_episode(method: str) -> None:
    """A fault in making a policy, or in its reset, is the agent's, too."""

    def make(env: Env[Any, Any]) -> Any:
        policy = HostileInThread(lambda: "go")
        if method == "make":
            raise RuntimeError("no weights")
        setattr(policy, method, lambda *_: raising(RuntimeError("cannot begin"))())
        return policy

    for trajectory in play(trial(), make, episodes=2):
        assert trajectory.failure is not None
        assert trajectory.failure.source == "agent"
        assert trajectory.failure.kind == ("not_made" if method == "make" else "exception")


@pytest.mark.parametrize("kind", [Hostile, HostileInThread])
def test_a_policy_that_never_returns_times_out(kind: type[Hostile], monkeypatch: pytest.MonkeyPatch) -> None:
    """After act_timeout the episode has failed; the others go on, also where the policy ignores its cancellation."""
    monkeypatch.setattr("gem_rollout.engine._PATIENCE", 0.05)

    async def endless() -> str:
        while not blocked.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "late"

    def forever() -> Any:
        return endless() if kind is Hostile else blocked.wait(60)

    class Endless(kind):  # type: ignore[valid-type,misc]
        async def act(self, observation: Any, info: Info) -> Any:
            action = self.next()
            return await action if asyncio.iscoroutine(action) else action

    policy = Endless if kind is Hostile else kind

    async def run() -> list[gem.Trajectory]:
        limits = EpisodeLimits(act_timeout=1.0)  # enough for the policies that answer, on a busy machine too
        async with RolloutEngine(
            plan_episodes(trial(), 8, seed=96), lambda env: policy(forever), concurrency=3, limits=limits
        ) as engine:
            played = [trajectory async for trajectory in engine]
        blocked.set()
        return played

    played = asyncio.run(run())
    failed = [t for t in played if t.failure is not None]
    assert sorted(t.seed or 0 for t in failed) == [96, 97, 98, 99]
    assert {(t.failure.source, t.failure.kind) for t in failed if t.failure} == {("agent", "timeout")}


class Counting(Policy[Any, Any]):
    """Counts the calls in flight."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.flying = self.most = 0
        self.full = threading.Event()

    def enter(self, expected: int) -> None:
        with self.lock:
            self.flying += 1
            self.most = max(self.most, self.flying)
            if self.flying == expected:
                self.full.set()

    def leave(self) -> None:
        with self.lock:
            self.flying -= 1


def test_plain_policies_block_side_by_side() -> None:
    """With eight environments, eight blocking calls are in flight."""
    shared = Counting()

    class Blocking(Policy[Any, Any]):
        def act(self, observation: Any, info: Info) -> Any:
            shared.enter(8)
            assert shared.full.wait(30)
            shared.leave()
            return "go"

    for limits in (EpisodeLimits(), EpisodeLimits(act_timeout=60)):
        shared.full.clear()
        played = play(trial(), lambda env: Blocking(), concurrency=8, limits=limits)
        assert all(t.failure is None for t in played)
        assert shared.most == 8


def test_async_policies_wait_side_by_side() -> None:
    """As many calls are in flight as there are episodes at a time, and never more."""
    shared, full = Counting(), asyncio.Event()

    class Waiting(Policy[Any, Any]):
        async def act(self, observation: Any, info: Info) -> Any:
            shared.enter(100)
            if shared.flying == 100:
                full.set()
            await full.wait()
            shared.leave()
            return "go"

    assert len(play(trial(), lambda env: Waiting(), episodes=300, concurrency=100)) == 300
    assert shared.most == 100


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_batched_policy_gets_all_that_is_ready(asynchronous: bool) -> None:
    """One call at a time, with the observations of many episodes; the answers reach their own episodes."""
    sizes: list[int] = []
    flying = Counting()

    class Batched:
        def answer(self, observations: list[Any]) -> list[str]:
            flying.enter(2)
            time.sleep(0.002)
            flying.leave()
            sizes.append(len(observations))
            return [f"to {observation}" for observation in observations]

        def act_many(self, observations: list[Any], infos: list[Info]) -> list[str]:
            return self.answer(observations)

    class AsyncBatched(Batched):
        async def act_many(self, observations: list[Any], infos: list[Info]) -> list[str]:  # type: ignore[override]
            flying.enter(2)
            await asyncio.sleep(0.002)
            flying.leave()
            return self.answer(observations)

    policy = AsyncBatched() if asynchronous else Batched()
    played = play(trial(), lambda env: policy, episodes=64, concurrency=16)
    assert all(turn.action == f"to {turn.observation}" for t in played for turn in t.transitions)
    assert sum(sizes) == 64 * TURNS
    assert len(sizes) < 64 * TURNS / 4
    assert flying.most == 1


@pytest.mark.parametrize("answer", [raising(ValueError("cuda")), lambda: ["go"], lambda: "go", lambda: None])
def test_a_batch_that_fails_fails_its_episodes(answer: Callable[[], Any]) -> None:
    """An exception, too few answers, or no list at all: each episode of the batch has failed, and the run ends."""

    class Broken:
        calls = 0

        def act_many(self, observations: list[Any], infos: list[Info]) -> Any:
            self.calls += 1
            return answer() if len(observations) > 1 else ["go"]

    played = play(trial(), lambda env: broken, episodes=8, concurrency=4) if (broken := Broken()) else []
    assert len(played) == 8
    assert any(t.failure for t in played)
    assert all(t.failure is None or t.failure.source == "agent" for t in played)


def test_a_plain_function_may_return_an_awaitable() -> None:
    """What it returns is awaited on the loop."""

    class Lazy(Policy[Any, Any]):
        def act(self, observation: Any, info: Info) -> Any:
            async def later() -> str:
                await asyncio.sleep(0)
                return "later"

            return later()

    for limits in (EpisodeLimits(), EpisodeLimits(act_timeout=60)):
        assert {a for t in play(trial(), lambda env: Lazy(), limits=limits) for a in actions_of(t)} == {"later"}


class Tokens(Turns):
    """Samples four tokens a turn, and reports its context as full in the episodes below 100."""

    async def act(self, observation: Any, info: Info) -> Any:
        return Act("go", token_ids=[1, 2, 3, 4], version=None)


@pytest.mark.parametrize(
    ("limits", "reason", "turns"),
    [
        (EpisodeLimits(max_turns=2), "turns", 2),
        (EpisodeLimits(max_tokens=5), "tokens", 2),
        (EpisodeLimits(max_tokens=4), "tokens", 1),
        (EpisodeLimits(max_turns=3), "terminated", 3),
        (EpisodeLimits(max_tokens=13), "terminated", 3),
    ],
)
def test_a_limit_ends_an_episode_truncated_and_scored(limits: EpisodeLimits, reason: str, turns: int) -> None:
    """The record names the limit, keeps its rewards, is no failure, and replays."""
    for trajectory in play(trial(), lambda env: Tokens(), limits=limits):
        assert (trajectory.stop_reason, len(trajectory), trajectory.episode_return) == (reason, turns, turns)
        assert trajectory.failure is None
        assert trajectory.transitions[-1].truncated == (reason != "terminated")
        assert replay(gem.Trajectory.from_dict(trajectory.to_dict())).result == "same"


def test_the_seconds_of_an_episode_interrupt_its_policy() -> None:
    """A policy that waits for ever is cancelled when the episode's time is up, which is no failure."""

    class Slow(Turns):
        async def act(self, observation: Any, info: Info) -> Any:
            return "go" if observation.startswith("start") else await asyncio.Event().wait()

    class SlowInThread(Policy[Any, Any]):
        def act(self, observation: Any, info: Info) -> Any:
            return "go" if observation.startswith("start") else blocked.wait(60)

    for kind in (Slow, SlowInThread):
        for trajectory in play(trial(), lambda env, kind=kind: kind(), limits=EpisodeLimits(max_seconds=1.0)):
            assert (trajectory.stop_reason, len(trajectory), trajectory.failure) == ("seconds", 1, None)
            assert trajectory.transitions[-1].truncated


@pytest.mark.parametrize("kind", [Hostile, HostileInThread])
def test_a_limit_of_the_policy_ends_its_episode(kind: type[Hostile]) -> None:
    """EpisodeLimitError truncates the episode, which is scored with what it has."""
    full = raising(EpisodeLimitError("context"))
    for trajectory in play(trial(), lambda env: kind(full)):
        limited = (trajectory.seed or 0) < 100
        assert trajectory.stop_reason == ("context" if limited else "terminated")
        assert trajectory.failure is None
        assert len(trajectory) == (1 if limited else TURNS)


@pytest.mark.parametrize("fault", ["reset raises", "step raises", "init"])
def test_retries_repeat_what_the_environment_broke(fault: str) -> None:
    """Each attempt is counted and kept; a fault that stays is delivered after the last attempt."""
    for trajectory in play(trial(fault), RandomPolicy, retries=2):
        broken = fault == "init" or (trajectory.seed or 0) < 100
        assert len(trajectory.earlier_failures) == (2 if broken else 0)
        assert (trajectory.failure is not None) == broken


def test_an_episode_that_is_repeated_can_succeed() -> None:
    """A fault of the endpoint that passes leaves a trace in the record; faults of the agent are not repeated."""
    seen: Counter[int] = Counter()

    class Recovering(Hostile):
        def next(self) -> Any:
            self.turn += 1
            if self.turn == 2:
                seen[self.seed] += 1
                if seen[self.seed] == 1:
                    raise EndpointDown("503") if self.seed % 2 else ValueError("my own")
            return "go"

    for trajectory in play(trial(), lambda env: Recovering(lambda: None), retries=1, concurrency=2):
        if (trajectory.seed or 0) % 2:
            assert trajectory.failure is None
            assert [f.kind for f in trajectory.earlier_failures] == ["server_error"]
        else:
            assert trajectory.failure is not None
            assert trajectory.earlier_failures == []


@pytest.mark.parametrize("arguments", [{"concurrency": 1}, {"concurrency": 5}, {"concurrency": 64, "mode": "sync"}])
def test_an_episode_depends_on_its_key_alone(arguments: dict[str, Any]) -> None:
    """Random actions differ between repetitions of a seed, and are the same at any concurrency and in any mode."""

    def essence(played: list[gem.Trajectory]) -> dict[EpisodeKey, list[Any]]:
        return {t.key: [(x.observation, x.action) for x in t.transitions] for t in played}

    async def run(**options: Any) -> list[gem.Trajectory]:
        plan = plan_episodes([trial(), EnvSpec(id="test:Other-v0", entry_point=Trial)], 12, group=4)
        async with RolloutEngine(plan, RandomPolicy, **options) as engine:
            return [trajectory async for trajectory in engine]

    found = essence(asyncio.run(run(**arguments)))
    assert len(found) == 24
    assert found == essence(asyncio.run(run(concurrency=8, limits=EpisodeLimits(act_timeout=60))))
    for env in ("test:Trial-v0", "test:Other-v0"):
        for seed in range(3):
            group = [found[EpisodeKey(env, seed, repetition)] for repetition in range(4)]
            assert len({observation for ((observation, _), *_) in group}) == 1
            assert len({str(turns) for turns in group}) == 4


def test_episodes_that_are_done_are_left_out() -> None:
    """A resumed run plays the rest, and counts what it skipped."""

    async def run() -> tuple[set[EpisodeKey], int]:
        plan = plan_episodes(trial(), 10, group=2)
        done = {request.key for request in plan[::3]}
        async with RolloutEngine(plan, RandomPolicy, done=done) as engine:
            played = {trajectory.key async for trajectory in engine}
        assert played == {request.key for request in plan} - done
        return played, engine.counts.skipped

    assert asyncio.run(run())[1] == 4


def test_episodes_can_be_added_while_the_engine_runs_and_after_its_plan() -> None:
    """They come before what the plan has left, and finished keys among them are skipped; a stopped engine refuses."""
    first, second = plan_episodes("game:GuessTheNumber-v0-easy", 8), plan_episodes("game:GuessTheNumber-v0-easy", 9)
    done = {second[8].key}

    async def play() -> list[Any]:
        async with RolloutEngine(iter(first[:4]), RandomPolicy, concurrency=1, mode="sync", done=done) as engine:
            engine.extend(first[4:6])
            keys = [trajectory.key for trajectory in await engine.take() + await engine.take()]
            keys += [trajectory.key async for trajectory in engine]
            assert await engine.take() == []
            engine.extend([*first[6:], second[8]])
            keys += [trajectory.key async for trajectory in engine]
            assert engine.counts.skipped == 1
            engine.stop()
            with pytest.raises(VectorError, match="not stopped"):
                engine.extend(first)
            return keys

    keys = asyncio.run(play())
    assert [key.seed for key in keys[:1]] == [0]
    assert sorted(keys) == sorted(request.key for request in first)
    assert [key.seed for key in keys[1:3]] == [4, 5]


def test_nothing_starts_while_the_consumer_is_behind() -> None:
    """Running and waiting episodes together never exceed concurrency + queue_size, though the plan has no end."""

    async def run() -> None:
        plan = mixture({"test:Trial-v0": 1.0}, specs={"test:Trial-v0": trial()})
        async with RolloutEngine(plan, RandomPolicy, concurrency=4, queue_size=3) as engine:
            for _ in range(20):
                await engine.__anext__()
                for _ in range(50):
                    await asyncio.sleep(0)
                counts = engine.counts
                assert counts.running + counts.waiting <= 7
                assert counts.running <= 4

    asyncio.run(run())


def test_the_version_is_recorded_at_each_turn() -> None:
    """It may change in mid-episode; an act's own version counts more."""

    async def run() -> list[list[Any]]:
        class Learner(Turns):
            async def act(self, observation: Any, info: Info) -> Any:
                engine.version = (engine.version or 0) + 1  # type: ignore[operator]
                return Act("go", version="own") if info.get("turn") == 2 else "go"

        async with RolloutEngine(plan_episodes(trial(), 1), lambda env: Learner(), version=5) as engine:
            return [[turn.version for turn in t.transitions] async for t in engine]

    assert asyncio.run(run()) == [[5, 6, "own"]]


def test_a_policy_that_failed_is_made_anew() -> None:
    """The next episode in the same environment does not inherit a broken policy."""

    class Breaking(Turns):
        broken = False

        def seed_episode(self, seed: int, repetition: int) -> None:
            self.broken = self.broken or seed < 100

        async def act(self, observation: Any, info: Info) -> Any:
            if self.broken:
                raise RuntimeError("broken for good")
            return "go"

    played = play(trial(), lambda env: Breaking(), concurrency=1)
    assert sum(t.failure is None for t in played) == 4


def test_stop_delivers_what_is_finished() -> None:
    """After stop, running episodes are dropped, and every finished one can still be taken."""

    async def run() -> None:
        class Mixed(Turns):
            async def act(self, observation: Any, info: Info) -> Any:
                return "go" if self.seed % 2 else await asyncio.Event().wait()

            def seed_episode(self, seed: int, repetition: int) -> None:
                self.seed = seed

        async with RolloutEngine(plan_episodes(trial(), 8), lambda env: Mixed(), concurrency=8) as engine:
            first = await engine.__anext__()
            while engine.counts.waiting < 3:
                await asyncio.sleep(0.001)
            assert len(engine.live) == 4
            assert {one.key.seed for one in engine.live} == {0, 2, 4, 6}
            engine.stop()
            rest = [trajectory async for trajectory in engine]
            assert {t.seed for t in [first, *rest]} == {1, 3, 5, 7}
            assert engine.live == []

    asyncio.run(run())


@pytest.mark.parametrize("policy", [RandomPolicy, lambda env: Turns()], ids=["plain", "async"])
def test_leaving_the_loop_early_ends_everything(policy: Callable[[Any], Any]) -> None:
    """No thread, task or environment stays, whenever the consumer leaves."""
    before = set(threading.enumerate())

    async def run(most: int) -> None:
        plan = mixture({"test:Trial-v0": 1.0}, specs={"test:Trial-v0": trial()})
        async with RolloutEngine(plan, policy, concurrency=4) as engine:
            for _ in range(most):
                await engine.__anext__()
        assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()

    for most in range(4):
        asyncio.run(run(most))
    gc.collect()
    assert _all_end(set(threading.enumerate()) - before)


def test_policies_are_closed() -> None:
    """One that acts in a single environment is closed with it; one that several share belongs to its owner."""
    closed: list[str] = []

    class Closing(Turns):
        name = "own"

        async def close(self) -> None:
            closed.append(self.name)

    play(trial(), lambda env: Closing(), episodes=12, concurrency=3)
    assert closed == ["own"] * 3
    closed.clear()
    shared = Closing()
    play(trial(), lambda env: shared, episodes=12, concurrency=3)
    assert closed == []


@pytest.mark.parametrize("end", ["environment", "limit", "failure"])
def test_a_policy_hears_of_the_end_of_each_episode(end: str) -> None:
    """``end_episode`` gets the last observation, however the episode ended; its own exceptions are dropped."""
    ends: list[tuple[int, Any]] = []

    class Ending(Turns):
        async def act(self, observation: Any, info: Any) -> Any:
            self.seen = observation
            if end == "failure":
                raise RuntimeError("no idea")
            return await super().act(observation, info)

        async def end_episode(self, observation: Any, info: Any) -> None:
            ends.append((len(ends), (observation, self.seen)))
            raise RuntimeError("dropped")

    limits = EpisodeLimits(max_turns=1) if end == "limit" else None
    records = play(trial(), lambda env: Ending(), episodes=3, concurrency=1, limits=limits)
    assert len(ends) == len(records) == 3
    for record, (_, (last, acted_on)) in zip(records, ends, strict=True):
        assert (record.failure is not None) == (end == "failure")
        assert last == (acted_on if end == "failure" else record.final_observation)


def test_an_error_of_the_plan_is_the_caller_s() -> None:
    """It is raised by the iterator, after the episodes that were finished."""

    def plan() -> Iterator[EpisodeRequest]:
        yield from plan_episodes(trial(), 3)
        raise RuntimeError("no more plans")

    async def run() -> int:
        taken = 0
        async with RolloutEngine(plan(), RandomPolicy, concurrency=1) as engine:
            try:
                async for _ in engine:
                    taken += 1
            except RuntimeError as error:
                assert str(error) == "no more plans"  # noqa: PT017  # the loop counts what came before
        return taken

    assert asyncio.run(run()) == 3


def test_wrong_use_is_refused() -> None:
    """Numbers out of range, an engine that was not entered, and one that is entered twice."""
    for arguments in ({"concurrency": 0}, {"retries": -1}, {"queue_size": 0}, {"max_staleness": -1}):
        with pytest.raises(ArgumentError, match=next(iter(arguments))):
            RolloutEngine([], RandomPolicy, **arguments)  # type: ignore[arg-type]
    for name in ("max_turns", "max_tokens", "max_seconds", "act_timeout", "step_timeout"):
        with pytest.raises(ArgumentError, match=name):
            EpisodeLimits(**{name: 0})

    async def run() -> None:
        engine = RolloutEngine([], RandomPolicy)
        with pytest.raises(VectorError, match="async with"):
            await engine.__anext__()
        async with engine:
            assert [trajectory async for trajectory in engine] == []
        with pytest.raises(VectorError, match="runs once"):
            await engine.__aenter__()

    asyncio.run(run())


KINDS = ["fine", "env", "agent", "endpoint", "limit", "context"]


@settings(max_examples=25, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=30),
    concurrency=st.integers(1, 12),
    queue_size=st.integers(1, 5),
    retries=st.integers(0, 2),
    group=st.integers(1, 3),
    plain=st.booleans(),
    specs=st.integers(1, 4),
)
def test_every_request_is_delivered_once(
    kinds: list[str], concurrency: int, queue_size: int, retries: int, group: int, plain: bool, specs: int
) -> None:
    """Whatever fails in whichever episodes, each key of the plan comes out exactly once, with the right verdict."""

    def kind_of(seed: int) -> str:
        return kinds[seed % len(kinds)]

    class Prone(Trial):
        def step(self, action: str) -> tuple[str, Any, Any, Any, Any]:
            if kind_of(self.seed) == "env":
                raise RuntimeError("broken")
            return super().step(action)

    class Moody(HostileInThread):
        def next(self) -> Any:
            kind = kind_of(self.seed)
            if kind == "agent":
                raise ValueError("mine")
            if kind == "endpoint":
                raise EndpointDown("503")
            if kind == "context":
                raise EpisodeLimitError("context")
            return Act("go", token_ids=[1] * (9 if kind == "limit" else 1))

    class AsyncMoody(Moody):
        async def reset(self, observation: Any, info: Info) -> None:  # type: ignore[override]
            await asyncio.sleep(0)

        async def act(self, observation: Any, info: Info) -> Any:  # type: ignore[override]
            await asyncio.sleep(0)
            return self.next()

    policy = Moody if plain else AsyncMoody
    plan = plan_episodes(
        {f"env {number}": EnvSpec(id=f"test:Prone-v{number % 2}", entry_point=Prone) for number in range(specs)},
        len(kinds),
        group=group,
    )

    async def run() -> list[gem.Trajectory]:
        async with RolloutEngine(
            plan,
            lambda env: policy(lambda: None),
            concurrency=concurrency,
            queue_size=queue_size,
            retries=retries,
            limits=EpisodeLimits(max_tokens=9),
        ) as engine:
            return [trajectory async for trajectory in engine]

    played = asyncio.run(asyncio.wait_for(run(), 60))
    assert Counter(t.key for t in played) == Counter(request.key for request in plan)
    for trajectory in played:
        kind = kind_of(trajectory.seed or 0)
        source = trajectory.failure.source if trajectory.failure else None
        assert source == {"env": "environment", "agent": "agent", "endpoint": "endpoint"}.get(kind)
        assert trajectory.stop_reason == {"fine": "terminated", "limit": "tokens", "context": "context"}.get(kind)
        assert len(trajectory.earlier_failures) == (retries if kind in ("env", "endpoint") else 0)


def test_the_plain_iterator_works_inside_a_running_loop() -> None:
    """As in a notebook: the engine has a loop of its own."""

    async def notebook() -> int:
        return len(list(rollout(trial(), RandomPolicy, episodes=5, seed=100)))

    assert asyncio.run(notebook()) == 5


def test_the_plain_iterator_ends_with_its_consumer() -> None:
    """Closing it early, or stopping it, ends the engine's thread; stop still yields what is finished."""
    before = set(threading.enumerate())
    with rollout(trial(), RandomPolicy, episodes=500, seed=100) as episodes:
        next(episodes)
    assert list(episodes) == []
    stopped = rollout(trial(), RandomPolicy, episodes=500, seed=100)
    first = next(stopped)
    stopped.stop()
    rest = list(stopped)
    assert len({t.seed for t in [first, *rest]}) == 1 + len(rest) < 500
    stopped.stop()
    assert _all_end(set(threading.enumerate()) - before)


@pytest.mark.slow(reason="four steps hang for a second each, and worker processes import this file")
@pytest.mark.parametrize("fault", ["step dies", "step hangs"])
def test_a_process_that_dies_or_hangs_is_one_failed_episode(fault: str) -> None:
    """A dying process and a hang in pure Python end their own episode, in the mode that can survive them."""
    played = play(
        EnvSpec(id="test:Deadly-v0", entry_point=Deadly, kwargs={"fault": fault}),
        lambda env: Turns(),
        mode="process",
        concurrency=2,
        limits=EpisodeLimits(step_timeout=1.0),
    )
    assert sorted(t.seed or 0 for t in played) == list(range(96, 104))
    for trajectory in played:
        failed = (trajectory.seed or 0) < 100
        assert (trajectory.failure is not None) == failed
        if trajectory.failure:
            kind = "crash" if fault == "step dies" else "timeout"
            assert (trajectory.failure.source, trajectory.failure.kind) == ("environment", kind)


class Deadly(Trial):
    """Ends its process, or never returns to it."""

    def _fail(self, where: str) -> None:
        import os

        if self.faulty == f"{where} dies":
            os._exit(9)
        while self.faulty == f"{where} hangs":
            time.sleep(0.01)  # a loop that never ends, and leaves the processors to others


def test_several_consumers_of_one_engine_share_its_episodes() -> None:
    """Each episode reaches one of them, and all of them end, one that was cancelled in between aside."""

    async def play() -> tuple[list[EpisodeKey], int]:
        taken: list[EpisodeKey] = []
        spec = EnvSpec(id="test:Trial-v0", entry_point=f"{__name__}:Trial")
        requests = [EpisodeRequest(spec, EpisodeKey(spec.id, seed)) for seed in range(40)]
        engine = RolloutEngine(requests, lambda env: Turns(), concurrency=4)

        async def consume() -> None:
            while episodes := await engine.take(1):
                taken.append(episodes[0].key)

        async with engine:
            given_up, *others = [asyncio.ensure_future(consume()) for _ in range(4)]
            await asyncio.sleep(0)
            given_up.cancel()
            await asyncio.gather(*others)
            return taken, engine.counts.delivered

    taken, delivered = asyncio.run(play())
    assert sorted(key.seed for key in taken) == list(range(40))
    assert delivered == 40


def test_an_error_of_the_vector_environment_ends_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes that wait for their environments do not wait for ever, and the error is raised."""
    take_ready = EngineAccess.take_ready
    calls = 0

    def failing(access: EngineAccess[Any]) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise VectorError("no node has room")
        return take_ready(access)

    monkeypatch.setattr(EngineAccess, "take_ready", failing)

    async def play() -> None:
        async with RolloutEngine(plan_episodes(trial(), 64), RandomPolicy, concurrency=8) as engine:
            async for _ in engine:
                pass

    with pytest.raises(VectorError, match="no node has room"):
        asyncio.run(asyncio.wait_for(play(), 60))
