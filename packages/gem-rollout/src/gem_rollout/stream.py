"""A plain iterator over the engine: :func:`rollout`."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gem.arguments import integer
from gem.wrappers import WrapperLike
from gem_rollout.asking import PolicyMaker
from gem_rollout.engine import RolloutEngine
from gem_rollout.limits import EpisodeLimits
from gem_rollout.plan import EnvIds, plan_episodes
from gem_rollout.trajectory import EpisodeKey, Trajectory

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EpisodeStream", "rollout"]

_SLICE = 0.5  # seconds; the longest single wait, since Python handles a Ctrl-C just before a wait only after it


class EpisodeStream:
    """The episodes of an engine as a plain iterator.

    The engine runs in a thread with an event loop of its own, so that episodes go on while the caller is busy with the
    last one, and an event loop in the caller's thread (as in Jupyter) does no harm.

    Args:
        engine: not running yet.
        at_close: awaited in the engine's event loop when the episodes have ended: closes what their policies share.
    """

    def __init__(self, engine: RolloutEngine, at_close: Callable[[], Awaitable[object]] | None = None) -> None:
        self.engine = engine
        self._at_close = at_close
        self._ready: deque[Trajectory] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gem-rollout", daemon=True)
        self._open = True
        self._thread.start()
        try:
            self._run(engine.__aenter__())
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Trajectory:
        if not self._ready:
            if not self._open:
                raise StopIteration
            try:
                self._ready.extend(self._run(self.engine.take()))
            except KeyboardInterrupt:
                raise
            except BaseException:
                self.close()
                raise
            if not self._ready:
                self.close()
                raise StopIteration
        return self._ready.popleft()

    def stop(self) -> None:
        """Start nothing more and drop the running episodes; the iterator still yields the finished ones."""
        if self._open:
            self._loop.call_soon_threadsafe(self.engine.stop)

    def close(self) -> None:
        """Drop the running episodes and those that were not taken; calling it again does nothing."""
        if self._open:
            self._open = False
            self._ready.clear()
            try:
                self._run(self._end())
                self._run(self._loop.shutdown_default_executor())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _end(self) -> None:
        """Close the engine and what its policies share, and end what they have left running, as asyncio.run does."""
        try:
            await self.engine.close()
        finally:
            if self._at_close is not None:
                await self._at_close()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        running: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        done: queue.SimpleQueue[None] = queue.SimpleQueue()
        running.add_done_callback(lambda _: done.put(None))
        while not running.done():
            try:
                done.get(timeout=_SLICE)
            except queue.Empty:
                continue
        return running.result()


def rollout(
    env_ids: EnvIds,
    make_policy: PolicyMaker,
    *,
    num_envs: int = 8,
    episodes: int = 8,
    seed: int = 0,
    agent: str = "",
    wrappers: WrapperLike | Iterable[WrapperLike] = (),
    mode: str = "thread",
    step_timeout: float | None = None,
    group: int = 1,
    limits: EpisodeLimits | None = None,
    retries: int = 0,
    done: Collection[EpisodeKey] = (),
    at_close: Callable[[], Awaitable[object]] | None = None,
) -> EpisodeStream:
    """Return an iterator of episodes, each as it is finished.

    Args:
        env_ids: one environment, several, or several by label.
        make_policy: called once for every environment; for example ``lambda env: gem.make_policy("reference", env)``.
        num_envs: episodes at a time.
        episodes: number of episodes of each environment.
        seed: seed of the first group of each environment; each later one adds one.
        agent: written into every trajectory.
        wrappers: as in ``gem.make``.
        mode: as in ``gem.make_vec``.
        step_timeout: time limit of a step in seconds, as in ``gem.make_vec``; another way to say it in ``limits``.
        group: episodes of one seed.
        limits: what an episode may cost.
        retries: as in :class:`RolloutEngine`, like ``done``.
        done: keys of episodes that are left out.
        at_close: as in :class:`EpisodeStream`; for example the ``close`` of a model client.

    Raises:
        ArgumentError: if a number is out of range. Errors of ``gem.spec`` are passed on; the iterator passes on what
        keeps an environment or a policy from being made.
    """
    integer("num_envs", num_envs, minimum=1)
    limits = limits or EpisodeLimits(step_timeout=step_timeout)
    plan = plan_episodes(env_ids, episodes, group, seed)
    engine = RolloutEngine(
        plan,
        make_policy,
        concurrency=min(num_envs, len(plan)),
        wrappers=wrappers,
        mode=mode,
        limits=limits,
        retries=retries,
        agent=agent,
        done=done,
        strict=True,
    )
    return EpisodeStream(engine, at_close)
