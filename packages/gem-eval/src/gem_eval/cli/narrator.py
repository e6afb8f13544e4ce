"""What ``gem eval`` says while it runs: :class:`EvaluationNarrator`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gem_cli.terminal_text import printable
from gem_eval.cli.figure_text import short_number

if TYPE_CHECKING:
    from rich.progress import Progress

    from gem_eval.runs.progress import EvaluationProgress

__all__ = ["EvaluationNarrator", "expectation"]

_MOST_FAILURES = 3
"""Kinds of failures whose first message is told at once."""

_LONGEST_LINE = 300  # characters

_LINE_SECONDS = 60.0
"""Between two lines on how far the run is, where no terminal shows a bar."""

_FIRST_ESTIMATE = 3
"""Episodes that must have ended before a rate is told; one says nothing of the next."""


class EvaluationNarrator:
    """Tells how far an evaluation is: in a terminal by a bar with rate and expected end, elsewhere by a line a minute.

    The first failure of each kind is told in words as it happens, and so is, without a terminal, what requests to the
    model wait for.

    Args:
        bar: of ``gem_cli.progress``.
        clock: seconds, as of ``time.monotonic``.
        now: Unix time in seconds.
    """

    def __init__(
        self, bar: Progress, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time
    ) -> None:
        self.last: EvaluationProgress | None = None
        """What was told last; None before the first call."""
        self._bar = bar
        self._clock, self._now = clock, now
        self._task = bar.add_task("episodes", total=None, note="", below="")
        self._began: tuple[float, int] | None = None
        self._spoke_at = clock()
        self._told: set[str] = set()

    def __call__(self, current: EvaluationProgress) -> None:
        """Tell what has happened since the last call."""
        self.last = current
        done = current.finished + current.failed
        if self._began is None:
            self._began = self._clock(), done  # a resumed run begins with what it has
        started, before = self._began
        pace = expectation(done - before, current.total - done, self._clock() - started, self._now())
        line = printable(", ".join(part for part in (current.line(), "" if current.paused else pace) if part))
        self._tell_failures(current)
        if not self._bar.disable:
            self._bar.update(self._task, total=current.total, completed=done, below=line)
        elif not self._told.issuperset(current.waiting):
            self._told.update(current.waiting)
            self._say(f"{done} of {current.total} episodes; {current.waiting_line()}")
        elif self._clock() - self._spoke_at >= _LINE_SECONDS:
            self._say(f"{done} of {current.total} episodes; {line}")

    def _tell_failures(self, current: EvaluationProgress) -> None:
        for kind, message in list(current.messages.items())[:_MOST_FAILURES]:
            if kind not in self._told:
                self._told.add(kind)
                self._say(f"first failure of {kind}: {' '.join(message.split())}")

    def _say(self, text: str) -> None:
        self._spoke_at = self._clock()
        line = printable(text)[:_LONGEST_LINE]
        if self._bar.disable:
            click.echo(line, err=True)
        else:
            self._bar.console.print(line, markup=False, highlight=False)  # above the bar


def expectation(done: int, left: int, seconds: float, now: float) -> str:
    """Return the rate of a run and when it will have ended; empty before one can be told.

    Args:
        done: episodes that ended in ``seconds``.
        left: episodes that have not.
        seconds: since the run began or was resumed.
        now: Unix time in seconds.
    """
    if done < _FIRST_ESTIMATE or seconds <= 0:
        return ""
    rate = 60 * done / seconds
    if not left:
        return f"{short_number(rate, digits=3)}/min"
    rest = left * seconds / done
    end = time.strftime("%H:%M" if rest < 20 * 3600 else "%Y-%m-%d %H:%M", time.localtime(now + rest))
    return f"{short_number(rate, digits=3)}/min, until about {end}"
