"""A log of who passed what, and the weights that a curriculum makes of it: :class:`PassRateLog`, :func:`learnability`.

The log is a file of JSON lines, one attempt a line, to which any number of processes append::

    {"env": "math:Algebra-v0-easy", "row": 17, "passed": 1.0}
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gem.arguments import integer, real, string
from gem.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from gem_rollout.trajectory import Trajectory

__all__ = ["PassRate", "PassRateLog", "learnability"]

K = TypeVar("K", bound=Hashable)

_READ = 1 << 20


@dataclass(frozen=True)
class PassRate:
    """How often something was passed."""

    passed: float
    """The sum over the attempts, each from 0 to 1."""
    attempts: int

    @property
    def rate(self) -> float:
        """The share of attempts that passed; 0.0 without any."""
        return self.passed / self.attempts if self.attempts else 0.0


class PassRateLog:
    """Records attempts at the rows of data sets in a file, and counts what is in it.

    Every attempt is one write to the end of the file, so that processes and threads may share it. A line that was cut
    off is left out. Reading again reads only what is new.

    Args:
        path: the file; it need not exist.
        window: only so many last attempts at each row count, so that the rates follow the agent; None for all.
    """

    def __init__(self, path: str | os.PathLike[str], window: int | None = None) -> None:
        self.path = Path(path)
        self.window = None if window is None else integer("window", window, minimum=1)
        self._lock = threading.Lock()
        self._attempts: dict[tuple[str, int | str], deque[float]] = {}
        self._position = 0
        self._rest = b""

    def record(self, env: str, row: int | str, passed: float) -> None:
        """Append one attempt.

        Args:
            env: the id of the environment, or a label of one's own.
            row: the index of the row in its set, or another name of the task.
            passed: whether the attempt passed, or to which part, from 0 to 1.

        Raises:
            ArgumentError, ArgumentTypeError: for other values.
        """
        if isinstance(row, bool) or not isinstance(row, (int, str)):
            raise ArgumentTypeError(f"row must be an index or a name, got {row!r:.80}")
        share = float(passed) if isinstance(passed, bool) else real("passed", passed, minimum=0.0, maximum=1.0)
        line = json.dumps({"env": string("env", env), "row": row, "passed": share}) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # In one write at the end of the file, and behind a line that a killed process has left unfinished.
        with self.path.open("ab+", buffering=0) as file:
            if sys.platform != "win32":  # otherwise the end can be seen while another process is writing it
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode())

    def record_episode(self, trajectory: Trajectory) -> bool:
        """Append the result of an episode: its ``correct`` or ``success``, by the row's ``index`` or else the seed.

        Returns:
            Whether there was something to record. An episode whose outcome is unknown says nothing about the agent.
        """
        passed = trajectory.success
        last = trajectory.transitions[-1].info if trajectory.transitions else {}
        if passed is None:
            return False
        index = last.get("index", trajectory.reset_info.get("index"))
        row = index if isinstance(index, int) else f"seed {trajectory.seed}"
        self.record(trajectory.key.env or "unnamed", row, passed)
        return True

    def rates(self) -> dict[tuple[str, int | str], PassRate]:
        """Return the pass rate of each row that was attempted, by environment and row."""
        with self._lock:
            self._read()
            return {key: PassRate(sum(some), len(some)) for key, some in self._attempts.items()}

    def row_rates(self, env: str) -> dict[int | str, PassRate]:
        """Return the pass rate of each row of one environment."""
        return {row: rate for (name, row), rate in self.rates().items() if name == env}

    def env_rates(self) -> dict[str, PassRate]:
        """Return the pass rate of each environment, over its rows."""
        found: dict[str, PassRate] = {}
        for (env, _), rate in self.rates().items():
            before = found.get(env, PassRate(0.0, 0))
            found[env] = PassRate(before.passed + rate.passed, before.attempts + rate.attempts)
        return found

    def _read(self) -> None:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._position)
            while block := file.read(_READ):
                self._position += len(block)
                *lines, self._rest = (self._rest + block).split(b"\n")
                for line in lines:
                    self._count(line)

    def _count(self, line: bytes) -> None:
        try:
            attempt = json.loads(line)
            env, row, passed = attempt["env"], attempt["row"], float(attempt["passed"])
        except (ValueError, TypeError, LookupError):  # cut off, or not of this log
            return
        if isinstance(env, str) and isinstance(row, (int, str)) and 0.0 <= passed <= 1.0:
            self._attempts.setdefault((env, row), deque(maxlen=self.window)).append(passed)


def learnability(rates: Mapping[K, PassRate], *, unknown: int = 2, floor: float = 0.01) -> dict[K, float]:
    """Return the weight of each task for training: p · (1 - p), the variance of passing it.

    A task that is always or never passed teaches nothing; one that is passed half the time teaches most (Rutherford et
    al., "No Regrets: Investigating and Improving Regret Approximations for Curriculum Discovery", NeurIPS 2024).

    Args:
        rates: the pass rates; give those that nobody has tried as ``PassRate(0.0, 0)``.
        unknown: this many attempts that passed half the time are added to each task, so that one attempt decides
            nothing, and untried tasks come early.
        floor: the lowest weight, so that no task is lost for good.

    Raises:
        ArgumentError, ArgumentTypeError: for a negative ``floor`` or ``unknown``.
    """
    integer("unknown", unknown, minimum=0)
    real("floor", floor, minimum=0.0)
    weights: dict[K, float] = {}
    for key, rate in rates.items():
        attempts = rate.attempts + unknown
        if not attempts:
            raise ArgumentError(f"nobody has tried {key!r}, so its weight is not known; use unknown=1 or more")
        share = (rate.passed + unknown / 2) / attempts
        weights[key] = max(floor, share * (1.0 - share))
    return weights
