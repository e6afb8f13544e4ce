"""Which episodes each of several engines plays, and what follows where one of them dies: :class:`ShardedPlan`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from gem_rollout.plan import EpisodeRequest
from gem_rollout.trajectory import EpisodeKey, Trajectory
from gem_rollout.trajectory.builder import TrajectoryBuilder

__all__ = ["ShardedPlan"]

_MAX_LOSSES = 3
"""Losses of an engine after which an episode that was alone in it is not tried again."""

Playing = Mapping[EpisodeKey, EpisodeRequest]
"""What an engine has been given and has not finished."""


class ShardedPlan:
    """The episodes that no engine has been given.

    Each engine gets episodes as it finishes others, in portions that shrink towards the end, so that fast ones play
    more of them. The episodes of an engine that was lost are suspects: one of them may have ended it. They are played
    in smaller and smaller portions, without others; one that was alone in its engine when that was lost, for the third
    time, is not played again.

    Args:
        requests: the episodes, in the order in which they are given away.
        shards: number of engines.
    """

    def __init__(self, requests: Iterable[EpisodeRequest], shards: int) -> None:
        self._fresh = deque(requests)
        self._suspects: deque[EpisodeRequest] = deque()
        self._losses: Counter[EpisodeKey] = Counter()
        self._shards = shards

    def __bool__(self) -> bool:
        """Whether any episode is left to be given to an engine."""
        return bool(self._fresh or self._suspects)

    def portion(self, playing: Playing, concurrency: int) -> list[EpisodeRequest]:
        """Take the episodes that an engine gets next.

        Args:
            playing: what it has.
            concurrency: how many it plays at a time.
        """
        if any(self._losses[key] for key in playing):
            return []  # suspects are played without others, which they might take down
        if self._suspects and not playing:
            losses = self._losses[self._suspects[0].key]
            most = max(1, concurrency >> 2 * losses)
            portion = [self._suspects.popleft()]
            while self._suspects and len(portion) < most and self._losses[self._suspects[0].key] == losses:
                portion.append(self._suspects.popleft())
            return portion
        # Twice as many as it plays at a time, so that it never waits for the driver, unless others would go without.
        fair = -(-len(self._fresh) // (2 * self._shards))
        room = 2 * concurrency - len(playing)
        if room < min(concurrency, fair) and playing:
            return []  # messages are for batches
        return [self._fresh.popleft() for _ in range(min(room, fair, len(self._fresh)))]

    def put_first(self, requests: Iterable[EpisodeRequest]) -> None:
        """Add episodes before those that are left."""
        self._fresh.extendleft(reversed(list(requests)))

    def lost(self, playing: Playing) -> list[EpisodeRequest]:
        """Take back what an engine had that was lost; return the episodes that are not played again."""
        given_up: list[EpisodeRequest] = []
        for key, request in playing.items():
            self._losses[key] += 1
            if len(playing) == 1 and self._losses[key] >= _MAX_LOSSES:
                given_up.append(request)
            else:
                self._suspects.append(request)
        return given_up

    def failed_episode(self, request: EpisodeRequest, *, agent: str, engines: str, how: str) -> Trajectory:
        """Return the record of an episode that is not played again.

        Args:
            request: the episode.
            agent: as in every trajectory of the plan.
            engines: what was lost, such as ``"Ray actors"``.
            how: how the last one ended.
        """
        label, seed, repetition = request.key
        builder = TrajectoryBuilder(request.spec, seed, repetition=repetition, label=label, agent=agent)
        message = f"ProcessCrashError: {self._losses[request.key]} {engines} were lost while they played this episode"
        builder.begin("", {"error": message})
        builder.fail("environment", "crash", f"{message}, the last alone: {how}")
        return builder.finish(None)
