"""The evaluation itself: :func:`evaluate`."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.registry import spec
from gem_eval.runs.agents import EvaluatedAgent, check_reference, completed, open_agent
from gem_eval.runs.control import RunControl
from gem_eval.runs.errors import ConfigChangedError, RunFolderError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.garbage import rare_collections
from gem_eval.runs.progress import EvaluationProgress
from gem_eval.runs.resolution import episode_limits, plan, resolve
from gem_eval.runs.run_config import RunConfig
from gem_eval.runs.run_differences import differences
from gem_eval.runs.scoring import EpisodeScorer
from gem_eval.runs.trial import try_out
from gem_eval.trackers.tracking import RunTracking
from gem_rollout import RolloutEngine
from gem_rollout.trajectory import Trajectory
from gem_rollout.turn_journal import TurnJournal

if TYPE_CHECKING:
    from gem_eval.clients import ModelClient

__all__ = ["evaluate", "evaluate_sync"]

_TICK = 0.25  # seconds between two looks at the progress
_LIVE_SECONDS = 1.0  # between two versions of live.json
_SYNC_SECONDS = 5.0  # between two requests to the disk
_GRACE = 3.0  # seconds that scores have after an interruption

Observer = Callable[[EvaluationProgress], None]


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
        client: plays in place of the model behind ``config.base_url``; it stays open.
        allow_changes: resume also where configuration, code or model have changed; ``run.json`` records the changes.
        observer: is called a few times a second with the progress.

    Returns:
        The folder, opened for reading.

    Raises:
        EvaluationConfigError: for an impossible configuration.
        UnknownEnvironmentError: if nothing installed provides an id.
        ConfigChangedError: if the run to resume had another configuration.
        RunInUseError: if another process writes to the folder.
        ModelError: if the model's server cannot be used at all.
    """
    config = config if isinstance(config, EvaluationConfig) else EvaluationConfig.from_dict(config)
    config = completed(config, has_client=client is not None)
    scorer = EpisodeScorer(config.rewards)
    RunTracking.check(config.track)
    for environment in config.environments:
        spec(environment.id)  # a misspelt id is found before a server is asked
    agent = await open_agent(config, client)
    try:
        run = resolve(config, served_model=agent.served_model, rewards=scorer.configs)
        check_reference(config, run.environments)
        try_out(config, run.environments, agent)
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
            recorder = _Recorder(folder, journal, scorer, progress, config, tracking)
            RunControl.clear(folder.path)
            controls = _Controls(engine, folder, progress, config.retries, run)
            watcher = asyncio.ensure_future(_watch(engine, agent, folder, progress, controls, observer))
            try:
                async with engine:
                    async for trajectory in engine:
                        await recorder.take(trajectory)
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


class _Recorder:
    """Scores and writes the episodes, several at a time where rewards have to wait for a judge."""

    def __init__(
        self,
        folder: RunFolder,
        journal: TurnJournal,
        scorer: EpisodeScorer,
        progress: EvaluationProgress,
        config: EvaluationConfig,
        tracking: RunTracking,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._scorer = scorer
        self._progress = progress
        self._tracking = tracking
        self._most = config.concurrency
        self._give_up_after = config.give_up_after
        self._scoring: dict[asyncio.Task[None], Trajectory] = {}

    @property
    def hopeless(self) -> bool:
        """Whether so many episodes have failed and none has finished that the rest need not be tried."""
        return 0 < self._give_up_after <= self._progress.failed and not self._progress.finished

    async def take(self, trajectory: Trajectory) -> None:
        """Write an episode; at once, unless rewards have to score it first."""
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
        self._journal.settle(trajectory.key)
        self._progress.add(row, trajectory.error or "")
        if (reason := trajectory.metadata.get("begun_again")) is not None:
            self._progress.continued -= 1
            self._progress.begun_again.append(reason)
        self._tracking.episode(trajectory)


class _Controls:
    """Does what ``control.json`` asks of the run."""

    def __init__(
        self, engine: RolloutEngine, folder: RunFolder, progress: EvaluationProgress, retries: int, run: RunConfig
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._progress = progress
        self._retries = retries
        self._most = engine.concurrency
        self._run = run
        self._last = RunControl()
        self._problem: str | None = None

    def look(self) -> None:
        """Read the file, and do what it asks for the first time; a file that is none changes nothing."""
        try:
            asked, self._problem = RunControl.read(self._folder.path), None
        except RunFolderError as error:
            self._problem = str(error)
            return
        if asked == self._last:
            return
        before, self._last = self._last, asked
        engine = self._engine
        engine.retries = self._retries if asked.retries is None else asked.retries
        engine.concurrency = min(self._most, asked.concurrency or self._most)
        engine.paused = self._progress.paused = asked.paused
        if asked.requeue > before.requeue:
            self._requeue()
        if asked.stop:
            self._progress.stopped = True
            engine.stop()

    def state(self) -> dict[str, Any]:
        """Return what ``live.json`` says of it."""
        engine = self._engine
        said = {"paused": engine.paused, "concurrency": engine.concurrency, "most": self._most}
        return {**said, "retries": engine.retries, **({"problem": self._problem} if self._problem else {})}

    def _requeue(self) -> None:
        failed = {row.key: row for row in self._folder.rows() if row.failed}
        requests = [request for request in plan(self._run.environments) if request.key in failed]
        for request in requests:
            self._progress.take_back(failed[request.key])
        self._engine.extend(requests)


async def _watch(
    engine: RolloutEngine,
    agent: EvaluatedAgent,
    folder: RunFolder,
    progress: EvaluationProgress,
    controls: _Controls,
    observer: Observer | None,
) -> None:
    """Tell the observer, readers of ``live.json`` and the disk how far the run is, and do what is asked of it."""
    live_at = sync_at = time.monotonic()
    while True:
        await asyncio.sleep(_TICK)
        now, running = time.monotonic(), engine.live
        progress.in_flight, progress.waiting = len(running), agent.waiting()
        if observer is not None:
            observer(progress)
        if now >= live_at:
            live_at = now + _LIVE_SECONDS
            controls.look()
            folder.write_live(
                {
                    **controls.state(),
                    "total": progress.total,
                    "done": progress.finished,
                    "failed": progress.failed,
                    "running": [
                        {**item.key._asdict(), "turns": item.turns, "seconds": round(item.seconds, 3)}
                        for item in running
                    ],
                }
            )
        if now >= sync_at:
            sync_at = now + _SYNC_SECONDS
            await asyncio.to_thread(folder.sync)


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
            folder.unfinished_path.unlink(missing_ok=True)
        journal = TurnJournal(folder.unfinished_path)
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
