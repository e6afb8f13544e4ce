"""Environments are lent to one episode at a time, however episodes end."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem_rollout.environments import EnvironmentPool, PooledEnvironment


class Still(Env[str, str]):
    """Begins, and is never asked for more."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        raise AssertionError("nobody plays it")


SPEC = EnvSpec(id="test:Still-v0", entry_point=Still)


class WatchedPool(EnvironmentPool):
    """Says when a result has come."""

    def __init__(self) -> None:
        self.came = threading.Event()
        loop = asyncio.get_running_loop()
        super().__init__(2, wrappers=(), mode="thread", step_timeout=None, loop=loop)

    def _wake(self) -> None:
        super()._wake()
        self.came.set()


@pytest.mark.parametrize("first", ["result", "cancellation"])
def test_a_cancelled_episode_gives_its_place_back_once(first: str) -> None:
    """No two episodes get one environment, whether the pending result or the cancellation comes first."""

    async def run() -> tuple[PooledEnvironment, ...]:
        pool = WatchedPool()
        place = pool.take(SPEC)
        await pool.make(place, SPEC)

        async def episode() -> None:
            try:
                await pool.reset(place, 1)
            finally:
                pool.give_back(place)

        playing = asyncio.create_task(episode())
        await asyncio.sleep(0)
        pool.came.clear()
        pool._send()
        if first == "result":
            assert pool.came.wait(60)  # the loop stands still: the result waits for it
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
        while place.waiting is not None:
            await asyncio.sleep(0)
        places = pool.take(SPEC), pool.take(SPEC)
        pool.stop()
        pool.close()
        return places

    one, other = asyncio.run(asyncio.wait_for(run(), 120))
    assert one is not other
    assert one.wanted is SPEC
