"""The evaluation itself: :func:`evaluate`."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.registry import spec
from gem_eval.runs.agents import check_reference, completed, open_agent
from gem_eval.runs.control import RunControl
from gem_eval.runs.errors import ConfigChangedError, RunFolderError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.live_run import Observer, RunControls, watch
from gem_eval.runs.progress import EvaluationProgress
from gem_eval.runs.recorder import EpisodeRecorder
from gem_eval.runs.resolution import episode_limits, plan, resolve
from gem_eval.runs.run_config import RunConfig
from gem_eval.runs.run_differences import differences
from gem_eval.runs.scoring import EpisodeScorer
from gem_eval.runs.trial import try_out
from gem_eval.runs.workers.pool import EvaluationWorkers
from gem_eval.runs.workers.share import check_importable, check_travels
from gem_eval.trackers.tracking import RunTracking
from gem_rollout import RolloutEngine
from gem_rollout.garbage import rare_collections
from gem_rollout.turn_journal import TurnJournal

if TYPE_CHECKING:
    from gem_eval.clients import ModelClient

__all__ = ["evaluate", "evaluate_sync"]


async def evaluate(
    config: EvaluationConfig | Mapping[str, Any],
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    client: ModelClient | None = None,
    allow_changes: bool = False,
    observer: Observer | None = None,
) -> RunFolder:
    """Play the episodes of an evaluation, write each into a run folder as it ends, and return the folder.

    Cancelling it keeps all finished episodes; the same call with ``resume=True`` plays the others. Those that a model
    was playing go on after their last turn (see :mod:`gem_rollout.turn_journal`), unless something has changed;
    episodes that failed are played anew.

    Args:
        config: what to evaluate; a mapping as in a configuration file.
        out: the folder; one below ``runs`` is made unless given.
        resume: continue the run in ``out``.
        client: plays in place of the model behind ``config.base_url``, in this process; it stays open.
        allow_changes: resume also where configuration, code or model have changed; ``run.json`` records the changes.
        observer: is called a few times a second with the progress.

    Returns:
        The folder, opened for reading.

    Raises:
        EvaluationConfigError: for an impossible configuration.
        UnknownEnvironmentError: if nothing installed provides an id.
        ConfigChangedError: if the run to resume had another configuration.
        RunInUseError: if another process writes to the folder.
        WorkerError: if no worker can be started.
        ModelError: if the model's server cannot be used at all.
    """
    config = config if isinstance(config, EvaluationConfig) else EvaluationConfig.from_dict(config)
    config = completed(config, has_client=client is not None)
    scorer = EpisodeScorer(config.rewards)
    RunTracking.check(config.track)
    for environment in config.environments:
        spec(environment.id)  # a misspelt id is found before a server is asked
    if config.workers > 1:
        check_travels(config, has_client=client is not None)
    agent = await open_agent(config, client)
    try:
        run = resolve(config, served_model=agent.served_model, rewards=scorer.configs)
        check_reference(config, run.environments)
        if config.workers > 1:
            check_importable(config, run)
        await try_out(config, run.environments, agent)
        requests = plan(run.environments)
        with (
            _opened(run, out, resume, allow_changes) as folder,
            RunTracking(config.track, folder.path) as tracking,
            _journal(folder) as journal,
            rare_collections(),
        ):
            scorer.begin(folder.path, config.judge)
            progress = EvaluationProgress(folder=folder.path, total=sum(item.episodes for item in run.environments))
            done = set()
            for row in folder.rows():
                if not row.failed:
                    progress.add(row)
                    done.add(row.key)
            progress.continued = len(journal.unfinished)
            if observer is not None:
                observer(progress)
            engine: RolloutEngine | EvaluationWorkers
            if config.workers > 1:
                left = [request for request in requests if request.key not in done]
                engine = EvaluationWorkers(config, run, left, folder, journal)
                keep, waiting, limit = engine.keep, engine.waiting, engine.request_limit
            else:
                engine = RolloutEngine(
                    requests,
                    agent.policy_maker(run.agent),
                    concurrency=config.concurrency,
                    mode=config.mode,
                    limits=episode_limits(config),
                    retries=config.retries,
                    journal=journal,
                    agent=run.agent,
                    done=done,
                )
                keep, waiting, limit = journal.settle, agent.waiting, agent.request_limit
            recorder = EpisodeRecorder(folder, keep, scorer, progress, config, tracking)
            RunControl.clear(folder.path)
            controls = RunControls(engine, folder, progress, config.retries, run, limit)
            watcher = asyncio.ensure_future(watch(engine, waiting, folder, progress, controls, observer))
            try:
                async with engine:
                    async for episode in engine:
                        await recorder.take(episode)
                        if recorder.hopeless:
                            break
                    await recorder.drain()
            finally:
                watcher.cancel()
                with suppress(asyncio.CancelledError):
                    await watcher
                await recorder.finish()
                progress.in_flight = 0
                progress.waiting.clear()
                if found := limit():
                    folder.replace_config(replace(folder.config, request_limit=found))
                if config.track:
                    tracking.summary(_figures(folder, run))
                if observer is not None:
                    observer(progress)
    finally:
        await scorer.close()
        await agent.close()
    return RunFolder(folder.path)


def evaluate_sync(config: EvaluationConfig | Mapping[str, Any], **options: Any) -> RunFolder:
    """Run :func:`evaluate` outside an event loop; the arguments are the same."""
    return asyncio.run(evaluate(config, **options))


def _figures(folder: RunFolder, run: RunConfig) -> dict[str, Any]:
    from gem_eval.statistics.run_summary import summarize_run

    planned = {item.label: item.episodes for item in run.environments}
    return summarize_run(folder.rows(), name=folder.name, agent=run.agent, planned=planned).to_dict()


def _opened(run: RunConfig, out: str | os.PathLike[str] | None, resume: bool, allow_changes: bool) -> RunFolder:
    if not resume:
        return RunFolder.create(_new_folder(run) if out is None else out, run)
    if out is None:
        raise TypeError("resume=True needs out=, the folder of the run")
    folder = RunFolder.open(out, write=True)
    try:
        before = folder.config
        changes = differences(before, run)
        if changes and not allow_changes:
            raise ConfigChangedError(
                f"{str(out)!r} was begun with another configuration:\n"
                + "\n".join(f"  {change}" for change in changes)
                + "\nrestore it, begin a new run with --out, or go on with --allow-changes",
                changes,
            )
        entry: dict[str, Any] = {"at": run.started_at}
        if changes:
            entry["changes"] = changes
        folder.replace_config(
            replace(
                run,
                started_at=before.started_at,
                name=run.name or before.name,
                resumed=(*before.resumed, entry),
            )
        )
    except BaseException:
        folder.close()
        raise
    return folder


def _journal(folder: RunFolder) -> TurnJournal:
    """Open the journal of a run, without episodes that are written, or were begun with another configuration."""
    resumed = folder.config.resumed
    try:
        if resumed and "changes" in resumed[-1]:
            for path in (folder.unfinished_path, *folder.worker_journals()):
                path.unlink(missing_ok=True)
        journal = TurnJournal(folder.unfinished_path)
        for path in folder.worker_journals():
            journal.adopt(path)
            path.unlink(missing_ok=True)
    except OSError as error:
        raise RunFolderError(f"{folder.unfinished_path}: cannot be written: {error.strerror or error}") from error
    for key in journal.unfinished.keys() & folder.finished_keys():
        journal.settle(key)  # the process was killed between two lines
    return journal


def _new_folder(run: RunConfig) -> Path:
    """Return a path below ``runs`` that does not exist, named after time, environment and agent."""
    env = run.environments[0].label if len(run.environments) == 1 else f"{len(run.environments)}-environments"
    words = [time.strftime("%Y%m%d-%H%M%S"), env, run.agent]
    # Names may hold anything; of a name, only what is harmless in a path is kept.
    name = "-".join(filter(None, (re.sub(r"[^A-Za-z0-9_.]+", "-", word).strip("-.")[:60] for word in words)))
    path = Path("runs", name)
    number = 1
    while path.exists():
        number += 1
        path = Path("runs", f"{name}-{number}")
    return path
