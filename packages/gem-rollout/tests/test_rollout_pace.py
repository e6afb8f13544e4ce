"""Where the engine steps environments: on its event loop while their steps are quick, otherwise in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.policies import Policy
from gem_rollout import EpisodeLimits, RolloutEngine, plan_episodes
from gem_rollout.step_pace import StepPace
from gem_rollout.trajectory import Trajectory

TURNS = 60
released = threading.Event()
"""Never set; a wait for it has a time limit."""


class Where(Env[str, str]):
    """Says on which thread each step runs; from turn ``slow_from`` on, steps wait, and at ``fault_at`` one raises."""

    def __init__(self, slow_from: int | None = None, seconds: float = 0.0, fault_at: int = 0) -> None:
        self.slow_from = slow_from
        self.seconds = seconds
        self.fault_at = fault_at

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        if self.slow_from is not None and self.turn >= self.slow_from:
            released.wait(self.seconds)
        if self.turn == self.fault_at:
            raise RuntimeError("broke")
        return "", 0.0, self.turn == TURNS, False, {"thread": threading.get_ident()}


class Waiting(Policy[str, str]):
    """Acts as a model behind a server does, from the point of view of the loop."""

    async def act(self, observation: str, info: Info) -> str:
        await asyncio.sleep(0.0002)
        return "go"


def played(limits: EpisodeLimits | None = None, **kwargs: Any) -> tuple[int, list[Trajectory]]:
    """Play two episodes one after the other; return the loop's thread and the episodes."""
    spec = EnvSpec(id="where", entry_point=Where, kwargs=kwargs)

    async def play() -> list[Trajectory]:
        plan = plan_episodes({"where": spec}, 2, 1, 0)
        async with RolloutEngine(plan, lambda env: Waiting(), concurrency=1, limits=limits) as engine:
            return [episode async for episode in engine]

    return threading.get_ident(), asyncio.run(play())


def on_loop(loop: int, episode: Trajectory) -> list[bool]:
    return [turn.info["thread"] == loop for turn in episode.transitions]


def test_quick_environments_leave_the_threads() -> None:
    """The first steps of an id run in threads, and the last ones of a quick environment where its episode runs."""
    loop, (first, second) = played()
    assert not any(on_loop(loop, first)[:30])
    assert any(on_loop(loop, second))  # not all: a busy machine may interrupt a step, and so send it back


def test_environments_that_wait_stay_in_threads() -> None:
    """No step of an environment whose steps wait runs on the loop."""
    loop, episodes = played(slow_from=1, seconds=0.002)
    assert not any(turn for episode in episodes for turn in on_loop(loop, episode))


def test_an_environment_that_begins_to_wait_goes_back_for_good() -> None:
    """One long step on the loop is enough."""
    loop, (first, second) = played(slow_from=50, seconds=0.03)
    assert sum(on_loop(loop, first)[49:]) <= 1
    if any(on_loop(loop, first)[49:]):
        assert not any(on_loop(loop, second))


def test_a_fault_on_the_loop_ends_its_own_episode() -> None:
    """It is recorded as one in a thread is: with its source, and the action that the environment failed at."""
    _, episodes = played(fault_at=50)
    for episode in episodes:
        assert episode.failure is not None
        assert (episode.failure.source, episode.failure.kind) == ("environment", "exception")
        assert "broke" in episode.failure.message
        assert (len(episode), episode.failure.turn) == (50, 49)


def test_a_time_limit_keeps_steps_in_threads() -> None:
    """A step on the loop could not be left behind."""
    loop, episodes = played(EpisodeLimits(step_timeout=30.0))
    assert not any(turn for episode in episodes for turn in on_loop(loop, episode))


def test_an_episode_that_never_waits_lets_others_play() -> None:
    """A policy that answers at once, in an environment on the loop, ends no other episode's turn."""
    order: list[int] = []

    class Instant(Policy[str, str]):
        def __init__(self, number: int) -> None:
            self.number = number

        async def act(self, observation: str, info: Info) -> str:
            order.append(self.number)
            return "go"

    spec = EnvSpec(id="where", entry_point=Where)

    async def play() -> None:
        numbers = iter(range(8))
        plan = plan_episodes({"where": spec}, 8, 1, 0)
        async with RolloutEngine(plan, lambda env: Instant(next(numbers)), concurrency=4) as engine:
            async for _ in engine:
                pass

    asyncio.run(play())
    changes = sum(one != other for one, other in pairwise(order))
    assert changes > len(order) / 4


@pytest.mark.parametrize(
    ("steps", "trusted"),
    [
        (lambda pace: [pace.note(0.0001) for _ in range(31)], False),
        (lambda pace: [pace.note(0.0001) for _ in range(32)], True),
        (lambda pace: [pace.note(0.0001) for _ in range(40)] + [pace.note(0.001)], False),
        (lambda pace: [pace.note(0.0001) for _ in range(40)] + [pace.note_on_loop(0.0001)], True),
        (lambda pace: [pace.note(0.0001) for _ in range(40)] + [pace.note_on_loop(0.001)], False),
        (
            lambda pace: (
                [pace.note(0.0001) for _ in range(40)]
                + [pace.note_on_loop(0.001)]
                + [pace.note(0.0001) for _ in range(32)]
            ),
            True,
        ),
        (
            lambda pace: (
                [pace.note(0.0001) for _ in range(40)]
                + [pace.note_on_loop(0.1)]
                + [pace.note(0.0001) for _ in range(99)]
            ),
            False,
        ),
    ],
)
def test_trust_is_earned_by_quick_steps_in_a_row(steps: Callable[[StepPace], Any], trusted: bool) -> None:
    """A slow step ends it, and a long one on the loop for good."""
    pace = StepPace()
    steps(pace)
    assert pace.trusted is trusted
