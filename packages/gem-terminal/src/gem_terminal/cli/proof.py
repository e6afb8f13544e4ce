"""Proofs that a task is sound: :class:`Prover`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem.errors import GemError
from gem_terminal.engines import Engine
from gem_terminal.errors import EngineError
from gem_terminal.task import Task
from gem_terminal.task_options import TaskOptions
from gem_terminal.task_set import TaskFolder

if TYPE_CHECKING:
    from gem_terminal.env import TerminalEnv

__all__ = ["Proof", "Prover"]

_LONGEST = 600
"""Characters of a solution's output that are shown."""


@dataclass
class Proof:
    """The proof of one task."""

    name: str
    folder: str
    oracle: list[float] = field(default_factory=list)
    """The rewards of the solution, by attempt."""
    nothing: list[float] = field(default_factory=list)
    """The rewards of doing nothing, by attempt."""
    seconds: float = 0.0
    """Seconds of the longest episode of the solution, from its reset to its result, without building the image."""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Why the reward of the solution may be doubted; see :data:`~gem_terminal.verdicts.verifier_result.DOUBTS`."""
    log: str = ""
    """The output of the tests, if the solution did not pass."""

    @property
    def ok(self) -> bool:
        return not self.problems


class Prover:
    """Plays tasks with their solution, and without any action.

    Args:
        engine: the engine.
        attempts: the number of episodes of each kind.
        options: what to change of the tasks.
    """

    def __init__(self, engine: Engine, attempts: int, options: TaskOptions | None = None) -> None:
        self._engine = engine
        self._attempts = attempts
        self._options = options or TaskOptions()
        self._lock = Lock()
        self._open: set[TerminalEnv] = set()
        self._stopped = False

    def build(self, task: Task) -> str | None:
        """Build or pull the image of a task; return the reason of a failure, or None."""
        try:
            self._prepare(task)
        except (GemError, OSError) as error:
            return str(error)
        return None

    def prove(self, found: TaskFolder, only_solution: bool = False) -> Proof:
        """Return the proof of a task, with all its problems.

        Args:
            found: the task.
            only_solution: whether to leave out the episodes without any action.
        """
        proof = Proof(found.name, str(found.folder))
        if found.task is None:
            proof.problems.append(str(found.error))
            return proof
        try:
            self._prepare(found.task)
            for attempt in range(self._attempts):
                self._solve(found.task, proof, attempt)
                if not only_solution:
                    self._do_nothing(found.task, proof, attempt)
        except (GemError, OSError) as error:
            proof.problems.append(str(error))
        except Exception:
            if not self._stopped:  # stop() closes the connections that this thread reads, at any line
                raise
            proof.problems.append("it was interrupted")
        return proof

    def stop(self) -> None:
        """Stop all episodes; the threads that play them return at once."""
        with self._lock:
            self._stopped = True
            for env in self._open:
                env.close()

    def _check(self) -> None:
        if self._stopped:
            raise EngineError("it was interrupted")

    def _prepare(self, task: Task) -> None:
        from gem_terminal.episodes.progress import showing

        with showing(f"image of {task.name}") as tell:
            self._engine.prepare(task.image, tell)

    def _solve(self, task: Task, proof: Proof, attempt: int) -> None:
        from gem_terminal.oracle import OracleSolutionPolicy

        if task.solution is None:
            if not attempt:
                proof.problems.append("it has no solution, so nothing proves that it is solvable")
            return

        def solve(env: TerminalEnv) -> tuple[float, dict[str, Any], str]:
            observation, info = env.reset(seed=attempt)
            policy = OracleSolutionPolicy(env)
            policy.reset(observation, info)
            ended = False
            while not ended:
                self._check()
                said = observation
                observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                ended = terminated or truncated
            return reward, info, said

        begin = time.monotonic()
        reward, info, said = self._played(task, solve)
        proof.doubts += [doubt for doubt in info.get("verdict_doubts", ()) if doubt not in proof.doubts]
        proof.seconds = max(proof.seconds, round(time.monotonic() - begin, 3))
        proof.oracle.append(reward)
        if reward != 1.0:
            why = info.get("verifier_error") or info.get("error") or f"its output ended with: {said[-_LONGEST:]!r}"
            proof.problems.append(f"the solution earned {reward:g}: {why}")
            if hint := info.get("verifier_hint"):
                proof.problems.append(str(hint))
            proof.log = str(info.get("verifier_log", ""))

    def _do_nothing(self, task: Task, proof: Proof, attempt: int) -> None:
        def finish(env: TerminalEnv) -> tuple[float, dict[str, Any], str]:
            env.reset(seed=attempt)
            self._check()
            _, reward, _, _, info = env.step("<finish/>")
            return reward, info, ""

        reward, info, _ = self._played(task, finish)
        proof.nothing.append(reward)
        if "error" in info:
            proof.problems.append(f"doing nothing: {info['error']}")
        elif reward >= 1.0:
            proof.problems.append(f"doing nothing earned {reward:g}, so the tests test nothing")
        elif reward != 0.0:
            proof.warnings.append(f"doing nothing earned {reward:g}, so the tests reward the initial state")

    def _played(
        self, task: Task, play: Callable[[TerminalEnv], tuple[float, dict[str, Any], str]]
    ) -> tuple[float, dict[str, Any], str]:
        from gem_terminal.env import TerminalEnv

        with TerminalEnv(path=task.folder, engine=self._engine, **self._options.arguments()) as env:
            self._check()
            with self._lock:
                self._open.add(env)
            try:
                return play(env)
            finally:
                with self._lock:
                    self._open.discard(env)
