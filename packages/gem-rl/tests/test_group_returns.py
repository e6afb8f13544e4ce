"""Episodes without an outcome in groups of a fixed size."""

from __future__ import annotations

import asyncio
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_rl.adapters import GroupReturns

outcomes = st.lists(st.none() | st.integers(-9, 9).map(float), min_size=1, max_size=6)


@given(st.lists(outcomes, min_size=1, max_size=3), st.builds(Random, st.integers()))
def test_the_mean_of_the_others_leaves_the_baseline(groups: list[list[float | None]], rng: Random) -> None:
    """Whatever the order in which episodes end; an episode alone, or one of none that has an outcome, gets 0."""
    running = GroupReturns()

    async def play(key: int, outcome: float | None) -> float:
        async with running.member(key) as group:
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)
            if outcome is not None:
                group.returns.append(outcome)
                return outcome
        return await group.mean()

    async def play_all() -> list[list[float]]:
        plays = [asyncio.gather(*(play(key, one) for one in group)) for key, group in enumerate(groups)]
        return list(await asyncio.gather(*plays))

    for found, group in zip(asyncio.run(play_all()), groups, strict=True):
        known = [one for one in group if one is not None]
        baseline = fmean(known) if known else 0.0
        assert found == [baseline if one is None else one for one in group]
        assert fmean(found) == pytest.approx(baseline)
    assert running._groups == {}


def test_an_episode_that_raises_keeps_nobody_waiting() -> None:
    """Its error is its own."""
    running = GroupReturns()

    async def fail() -> None:
        async with running.member("a"):
            raise OSError("the engine is gone")

    async def unknown() -> float:
        async with running.member("a") as group:
            pass
        return await group.mean()

    async def both() -> tuple[object, object]:
        return await asyncio.gather(fail(), unknown(), return_exceptions=True)

    error, mean = asyncio.run(both())
    assert isinstance(error, OSError)
    assert mean == 0.0
