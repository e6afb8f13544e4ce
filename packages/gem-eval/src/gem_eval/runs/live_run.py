"""A run that goes on: what others see of it, and what they ask of it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from gem_eval.runs.control import RunControl
from gem_eval.runs.errors import RunFolderError
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.progress import EvaluationProgress
from gem_eval.runs.resolution import plan
from gem_eval.runs.run_config import RunConfig
from gem_eval.runs.workers.pool import EvaluationWorkers
from gem_rollout import RolloutEngine

__all__ = ["Observer", "RunControls", "watch"]

_TICK = 0.25  # seconds between two looks at the progress
_LIVE_SECONDS = 1.0  # between two versions of live.json
_SYNC_SECONDS = 5.0  # between two requests to the disk

Observer = Callable[[EvaluationProgress], None]


class RunControls:
    """Does what ``control.json`` asks of the run."""

    def __init__(
        self,
        engine: RolloutEngine | EvaluationWorkers,
        folder: RunFolder,
        progress: EvaluationProgress,
        retries: int,
        run: RunConfig,
        request_limit: Callable[[], dict[str, Any]],
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._progress = progress
        self._retries = retries
        self._most = engine.concurrency
        self._run = run
        self._request_limit = request_limit
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
        said: dict[str, Any] = {"paused": engine.paused, "concurrency": engine.concurrency, "most": self._most}
        if isinstance(engine, EvaluationWorkers):
            said["workers"] = engine.pids
        if limit := self._request_limit():
            said["requests"] = limit
        return {**said, "retries": engine.retries, **({"problem": self._problem} if self._problem else {})}

    def _requeue(self) -> None:
        failed = {row.key: row for row in self._folder.rows() if row.failed}
        requests = [request for request in plan(self._run.environments) if request.key in failed]
        for request in requests:
            self._progress.take_back(failed[request.key])
        self._engine.extend(requests)


async def watch(
    engine: RolloutEngine | EvaluationWorkers,
    waiting: Callable[[], Counter[str]],
    folder: RunFolder,
    progress: EvaluationProgress,
    controls: RunControls,
    observer: Observer | None,
) -> None:
    """Tell the observer, readers of ``live.json`` and the disk how far the run is, and do what is asked of it."""
    live_at = sync_at = time.monotonic()
    while True:
        await asyncio.sleep(_TICK)
        now, running = time.monotonic(), engine.live
        if isinstance(engine, EvaluationWorkers):
            progress.lost_workers = engine.lost
        progress.in_flight, progress.waiting = len(running), waiting()
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
