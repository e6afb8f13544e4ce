"""The result of a task's tests: :class:`VerifierResult`, and its readers.

The readers take bounded time and memory for any input. Unreadable input becomes an error in the result. The formats
are Harbor's ``reward.json`` and ``reward.txt``; CTRF, the Common Test Report Format 1.0.0, which pytest writes to
``ctrf.json`` in many tasks of Harbor; and the short summary of pytest.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

__all__ = ["DOUBTS", "FILES", "OUTPUT", "REWARDS", "VerifierResult", "result_of_files", "result_of_summary"]

OUTPUT = "test-stdout.txt"
"""The file in which Harbor keeps the output of the tests."""
_CTRF = "ctrf.json"
REWARDS = ("reward.json", "reward.txt")
"""The files that hold the reward; the first one counts."""

FILES = {**dict.fromkeys(REWARDS, 1 << 20), _CTRF: 8 << 20, OUTPUT: 16 << 20}
"""Each file in ``/logs/verifier`` that is read → its size limit in bytes."""

DOUBTS = {
    "all-skipped": "every test was skipped, or expected to fail, so none has shown anything",
    "out-of-range": "a reward is outside 0.0 to 1.0, and was clipped",
    "no-number": "a reward is true or false in place of a number",
    "tests-do-not-parse": "a file of the tests is no valid program, so they cannot pass",
    "writable-reward": "other users than that of the tests could write the reward",
}
"""Reasons to doubt a reward that its format accepts → their meanings."""

_LONGEST_LOG = 16_000
"""Characters of the tests' output that a result keeps, from the end."""
_MOST_TESTS = 10_000
"""Tests that a result names; it counts all of them."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADING = "short test summary info"
_PASSED = frozenset(("passed", "xfailed", "skipped"))
_FAILED = frozenset(("failed", "xpassed", "error", "errors"))
_SHOW_NOTHING = frozenset(("SKIPPED", "XFAIL", "skipped", "xfailed"))
_KINDS = {"PASSED": True, "XFAIL": True, "SKIPPED": True, "FAILED": False, "XPASS": False, "ERROR": False}


@dataclass(frozen=True)
class VerifierResult:
    """The result of the tests."""

    rewards: dict[str, float]
    """Name → reward, as the task wrote them; a single number has the name ``reward``."""
    passed: int | None = None
    """The number of tests that passed, if the task reports single tests."""
    total: int | None = None
    error: str | None = None
    """The reason for a missing reward: the tests did not finish, or wrote none."""
    log: str = ""
    """The end of the tests' output."""
    tests: dict[str, bool] = field(default_factory=dict)
    """Name → whether the test passed, if the task reports single tests."""
    hint: str | None = None
    """Why a reward of 0.0 may be the setting's fault and not the agent's, with the option that changes it."""

    doubts: tuple[str, ...] = ()
    """Reasons to doubt the reward, of :data:`DOUBTS`; they change no reward."""

    worth: str | None = None
    """How far the verdict can be trusted; see :func:`~gem_terminal.verdicts.verdict_worth.verdict_worth`."""

    @property
    def reward(self) -> float:
        """The reward of the task, from 0.0 to 1.0: its reward ``reward``, or the mean of its rewards.

        Harbor allows any number; this value is clipped, because an environment declares its range. :attr:`rewards`
        has the numbers as written. Without any reward the value is 0.0.
        """
        if not self.rewards:
            return 0.0
        own = self.rewards.get("reward")
        return min(max(sum(self.rewards.values()) / len(self.rewards) if own is None else own, 0.0), 1.0)

    @property
    def fraction(self) -> float | None:
        """The share of tests that passed; None if the task reports no single tests, or there is no reward."""
        if self.error is not None or self.passed is None or not self.total:
            return None
        return self.passed / self.total

    @property
    def success(self) -> bool:
        """Whether the reward is 1.0."""
        return self.reward == 1.0

    def earned(self, kind: str) -> float:
        """Return the reward of the episode: of the kind ``"task"``, ``"fraction"`` or ``"binary"``."""
        if kind == "binary":
            return float(self.success)
        if kind == "fraction" and self.fraction is not None:
            return self.fraction
        return self.reward


def result_of_files(written: Mapping[str, bytes | ValueError]) -> VerifierResult:
    """Read the files that tests wrote to ``/logs/verifier``, as Harbor does.

    ``reward.json`` takes precedence over ``reward.txt``; the exit code of the tests does not count. Single tests come
    from ``ctrf.json``; skipped tests do not count.

    Args:
        written: the name of one of :data:`FILES` → its content, or the reason why it is unreadable.
    """
    output = written.get(OUTPUT, b"")
    log = _log(output) if isinstance(output, bytes) else f"[the output of the tests cannot be shown: {output}]"
    result = VerifierResult({}, error=f"the tests wrote neither {' nor '.join(REWARDS)}", log=log)
    for name in REWARDS:
        if name not in written:
            continue
        content = written[name]
        try:
            if isinstance(content, ValueError):
                raise content
            rewards = _rewards(name, content.decode())
            numbers = {key: float(reward) for key, reward in rewards.items()}
            result = VerifierResult(numbers, log=log, doubts=tuple(_doubts_about(rewards)))
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            result = VerifierResult({}, error=f"{name} holds no reward: {str(error)[:200]}", log=log)
        break
    report = _report(written.get(_CTRF))
    return replace(result, **{**report, "doubts": (*result.doubts, *report.get("doubts", ()))})


def result_of_summary(output: bytes) -> VerifierResult:
    """Read pytest's short summary, as Terminal-Bench 1 does: 1.0 if every test passed or was skipped, 0.0 otherwise.

    If pytest lists failures only, the numbers come from its last line.
    """
    _, found, summary = _COLOUR.sub("", output.decode(errors="replace")).rpartition(_HEADING)
    tests: dict[str, bool] = {}
    listed = counted = _Count()
    for line in summary.splitlines() if found else ():
        kind, _, rest = line.partition(" ")
        name = rest.partition(" - ")[0].strip()
        if name and kind in _KINDS:
            ok = _KINDS[kind]
            listed = _Count(listed.passed + ok, listed.failed + (not ok), listed.skipped + (kind in _SHOW_NOTHING))
            if len(tests) < _MOST_TESTS:
                tests[name] = ok and tests.get(name, True)
        else:
            counted = _counts(line) or counted
    if not (listed or counted):
        # An empty summary is no success, although all() of nothing is true.
        return VerifierResult({}, error="the tests printed no summary of pytest", log=_log(output))
    reward = float(not listed.failed and not counted.failed)
    count = counted or listed
    doubts = ("all-skipped",) if count.skipped == count.passed and not count.failed else ()
    total = count.passed + count.failed
    return VerifierResult({"reward": reward}, count.passed, total, log=_log(output), tests=tests, doubts=doubts)


class _Count(NamedTuple):
    passed: int = 0
    """Including the skipped ones, which are no failures."""
    failed: int = 0
    skipped: int = 0
    """Including those that were expected to fail."""

    def __bool__(self) -> bool:
        return bool(self.passed or self.failed)


def _doubts_about(rewards: Mapping[str, float]) -> Iterator[str]:
    if any(isinstance(reward, bool) for reward in rewards.values()):
        yield "no-number"
    if any(not 0.0 <= reward <= 1.0 for reward in rewards.values()):
        yield "out-of-range"


def _rewards(name: str, text: str) -> dict[str, float]:
    value: Any = json.loads(text) if name.endswith(".json") else float(text)
    rewards = value if isinstance(value, dict) else {"reward": value}
    if not rewards:
        raise ValueError("it is empty")
    for key, reward in rewards.items():
        if not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise ValueError(f"{key:.80} is {type(reward).__name__} {str(reward)[:80]}, which is not a finite number")
    return rewards


def _report(content: bytes | ValueError | None) -> dict[str, Any]:
    """Return the fields of a result that a CTRF report fills; none if the content is no such report."""
    if not isinstance(content, bytes):
        return {}
    try:
        listed = json.loads(content)["results"]["tests"]
        results = [(str(test["name"]), test["status"]) for test in listed if test["status"] in ("passed", "failed")]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    if not results:
        return {"doubts": ("all-skipped",)} if listed else {}
    passed = sum(status == "passed" for _, status in results)
    tests: dict[str, bool] = {}
    for name, status in results[:_MOST_TESTS]:
        tests[name] = status == "passed" and tests.get(name, True)
    return {"passed": passed, "total": len(results), "tests": tests}


def _counts(line: str) -> _Count | None:
    """Read the last line of pytest: ``==== 1 failed, 2 passed in 0.12s ====``; None if it is another line."""
    passed = failed = skipped = 0
    for part in line.strip("= ").partition(" in ")[0].split(", "):
        number, _, word = part.partition(" ")
        if not (number.isdecimal() and len(number) < 10 and word.isalpha()):
            return None
        passed += int(number) * (word in _PASSED)
        failed += int(number) * (word in _FAILED)
        skipped += int(number) * (word in _SHOW_NOTHING)
    return _Count(passed, failed, skipped)


def _log(output: bytes) -> str:
    return output[-4 * _LONGEST_LOG :].decode(errors="replace")[-_LONGEST_LOG:]
