"""The collector of reference cycles while runs are played and read."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

import gem
from gem_rollout import RolloutEngine, garbage, plan_episodes
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


class _Knot:
    """An object that refers to itself, and is counted until it dies."""

    alive = 0

    def __init__(self) -> None:
        self.own = self
        type(self).alive += 1

    def __del__(self) -> None:
        type(self).alive -= 1


MOST = 5000
"""Young objects that are looked at together, a tenth of the real number."""


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A block in which only a sample of the young objects is looked at."""
    monkeypatch.setattr(garbage, "MOST_ALLOCATIONS", MOST)
    monkeypatch.setattr(garbage, "_MUCH", MOST // 20)
    gc.collect()
    _Knot.alive = 0
    with rare_collections(garbage._MANY):
        yield
    assert not [one for one in gc.callbacks if type(one).__module__ == garbage.__name__]
    assert gc.get_freeze_count() == 0


def test_objects_without_cycles_are_frozen(sampled: None) -> None:
    """No later look, at young or at older objects, meets them again."""
    before = gc.get_freeze_count()
    kept: list[list[object]] = [[] for _ in range(4 * MOST)]
    assert gc.get_freeze_count() - before >= len(kept) - MOST


def test_many_cycles_end_the_sampling(sampled: None) -> None:
    """Then Python looks at all young ones again, and once at those that were frozen unseen."""
    dead = threading.Event()
    weakref.finalize(_Knot(), dead.set)
    for _ in range(100 * MOST):
        _Knot()
    assert dead.wait(60)
    assert _Knot.alive <= 30 * MOST  # of which the middle generation holds most


def test_whoever_collects_finds_what_was_frozen_unseen(sampled: None) -> None:
    """A call of ``gc.collect`` looks at everything, as without."""
    for _ in range(100):
        _Knot()
    kept: list[list[object]] = [[] for _ in range(2 * MOST)]
    assert kept
    assert _Knot.alive == 100
    gc.collect()
    assert _Knot.alive == 0


def test_everything_is_looked_at_in_time(sampled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few cycles among very many objects do not stay."""
    monkeypatch.setattr(garbage, "_ALL", garbage._SHARE)
    dead = threading.Event()
    weakref.finalize(_Knot(), dead.set)
    kept: list[list[object]] = [[] for _ in range((garbage._SHARE + 1) * MOST)]
    assert kept
    assert dead.wait(60)


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
