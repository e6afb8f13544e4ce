"""Running a program against the tests of a problem.

All tests of one program go into the sandbox in one entry, side by side, and their outputs are judged outside: the
program sees only inputs, neither the expected outputs nor the comparison. A checker function also runs in the
sandbox, in a separate execution that the program cannot influence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gem_envs_code.assertions import FAILED, PASSED, run_assertions
from gem_envs_code.compare import same_text, same_value
from gem_envs_code.suite import Case, Suite
from gem_envs_code.supplied_imports import supplied_imports, with_supplied_imports
from gem_processes import SharedResource

if TYPE_CHECKING:
    from gem_tools.sandbox import Execution, Limits, Sandbox

__all__ = [
    "MEMORY",
    "RUNTIME_ERROR",
    "TIME_LIMIT",
    "WRONG_ANSWER",
    "JudgeResult",
    "importable",
    "judge",
    "library_names",
    "limits_for",
    "shared_sandbox",
]

WRONG_ANSWER = "wrong answer"
TIME_LIMIT = "time limit"
RUNTIME_ERROR = "runtime error"
MEMORY = "memory"


def shared_sandbox(libraries: tuple[str, ...] = ()) -> SharedResource[Sandbox]:
    """Return the sandbox that all users of the same libraries share; its processes end with its last user.

    Args:
        libraries: what programs may import besides the standard library; see :class:`gem_tools.sandbox.Sandbox`.
    """
    return _shared_sandbox(libraries)  # a cache tells a default apart from the same value


@cache
def _shared_sandbox(libraries: tuple[str, ...]) -> SharedResource[Sandbox]:
    def opened() -> Sandbox:
        from gem_tools.sandbox import Sandbox

        return Sandbox(libraries=libraries)

    return SharedResource(opened, lambda sandbox: sandbox.close())


def library_names(libraries: Sequence[str]) -> tuple[str, ...]:
    """Return the checked names of the libraries that programs may import.

    Raises:
        ArgumentError, ArgumentTypeError: if they are no import names of installed libraries.
    """
    if not libraries and not isinstance(libraries, str):
        return ()
    from gem_tools.sandbox import Sandbox

    return Sandbox(libraries=libraries).libraries or ()


def importable(libraries: tuple[str, ...]) -> frozenset[str]:
    """Return the top-level modules of libraries and of all that they depend on."""
    if not libraries:
        return frozenset()
    from gem_tools.sandbox.system import allowed_modules

    return frozenset(allowed_modules(libraries)["names"])


_LONGEST_RESULTS = 1 << 22
_PASSED = "passed"
_ACCEPTED = "accepted"

# The function's prints are discarded, so that the output is its return value alone. What it yields counts as a list.
_CALL = """
import json as _json, os as _os, sys as _sys
_arguments = _json.loads(_sys.stdin.read())
_out = _os.dup(1)
_os.dup2(_os.open(_os.devnull, _os.O_WRONLY), 1)
_names = {{"__name__": "solution", "__builtins__": __builtins__}}
exec({imports!r}, _names)
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
    _listed = lambda value: list(value) if hasattr(value, "__next__") else repr(value)
    _out.write(_json.dumps(_result, default=_listed))
"""

# What the checker prints is discarded as well: its verdict is what it returns. Its annotations may name anything, since
# the flag of this code holds for what it compiles.
_CHECK = """
from __future__ import annotations
import json as _json, os as _os, sys as _sys
_given = _json.loads(_sys.stdin.read())
_out = _os.dup(1)
_os.dup2(_os.open(_os.devnull, _os.O_WRONLY), 1)
_names = {{"__name__": "checker", "__builtins__": __builtins__}}
exec(compile({source!r}, "checker.py", "exec"), _names)
_right = bool(_names["check"](*_given))
_sys.stdout.flush()
_os.write(_out, {accepted!r}.encode() if _right else b"rejected")
"""


@dataclass(frozen=True)
class JudgeResult:
    """The result of a program on a suite of tests."""

    passed: int
    """Tests that it passed: those before the first failure, or of all if every test ran."""
    total: int
    failure: str | None = None
    """The first failure: :data:`WRONG_ANSWER`, :data:`TIME_LIMIT`, :data:`RUNTIME_ERROR` or :data:`MEMORY`."""

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
    every: bool = False,
) -> JudgeResult:
    """Run a program against a suite; stop at the first test that fails.

    The result is that of the first failing test in the order of the suite, however many run side by side.

    Args:
        code: untrusted Python.
        suite: the tests.
        sandbox: sandbox for the run; by default the one that the environments of this package share, in which
            programs import the standard library alone.
        limits: limits of each test. Let ``cpu_seconds`` decide and ``seconds`` be far longer, or a busy
            machine changes the result.
        workers: number of tests that run side by side.
        every: run the tests after a failure as well, and count all that pass.
    """
    if sandbox is None:
        with shared_sandbox().handle() as shared:
            return judge(code, suite, sandbox=shared, limits=limits, workers=workers, every=every)
    code = code.encode("utf-8", "replace").decode()
    if suite.setup is not None:
        return _judge_assertions(code, suite, sandbox, limits, workers, every)
    if suite.function is None:
        code = with_supplied_imports(code)
    else:
        code = _CALL.format(imports=supplied_imports(code, suite.function), source=code, name=suite.function)
    total = len(suite.cases)
    outputs = [""] * total

    def outcome_of(number: int, execution: Execution) -> str:
        outputs[number] = execution.stdout
        failure = _failure(execution)
        if failure is None and suite.checker is None and not _same(suite, suite.cases[number], execution.stdout):
            failure = WRONG_ANSWER
        return failure or _PASSED

    run = _Run(total, outcome_of, every)
    inputs = [case.input for case in suite.cases]
    run.finish(sandbox.run_many(code, inputs, limits=limits, parallel=workers, until=run.until))
    if suite.checker is not None:
        # The outputs that are no answers yet, each with its test; the checker decides over them in that order.
        questions = {
            number: question
            for number in run.passes()
            if (question := _question(suite, suite.cases[number], outputs[number])) is not None
        }
        numbers = list(questions)
        verdicts = [False] * total

        def verdict_of(index: int, execution: Execution) -> str:
            verdicts[numbers[index]] = execution.ok and execution.stdout == _ACCEPTED
            return _PASSED if verdicts[numbers[index]] else WRONG_ANSWER

        checks = _Run(len(numbers), verdict_of, every)
        if numbers:
            checker = _CHECK.format(source=suite.checker, accepted=_ACCEPTED)
            asked = list(questions.values())
            checks.finish(sandbox.run_many(checker, asked, limits=limits, parallel=workers, until=checks.until))
        run.reject(number for number in run.passes() if not verdicts[number])
    return run.result()


def _judge_assertions(
    code: str, suite: Suite, sandbox: Sandbox, limits: Limits | None, workers: int | None, every: bool
) -> JudgeResult:
    outcomes = run_assertions(code, suite, sandbox, limits, workers)
    failures = [
        None
        if outcome == PASSED
        else WRONG_ANSWER
        if outcome == FAILED
        else (_failure(execution) if execution is not None else None) or RUNTIME_ERROR
        for outcome, execution in outcomes
    ]
    first = next((number for number, failure in enumerate(failures) if failure is not None), len(failures))
    passed = failures.count(None) if every else first
    return JudgeResult(passed, len(failures), failures[first] if first < len(failures) else None)


def limits_for(suite: Suite, *, seconds: float, memory: int) -> Limits:
    """Return the limits of each test of a suite.

    Args:
        suite: the tests.
        seconds: CPU time.
        memory: bytes.
    """
    from gem_tools.sandbox import Limits

    longest = max(len(case.output.encode()) for case in suite.cases)
    if suite.setup is not None:
        longest = _LONGEST_RESULTS  # the results of all calls of a test, whose lengths nobody knows
    return Limits(
        # CPU time decides. The wall clock only ends a program that waits forever, so it runs far longer: other
        # programs on the machine must not change a result.
        seconds=10 * seconds + 10.0,
        cpu_seconds=seconds,
        memory=memory,
        output=2 * longest + (64 << 10),
    )


class _Run:
    """The outcomes of tests that run side by side, up to the first failure in their order, or all of them."""

    def __init__(self, total: int, outcome_of: Callable[[int, Execution], str], every: bool) -> None:
        self._outcome_of = outcome_of
        self._every = every
        self._outcomes: list[str | None] = [None] * total
        self._known = 0

    def until(self, number: int, execution: Execution) -> bool:
        """Judge a test; return whether the result is decided, because all tests before a failure are known."""
        self._outcomes[number] = self._outcome_of(number, execution)
        while self._known < len(self._outcomes) and (outcome := self._outcomes[self._known]) is not None:
            if outcome != _PASSED and not self._every:
                return True
            self._known += 1
        return False

    def finish(self, executions: Sequence[Execution | None]) -> None:
        """Judge the executions that ``until`` has not seen."""
        for number, execution in enumerate(executions):
            if execution is not None and self._outcomes[number] is None:
                self.until(number, execution)

    def passes(self) -> list[int]:
        """Return the tests that passed: those before the first failure, or all."""
        first = next((number for number, outcome in enumerate(self._outcomes) if outcome != _PASSED), None)
        return [
            number
            for number, outcome in enumerate(self._outcomes[: None if self._every else first])
            if outcome == _PASSED
        ]

    def reject(self, numbers: Iterable[int]) -> None:
        """Count tests that passed as wrong answers."""
        for number in list(numbers):
            self._outcomes[number] = WRONG_ANSWER

    def result(self) -> JudgeResult:
        """Return the result of the program."""
        failure = next((outcome for outcome in self._outcomes if outcome != _PASSED), None)
        return JudgeResult(len(self.passes()), len(self._outcomes), failure)


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


def _question(suite: Suite, case: Case, output: str) -> str | None:
    """Return the checker's arguments as JSON; None for an output that is not a JSON value, and so no answer."""
    asked = (case.input, output, case.output)
    try:
        return json.dumps(asked if suite.function is None else [json.loads(text) for text in asked])
    except (ValueError, RecursionError):
        return None
