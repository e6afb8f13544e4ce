"""The verdict on a published row from the log of its tests, as SWE-bench has it: :func:`grade` and :func:`grade_log`.

FAIL_TO_PASS must pass, PASS_TO_PASS must not fail. A row is resolved in full if both hold, in part if some of the first
and all of the second hold (swebench.harness.grading, version 5.0.2). Where a log contradicts itself, or shows that the
tests never ran, there is no verdict.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from gem_envs_swe.published.logs import TestOutcomes, parse_log
from gem_envs_swe.published.logs.outcome import ERROR, FAILED, PASSED, SKIPPED, XFAIL

__all__ = ["RowResolution", "RowVerdict", "grade", "grade_log"]


class RowResolution(Enum):
    """How far a row is resolved."""

    FULL = "RESOLVED_FULL"
    PARTIAL = "RESOLVED_PARTIAL"
    NO = "RESOLVED_NO"


@dataclass(frozen=True)
class RowVerdict:
    """The verdict on a change of a repository."""

    resolution: RowResolution
    fixed: tuple[str, ...] = ()
    """FAIL_TO_PASS that pass."""
    unfixed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """PASS_TO_PASS that do not fail."""
    broken: tuple[str, ...] = ()
    unknown: str = ""
    """Why the log decides nothing; empty if it does. Then the resolution is ``NO``."""

    @property
    def resolved(self) -> bool:
        """Whether the row is resolved in full."""
        return self.resolution is RowResolution.FULL


_START, _END = ">>>>> Start Test Output", ">>>>> End Test Output"
_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d{1,9})")
_NOT_RUN = {
    ">>>>> Patch Apply Failed": "the patch could not be applied",
    ">>>>> Reset Failed": "the tests' files could not be set back",
    ">>>>> Tests Errored": "the tests could not be run",
    ">>>>> Tests Timed Out": "the tests ran past their limit of time",
}
_RAN = re.compile(
    r"\bExecuted [1-9]\d* of \d+|\bTOTAL: [1-9]\d* (?:SUCCESS|FAILED)|\b[1-9]\d* passing\b|\bTests:\s+[1-9]"
    r"|\bTest Suites:[^\n]{0,200} [1-9]\d* total|^# tests [1-9]|\b[1-9]\d* specs?, \d+ failures?|': ok$",
    re.MULTILINE,
)


def grade(
    outcomes: TestOutcomes,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str],
    *,
    fail_only: bool = False,
) -> RowVerdict:
    """Return the verdict from the outcomes of tests.

    Args:
        outcomes: what the log shows.
        fail_to_pass: the tests that must pass. One that its runner's summary does not list, although there is one,
            does not pass.
        pass_to_pass: the tests that must not fail; a skipped one has not failed.
        fail_only: whether the log names only tests that fail, so that any other test has passed.
    """
    by_test = outcomes.by_test
    fixed: list[str] = []
    unfixed: list[str] = []
    kept: list[str] = []
    broken: list[str] = []
    prefixes = _Prefixes(by_test)
    for test in fail_to_pass:
        if fail_only:
            ok = by_test.get(test) != FAILED
        else:
            name = prefixes.find(test)
            ok = name is not None and by_test[name] in (PASSED, XFAIL) and name not in outcomes.unconfirmed
        (fixed if ok else unfixed).append(test)
    for test in pass_to_pass:
        if fail_only:
            ok = by_test.get(test) != FAILED
        else:
            name = prefixes.find(test)
            ok = name is not None and by_test[name] in (PASSED, XFAIL, SKIPPED)
        (kept if ok else broken).append(test)
    if unfixed or broken:
        partly = bool(fixed) and not broken
        resolution = RowResolution.PARTIAL if partly else RowResolution.NO
    else:
        resolution = RowResolution.FULL
    return RowVerdict(resolution, tuple(fixed), tuple(unfixed), tuple(kept), tuple(broken), outcomes.contradiction)


class _Prefixes:
    """Finds tests by names that a published list cut within their parameters, such as ``test_a[log(x``."""

    def __init__(self, by_test: dict[str, str]) -> None:
        self._by_test = by_test
        self._sorted: list[str] | None = None

    def find(self, test: str) -> str | None:
        """Return the name in the log; None if there is none, or the tests that it may mean disagree."""
        if test in self._by_test:
            return test
        if test.count("[") <= test.count("]"):
            return None
        if self._sorted is None:
            self._sorted = sorted(self._by_test)
        found: list[str] = []
        for name in self._sorted[bisect_left(self._sorted, test) :]:
            if not name.startswith(test):
                break
            found.append(name)
        passing = {self._by_test[name] in (PASSED, XFAIL) for name in found}
        return found[0] if len(passing) == 1 else None


def grade_log(
    form: str,
    log: str,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str],
    *,
    fail_only: bool = False,
    exit_code: int | None = None,
) -> RowVerdict:
    """Return the verdict from the log of a row's evaluation script.

    The script marks where the output of the tests begins and ends; a log without marks is that output alone.

    Args:
        form: the form of the log; see :func:`gem_envs_swe.published.logs.parse_log`.
        log: the output.
        fail_to_pass: the tests that must pass.
        pass_to_pass: the tests that must not fail.
        fail_only: see :func:`grade`.
        exit_code: how the runner ended, as the caller saw it; None: as the log says after its end mark, if it does.
    """
    none = RowVerdict(RowResolution.NO, unfixed=tuple(fail_to_pass), broken=tuple(pass_to_pass))
    tests, around = log, log
    begin, end = log.find(_START), log.rfind(_END)  # an earlier end mark is the tests' own output
    if 0 <= begin < end:
        tests, around = log[begin + len(_START) : end], log[:begin] + log[end:]
        if exit_code is None and (code := _EXIT_CODE.search(log, end)) is not None:
            exit_code = int(code[1])
    for mark, reason in _NOT_RUN.items():
        if mark in around:  # what the tests themselves write is no word of the script
            return _unknown(none, reason)
    if tests is log and (begin >= 0 or end >= 0):
        return _unknown(none, "the log has no whole part between the marks of the tests' output")
    outcomes = parse_log(form, tests)
    if not outcomes.by_test and tests is not log:
        outcomes = parse_log(form, log)  # a runner may have written past the marks, to the other stream
    if not outcomes.by_test and not (fail_only and _RAN.search(log)):
        return _unknown(none, "the log shows no test, and nothing else that says that tests ran")
    failing = {FAILED, ERROR} & set(outcomes.by_test.values())
    if exit_code and outcomes.by_test and not failing:
        return _unknown(none, f"the runner ended with exit code {exit_code}, and its log shows no test that failed")
    verdict = grade(outcomes, fail_to_pass, pass_to_pass, fail_only=fail_only)
    return _unknown(verdict, verdict.unknown) if verdict.unknown else verdict


def _unknown(verdict: RowVerdict, reason: str) -> RowVerdict:
    return RowVerdict(RowResolution.NO, verdict.fixed, verdict.unfixed, verdict.kept, verdict.broken, reason)
