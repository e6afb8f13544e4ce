"""Grading recorded episodes anew: :func:`rescore`."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError
from gem_eval.clients.errors import RETRIED
from gem_eval.rewards.episode_source import EpisodeSource
from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.runs.score_files import ScoreEntry, ScoreWriter
from gem_processes import usable_cpus
from gem_questions.rewards import Reward, RewardContext, Score, score_episode, score_episode_async

__all__ = ["RescoreSummary", "rescore"]

_ENDPOINT_KINDS = RETRIED | {"bad_response", "authentication", "exception"}
"""Reasons for an unreadable score that may have passed when the command runs again."""


@dataclass
class RescoreSummary:
    """What came of one reward. Failed episodes have no scores."""

    label: str
    reward: dict[str, Any]
    """The configuration of the reward."""
    path: str
    """The file of its scores."""
    episodes: int = 0
    """Episodes that have a score, of this call or an earlier one."""
    new: int = 0
    """Episodes that this call has scored."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """Reason → episodes for which the reward could not tell."""
    total: float = 0.0
    """Sum of the readable values."""

    @property
    def readable(self) -> int:
        """Episodes for which the reward could tell."""
        return self.episodes - sum(self.unreadable.values())

    @property
    def mean(self) -> float | None:
        """Mean of the readable values; None if there is none."""
        return self.total / self.readable if self.readable else None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        values = {name: value for name, value in vars(self).items() if name != "total"}
        return {**values, "readable": self.readable, "mean": self.mean}


async def rescore(
    episodes: EpisodeSource,
    rewards: Sequence[Reward],
    folder: Path,
    *,
    run_folder: Path | None = None,
    judge: dict[str, Any] | None = None,
    concurrency: int = 16,
    limit: int | None = None,
    anew: bool = False,
    on_score: Callable[[str, EpisodeRow, Score], None] | None = None,
) -> list[RescoreSummary]:
    """Score recorded episodes by rewards, and write each score at once.

    Episodes that have a score of the same configuration keep it, so a call that was interrupted goes on where it
    stopped; an unreadable score whose cause lay outside the episode is tried again. Failed episodes are left out.
    Sync rewards run in threads.

    Args:
        episodes: the episodes.
        rewards: the rewards; their labels must differ. They are closed in the end.
        folder: where the scores go; see :func:`gem_eval.rewards.episode_source.open_episodes`.
        run_folder: what the rewards get as the folder of the run, for caches and records; ``folder`` unless given.
        judge: arguments of a judge, for rewards that name none.
        concurrency: episodes that are scored at the same time.
        limit: score no more than this number of episodes.
        anew: replace earlier scores.
        on_score: called with label, row and score after each.

    Raises:
        ArgumentError: if two rewards have one label, or a reward lacks what it needs.
        RunFolderError: if a file has scores of another configuration.
    """
    labels = [reward.recorded_as for reward in rewards]
    for label, count in Counter(labels).items():
        if count > 1:
            raise ArgumentError(f"{count} rewards have the label {label!r}; give each another 'label'")
    rows = [row for row in episodes.rows() if not row.failed][:limit]
    context = RewardContext(run_folder or folder, judge or {}, anew)
    with ExitStack() as stack:
        for reward in rewards:
            reward.begin(context)
        writers = [
            stack.enter_context(ScoreWriter(folder, reward.recorded_as, reward.config, anew=anew)) for reward in rewards
        ]
        threads = stack.enter_context(ThreadPoolExecutor(min(concurrency, usable_cpus()), "gem rescore"))
        new = Counter[str]()

        async def score_one(row: EpisodeRow) -> None:
            missing = [item for item in zip(rewards, writers, strict=True) if _is_missing(item[1].score_of(row))]
            if not missing:
                return
            trajectory = episodes.episode(row)
            for reward, writer in missing:
                if reward.asynchronous:
                    score = await score_episode_async(reward, trajectory)
                else:
                    running = asyncio.get_running_loop()
                    score = await running.run_in_executor(threads, score_episode, reward, trajectory)
                writer.write(row, score)
                new[reward.recorded_as] += 1
                if on_score is not None:
                    on_score(reward.recorded_as, row, score)

        try:
            await _all(score_one, iter(rows), concurrency)
        finally:
            for reward in rewards:
                closing = reward.close()
                if inspect.isawaitable(closing):
                    await closing
        return [
            _summary(reward, writer, rows, new[reward.recorded_as])
            for reward, writer in zip(rewards, writers, strict=True)
        ]


async def _all(task: Callable[[EpisodeRow], Any], rows: Iterator[EpisodeRow], concurrency: int) -> None:
    """Await the task of each row, a number of them at the same time; the first exception ends all."""

    async def worker() -> None:
        for row in rows:
            await task(row)

    workers = [asyncio.ensure_future(worker()) for _ in range(max(1, concurrency))]
    try:
        await asyncio.gather(*workers)
    finally:
        for running in workers:
            running.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _is_missing(score: ScoreEntry | None) -> bool:
    return score is None or score.unreadable in _ENDPOINT_KINDS


def _summary(reward: Reward, writer: ScoreWriter, rows: Iterable[EpisodeRow], new: int) -> RescoreSummary:
    summary = RescoreSummary(reward.recorded_as, reward.config, str(writer.path), new=new)
    for row in rows:
        score = writer.score_of(row)
        if score is None:
            continue
        summary.episodes += 1
        if score.unreadable is None:
            summary.total += score.value
        else:
            summary.unreadable[score.unreadable] = summary.unreadable.get(score.unreadable, 0) + 1
    return summary
