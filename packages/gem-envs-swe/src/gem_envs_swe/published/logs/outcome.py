"""What a log shows of each test: :class:`TestOutcomes`, and the words for outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["ERROR", "FAILED", "PASSED", "SKIPPED", "WORDS", "XFAIL", "TestOutcomes", "lines_of", "without_colours"]

PASSED, FAILED, SKIPPED, ERROR, XFAIL = WORDS = ("PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL")
"""The words of SWE-bench for outcomes (swebench.harness.constants.TestStatus)."""

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


@dataclass
class TestOutcomes:
    """The outcomes of tests in a log."""

    __test__ = False  # no class of tests, for pytest

    by_test: dict[str, str] = field(default_factory=dict)
    """The name of a test → one of :data:`WORDS`."""
    unconfirmed: frozenset[str] = frozenset()
    """Tests that the log mentions, but not where its runner sums up; empty where a runner does not sum up."""
    contradiction: str = ""
    """Why the log cannot be the output of its runner alone; empty if nothing speaks against it."""

    def set(self, test: str, outcome: str) -> None:
        """Note the outcome of a test; a later one replaces an earlier one."""
        self.by_test[test] = outcome


def lines_of(log: str) -> Iterable[str]:
    """Return the lines of a log: they end at line feeds alone, and so may hold other separators of Unicode."""
    return log.split("\n")


def without_colours(text: str) -> str:
    """Return a text without escape sequences (ECMA-48)."""
    return _COLOUR.sub("", text)
