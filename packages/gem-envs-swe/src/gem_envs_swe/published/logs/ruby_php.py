"""Logs of the test runners of Ruby and PHP."""

from __future__ import annotations

import re
from collections.abc import Callable

from gem_envs_swe.published.logs.outcome import FAILED, PASSED, SKIPPED, TestOutcomes, lines_of

__all__ = ["FORMS"]


def _minitest(log: str) -> TestOutcomes:
    """Return the outcomes of Minitest in verbose form: ``CLASS#test_: name.  = 0.01 s = .``."""
    found = TestOutcomes()
    outcomes = {".": PASSED, "F": FAILED, "E": FAILED, "S": SKIPPED}
    for raw in lines_of(log):
        front, equals, outcome = raw.strip().rpartition("=")
        outcome = outcome.strip()
        name, dot, _ = front.rpartition(". ")
        if equals and dot and name and outcome in outcomes:
            found.set(name, outcomes[outcome])
    return found


_PROGRESS = re.compile(r" \.+(F?)")


def _cucumber(log: str) -> TestOutcomes:
    """Return the outcomes of Cucumber's reporter ``progress``: dots for each feature, with an F for a failure."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        marks = [mark for mark in _PROGRESS.finditer(line) if len(mark[0]) > 2]
        if marks:
            found.set(line[: marks[-1].start()], FAILED if marks[-1][1] else PASSED)
    return found


_UNIT = re.compile(r":\s+(?:(\.)|([EFO])\b)")
_UNIT_OUTCOMES = {".": PASSED, "E": FAILED, "F": FAILED, "O": SKIPPED}


def _ruby_unit(log: str) -> TestOutcomes:
    """Return the outcomes of test-unit in verbose form: ``test: name:  .: (0.01)``."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip().removeprefix("test: ")
        marks = [mark for mark in _UNIT.finditer(line) if mark.start() > 0]
        if marks:
            found.set(line[: marks[-1].start()], _UNIT_OUTCOMES[marks[-1][1] or marks[-1][2]])
    return found


def _rspec(log: str) -> TestOutcomes:
    """Return the outcomes of RSpec's report as lines ``NAME - passed``."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        places = [(line.rfind(f" - {word}"), outcome) for word, outcome in (("passed", PASSED), ("failed", FAILED))]
        place, outcome = max(places)
        if place > 0:
            found.set(line[:place], outcome)
    return found


_TESTDOX = {"✔": PASSED, "✘": FAILED, "↩": SKIPPED}


def _phpunit(log: str) -> TestOutcomes:
    """Return the outcomes of PHPUnit with ``--testdox``: a heading ``Suite (Class)``, and marked lines below it."""
    found = TestOutcomes()
    suite: str | None = None
    for line in lines_of(log):
        text = line.lstrip()
        if text[:1] in _TESTDOX:
            found.set(f"{suite} > {text[1:].lstrip()}", _TESTDOX[text[0]])
        elif re.match(r"\w", line) and line.endswith(")"):
            begin = line.rfind(" (", 0, -2)
            suite = line[:begin] if begin > 1 else suite
    return found


FORMS: dict[str, Callable[[str], TestOutcomes]] = {
    "minitest": _minitest,
    "cucumber": _cucumber,
    "ruby_unit": _ruby_unit,
    "rspec_transformed_json": _rspec,
    "phpunit": _phpunit,
}
