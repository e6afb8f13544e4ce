"""Judging an agent's work: :func:`verify`.

The agent's processes are killed first, all of them, and what it may have planted where the tests lie or report is
removed; so nothing that it started can touch the tests while they run. What the agent has changed in the image
itself, such as an interpreter that the tests use, stays changed: where that matters, a task lets the agent work as an
ordinary user, or has its tests run in an image of their own.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from gem_terminal.archive import archive_of
from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError
from gem_terminal.task import Task

__all__ = ["Verdict", "verify"]

_PREPARE = (
    "rm -rf /tests /logs/verifier && mkdir -p /logs/verifier /logs/agent /logs/artifacts && chmod 700 /logs/verifier"
)
_LONGEST_LOG = 16_000
"""Characters of what the tests printed that a verdict keeps, from the end."""

_REWARD_FILES = ("reward.json", "reward.txt")
_SUMMARY = re.compile(r"^(PASSED|XFAIL|SKIPPED|FAILED|XPASS|ERROR)\s+(\S.*?)(?:\s+-\s.*)?$", re.MULTILINE)
_PASSED = frozenset(("PASSED", "XFAIL", "SKIPPED"))


@dataclass(frozen=True)
class Verdict:
    """What the tests say."""

    rewards: dict[str, float]
    """By name; a task with one number calls it ``reward``."""
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
        """The mean of the rewards; 0.0 where there are none."""
        return sum(self.rewards.values()) / len(self.rewards) if self.rewards else 0.0


def verify(task: Task, container: Container, workdir: str | None = None) -> Verdict:
    """Run the tests of a task in the container that an agent has worked in.

    Raises:
        EngineError: if the container or the engine has died.
    """
    container.kill_all()
    prepared = container.run(("sh", "-c", _PREPARE), seconds=30.0, user="root")
    if prepared.exit_code != 0:
        raise EngineError(f"the container cannot be prepared for the tests: {prepared.output[-200:]!r}")
    container.put(archive_of(task.tests.sources, "tests"), "/")
    done = container.run(
        ("bash", "-c", task.tests.command),
        seconds=task.tests.seconds,
        user=task.tests.user or "root",
        environment=task.tests.environment,
        workdir=workdir,
    )
    if done.exit_code is None:
        return Verdict({}, error=f"the tests took longer than {task.tests.seconds:g} seconds", log=_log(done.output))
    if task.tests.reward == "pytest":
        return _from_summary(done.output)
    return _from_files(container, done.output)


def _from_files(container: Container, output: bytes) -> Verdict:
    """Read the reward that the tests wrote; their exit code does not count, as in Harbor."""
    log = _log(_content(container, "/logs/verifier/test-stdout.txt") or output)
    for name in _REWARD_FILES:
        content = _content(container, f"/logs/verifier/{name}")
        if content is None:
            continue
        try:
            return Verdict(_rewards(name, content.decode()), log=log)
        except (ValueError, TypeError, RecursionError) as error:
            return Verdict({}, error=f"{name} holds no reward: {error}", log=log)
    return Verdict({}, error=f"the tests wrote neither {' nor '.join(_REWARD_FILES)}", log=log)


def _content(container: Container, path: str) -> bytes | None:
    done = container.run(("cat", path), seconds=30.0, user="root")
    return done.output if done.exit_code == 0 else None


def _rewards(name: str, text: str) -> dict[str, float]:
    value: Any = json.loads(text) if name.endswith(".json") else float(text)
    rewards = value if isinstance(value, dict) else {"reward": value}
    if not rewards:
        raise ValueError("it is empty")
    for key, reward in rewards.items():
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise ValueError(f"{key} is {reward!r}, which is no finite number")
    return {key: float(reward) for key, reward in rewards.items()}


def _from_summary(output: bytes) -> Verdict:
    text = output.decode(errors="replace")
    _, found, summary = text.rpartition("short test summary info")
    tests = {name: kind in _PASSED for kind, name in _SUMMARY.findall(summary)} if found else {}
    if not tests:
        # An empty summary is no success, though all() of nothing would be.
        return Verdict({}, error="the tests printed no summary of pytest", log=_log(output))
    passed = sum(tests.values())
    reward = float(passed == len(tests))
    return Verdict({"reward": reward}, passed, len(tests), log=_log(output), tests=tests)


def _log(output: bytes) -> str:
    return output.decode(errors="replace")[-_LONGEST_LOG:]
