"""The reward ``code``: the program in the last fenced block passes the tests of the problem, in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem.arguments import choice, integer, real
from gem.errors import ArgumentError, DatasetError, TrajectoryError
from gem.text import extract_code_from_model
from gem_envs_code.code_env import PAID_FOR
from gem_envs_code.judge import judge, library_names, limits_for, shared_sandbox
from gem_envs_code.suite import Suite, read_suite
from gem_questions.rewards import RecordedQuestions, Reward, Score
from gem_questions.rewards.answers import final_text

if TYPE_CHECKING:
    from gem_processes import ResourceHandle
    from gem_rollout.trajectory import Trajectory
    from gem_tools.sandbox import Sandbox

__all__ = ["CodeReward"]


@dataclass(frozen=True)
class _Task:
    """The tests of an episode, and the conditions under which its environment judges."""

    suite: Suite
    seconds: float = 10.0
    memory: int = 1 << 30
    libraries: tuple[str, ...] = ()


class CodeReward(Reward):
    """1.0 for a program that passes all tests, else 0.0.

    The tests of an episode are those of its problem, which its environment is asked for again, unless ``tests`` or
    ``tests_key`` is given.

    Args:
        tests: the tests of every episode, for an environment with one problem, in a form of
            :func:`gem_envs_code.suite.read_suite`.
        tests_key: the key of the last info, of the reset's info, or of the trajectory's metadata that holds them.
        reward: ``"all"`` pays 1.0 for passing all tests, ``"fraction"`` the fraction of the tests that pass.
        seconds: CPU time limit of each test; None for that of the environment, else 10.
        memory: memory limit of each test in bytes; None for that of the environment, else 1 GiB.
        max_tests: maximum number of tests, those with the longest inputs.
        libraries: installed libraries that programs may import; None for those of the environment, else the standard
            library alone.
    """

    def __init__(
        self,
        *,
        tests: Any = None,
        tests_key: str | None = None,
        reward: str = "all",
        seconds: float | None = None,
        memory: int | None = None,
        max_tests: int | None = None,
        libraries: Sequence[str] | None = None,
    ) -> None:
        if tests is not None and tests_key is not None:
            raise ArgumentError("give either tests or tests_key")
        self._tests = None if tests is None else read_suite(tests)
        self.tests_key = tests_key
        self.reward = choice("reward", reward, PAID_FOR)
        self.seconds = None if seconds is None else real("seconds", seconds, minimum=0.01, maximum=3600.0)
        self.memory = None if memory is None else integer("memory", memory, minimum=16 << 20)
        self.max_tests = None if max_tests is None else integer("max_tests", max_tests, minimum=1)
        self.libraries = None if libraries is None else library_names(libraries)
        self._questions = RecordedQuestions()
        self._sandboxes: dict[tuple[str, ...], ResourceHandle[Sandbox]] = {}

    def score(self, trajectory: Trajectory) -> Score:
        try:
            task = self._task_of(trajectory)
        except (TrajectoryError, DatasetError) as error:
            return Score.unreadable(f"the tests are not known: {error}", "no_answer_known")
        suite = task.suite.longest(self.max_tests)
        code = extract_code_from_model(final_text(trajectory))
        if code is None:
            return Score(0.0, reasons=["there is no closed fenced block"])
        limits = limits_for(suite, seconds=self.seconds or task.seconds, memory=self.memory or task.memory)
        sandbox = self._sandbox(task.libraries if self.libraries is None else self.libraries)
        result = judge(code, suite, sandbox=sandbox, limits=limits, every=self.reward == "fraction")
        fraction = result.passed / result.total
        failure = f"; first failure: {result.failure}" if result.failure else ""
        return Score(
            fraction if self.reward == "fraction" else float(result.accepted),
            {"passed": fraction},
            [f"{result.passed} of {result.total} tests passed{failure}"],
            {"tests_passed": result.passed, "tests_total": result.total, "failure": result.failure},
        )

    def close(self) -> None:
        self._questions.close()
        for handle in self._sandboxes.values():
            handle.close()

    def _sandbox(self, libraries: tuple[str, ...]) -> Sandbox:
        handle = self._sandboxes.get(libraries)
        if handle is None:
            handle = self._sandboxes[libraries] = shared_sandbox(libraries).handle()
        return handle.value

    def _task_of(self, trajectory: Trajectory) -> _Task:
        """Return the tests of an episode, and the conditions of its environment."""
        if self._tests is not None:
            return _Task(self._tests)
        if self.tests_key is None:
            return self._questions.ask(trajectory, _task_of)
        last = trajectory.transitions[-1].info if trajectory.transitions else {}
        for place in (last, trajectory.reset_info, trajectory.metadata):
            if self.tests_key in place:
                return _Task(read_suite(place[self.tests_key], self.tests_key))
        raise TrajectoryError(f"the record has no {self.tests_key!r}")


def _task_of(env: Any, row: Mapping[str, Any]) -> _Task:
    suite = getattr(env, "suite", None)
    if not callable(suite):
        raise TrajectoryError(f"{type(env).__name__} asks for no programs")
    own = {name: getattr(env, name) for name in ("seconds", "memory", "libraries") if hasattr(env, name)}
    return _Task(suite(row), **own)
