"""Episodes sharded over the nodes of a cluster: :func:`rollout` and :class:`ShardedRollout`."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from gem.arguments import integer, real
from gem.errors import VectorError
from gem.wrappers import WrapperLike
from gem_ray.cluster import actor_class, connect, describe_resources
from gem_ray.packing import pack_code
from gem_ray.rollout_actor import RolloutActor, ShardSettings
from gem_rollout import EpisodeLimits, EpisodeRequest, plan_episodes
from gem_rollout.asking import PolicyMaker
from gem_rollout.environments import as_tuple
from gem_rollout.plan import EnvIds
from gem_rollout.sharding import ShardedPlan
from gem_rollout.trajectory import EpisodeKey, Trajectory, TrajectoryWriter, read_trajectories

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ShardedRollout", "rollout"]

_CLOSE_TIMEOUT = 10.0  # seconds that the engines have to close their environments


class _Shard:
    """One actor with an engine, as the driver sees it."""

    def __init__(self) -> None:
        self.actor: Any = None
        self.incarnation = 0
        self.started = False
        """Whether the actor has answered a call."""
        self.playing: dict[EpisodeKey, EpisodeRequest] = {}
        """What the actor has been given and has not finished."""
        self.calls: dict[Any, str] = {}
        """The calls under way: ``"start"``, ``"add"`` or ``"take"``."""


class ShardedRollout:
    """The episodes of a plan as one iterator, played by engines on several nodes; see :func:`rollout`.

    Each shard gets episodes as it finishes others (:class:`~gem_rollout.sharding.ShardedPlan`), so that fast nodes play
    more of them. Where an actor or its node is lost, another actor takes its place, and the episodes that it had not
    delivered are played again. So each key is delivered once; one that kills its actors is delivered as failed.

    Args:
        requests: the episodes to play.
        settings: of each engine.
        shards: number of engines; one for each node that is alive unless given.
        options: of the Ray actors, as ``ray.remote`` takes them.
        start_timeout: seconds that the cluster has to start the first actor; None for no limit.
        out: a file of episodes to append to.
    """

    def __init__(
        self,
        requests: Sequence[EpisodeRequest],
        settings: ShardSettings,
        *,
        shards: int | None = None,
        options: Mapping[str, Any] | None = None,
        start_timeout: float | None = 300.0,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        self._options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", **(options or {})}
        self._class = actor_class(RolloutActor, self._options, max_restarts=0, max_task_retries=0)
        self._settings = pack_code(settings)
        self._concurrency = settings.concurrency
        self._agent = settings.agent
        if shards is None:
            shards = max(1, sum(node["Alive"] for node in ray.nodes()))
        self._shards = [_Shard() for _ in range(min(integer("shards", shards, minimum=1), max(1, len(requests))))]
        self._plan = ShardedPlan(requests, len(self._shards))
        self._ready: deque[Trajectory] = deque()
        self._start_timeout = start_timeout
        self._idle_since = time.monotonic()
        self._writer = None if out is None else TrajectoryWriter(out)
        self._open = True

    @property
    def incarnations(self) -> tuple[int, ...]:
        """How many actors each shard has had."""
        return tuple(shard.incarnation for shard in self._shards)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Trajectory:
        """Return a finished episode, which is in the file already if there is one.

        Raises:
            StopIteration: after the last episode.
            VectorError: if the cluster has no room for any actor.
            Errors of making an environment or a policy are passed on.
        """
        try:
            while self._open and not self._ready:
                if not (self._plan or any(shard.playing for shard in self._shards)):
                    break
                self._feed()
                self._receive()
        except BaseException:
            self.close()
            raise
        if not self._ready:
            self.close()
            raise StopIteration
        return self._ready.popleft()

    def close(self) -> None:
        """End the actors and drop what was not taken; calling it again does nothing."""
        if not self._open:
            return
        self._open = False
        self._ready.clear()
        if ray.is_initialized():
            closing = [shard.actor.close.remote() for shard in self._shards if shard.started]
            if closing:
                ray.wait(closing, num_returns=len(closing), timeout=_CLOSE_TIMEOUT)
            for shard in self._shards:
                _end(shard)
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _feed(self) -> None:
        """Give each shard what it can play next, and ask it for what is finished."""
        for shard in self._shards:
            if shard.actor is None and self._plan:
                # It gets episodes when it has started: there may be no room for it while other shards could play them.
                shard.actor = self._class.remote(self._settings)
                shard.incarnation += 1
                shard.calls[shard.actor.take.remote()] = "start"
            portion = self._plan.portion(shard.playing, self._concurrency) if shard.started else []
            if portion:
                shard.playing.update((request.key, request) for request in portion)
                shard.calls[shard.actor.add.remote(pack_code(portion))] = "add"
            if shard.playing and "take" not in shard.calls.values():
                shard.calls[shard.actor.take.remote()] = "take"

    def _receive(self) -> None:
        """Wait for a call to return, and take note of what it brings."""
        owners = {call: shard for shard in self._shards for call in shard.calls}
        assert owners  # of an actor that starts, or of one that plays
        ready, _ = ray.wait(list(owners), timeout=1.0)
        if not ready:
            self._check_start()
            return
        for call in ray.wait(list(owners), num_returns=len(owners), timeout=0)[0]:
            self._returned(owners[call], call)

    def _returned(self, shard: _Shard, call: Any) -> None:
        if call not in shard.calls:
            return  # of an actor that was found lost by another call
        try:
            lines = ray.get(call)
        except ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except ray.exceptions.RayError as error:
            self._lost(shard, error)
            return
        self._idle_since = time.monotonic()
        shard.started = True
        del shard.calls[call]
        for line in lines or ():
            trajectory = Trajectory.from_dict(json.loads(line))
            if shard.playing.pop(trajectory.key, None) is not None:
                self._deliver(trajectory)

    def _deliver(self, trajectory: Trajectory) -> None:
        if self._writer is not None:
            self._writer.write(trajectory)
        self._ready.append(trajectory)

    def _lost(self, shard: _Shard, error: Exception) -> None:
        """Play the episodes of a lost actor again; the next :meth:`_feed` starts another in its place."""
        playing = dict(shard.playing)
        if shard.started:
            self._idle_since = time.monotonic()
        _end(shard)
        self._check_start()
        how = type(error).__name__
        for request in self._plan.lost(playing):
            self._deliver(self._plan.failed_episode(request, agent=self._agent, engines="Ray actors", how=how))

    def _check_start(self) -> None:
        if self._start_timeout is None or any(shard.started for shard in self._shards):
            return  # an episode may take longer than that
        if time.monotonic() - self._idle_since > self._start_timeout:
            raise VectorError(
                f"none of {len(self._shards)} Ray actors started within {self._start_timeout:g} s: "
                f"{describe_resources(self._options)}; add nodes, or change options= or start_timeout="
            )


def rollout(
    env_ids: EnvIds,
    make_policy: PolicyMaker | str,
    *,
    episodes: int = 8,
    group: int = 1,
    seed: int = 0,
    num_envs: int = 64,
    shards: int | None = None,
    agent: str | None = None,
    wrappers: WrapperLike | Iterable[WrapperLike] = (),
    mode: str = "thread",
    limits: EpisodeLimits | None = None,
    retries: int = 0,
    done: Collection[EpisodeKey] = (),
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    options: Mapping[str, Any] | None = None,
    start_timeout: float | None = 300.0,
) -> ShardedRollout:
    """Play episodes on the nodes of a Ray cluster, and return them as one iterator.

    :func:`gem_rollout.rollout` with its engine on every node: policies and environments run there, and only finished
    episodes come back. The same keys give the same episodes as on one machine.

    Args:
        env_ids: one environment, several, or several by label.
        make_policy: as in :func:`gem_rollout.rollout`, picklable by cloudpickle; or the name of a policy as in
            :func:`gem.make_policy`: ``"random"``, ``"reference"``, ``"module:Class"`` of a module that the nodes have.
        episodes: number of episodes of each environment.
        group: episodes of one seed.
        seed: seed of the first group of each environment; each later one adds one.
        num_envs: episodes at a time in each shard.
        shards: number of engines, each in an actor; one for each node that is alive unless given.
        agent: written into every trajectory; the name of the policy unless given.
        wrappers: as in ``gem.make``.
        mode: the vectorization mode inside each actor.
        limits: what an episode may cost.
        retries: how many times an episode is played anew after a failure of the environment or the endpoint.
        done: keys of episodes that are left out.
        out: a file of episodes, ``.jsonl``: each is appended before it is returned, and those that are in the file
            already and did not fail are left out. So the same call resumes a run that was interrupted.
        address: of the cluster, as in ``ray.init``, unless this process is connected already.
        options: of the Ray actors, such as ``{"num_cpus": 4, "resources": {"docker": 1}}``; one CPU unless given.
        start_timeout: seconds that the cluster has to start the first actor; None for no limit.

    Raises:
        ArgumentError, ArgumentTypeError: for an impossible argument. Errors of ``gem.spec`` are passed on.
        VectorError: if the cluster cannot be reached.
        TrajectoryError: if ``out`` holds something other than episodes.
    """
    plan = plan_episodes(env_ids, episodes, group, seed)
    settings = ShardSettings(
        make_policy,
        integer("num_envs", num_envs, minimum=1),
        as_tuple(wrappers),
        mode,
        limits or EpisodeLimits(),
        integer("retries", retries, minimum=0),
        agent if agent is not None else make_policy if isinstance(make_policy, str) else "",
    )
    if start_timeout is not None:
        real("start_timeout", start_timeout, minimum=0.001)
    finished = set(done)
    if out is not None and Path(out).exists():
        finished.update(trajectory.key for trajectory in read_trajectories(out) if trajectory.failure is None)
    connect(address)
    requests = [request for request in plan if request.key not in finished]
    return ShardedRollout(requests, settings, shards=shards, options=options, start_timeout=start_timeout, out=out)


def _end(shard: _Shard) -> None:
    shard.started = False
    shard.calls.clear()
    shard.playing.clear()
    if shard.actor is not None:
        with suppress(ray.exceptions.RayError):
            ray.kill(shard.actor)
        shard.actor = None
