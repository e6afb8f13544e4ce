"""The rollout engine: :class:`RolloutEngine`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, get_args

from gem.arguments import choice, integer
from gem.errors import ArgumentError, ArgumentTypeError, VectorError
from gem.wrappers import WrapperLike
from gem_rollout.asking import PolicyMaker, RolloutContext
from gem_rollout.environments import EnvironmentPool, as_tuple
from gem_rollout.episode import EpisodeAttempt
from gem_rollout.garbage import rare_collections
from gem_rollout.limits import EpisodeLimits
from gem_rollout.plan import EpisodePlan, EpisodeRequest, FairOrder
from gem_rollout.policy_calls import PolicyCalls
from gem_rollout.staleness import Staleness, StaleRule
from gem_rollout.trajectory import EpisodeKey, Failure, Trajectory
from gem_rollout.trajectory.token_versions import Version
from gem_rollout.turn_journal import TurnJournal
from gem_rollout.weight_gate import CallsInFlight, WeightGate

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EngineCounts", "LiveEpisode", "RolloutEngine"]

_MOST_LOST = 8  # times that an episode is played anew because its environment shared a process with one that died
_OBJECTS = 16  # of an episode, while it waits for its policy: so many more in each are no sign of cycles
_PATIENCE = 1.0  # seconds that coroutines of policies have to end after they were cancelled


class _EngineState(Enum):
    NEW = "new"
    RUNNING = "running"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class _FinishedEpisode:
    trajectory: Trajectory
    request: EpisodeRequest
    oldest_version: Version
    """The oldest version of the policy that a turn was played by."""
    replays: int
    """How often it was played before."""


@dataclass(frozen=True)
class LiveEpisode:
    """An episode that is being played."""

    key: EpisodeKey
    turns: int
    seconds: float
    """Seconds since its reset."""


@dataclass
class EngineCounts:
    """What an engine has done so far."""

    running: int = 0
    """Episodes that are being played."""
    waiting: int = 0
    """Finished episodes that were not taken yet."""
    delivered: int = 0
    """Finished episodes that were taken, failed ones included."""
    failed: int = 0
    """Those of ``delivered`` that failed."""
    retried: int = 0
    """Attempts that failed and were repeated."""
    stale: int = 0
    """Episodes that were too old for ``max_staleness``: delivered nevertheless, played anew, or dropped."""
    replayed: int = 0
    """Those of ``stale`` that were played anew."""
    dropped: int = 0
    """Those of ``stale`` that are not delivered; their keys are in :attr:`RolloutEngine.dropped`."""
    skipped: int = 0
    """Episodes of the plan that were done already."""


class RolloutEngine:
    """Plays the episodes of a plan, many at once, and delivers each when it is finished.

    ::

        async with RolloutEngine(plan, make_policy, concurrency=256) as engine:
            async for trajectory in engine:
                ...
                engine.version = 7  # recorded at each turn from now on

    The engine runs on the event loop of its caller, and only between the caller's own awaits; :func:`rollout` gives it
    a loop in a thread of its own. Policies with ``async def act`` run on that loop, plain ``act`` in threads, and
    ``act_many`` gets the observations of all episodes that wait for the same policy. Environments are stepped by a
    vector environment. An exception of a policy or an environment ends its own episode and no other: the record says
    what failed.

    While the consumer is behind, no new episode starts: running and waiting episodes together never exceed
    ``concurrency + queue_size``. While it runs, Python looks for reference cycles the more rarely, the more episodes
    there may be at a time (:mod:`gem_rollout.garbage`).

    Args:
        plan: the episodes to play. Environments of a list share the engine evenly, each with its episodes in order;
            any other iterable is played in its order, may be endless, and is read as episodes start.
        make_policy: called with each environment that is made, in a thread; what it returns acts in all episodes of
            that environment, and several environments may share one policy. In environments with several agents each
            has a policy: a callable is then called with environment and agent if it takes two arguments, and a mapping
            has a callable for each agent. A :class:`gem_rollout.Seating` has policies that change seats.
        concurrency: episodes at a time.
        wrappers: as in ``gem.make``.
        mode: the mode of the vector environment, as in ``gem.make_vec``.
        limits: what an episode may cost.
        retries: how many times an episode is played anew after a failure of the environment or the endpoint. Earlier
            failures stay in the record. One that was lost because another environment ended the process of both is
            played anew in any case.
        queue_size: finished episodes that may wait; ``concurrency`` unless given.
        max_staleness: an episode is stale if the oldest version that sampled in it is more than this number behind
            ``version`` when it would be delivered. Versions must then be integers.
        stale: what becomes of such an episode; see :class:`gem_rollout.staleness.Staleness`.
        replays: with ``stale="age"``, how often it is played anew at most.
        version: of the policy's weights; recorded at each turn that names none itself.
        journal: keeps each turn, so that another process can continue the episodes of this one: those that it knows go
            on after their last turn. For policies with ``recall``, in environments with one agent. The journal stays
            open; see :class:`gem_rollout.turn_journal.TurnJournal`.
        agent: written into every trajectory.
        done: keys of episodes that are left out.
        strict: raise what keeps an environment or a policy from being made, where otherwise each of its episodes
            is delivered as a failure.

    Raises:
        ArgumentError, ArgumentTypeError: for a number out of range.
    """

    def __init__(
        self,
        plan: EpisodePlan,
        make_policy: PolicyMaker,
        *,
        concurrency: int = 64,
        wrappers: WrapperLike | Iterable[WrapperLike] = (),
        mode: str = "thread",
        limits: EpisodeLimits | None = None,
        retries: int = 0,
        queue_size: int | None = None,
        max_staleness: int | None = None,
        stale: StaleRule = "mask",
        replays: int = 1,
        version: int | str | None = None,
        journal: TurnJournal | None = None,
        agent: str = "",
        done: Collection[EpisodeKey] = (),
        strict: bool = False,
    ) -> None:
        self._most = self._concurrency = integer("concurrency", concurrency, minimum=1)
        self.limits = EpisodeLimits() if limits is None else limits
        self.retries = integer("retries", retries, minimum=0)
        self.queue_size = concurrency if queue_size is None else integer("queue_size", queue_size, minimum=1)
        self.staleness = Staleness(max_staleness, stale, replays)
        if self.staleness.bound is None and stale == "cancel":
            raise ArgumentError("stale='cancel' needs max_staleness, the age from which an episode is stale")
        self._check_version(version)
        self.dropped: list[EpisodeKey] = []
        """The episodes that were too old and are not delivered, with ``stale="cancel"``."""
        self.agent = agent
        self._journal = journal
        self._strict = strict
        self._version = version
        self._context: RolloutContext
        self._plan = FairOrder(plan) if isinstance(plan, Sequence) else iter(plan)
        self._playing: Counter[str] = Counter()  # by label
        self._make_policy = make_policy
        self._wrappers = as_tuple(wrappers)
        self._mode = mode
        self._done = frozenset(done)
        self._counts = EngineCounts()
        self._again: deque[tuple[EpisodeRequest, int]] = deque()  # with how often they were played before
        self._running: dict[asyncio.Task[_FinishedEpisode], EpisodeAttempt] = {}
        self._finished: deque[_FinishedEpisode] = deque()
        self._news: asyncio.Future[None] | None = None  # done when an episode has ended
        self._error: BaseException | None = None
        self._exhausted = False
        self._stopped = False
        self._paused = False
        self._collector = ExitStack()
        """Holds the settings of the collector of reference cycles while the engine runs."""
        self._state = _EngineState.NEW

    @property
    def counts(self) -> EngineCounts:
        """What the engine has done so far."""
        self._counts.running, self._counts.waiting = len(self._running), len(self._finished)
        return self._counts

    @property
    def version(self) -> int | str | None:
        """The version of the policy's weights; assign it when they change, also while episodes are running.

        Raises:
            ArgumentError, ArgumentTypeError: on assignment of an earlier number, of something that is no int, str or
                None, or with ``max_staleness`` of something that is no int.
        """
        return self._version

    @version.setter
    def version(self, version: int | str | None) -> None:
        self._check_newer(version)
        self._version = version
        if self._state is not _EngineState.RUNNING:
            return
        self._context.version = version
        if self.staleness.rule == "cancel":
            for task, attempt in list(self._running.items()):
                if self.staleness.is_stale(attempt.progress.oldest(), version):
                    attempt.progress.dropped = True
                    task.cancel()

    @asynccontextmanager
    async def updating(self, version: int | str | None, *, calls: CallsInFlight = "wait") -> AsyncIterator[None]:
        """Change the weights in the block, while no policy is asked; environments go on with what they were told.

        Afterwards the engine has the new version, policies with ``weights_changed(version)``, quick or async, have been
        told, and turns go on. After an exception in the block they go on with the old one.

        Args:
            version: of the new weights.
            calls: what becomes of the calls in flight. ``"wait"``: the block begins once all have ended. ``"drop"``:
                they are cancelled, and made again afterwards with the same observations; of functions and of
                ``act_many``, which cannot be cancelled, the end is awaited.
                ``"keep"``: they go on, for servers that exchange the weights in the middle of an answer and say so
                (``Act.version_spans``).

        Raises:
            VectorError: if the engine is not running, or is updating already.
            ArgumentError, ArgumentTypeError: as when ``version`` is assigned, before the block begins.
        """
        choice("calls", calls, get_args(CallsInFlight))
        self._check_newer(version)
        if self._state is not _EngineState.RUNNING:
            raise VectorError("weights change while the engine is running; use 'async with engine:' around the loop")
        gate = self._context.gate
        if gate.closed:
            raise VectorError("the engine is updating already; end that block first")
        try:
            await gate.close(calls)
            yield
            self.version = version
            await self._context.calls.weights_changed(version)
        finally:
            gate.open()

    @property
    def concurrency(self) -> int:
        """Episodes at a time; assign fewer, or again up to as many as the engine began with, while it runs.

        Episodes that are being played go on, so a smaller number holds once enough of them have ended.

        Raises:
            ArgumentError, ArgumentTypeError: on assignment, for a number out of range.
        """
        return self._concurrency

    @concurrency.setter
    def concurrency(self, concurrency: int) -> None:
        self._concurrency = integer("concurrency", concurrency, minimum=1, maximum=self._most)
        if self._state is _EngineState.RUNNING:
            self._fill()

    @property
    def paused(self) -> bool:
        """Whether no more episodes begin; those that are being played go on. Assign it at any time."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._paused = paused
        if self._state is _EngineState.RUNNING and not paused:
            self._fill()
            self._tell()

    @property
    def live(self) -> list[LiveEpisode]:
        """The episodes that are being played."""
        now = time.perf_counter()
        playing = [attempt.progress for attempt in list(self._running.values())]
        return [LiveEpisode(one.request.key, one.turns, now - one.began) for one in playing]

    async def __aenter__(self) -> Self:
        if self._state is not _EngineState.NEW:
            raise VectorError("an engine runs once; make another")
        loop = asyncio.get_running_loop()
        environments = EnvironmentPool(
            self.concurrency,
            wrappers=self._wrappers,
            mode=self._mode,
            step_timeout=self.limits.step_timeout,
            loop=loop,
        )
        self._context = RolloutContext(
            environments,
            PolicyCalls(loop, self.concurrency),
            self._make_policy,
            self.limits,
            self.agent,
            self._strict,
            asks_in_place=environments.run_in_threads
            and (self.limits.act_timeout, self.limits.step_timeout, self.limits.max_seconds) == (None, None, None),
            version=self._version,
            gate=WeightGate(),
            journal=self._journal,
        )
        self._loop = loop
        self._collector.enter_context(rare_collections(_OBJECTS * self._most))
        self._state = _EngineState.RUNNING
        self._fill()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Trajectory]:
        return self

    async def __anext__(self) -> Trajectory:
        """Return a finished episode.

        Raises:
            StopAsyncIteration: after the last episode, and after ``stop`` once all finished ones are delivered.
        """
        (trajectory,) = await self._take(1) or (None,)
        if trajectory is None:
            raise StopAsyncIteration
        return trajectory

    async def take(self, most: int | None = None) -> list[Trajectory]:
        """Return the finished episodes, at least one; an empty list after the last one.

        Args:
            most: return at most this number.
        """
        return await self._take(most)

    def extend(self, requests: Iterable[EpisodeRequest]) -> None:
        """Add episodes to the plan, to be played before those that it has left; also after its last one.

        Raises:
            VectorError: if the engine is not running, or was stopped.
        """
        if self._state is not _EngineState.RUNNING or self._stopped:
            raise VectorError("episodes can be added to an engine that is running, and was not stopped")
        for request in requests:
            if request.key in self._done:
                self._counts.skipped += 1
            else:
                self._again.append((request, 0))
        self._fill()

    def stop(self) -> None:
        """Start nothing more and drop the running episodes; those that are finished can still be taken."""
        self._exhausted = self._stopped = True
        self._again.clear()
        if self._state is not _EngineState.NEW:
            self._context.stopped = True
        for task in list(self._running):
            task.cancel()
        self._tell()

    async def close(self) -> None:
        """Drop the running episodes, and close policies and environments; calling it again does nothing."""
        if self._state is not _EngineState.RUNNING:
            self._state = _EngineState.CLOSED
            return
        self._state = _EngineState.CLOSED
        with self._collector:
            self.stop()
            context = self._context
            context.environments.stop()
            if self._running:
                await asyncio.wait(set(self._running), timeout=_PATIENCE)
            await context.calls.close(_PATIENCE)
            await self._loop.run_in_executor(None, context.environments.close)
            self._tell()

    async def _take(self, most: int | None) -> list[Trajectory]:
        if self._state is _EngineState.NEW:
            raise VectorError("the engine is not running; use 'async with engine:' around the loop")
        taken: list[Trajectory] = []
        while not taken:
            while self._finished and (most is None or len(taken) < most):
                episode = self._finished.popleft()
                if self.staleness.is_stale(episode.oldest_version, self.version) and not self._keeps(episode):
                    continue
                self._counts.delivered += 1
                self._counts.failed += episode.trajectory.failure is not None
                taken.append(episode.trajectory)
            self._fill()
            if taken:
                break
            if self._error is not None:
                raise self._error
            if not self._running and not (self._paused and self._has_more()):
                break
            if self._news is None or self._news.done():
                self._news = self._loop.create_future()
            await asyncio.shield(self._news)  # shared by all who wait, so none may cancel it
        return taken

    def _fill(self) -> None:
        """Start episodes as far as there is room."""
        while (
            not self._paused
            and len(self._running) < self.concurrency
            and len(self._running) + len(self._finished) < self.concurrency + self.queue_size
        ):
            found = self._next_request()
            if found is None:
                break
            request, replays = found
            attempt = EpisodeAttempt(self._context, request)
            task = self._loop.create_task(self._play(attempt, replays))
            self._running[task] = attempt
            self._playing[request.key.env] += 1
            task.add_done_callback(self._ended)

    def _next_request(self) -> tuple[EpisodeRequest, int] | None:
        if self._again:
            return self._again.popleft()
        while not self._exhausted:
            try:
                request = (
                    self._plan.next(self._playing) if isinstance(self._plan, FairOrder) else next(self._plan, None)
                )
            except Exception as error:  # the plan is the caller's
                self._exhausted, self._error = True, error
                break
            if request is None:
                self._exhausted = True
            elif request.key in self._done:
                self._counts.skipped += 1
            else:
                return request, 0
        return None

    async def _play(self, attempt: EpisodeAttempt, replays: int) -> _FinishedEpisode:
        earlier: list[Failure] = []
        lost = 0
        while True:
            trajectory = await attempt.play()
            failure = trajectory.failure
            if failure is None or failure.source == "agent":
                break
            lost += failure.kind == "lost"
            if len(earlier) >= self.retries + min(lost, _MOST_LOST):
                break
            earlier.append(failure)
            self._counts.retried += 1
            task = asyncio.current_task()
            assert task is not None
            attempt = self._running[task] = EpisodeAttempt(self._context, attempt.request)
        trajectory.earlier_failures = earlier
        return _FinishedEpisode(trajectory, attempt.request, attempt.progress.oldest_version, replays)

    def _ended(self, task: asyncio.Task[_FinishedEpisode]) -> None:
        attempt = self._running.pop(task)
        self._playing[attempt.request.key.env] -= 1
        if task.cancelled():
            if attempt.progress.dropped and not self._stopped:
                self._drop(attempt.request)
        else:
            if task.exception() is None:
                self._finished.append(task.result())
            else:
                self._error, self._exhausted = task.exception(), True  # a fault of the engine itself
        if self._state is _EngineState.RUNNING:
            self._fill()
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _check_newer(self, version: object) -> None:
        self._check_version(version)
        if type(version) is int and type(self._version) is int and version < self._version:
            raise ArgumentError(f"the version is {self._version} already, and cannot go back to {version}")

    def _check_version(self, version: object) -> None:
        if self.staleness.bound is not None and type(version) is not int:
            raise ArgumentTypeError(f"with max_staleness, version must be an int, got {version!r:.80}")
        if version is not None and type(version) not in (int, str):
            raise ArgumentTypeError(f"version must be an int, a str or None, got {version!r:.80}")

    def _has_more(self) -> bool:
        """Return whether episodes are left that would begin if the engine were not paused."""
        return not self._stopped and (bool(self._again) or not self._exhausted)

    def _keeps(self, episode: _FinishedEpisode) -> bool:
        """Return whether a finished episode is delivered though it is stale, after noting that it is."""
        rule = self.staleness.rule
        if rule == "cancel":
            self._drop(episode.request)
            return False
        self._counts.stale += 1
        if rule == "age" and episode.replays < self.staleness.replays and not self._stopped:
            self._counts.replayed += 1
            self._again.append((episode.request, episode.replays + 1))
            return False
        self.staleness.note(episode.trajectory, episode.oldest_version, self.version)
        return True

    def _drop(self, request: EpisodeRequest) -> None:
        self._counts.stale += 1
        self._counts.dropped += 1
        self.dropped.append(request.key)
        if self._journal is not None:
            self._journal.settle(request.key)
