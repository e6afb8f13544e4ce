"""What the tests of a task say: :class:`Verdict`, and how it is read from what they wrote.

Whatever they wrote, reading it ends, in memory that does not depend on it, and what cannot be read is an error in the
verdict. The formats: Harbor's ``reward.json`` and ``reward.txt``; CTRF, the common test report format, version 1.0.0,
which many tasks of Harbor have pytest write to ``ctrf.json``; and pytest's own short summary.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

__all__ = ["FILES", "OUTPUT", "Verdict", "verdict_of_files", "verdict_of_summary"]

OUTPUT = "test-stdout.txt"
"""The file that Harbor keeps what the tests print in."""
_CTRF = "ctrf.json"
_REWARD_FILES = ("reward.json", "reward.txt")

FILES = {**dict.fromkeys(_REWARD_FILES, 1 << 20), _CTRF: 8 << 20, OUTPUT: 16 << 20}
"""What tests write to ``/logs/verifier`` and is read → bytes that it may have."""

_LONGEST_LOG = 16_000
"""Characters of what the tests printed that a verdict keeps, from the end."""
_MOST_TESTS = 10_000
"""Tests that a verdict has the names of; all of them are counted."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADING = "short test summary info"
_PASSED = frozenset(("passed", "xfailed", "skipped"))
_FAILED = frozenset(("failed", "xpassed", "error", "errors"))
_KINDS = {"PASSED": True, "XFAIL": True, "SKIPPED": True, "FAILED": False, "XPASS": False, "ERROR": False}


@dataclass(frozen=True)
class Verdict:
    """What the tests say."""

    rewards: dict[str, float]
    """By name, as the task wrote them; a task with one number calls it ``reward``."""
    passed: int | None = None
    """Tests that passed, where the task reports them one by one."""
    total: int | None = None
    error: str | None = None
    """Why there is no reward: the tests did not finish, or wrote none."""
    log: str = ""
    """The end of what the tests printed."""
    tests: dict[str, bool] = field(default_factory=dict)
    """Name → whether it passed, where the task reports them one by one."""

    @property
    def reward(self) -> float:
        """The task's own number, from 0.0 to 1.0: ``reward`` if it names one so, or else the mean of its rewards.

        Harbor allows any number. One outside of that range counts as its nearer end here, since an environment
        declares its range; :attr:`rewards` has it as it was written. 0.0 where there is none.
        """
        if not self.rewards:
            return 0.0
        own = self.rewards.get("reward")
        return min(max(sum(self.rewards.values()) / len(self.rewards) if own is None else own, 0.0), 1.0)

    @property
    def fraction(self) -> float | None:
        """The share of the tests that passed; None where they are not reported one by one, or there is no reward."""
        if self.error is not None or self.passed is None or not self.total:
            return None
        return self.passed / self.total

    @property
    def success(self) -> bool:
        """Whether the reward is all that can be had."""
        return self.reward == 1.0


def verdict_of_files(written: Mapping[str, bytes | ValueError]) -> Verdict:
    """Read what tests have written to ``/logs/verifier``, as Harbor does.

    ``reward.json`` comes before ``reward.txt``; their exit code does not count. The tests one by one come from
    ``ctrf.json``, where those that were skipped count neither way.

    Args:
        written: the name of one of :data:`FILES` → what is in it, or why that cannot be read.
    """
    output = written.get(OUTPUT, b"")
    log = _log(output) if isinstance(output, bytes) else f"[what the tests printed cannot be shown: {output}]"
    verdict = Verdict({}, error=f"the tests wrote neither {' nor '.join(_REWARD_FILES)}", log=log)
    for name in _REWARD_FILES:
        if name not in written:
            continue
        content = written[name]
        try:
            if isinstance(content, ValueError):
                raise content
            verdict = Verdict(_rewards(name, content.decode()), log=log)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            verdict = Verdict({}, error=f"{name} holds no reward: {str(error)[:200]}", log=log)
        break
    return replace(verdict, **_report(written.get(_CTRF)))


def verdict_of_summary(output: bytes) -> Verdict:
    """Read pytest's short summary, as Terminal-Bench 1 does: 1.0 if all tests passed, or were skipped, and 0.0 if not.

    Where pytest lists only those that failed, the numbers are those of its last line.
    """
    _, found, summary = _COLOUR.sub("", output.decode(errors="replace")).rpartition(_HEADING)
    tests: dict[str, bool] = {}
    listed = counted = _Count()
    for line in summary.splitlines() if found else ():
        kind, _, rest = line.partition(" ")
        name = rest.partition(" - ")[0].strip()
        if name and kind in _KINDS:
            ok = _KINDS[kind]
            listed = _Count(listed.passed + ok, listed.failed + (not ok))
            if len(tests) < _MOST_TESTS:
                tests[name] = ok and tests.get(name, True)
        else:
            counted = _counts(line) or counted
    if not (listed or counted):
        # An empty summary is no success, though all() of nothing would be.
        return Verdict({}, error="the tests printed no summary of pytest", log=_log(output))
    reward = float(not listed.failed and not counted.failed)
    count = counted or listed
    return Verdict({"reward": reward}, count.passed, sum(count), log=_log(output), tests=tests)


class _Count(NamedTuple):
    passed: int = 0
    failed: int = 0

    def __bool__(self) -> bool:
        return bool(self.passed or self.failed)


def _rewards(name: str, text: str) -> dict[str, float]:
    value: Any = json.loads(text) if name.endswith(".json") else float(text)
    rewards = value if isinstance(value, dict) else {"reward": value}
    if not rewards:
        raise ValueError("it is empty")
    for key, reward in rewards.items():
        if not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise ValueError(f"{key:.80} is {type(reward).__name__} {str(reward)[:80]}, which is no finite number")
    return {key: float(reward) for key, reward in rewards.items()}


def _report(content: bytes | ValueError | None) -> dict[str, Any]:
    """Return the fields of a verdict that a report in CTRF fills; none if it is no such report."""
    if not isinstance(content, bytes):
        return {}
    try:
        listed = json.loads(content)["results"]["tests"]
        results = [(str(test["name"]), test["status"]) for test in listed if test["status"] in ("passed", "failed")]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    if not results:
        return {}
    passed = sum(status == "passed" for _, status in results)
    tests: dict[str, bool] = {}
    for name, status in results[:_MOST_TESTS]:
        tests[name] = status == "passed" and tests.get(name, True)
    return {"passed": passed, "total": len(results), "tests": tests}


def _counts(line: str) -> _Count | None:
    """Read the last line of pytest: ``==== 1 failed, 2 passed in 0.12s ====``; None if it is another line."""
    passed = failed = 0
    for part in line.strip("= ").partition(" in ")[0].split(", "):
        number, _, word = part.partition(" ")
        if not (number.isdecimal() and len(number) < 10 and word.isalpha()):
            return None
        passed += int(number) * (word in _PASSED)
        failed += int(number) * (word in _FAILED)
    return _Count(passed, failed)


def _log(output: bytes) -> str:
    return output[-4 * _LONGEST_LOG :].decode(errors="replace")[-_LONGEST_LOG:]
