"""All workers of an evaluation, as an engine: :class:`EvaluationWorkers`."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gem.arguments import integer
from gem_eval.clients.request_limit import joined_limits
from gem_eval.runs.episode_line import EpisodeLine, unpacked
from gem_eval.runs.errors import WorkerError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.run_config import RunConfig
from gem_eval.runs.workers.share import WorkerShare, divided
from gem_eval.runs.workers.worker import EvaluationWorker
from gem_rollout import EpisodeRequest, LiveEpisode, TurnJournal
from gem_rollout.sharding import ShardedPlan
from gem_rollout.trajectory import EpisodeKey
from gem_rollout.trajectory.encoder import TrajectoryEncoder

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EvaluationWorkers"]

_TICK = 0.25
"""Seconds between two looks at the workers."""
_MOST_SILENT = 480
"""Looks without a word after which a worker is taken for frozen, two minutes: a step of an environment that holds
Python's lock keeps it silent as well."""
_MOST_SILENT_START = 1200
_GONE = 4
"""Looks after which the channel of an ended worker is closed, which a process of its own may hold open."""
_STARTS = 3
"""Attempts to start a worker, one after the other, before its place stays empty."""
_FIRST_PAUSE = 0.5  # seconds before the second attempt; doubled with each
_PATIENCE = 10.0
"""Seconds that a worker has to end in good order."""
_MOST_WAITING = 4096
"""Episodes that may wait to be written before no more are read."""


class EvaluationWorkers:
    """Plays episodes in worker processes; to the evaluation it is an engine whose episodes are lines.

    Where a worker dies, or says nothing for two minutes, another process takes its place. Its episodes go on after the
    last turn that its journal holds, in whichever worker has room.

    Args:
        config: of the evaluation.
        run: the same.
        requests: the episodes to play.
        folder: of the run.
        journal: of the run, whose unfinished episodes the workers continue.
    """

    def __init__(
        self,
        config: EvaluationConfig,
        run: RunConfig,
        requests: Sequence[EpisodeRequest],
        folder: RunFolder,
        journal: TurnJournal,
    ) -> None:
        self._config, self._run, self._folder, self._journal = config, run, folder, journal
        workers = min(config.workers, config.concurrency, max(1, len(requests)))
        self._links: list[EvaluationWorker | None] = [None] * workers
        self._plan = ShardedPlan(requests, workers)
        self._left = len(requests)
        self._ready: deque[EpisodeLine] = deque()
        self._senders: dict[EpisodeKey, EvaluationWorker] = {}
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._most = self._concurrency = config.concurrency
        self._retries = config.retries
        self._limit: dict[str, Any] = {}
        self._paused = self._stopped = False
        self._started = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._problem = ""
        self._error: BaseException | None = None
        self.lost: list[str] = []
        """How the workers ended that were lost."""

    @property
    def concurrency(self) -> int:
        """Episodes at a time in all workers; see :attr:`gem_rollout.RolloutEngine.concurrency`."""
        return self._concurrency

    @concurrency.setter
    def concurrency(self, concurrency: int) -> None:
        self._concurrency = integer("concurrency", concurrency, minimum=1, maximum=self._most)
        self._tune()

    @property
    def paused(self) -> bool:
        """Whether no more episodes begin."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._paused = paused
        self._tune()

    @property
    def retries(self) -> int:
        """As in :class:`gem_rollout.RolloutEngine`."""
        return self._retries

    @retries.setter
    def retries(self, retries: int) -> None:
        self._retries = retries
        self._tune()

    @property
    def live(self) -> list[LiveEpisode]:
        """The episodes that were being played when the workers last said so, about a second ago."""
        return [one for link in self._links if link is not None for one in link.live]

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [link.pid for link in self._links if link is not None]

    def waiting(self) -> Counter[str]:
        """Return what requests to models wait for; see :meth:`gem_eval.runs.agents.EvaluatedAgent.waiting`."""
        found: Counter[str] = Counter()
        for link in self._links:
            if link is not None:
                found.update(link.waiting)
        return found

    def request_limit(self) -> dict[str, Any]:
        """Return how many requests the workers send at once; see ``EvaluatedAgent.request_limit``."""
        self._limit = joined_limits(link.limit for link in self._links if link is not None) or self._limit
        return self._limit

    def extend(self, requests: Iterable[EpisodeRequest]) -> None:
        """Add episodes, to be played before those that are left."""
        added = list(requests)
        self._left += len(added)
        self._plan.put_first(added)
        self._feed()

    def keep(self, key: EpisodeKey) -> None:
        """Note that an episode is written, so that nobody needs its turns."""
        self._journal.settle(key)
        link = self._senders.pop(key, None)
        if link is not None:
            link.kept.append(key)

    def stop(self) -> None:
        """Start nothing more and drop the running episodes; those that are finished still come."""
        self._stopped = True
        for link in self._links:
            if link is not None:
                link.finish()
        asyncio.get_running_loop().call_later(_PATIENCE, self._hang_up)
        self._news.set()

    async def close(self) -> None:
        """End the workers, and take over what they have not finished; calling it again does nothing."""
        self._stopped = True
        tasks = [*self._tasks, *([] if self._watching is None else [self._watching])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        links = [link for link in self._links if link is not None]
        self._links = [None] * len(self._links)
        await asyncio.gather(*(link.end(_PATIENCE) for link in links))
        for link in links:
            self._take_over(link)

    async def __aenter__(self) -> Self:
        if self._left:
            self._tasks = [asyncio.ensure_future(self._tend(place)) for place in range(len(self._links))]
            self._watching = asyncio.ensure_future(self._watch())
            for task in self._tasks:
                task.add_done_callback(self._tended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[EpisodeLine]:
        return self

    async def __anext__(self) -> EpisodeLine:
        """Return a finished episode.

        Raises:
            StopAsyncIteration: after the last one, and after ``stop`` once all that are finished are delivered.
            WorkerError: if no worker can be started.
        """
        while not self._ready:
            if self._error is not None:
                raise self._error
            if not self._left or all(task.done() for task in self._tasks):
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        self._left -= 1
        self._room.set()
        return self._ready.popleft()

    async def _tend(self, place: int) -> None:
        """Keep a worker in a place."""
        failures = 0
        while not self._stopped:
            link = await self._start(place)
            if link is None:
                failures += 1
                if failures == _STARTS:
                    return
                await asyncio.sleep(_FIRST_PAUSE * 2 ** (failures - 1))
                continue
            failures = 0
            await self._listen(link)
            link.is_ready = False  # it gets nothing more
            how = await link.end(_PATIENCE)
            self._links[place] = None
            self._take_over(link)
            if not self._stopped:
                self._replace(link, how)

    async def _start(self, place: int) -> EvaluationWorker | None:
        """Start a worker; return None if it cannot play."""
        self._started += 1
        journal = self._folder.worker_journal(self._started)
        try:
            link = await EvaluationWorker.start(journal)
        except OSError as error:
            self._problem = str(error)
            return None
        self._links[place] = link
        paths = {"unfinished": str(self._folder.unfinished_path.absolute()), "journal": str(journal.absolute())}
        settings = WorkerShare.share(place, len(self._links), self._config, self._run, **paths)
        link.send({"settings": settings.to_dict()})
        first = await link.receive()
        if first is not None and "ready" in first[0]:
            link.is_ready = True
            self._tune()
            self._feed()
            return link
        how = await link.end(_PATIENCE)
        self._links[place] = None
        self._problem = str(first[0].get("refused")) if first is not None else f"it {how} while it started"
        return None

    async def _listen(self, link: EvaluationWorker) -> None:
        """Take what a worker delivers, until it has ended."""
        while (received := await link.receive()) is not None:
            header, body = received
            for episode in unpacked(header.get("episodes", ()), body):
                if link.playing.pop(episode.row.key, None) is not None:
                    self._senders[episode.row.key] = link
                    self._ready.append(episode)
            self._news.set()
            self._feed()
            while len(self._ready) >= _MOST_WAITING:
                link.is_read = False
                self._room.clear()
                await self._room.wait()
            link.is_read = True

    def _replace(self, link: EvaluationWorker, how: str) -> None:
        """Give away the episodes of a worker that was lost."""
        self.lost.append(how)
        encoder = TrajectoryEncoder()
        for request in self._plan.lost(link.playing):
            failed = self._plan.failed_episode(request, agent=self._run.agent, engines="workers", how=f"it {how}")
            self._ready.append(EpisodeLine.of(failed, encoder, self._run.prices))
        self._news.set()
        self._feed()

    def _take_over(self, link: EvaluationWorker) -> None:
        """Take the turns of a worker that has ended into the journal of the run."""
        unwritten = [key for key, sender in self._senders.items() if sender is link]
        with suppress(OSError):  # then its episodes begin anew
            self._journal.adopt(link.journal, {*link.playing, *unwritten})
            link.journal.unlink(missing_ok=True)
        for key in unwritten:
            del self._senders[key]

    def _shares(self) -> list[int]:
        return divided(0 if self._paused else self._concurrency, len(self._links))

    def _tune(self) -> None:
        for link, share in zip(self._links, self._shares(), strict=True):
            if link is not None and link.is_ready:
                link.send({"tune": {"concurrency": share, "retries": self._retries}})
        self._feed()

    def _feed(self) -> None:
        """Give each worker what it can play next."""
        if self._stopped:
            return
        for link, share in zip(self._links, self._shares(), strict=True):
            if link is None or not link.is_ready or not share:
                continue
            portion = self._plan.portion(link.playing, share)
            if portion:
                link.playing.update((request.key, request) for request in portion)
                keys, unfinished = [request.key for request in portion], self._journal.unfinished
                link.send({"play": keys, "continue": [key for key in keys if key in unfinished]})
            elif link.kept:
                link.send({})

    async def _watch(self) -> None:
        """End workers that say nothing any more."""
        while True:
            await asyncio.sleep(_TICK)
            for link in self._links:
                if link is None or not link.is_read:
                    continue
                # Counted in looks, not in seconds: after a time in which this process stood still, what has arrived is
                # read before the next look.
                link.silent += 1
                if link.silent > (_MOST_SILENT if link.is_ready else _MOST_SILENT_START):
                    link.kill()
                if link.silent > _GONE and link.has_ended():
                    link.hang_up()

    def _hang_up(self) -> None:
        for link in self._links:
            if link is not None:
                link.hang_up()

    def _tended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._error = task.exception()
        elif not self._stopped and all(task.done() for task in self._tasks):
            self._error = WorkerError(f"no worker process could start: {self._problem}; try it without --workers")
        self._news.set()
