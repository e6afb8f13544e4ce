"""Requests that wait for a server's answer: :class:`PendingRequest`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import anyio

__all__ = ["PendingRequest", "TimeLimits"]

_MOST_REPORTS = 10_000
"""The largest number of reports of progress for one request."""

_LONGEST_REPORT = 200
"""The number of characters of a report in a message."""


@dataclass(frozen=True)
class TimeLimits:
    """The time limits of a request in seconds."""

    silence: float
    """Without a sign that the server works on it: a report of progress, an answer about its task, a request."""
    total: float
    """Altogether."""


class PendingRequest:
    """A request in progress. Its ``scope`` is entered around the wait for the answer.

    Args:
        limits: its time limits, which begin now.
    """

    def __init__(self, limits: TimeLimits) -> None:
        self.limits = limits
        self.asked: Counter[str] = Counter()
        """What the server asked this client for since the request was sent: ``questions`` and ``completions``."""
        self.fault: str | None = None
        """The reason why this side gave up, besides time."""
        self.last_report = ""
        self._reports = 0
        self._progress = float("-inf")
        self._end = anyio.current_time() + limits.total
        self.scope = anyio.CancelScope()
        self.extend()

    def extend(self) -> None:
        """Begin the time of silence anew."""
        self.scope.deadline = min(anyio.current_time() + self.limits.silence, self._end)

    def await_end(self) -> None:
        """Wait as long as the limit of the whole request allows, however silent the server is."""
        self.scope.deadline = self._end

    def give_up(self, fault: str) -> None:
        """Stop waiting for the answer, for a reason that completes "the server …"."""
        self.fault = self.fault or fault
        self.scope.cancel()

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Take a report of progress; only progress that increases, as the protocol demands, is a sign of work."""
        self._reports += 1
        if self._reports > _MOST_REPORTS:
            self.give_up(f"reported progress more than {_MOST_REPORTS:,} times")
            return
        amount = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        self.last_report = f"{amount}: {message}" if message else amount
        if progress > self._progress:
            self._progress = progress
            self.extend()

    def state(self, message: str | None) -> None:
        """Take a message about the state of the request's task, which is a sign of work."""
        self.last_report = message or self.last_report
        self.extend()

    def waited(self) -> float:
        """Return the limit in seconds that the request reached."""
        return self.limits.total if self.scope.deadline >= self._end else self.limits.silence

    def describe_progress(self) -> str:
        """Return the last report as the end of a sentence."""
        report = " ".join(self.last_report.split())[:_LONGEST_REPORT]
        return f"; it last reported: {report}" if report else ""
