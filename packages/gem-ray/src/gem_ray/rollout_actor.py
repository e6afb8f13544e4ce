"""The actor's side of a sharded rollout: :class:`RolloutActor` runs an engine on its node."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from gem.policies import make_policy as policy_by_name
from gem.wrappers import WrapperLike
from gem_ray.packing import unpack
from gem_rollout import EpisodeLimits, RolloutEngine
from gem_rollout.asking import PolicyMaker
from gem_rollout.trajectory.encoder import TrajectoryEncoder

__all__ = ["RolloutActor", "ShardSettings"]


@dataclass(frozen=True)
class ShardSettings:
    """What the engine of each shard needs; see :class:`gem_rollout.RolloutEngine`."""

    make_policy: PolicyMaker | str
    """A callable or mapping, or the name of a policy as in :func:`gem.make_policy`."""
    concurrency: int
    wrappers: tuple[WrapperLike, ...] = ()
    mode: str = "thread"
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    retries: int = 0
    agent: str = ""


class RolloutActor:
    """Plays the episodes that the driver adds, and hands over each when it is finished.

    Its methods run on the event loop of the actor. The engine starts no episode while the driver takes none, so a
    driver that is behind slows its shards down.
    """

    def __init__(self, packed_settings: bytes) -> None:
        settings: ShardSettings = unpack(packed_settings)
        maker = settings.make_policy
        if isinstance(maker, str):
            name = maker

            def maker(env: Any, agent: str | None = None) -> Any:
                return policy_by_name(name, env, agent)

        self._engine = RolloutEngine(
            [],
            maker,
            concurrency=settings.concurrency,
            wrappers=settings.wrappers,
            mode=settings.mode,
            limits=settings.limits,
            retries=settings.retries,
            agent=settings.agent,
            strict=True,
        )
        self._encoder = TrajectoryEncoder()
        self._begun: asyncio.Event | None = None

    async def add(self, packed_requests: bytes) -> None:
        """Have further episodes played."""
        if self._begun is None:
            self._begun = asyncio.Event()
            await self._engine.__aenter__()
            self._begun.set()
        await self._begun.wait()
        self._engine.extend(unpack(packed_requests))

    async def take(self) -> list[bytes]:
        """Wait for finished episodes and return their records as lines; an empty list if none is being played."""
        if self._begun is None:
            return []
        await self._begun.wait()
        return [self._encoder.line(trajectory) for trajectory in await self._engine.take()]

    async def close(self) -> None:
        """Drop what is being played, and close policies and environments."""
        await self._engine.close()
