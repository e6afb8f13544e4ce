"""One evaluation on several machines that share nothing: :func:`shard` divides it, :func:`join_runs` puts it together.

A shard is a run of its own, with a part of the seeds of each environment, so that nothing needs to know of the others:
tasks of a job array, for example. The joined run is as if one process had played it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gem.counts import counted
from gem_eval.runs.episode_line import EpisodeLine
from gem_eval.runs.errors import EvaluationConfigError, RunFolderError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.run_config import RunConfig, RunEnvironment
from gem_eval.runs.run_differences import as_change, run_differences
from gem_eval.runs.workers.share import divided
from gem_rollout.turn_journal import TurnJournal

__all__ = ["join_runs", "shard"]

_OF_A_SHARD = ("episodes", "seed")
"""What shards of one evaluation differ in."""


def shard(config: EvaluationConfig, number: int, shards: int) -> EvaluationConfig:
    """Return the part of an evaluation that is one shard's: of each environment, some of the seeds.

    Args:
        config: the whole evaluation.
        number: of the shard, from 1.
        shards: how many there are.

    Raises:
        EvaluationConfigError: if there is no shard of that number, or an environment has fewer seeds than shards.
    """
    if not 1 <= number <= shards:
        raise EvaluationConfigError(f"there is no shard {number} of {shards}; shards are numbered from 1 to {shards}")
    environments = []
    for item in config.environments:
        episodes, group = config.setting(item, "episodes"), config.setting(item, "group")
        seeds = divided(episodes // group, shards)
        if not seeds[-1]:
            raise EvaluationConfigError(
                f"{item.label or item.id} has {counted(episodes // group, 'seed')}, too few for {shards} shards"
            )
        first = config.setting(item, "seed") + sum(seeds[: number - 1])
        environments.append(replace(item, episodes=seeds[number - 1] * group, group=group, seed=first))
    return replace(config, environments=tuple(environments))


def join_runs(runs: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> RunFolder:
    """Write the episodes of several runs of one evaluation, which differ in their seeds alone, into a new run.

    All lines are taken over as they are, in the order of the runs, and so are the turns of unfinished episodes. Scores
    that ``gem rescore`` added stay with the runs. The runs are not changed.

    Args:
        runs: their folders, in any order.
        out: a new or empty folder.

    Returns:
        The joined run. What the shards have not played is missing there as well; ``gem eval --resume`` plays it.

    Raises:
        RunFolderError: if one is being played, they differ in more than the seeds, or the seeds overlap or leave a gap.
    """
    folders = [RunFolder(run) for run in runs]
    if not folders:
        raise RunFolderError("name the runs to join")
    for folder in folders:
        if folder.running:
            raise RunFolderError(f"{folder.path} is being played; join it when it has ended")
    config = _joined_config(folders)
    target = RunFolder.create(out, config)
    try:
        with closing(target), TurnJournal(target.unfinished_path) as journal:
            for folder in folders:
                for row in folder.rows(attempts=True):
                    target.append_line(EpisodeLine(folder.raw(row), row))
                for path in (folder.unfinished_path, *folder.worker_journals()):
                    journal.adopt(path)
    except BaseException:
        shutil.rmtree(target.path, ignore_errors=True)
        raise
    return RunFolder(target.path)


def _joined_config(folders: Sequence[RunFolder]) -> RunConfig:
    first = folders[0]
    for folder in folders[1:]:
        changes = [item for item in run_differences(first.config, folder.config) if item.setting not in _OF_A_SHARD]
        if changes:
            raise RunFolderError(
                f"{folder.path} is no part of the same evaluation as {first.path}: {as_change(changes[0])}"
            )
    joined = []
    for item in first.config.environments:
        parts = [(part, folder.path) for folder in folders if (part := folder.config.environment(item.label))]
        joined.append(_joined_environment(sorted(parts, key=lambda part: part[0].seed)))
    starts = [folder.config.started_at for folder in folders if folder.config.started_at is not None]
    return replace(
        first.config,
        environments=tuple(joined),
        episodes=joined[0].episodes if joined else first.config.episodes,
        seed=joined[0].seed if joined else first.config.seed,
        started_at=min(starts, default=None),
        resumed=(),
        request_limit={},
    )


def _joined_environment(parts: Sequence[tuple[RunEnvironment, Path]]) -> RunEnvironment:
    """Return an environment with the seeds of all parts, which must follow each other."""
    (whole, before), *others = parts
    for part, path in others:
        end = whole.seed + whole.episodes // whole.group
        if part.seed != end:
            what = "both have" if part.seed < end else "neither has"
            seed = part.seed if part.seed < end else end
            raise RunFolderError(f"{before} and {path} do not fit together: {what} {whole.label} with seed {seed}")
        whole, before = replace(whole, episodes=whole.episodes + part.episodes), path
    return whole
