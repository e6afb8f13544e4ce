"""Several run trackers at once, whose faults never end a run: :class:`RunTracking`."""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import GemError, PluginWarning
from gem.plugins import lookup
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.trackers.tracker import RunTracker
from gem_rollout.trajectory import Trajectory

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RunTracking"]

_WAITING = 1000
"""Calls that may wait for a tracker."""
_CLOSE_SECONDS = 30.0
"""Seconds that a tracker has at the end of a run for what waits."""

_Call = Callable[[RunTracker], None]


class RunTracking:
    """Passes episodes on to trackers; a context manager.

    Each tracker has a thread of its own, so that a slow one delays neither the run nor another. One that raises is not
    called again; of one that falls far behind, episodes are left out; one that does not end is left behind. Each of
    these causes one warning (:class:`gem.errors.PluginWarning`), and never an exception.

    Args:
        names: names of the hook ``gem_run_trackers``.
        folder: the run folder.

    Raises:
        MissingPluginError: if nothing installed has one of the names, or its library is missing.
        EvaluationConfigError: if a tracker cannot begin.
    """

    def __init__(self, names: Iterable[str], folder: Path) -> None:
        makers = {name: lookup("gem_run_trackers", name, "run tracker") for name in dict.fromkeys(names)}
        self._threads: list[_TrackerThread] = []
        for name, maker in makers.items():
            try:
                self._threads.append(_TrackerThread(name, maker(folder)))
            except GemError:
                self.close()
                raise
            except Exception as error:  # of the service's own library
                self.close()
                raise EvaluationConfigError(
                    f"run tracker {name} cannot begin: {type(error).__name__}: {error}"[:500]
                ) from error

    @staticmethod
    def check(names: Iterable[str]) -> None:
        """Raise MissingPluginError if nothing installed has one of the names, or its library is missing."""
        for name in names:
            maker = lookup("gem_run_trackers", name, "run tracker")
            if hasattr(maker, "check"):
                maker.check()

    def episode(self, trajectory: Trajectory) -> None:
        """Pass a recorded episode on. Returns at once."""
        for thread in self._threads:
            thread.call(lambda tracker: tracker.episode(trajectory))

    def summary(self, figures: Mapping[str, Any]) -> None:
        """Pass the figures of the run on."""
        for thread in self._threads:
            thread.call(lambda tracker: tracker.summary(figures))

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Let the trackers write what waits, and close them. Calling it again does nothing."""
        threads, self._threads = self._threads, []
        for thread in threads:
            thread.end()
        for thread in threads:
            problem = thread.wait(seconds)
            if problem is not None:
                warnings.warn(f"run tracker {thread.name}: {problem}", PluginWarning, stacklevel=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _TrackerThread:
    """One tracker and the calls that wait for it."""

    def __init__(self, name: str, tracker: RunTracker) -> None:
        self.name = name
        self._tracker = tracker
        self._calls: queue.Queue[_Call | None] = queue.Queue(_WAITING)
        self._problem: str | None = None
        self._left_out = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"run tracker {name}", daemon=True)
        self._thread.start()

    def call(self, call: _Call) -> None:
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._left_out += 1

    def end(self) -> None:
        """Ask the thread to end after the calls that wait."""
        self._closing.set()
        with suppress(queue.Full):  # the thread sees the event after each call
            self._calls.put_nowait(None)

    def wait(self, seconds: float) -> str | None:
        """Wait for the end; return what went wrong, or None."""
        self._thread.join(seconds)
        if self._problem is not None:
            return self._problem
        if self._thread.is_alive():
            return f"did not end within {seconds:g} s, and is left behind"
        return f"was too slow, and missed {self._left_out} episodes" if self._left_out else None

    def _serve(self) -> None:
        while True:
            if self._closing.is_set() and self._calls.empty():
                break
            call = self._calls.get()
            if call is None:
                break
            self._attempt(call)
        self._attempt(lambda tracker: tracker.close(), last=True)

    def _attempt(self, call: _Call, *, last: bool = False) -> None:
        if self._problem is not None and not last:
            return
        try:
            call(self._tracker)
        except Exception as error:  # a tracker may raise anything
            if self._problem is None:
                self._problem = f"failed, and was not called again: {type(error).__name__}: {error}"[:500]
