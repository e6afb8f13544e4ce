"""The collector of reference cycles while runs are played and read."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

import gem
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.garbage import rare_collections, without_collections


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    before, frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.unfreeze()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    if frozen:  # by the test session
        gc.freeze()
    gc.enable()


def test_the_settings_return_after_overlapping_blocks() -> None:
    """Blocks of two runs that end in the order in which they began leave no trace."""
    gc.set_threshold(600, 9, 8)
    one, other = rare_collections(), rare_collections()
    one.__enter__()
    inside = gc.get_threshold()
    other.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold() == inside != (600, 9, 8)
    assert gc.get_freeze_count() > 0
    other.__exit__(None, None, None)
    assert gc.get_threshold() == (600, 9, 8)
    assert gc.get_freeze_count() == 0


def test_what_the_caller_has_set_is_kept() -> None:
    """A collector that is off stays off, a higher threshold stays, and frozen objects stay frozen."""
    gc.freeze()
    gc.set_threshold(0)
    with rare_collections():
        assert gc.get_threshold()[0] == 0
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.set_threshold(1_000_000)
    with rare_collections():
        assert gc.get_threshold()[0] == 1_000_000


def test_the_rarest_of_overlapping_blocks_holds() -> None:
    """A second block with a higher number raises it, one with a lower number does not lower it."""
    gc.set_threshold(600, 9, 8)
    with rare_collections(1000):
        assert gc.get_threshold()[:2] == (1000, 9)
        with rare_collections(5000), rare_collections(2000):
            assert gc.get_threshold()[0] == 5000
    assert gc.get_threshold() == (600, 9, 8)


def test_an_engine_looks_for_cycles_as_rarely_as_it_plays_many_episodes() -> None:
    """Also where its block ends with an exception, the process then has its own settings again."""
    gc.set_threshold(600, 9, 8)

    async def play(concurrency: int) -> int:
        plan = plan_episodes("game:GuessTheNumber-v0-easy", 4)
        engine = RolloutEngine(plan, lambda env: gem.make_policy("random", env), concurrency=concurrency)
        async with engine:
            inside = gc.get_threshold()[0]
            async for _ in engine:
                pass
        return inside

    async def fail() -> None:
        async with RolloutEngine([], lambda env: None, concurrency=512):
            raise KeyError

    assert asyncio.run(play(8)) == 600
    assert asyncio.run(play(512)) == 16 * 512
    assert asyncio.run(play(8192)) == 50_000
    with pytest.raises(KeyError):
        asyncio.run(fail())
    assert gc.get_threshold() == (600, 9, 8)


def test_an_error_ends_a_block_too() -> None:
    """Both kinds of blocks."""
    before = gc.get_threshold()
    for block in (rare_collections, without_collections):
        with pytest.raises(KeyError), block():
            raise KeyError
    assert gc.get_threshold() == before
    assert gc.isenabled()
    gc.disable()
    with without_collections():
        pass
    assert not gc.isenabled()
