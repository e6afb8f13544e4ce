"""Running a program against the tests of a problem.

All tests of one program go into the sandbox in one entry, side by side, and their outputs are judged outside: the
program sees only inputs, neither the expected outputs nor the comparison. A checker function also runs in the
sandbox, in a separate execution that the program cannot influence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gem.processes import SharedResource
from gem_envs_code.compare import same_text, same_value
from gem_envs_code.suite import Case, Suite

if TYPE_CHECKING:
    from gem_tools.sandbox import Execution, Limits, Sandbox

__all__ = ["MEMORY", "RUNTIME_ERROR", "SANDBOX", "TIME_LIMIT", "WRONG_ANSWER", "JudgeResult", "judge", "limits_for"]

WRONG_ANSWER = "wrong answer"
TIME_LIMIT = "time limit"
RUNTIME_ERROR = "runtime error"
MEMORY = "memory"


def _open_sandbox() -> Sandbox:
    from gem_tools.sandbox import Sandbox

    return Sandbox()


SANDBOX = SharedResource(_open_sandbox, lambda sandbox: sandbox.close())
"""The sandbox that all environments of this package share; its processes end with its last user."""

_PASSED = "passed"
_ACCEPTED = "accepted"

# The function's prints are discarded, so that the output is its return value alone.
_CALL = """
import json as _json, os as _os, sys as _sys
_arguments = _json.loads(_sys.stdin.read())
_out = _os.dup(1)
_os.dup2(_os.open(_os.devnull, _os.O_WRONLY), 1)
_names = {{"__name__": "solution", "__builtins__": __builtins__}}
exec(compile({source!r}, "solution.py", "exec"), _names)
_function = _names.get({name!r})
if _function is None and "Solution" in _names:
    _function = getattr(_names["Solution"](), {name!r}, None)
if _function is None:
    raise NameError("there is no function " + {name!r})
_result = _function(*_arguments)
if hasattr(_sys, "set_int_max_str_digits"):
    _sys.set_int_max_str_digits(0)
_sys.stdout.flush()
with _os.fdopen(_out, "w") as _out:
    _out.write(_json.dumps(_result, default=repr))
"""

_CHECK = """\
from __future__ import annotations
import json as _json, sys as _sys
_given = _json.loads(_sys.stdin.read())
{source}
print({accepted!r} if check(*_given) else "rejected")
"""

_TYPING = re.compile(r"\b(?:Any|Callable|Dict|Iterable|Iterator|List|Optional|Sequence|Set|Tuple|Union)\b\s*\[")


@dataclass(frozen=True)
class JudgeResult:
    """The result of a program on a suite of tests."""

    passed: int
    """Tests that it passed before the first failure."""
    total: int
    failure: str | None = None
    """The reason of the failure: :data:`WRONG_ANSWER`, :data:`TIME_LIMIT`, :data:`RUNTIME_ERROR` or :data:`MEMORY`."""

    @property
    def accepted(self) -> bool:
        """Whether it passed all tests."""
        return self.failure is None


def judge(
    code: str,
    suite: Suite,
    *,
    sandbox: Sandbox | None = None,
    limits: Limits | None = None,
    workers: int | None = None,
) -> JudgeResult:
    """Run a program against a suite; stop at the first test that fails.

    The result is that of the first failing test in the order of the suite, however many run side by side.

    Args:
        code: untrusted Python.
        suite: the tests.
        sandbox: sandbox for the run; by default that of the process.
        limits: limits of each test. Let ``cpu_seconds`` decide and ``seconds`` be far longer, or a busy
            machine changes the result.
        workers: number of tests that run side by side.
    """
    if sandbox is None:
        from gem_tools.sandbox import default_sandbox

        sandbox = default_sandbox()
    code = code.encode("utf-8", "replace").decode()
    if suite.function is not None:
        if _TYPING.search(code) and "typing" not in code:
            code = f"from typing import *\n{code}"
        code = _CALL.format(source=code, name=suite.function)
    total = len(suite.cases)
    outputs = [""] * total

    def outcome_of(number: int, execution: Execution) -> str:
        outputs[number] = execution.stdout
        failure = _failure(execution)
        if failure is None and suite.checker is None and not _same(suite, suite.cases[number], execution.stdout):
            failure = WRONG_ANSWER
        return failure or _PASSED

    run = _Run(total, outcome_of)
    inputs = [case.input for case in suite.cases]
    run.finish(sandbox.run_many(code, inputs, limits=limits, parallel=workers, until=run.until))
    if suite.checker is None or not run.passed:
        return JudgeResult(run.passed, total, run.failure)
    questions = _questions(suite, outputs[: run.passed])
    checks = _Run(
        len(questions),
        lambda _, execution: _PASSED if execution.ok and execution.stdout.strip() == _ACCEPTED else WRONG_ANSWER,
    )
    checker = _CHECK.format(source=suite.checker, accepted=_ACCEPTED)
    checks.finish(sandbox.run_many(checker, questions, limits=limits, parallel=workers, until=checks.until))
    if checks.failure is not None or len(questions) < run.passed:
        return JudgeResult(checks.passed, total, WRONG_ANSWER)
    return JudgeResult(run.passed, total, run.failure)


def limits_for(suite: Suite, *, seconds: float, memory: int) -> Limits:
    """Return the limits of each test of a suite.

    Args:
        suite: the tests.
        seconds: CPU time.
        memory: bytes.
    """
    from gem_tools.sandbox import Limits

    longest = max(len(case.output.encode()) for case in suite.cases)
    return Limits(
        # CPU time decides. The wall clock only ends a program that waits forever, so it runs far longer: other
        # programs on the machine must not change a result.
        seconds=10 * seconds + 10.0,
        cpu_seconds=seconds,
        memory=memory,
        output=2 * longest + (64 << 10),
    )


class _Run:
    """The outcomes of tests that run side by side, up to the first failure in their order."""

    def __init__(self, total: int, outcome_of: Callable[[int, Execution], str]) -> None:
        self._outcome_of = outcome_of
        self._outcomes: list[str | None] = [None] * total
        self.passed = 0
        self.failure: str | None = None

    def until(self, number: int, execution: Execution) -> bool:
        """Judge a test; return whether the result is decided, because all tests before a failure are known."""
        self._outcomes[number] = self._outcome_of(number, execution)
        while self.failure is None and self.passed < len(self._outcomes):
            outcome = self._outcomes[self.passed]
            if outcome is None:
                return False
            if outcome == _PASSED:
                self.passed += 1
            else:
                self.failure = outcome
        return self.failure is not None

    def finish(self, executions: Sequence[Execution | None]) -> None:
        """Judge the executions that ``until`` has not seen."""
        for number, execution in enumerate(executions):
            if execution is not None and self._outcomes[number] is None:
                self.until(number, execution)


def _failure(execution: Execution) -> str | None:
    if execution.ok:
        return WRONG_ANSWER if execution.truncated else None
    if execution.timed_out:
        return TIME_LIMIT
    last_line = execution.stderr.rstrip().rpartition("\n")[2]
    if execution.limit == "memory" or last_line.startswith("MemoryError"):
        return MEMORY
    return RUNTIME_ERROR


def _same(suite: Suite, case: Case, output: str) -> bool:
    return (same_text if suite.function is None else same_value)(output, case.output)


def _questions(suite: Suite, outputs: Sequence[str]) -> list[str]:
    """Return the checker's arguments for each output, as JSON, up to the first output that is not a JSON value."""
    questions = []
    for case, output in zip(suite.cases, outputs, strict=False):
        try:
            asked = (case.input, output, case.output)
            questions.append(json.dumps(asked if suite.function is None else [json.loads(text) for text in asked]))
        except (ValueError, RecursionError):
            break
    return questions
