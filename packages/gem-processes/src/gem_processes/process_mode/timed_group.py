"""Environments with a time limit for their calls, in a process with one thread: :class:`TimedGroup`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from gem.faults import Interruption, suppress_faults
from gem.vector.env_runner import AutoresetMode, EnvRunner, Maker, StepResult
from gem_processes.process_mode.call_page import IDLE, CallPage
from gem_processes.process_mode.runner_group import GroupResult, RunnerGroup

__all__ = ["INTERRUPT", "TimedGroup", "overdue_error"]

INTERRUPT = getattr(signal, "SIGRTMIN", signal.SIGTERM) + 9
"""The signal that ends the running call if it is marked as overdue; libraries use the alarm for themselves."""


def overdue_error(name: str, seconds: float) -> str:
    """Return the error of a call that has taken too long, as thread mode words it."""
    return f"TimeoutError: no return from {name} within {seconds} s"


class _OverdueError(Interruption):
    """Raised by the signal handler in the middle of a call; no environment should catch it."""


class TimedGroup(RunnerGroup):
    """Ends calls that take too long: another process watches the page and sends the signal.

    The environment of such a call is closed and built again, like one that failed. Python code is interrupted anywhere.
    Code in C that never returns to Python goes on, and its process has to be killed.

    Args:
        autoreset: what follows the end of an episode.
        on_change: as in :class:`RunnerGroup`.
        page: shows the running call to the other process.
        seconds: the time limit of a call.
    """

    def __init__(
        self, autoreset: AutoresetMode | str, on_change: Callable[[int], object], page: CallPage, seconds: float
    ) -> None:
        super().__init__(autoreset, on_change, page.cells)
        self._on_change: Callable[[int], object] = on_change
        self._page = page
        self._seconds = seconds
        signal.signal(INTERRUPT, self._interrupt)

    def step(self, numbers: Sequence[int], actions: Sequence[Any]) -> list[GroupResult]:
        return [self._timed_step(number, action) for number, action in zip(numbers, actions, strict=True)]

    def reset(self, numbers: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> list[GroupResult]:
        return [self._timed_or_failed(number, "reset", given) for number, given in zip(numbers, arguments, strict=True)]

    def make(self, number: int, maker: Maker) -> StepResult:
        if number not in self.runners:
            self.put(number, EnvRunner(None, self.autoreset))
        result = self._timed_or_failed(number, "make", maker)
        assert isinstance(result, tuple)  # make raises nothing
        return result

    def _timed_step(self, number: int, action: Any) -> GroupResult:
        old = self.runners[number]
        rebuilding = old.lost  # one attempt per call is enough
        result = self._timed(number, old.step, action)
        if result is not None:
            return result
        new = self._replace(number, old, "step")
        if self.autoreset is AutoresetMode.SAME_STEP and not rebuilding:
            result = self._timed(number, new.step, None)  # begins the next episode; the action does not matter
            if result is not None:
                return result
            new = self._replace(number, new, "step")
        return new.failed_step()

    def _timed_or_failed(self, number: int, name: str, argument: Any) -> GroupResult:
        old = self.runners[number]
        result = self._timed(number, getattr(old, name), argument)
        return self._replace(number, old, name).failed_reset() if result is None else result

    def _timed(self, number: int, call: Callable[[Any], StepResult], argument: Any) -> GroupResult | None:
        """Return the result or exception of a call; None if it took too long."""
        page = self._page
        try:
            try:
                page.begin(number)
                result: GroupResult = call(argument)
            except Exception as error:
                result = error
            late = page.seconds > self._seconds
            page.cells[0] = IDLE
        except _OverdueError:
            page.cells[0] = IDLE
            return None
        return None if late else result

    def _replace(self, number: int, old: EnvRunner, name: str) -> EnvRunner:
        new = old.replacement(overdue_error(name, self._seconds))
        self.put(number, new)
        self._timed(number, lambda _: _closed(old), None)  # a close that hangs is interrupted too
        self._on_change(number)
        return new

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._page.is_overdue:
            raise _OverdueError


def _closed(runner: EnvRunner) -> StepResult:
    with suppress_faults():  # its fault is reported already
        runner.close()
    return runner.failed_step()
