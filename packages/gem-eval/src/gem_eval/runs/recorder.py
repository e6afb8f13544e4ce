"""Finished episodes on their way into the run folder: :class:`EpisodeRecorder`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from gem_eval.runs.episode_line import EpisodeLine
from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.progress import EvaluationProgress
from gem_eval.runs.scoring import EpisodeScorer
from gem_eval.trackers.tracking import RunTracking
from gem_rollout.trajectory import EpisodeKey, Trajectory

__all__ = ["EpisodeRecorder"]

_GRACE = 3.0  # seconds that scores have after an interruption


class EpisodeRecorder:
    """Scores and writes the episodes, several at a time where rewards have to wait for a judge.

    Args:
        folder: of the run, open for writing.
        keep: called with the key of each episode that is written.
        scorer: of the rewards beside the environment's.
        progress: counts what is written.
        config: of the evaluation.
        tracking: gets each episode.
    """

    def __init__(
        self,
        folder: RunFolder,
        keep: Callable[[EpisodeKey], object],
        scorer: EpisodeScorer,
        progress: EvaluationProgress,
        config: EvaluationConfig,
        tracking: RunTracking,
    ) -> None:
        self._folder = folder
        self._keep = keep
        self._scorer = scorer
        self._progress = progress
        self._tracking = tracking
        self._most = config.concurrency
        self._give_up_after = config.give_up_after
        self._track = bool(config.track)
        self._scoring: dict[asyncio.Task[None], Trajectory] = {}

    @property
    def hopeless(self) -> bool:
        """Whether so many episodes have failed and none has finished that the rest need not be tried."""
        return 0 < self._give_up_after <= self._progress.failed and not self._progress.finished

    async def take(self, episode: Trajectory | EpisodeLine) -> None:
        """Write an episode; at once, unless rewards have to score it first."""
        if isinstance(episode, EpisodeLine) and not self._scorer.rewards and not self._track:
            self._note(self._folder.append_line(episode), episode.message, episode.begun_again)
            return
        trajectory = episode.trajectory() if isinstance(episode, EpisodeLine) else episode
        if not self._scorer.rewards or trajectory.failure is not None:
            self._write(trajectory)
            return
        while len(self._scoring) >= self._most:
            await asyncio.wait(self._scoring, return_when=asyncio.FIRST_COMPLETED)
            self._collect()
        self._scoring[asyncio.ensure_future(self._scorer.score(trajectory))] = trajectory
        self._collect()

    async def drain(self) -> None:
        """Wait until every episode is scored and written."""
        while self._scoring:
            await asyncio.wait(self._scoring)
            self._collect()

    async def finish(self) -> None:
        """After an interruption, write what is still being scored; what takes long is written without scores."""
        if self._scoring:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(self._scoring, timeout=_GRACE)
        for task in self._scoring:
            task.cancel()
        self._collect(everything=True)

    def _collect(self, everything: bool = False) -> None:
        for task in [task for task in self._scoring if everything or task.done()]:
            if task.done() and not task.cancelled():
                task.result()
            self._write(self._scoring.pop(task))

    def _write(self, trajectory: Trajectory) -> None:
        row = self._folder.append(trajectory)
        self._note(row, trajectory.error or "", trajectory.metadata.get("begun_again"))
        self._tracking.episode(trajectory)

    def _note(self, row: EpisodeRow, message: str, begun_again: str | None) -> None:
        """Note that an episode is written."""
        self._keep(row.key)
        self._progress.add(row, message)
        if begun_again is not None:
            self._progress.continued -= 1
            self._progress.begun_again.append(begun_again)
