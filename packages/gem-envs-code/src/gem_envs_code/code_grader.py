"""The grader ``code`` of the hook ``gem_graders``: a program against the tests of a problem, in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gem.errors import DatasetError, GemError
from gem.text import extract_code_from_model
from gem_envs_code.judge import judge, library_names, limits_for, shared_sandbox
from gem_envs_code.suite import Suite, read_suite
from gem_questions.rewards import GoldReading, GradeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CodeGrader"]


class CodeGrader:
    """Runs programs against tests, in a form of :func:`gem_envs_code.suite.read_suite`.

    ``how`` of a result is ``"tests"`` (all pass), the reason of the first failure, such as ``"wrong answer"``,
    ``"no_program"`` (an empty answer), ``"no_tests"`` (the gold holds none that can be read), or ``"no_sandbox"`` (no
    program can be run); the last two are unreadable.

    Args:
        seconds: CPU time limit of each test.
        memory: memory limit of each test in bytes.
        libraries: installed libraries that programs may import besides the standard library.
    """

    def __init__(self, seconds: float = 10.0, memory: int = 1 << 30, libraries: Sequence[str] = ()) -> None:
        self._seconds, self._memory = seconds, memory
        self._sandbox = shared_sandbox(library_names(libraries)).handle()

    def read(self, gold: Any, question: str | None = None) -> GoldReading:
        """Return how many tests a gold has, and of what."""
        try:
            suite = read_suite(gold)
        except DatasetError as error:
            return GoldReading(str(error), "nothing", readable=False)
        first = suite.cases[0]
        kind = "assertions" if suite.setup is not None else "program" if suite.function is None else "function"
        tested = f" of {suite.function}" if suite.function else ""
        count = f"{len(suite.cases)} test{'s' * (len(suite.cases) > 1)}{tested}"
        checked = ", by a checker" if suite.checker else ""
        return GoldReading(f"{count}{checked}: {first.input!r:.60} → {first.output!r:.60}", kind, readable=True)

    def grade(self, answer: Any, gold: Any, question: str | None = None) -> GradeResult:
        """Run a program, the content of a fenced block or a text that has one, against the tests of a gold."""
        try:
            suite = read_suite(gold)
        except DatasetError:
            return GradeResult("unreadable", "no_tests")
        code = extract_code_from_model(answer)
        if code is None and isinstance(answer, str):
            code = answer
        if code is None or not code.strip():
            return GradeResult("different", "no_program")
        try:
            result = self._judged(code, suite)
        except GemError:
            return GradeResult("unreadable", "no_sandbox")
        return GradeResult("same", "tests") if result is None else GradeResult("different", result)

    def _judged(self, code: str, suite: Suite) -> str | None:
        limits = limits_for(suite, seconds=self._seconds, memory=self._memory)
        return judge(code, suite, sandbox=self._sandbox.value, limits=limits).failure
