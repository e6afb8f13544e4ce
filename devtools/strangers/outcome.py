"""What a command on a machine came to: its exit code and time, and what pytest said of the tests."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

__all__ = ["PYTEST_REPORT", "CellOutcome", "CommandOutcome", "TestCounts", "format_table", "read_counts"]

PYTEST_REPORT = "-rfEs"
"""The option of pytest that lists failures, errors and the reasons of skips, as :func:`read_counts` needs it."""

_SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s\b.*$", re.MULTILINE)
_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] .*?:(?:\d+:)? (.*)$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?:@\S+ \d+)?(?: - (.*))?$", re.MULTILINE)  # @: a group of pytest-xdist


@dataclass
class TestCounts:
    """What pytest counted; ``failed`` includes errors."""

    __test__ = False  # pytest collects classes that are called so

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Test → the first line of its error."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Reason → the number of tests that were skipped for it."""


@dataclass
class CommandOutcome:
    """What a command came to. ``exit_code`` is None if it was ended at its limit of time."""

    command: str
    exit_code: int | None
    seconds: float
    cpu_seconds: float
    """Of all its processes that have been waited for."""
    log: str
    counts: TestCounts | None = None

    @property
    def problem(self) -> str | None:
        """The reason why this is red, None if it is green."""
        if self.exit_code is None:
            return f"not ended after {self.seconds:.0f} s"
        if self.counts is not None and self.counts.failed:
            return f"{self.counts.failed} failed"
        if self.exit_code:
            return f"exit code {self.exit_code}"
        return "no test passed" if self.counts is not None and not self.counts.passed else None


@dataclass
class CellOutcome:
    """What a cell came to: what each command did, or the reason why the machine could not be made."""

    cell: str
    commands: dict[str, CommandOutcome] = field(default_factory=dict)
    not_made: str | None = None

    @property
    def green(self) -> bool:
        """Whether the machine was made and all its commands succeeded."""
        problems = [done.problem for done in self.commands.values()]
        return self.not_made is None and bool(problems) and not any(problems)


def read_counts(log: str) -> TestCounts | None:
    """Return what the last summary of pytest in a log counted, None if there is none."""
    summaries = _SUMMARY.findall(log)
    if not summaries:
        return None
    count = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", summaries[-1])}
    details, _, listed = log.rpartition("short test summary info")
    reasons: Counter[str] = Counter()
    for number, reason in _SKIPPED.findall(listed):
        reasons[reason] += int(number)
    failures = {test: said or _error_of(test, details) for test, said in _FAILED.findall(listed)}
    failed = sum(count.get(word, 0) for word in ("failed", "error", "errors"))
    return TestCounts(count.get("passed", 0), failed, count.get("skipped", 0), failures, dict(reasons.most_common()))


def _error_of(test: str, details: str) -> str:
    """Return the first line of a test's error: the list of failures has none where the test's name fills the line."""
    title = re.escape(".".join(test.split("::")[1:]))
    found = re.search(rf"^_+ (?:ERROR at \w+ of )?{title} _+$.*?^E +(.*?)$", details, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def format_table(outcomes: list[CellOutcome]) -> str:
    """Return the table of the cells, then the failures of each, then the reasons of skips with their numbers."""
    heads = ["cell", "demo", "tests", "passed", "failed", "skipped", "result"]
    rows = [heads, *(_row(outcome) for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    skipped: Counter[str] = Counter()
    for outcome in outcomes:
        for done in outcome.commands.values():
            counts = done.counts or TestCounts()
            skipped.update(counts.reasons)
            if done.problem is not None:
                lines.append(f"\n{outcome.cell}: {done.command}: {done.problem}; see {done.log}")
                lines += [f"  {test}: {message}" for test, message in counts.failures.items()]
    if skipped:
        lines.append("\nskipped tests of all cells, by reason:")
        lines += [f"{count:6}  {reason}" for reason, count in skipped.most_common()]
    return "\n".join(lines)


def _row(outcome: CellOutcome) -> list[str]:
    if outcome.not_made is not None:
        return [outcome.cell, *["-"] * 5, f"NOT MADE: {outcome.not_made}"]
    demo, test = (outcome.commands.get(name) for name in ("demo", "test"))
    times = [f"{done.seconds:.0f} s" if done is not None else "-" for done in (demo, test)]
    counts = test.counts if test is not None else None
    numbers = [str(number) for number in (counts.passed, counts.failed, counts.skipped)] if counts else ["-"] * 3
    problems = [f"{name}: {done.problem}" for name, done in outcome.commands.items() if done.problem is not None]
    return [outcome.cell, *times, *numbers, f"RED ({'; '.join(problems)})" if problems else "green"]
