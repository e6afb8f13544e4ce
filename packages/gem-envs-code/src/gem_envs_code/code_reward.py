"""The reward ``code``: the program in the last fenced block passes the tests of the problem, in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, integer, real
from gem.errors import ArgumentError, DatasetError, TrajectoryError
from gem.rewards import RecordedQuestions, Reward, Score
from gem.rewards.answers import final_text
from gem.text import extract_code_from_model
from gem_envs_code.judge import SANDBOX, judge, limits_for
from gem_envs_code.suite import Suite, read_suite

if TYPE_CHECKING:
    from gem.trajectory import Trajectory

__all__ = ["CodeReward"]

_SECONDS, _MEMORY = 10.0, 1 << 30


class CodeReward(Reward):
    """1.0 for a program that passes all tests, else 0.0.

    The tests of an episode are those of its problem, which its environment is asked for again, unless ``tests`` or
    ``tests_key`` is given.

    Args:
        tests: the tests of every episode, for an environment with one problem, in a form of
            :func:`gem_envs_code.suite.read_suite`.
        tests_key: the key of the last info, of the reset's info, or of the trajectory's metadata that holds them.
        partial: pay the share of tests that pass before the first failure.
        seconds: CPU time limit of each test; None for that of the environment, else 10.
        memory: memory limit of each test in bytes; None for that of the environment, else 1 GiB.
        max_tests: maximum number of tests, those with the longest inputs.
    """

    def __init__(
        self,
        *,
        tests: Any = None,
        tests_key: str | None = None,
        partial: bool = False,
        seconds: float | None = None,
        memory: int | None = None,
        max_tests: int | None = None,
    ) -> None:
        if tests is not None and tests_key is not None:
            raise ArgumentError("give either tests or tests_key")
        self._tests = None if tests is None else read_suite(tests)
        self.tests_key = tests_key
        self.partial = boolean("partial", partial)
        self.seconds = None if seconds is None else real("seconds", seconds, minimum=0.01, maximum=3600.0)
        self.memory = None if memory is None else integer("memory", memory, minimum=16 << 20)
        self.max_tests = None if max_tests is None else integer("max_tests", max_tests, minimum=1)
        self._questions = RecordedQuestions()
        self._sandbox = SANDBOX.handle()

    def score(self, trajectory: Trajectory) -> Score:
        try:
            suite, seconds, memory = self._suite_of(trajectory)
        except (TrajectoryError, DatasetError) as error:
            return Score.unreadable(f"the tests are not known: {error}", "no_answer_known")
        suite = suite.longest(self.max_tests)
        code = extract_code_from_model(final_text(trajectory))
        if code is None:
            return Score(0.0, reasons=["there is no closed fenced block"])
        limits = limits_for(suite, seconds=self.seconds or seconds, memory=self.memory or memory)
        result = judge(code, suite, sandbox=self._sandbox.value, limits=limits)
        share = result.passed / result.total
        failure = f", then {result.failure}" if result.failure else ""
        return Score(
            share if self.partial else float(result.accepted),
            {"passed": share},
            [f"{result.passed} of {result.total} tests passed{failure}"],
            {"tests_passed": result.passed, "tests_total": result.total, "failure": result.failure},
        )

    def close(self) -> None:
        self._questions.close()
        self._sandbox.close()

    def _suite_of(self, trajectory: Trajectory) -> tuple[Suite, float, int]:
        """Return the tests of an episode, and the limits of its environment."""
        if self._tests is not None:
            return self._tests, _SECONDS, _MEMORY
        if self.tests_key is None:
            return self._questions.ask(trajectory, _tests_and_limits)
        last = trajectory.transitions[-1].info if trajectory.transitions else {}
        for place in (last, trajectory.reset_info, trajectory.metadata):
            if self.tests_key in place:
                return read_suite(place[self.tests_key], self.tests_key), _SECONDS, _MEMORY
        raise TrajectoryError(f"the record has no {self.tests_key!r}")


def _tests_and_limits(env: Any, row: Mapping[str, Any]) -> tuple[Suite, float, int]:
    suite = getattr(env, "suite", None)
    if not callable(suite):
        raise TrajectoryError(f"{type(env).__name__} asks for no programs")
    return suite(row), getattr(env, "seconds", _SECONDS), getattr(env, "memory", _MEMORY)
