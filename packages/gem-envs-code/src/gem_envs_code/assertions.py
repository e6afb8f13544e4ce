"""Tests that are assertions about functions, as MBPP, HumanEval, LeetCodeDataset, AceCode, KodCode and BigCodeBench
have them.

An assertion in the process of the program would show it the expected value, and the program could end the process
with success, or return an object that equals everything. So assertions and program never meet:

1. The assertions run without the program. Each call of the function is noted, with its arguments, and answered with a
   placeholder; no assertion fails.
2. The program runs with the noted calls, and without the assertions. Its results go out as data, and so do the
   exceptions that it raises.
3. The assertions run again, with the results in place of the calls, or with an exception of the same class and text.
   Where a call depends on earlier results, it is new, and the last two steps are repeated.

Tests may share more than results with the program: files, the environment, standard input and output. Then each call is
noted with the content of one folder and the rest, as the test has them, and its result comes back with what it changed
there; since the calls after it depend on that, each takes a round.

Assertions may use ``unittest`` and, of ``pytest``, ``raises``, ``approx`` and ``mark.parametrize``: the sandbox has the
standard library alone, so these three are a small module of that name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem_envs_code.assertion_programs import ASSERTIONS, PROGRAM, SHARING
from gem_envs_code.suite import Suite
from gem_envs_code.supplied_imports import supplied_imports

if TYPE_CHECKING:
    from gem_tools.sandbox import Execution, Limits, Sandbox

__all__ = ["BROKEN", "FAILED", "PASSED", "run_assertions"]

PASSED, FAILED, BROKEN = "passed", "failed", "broken"
"""The outcomes of an assertion: it holds; it does not; it raised something else than AssertionError."""

_MOST_ROUNDS, _MOST_SHARED_ROUNDS = 20, 100


def run_assertions(
    code: str, suite: Suite, sandbox: Sandbox, limits: Limits | None, workers: int | None
) -> list[tuple[str, Execution | None]]:
    """Return the outcome of each assertion, or the execution of the program that failed.

    Args:
        code: untrusted Python.
        suite: cases whose inputs are assertions about :attr:`Suite.function`.
        sandbox: runs program and assertions, each apart.
        limits: of each execution.
        workers: number of executions side by side.
    """
    assert suite.setup is not None
    assert suite.function is not None
    known: list[list[Any]] = [[] for _ in suite.cases]
    outcomes: list[tuple[str, Execution | None] | None] = [None] * len(suite.cases)
    about = {
        "imports": supplied_imports(code, suite.function),
        "setup": suite.setup,
        "source": code,
        "names": [suite.function, *suite.others],
    }
    open_cases = list(range(len(suite.cases)))
    shares = any(SHARING in case.input for case in suite.cases)
    for _ in range(_MOST_SHARED_ROUNDS if shares else _MOST_ROUNDS):
        noted = _run_tests(suite, open_cases, known, True, sandbox, limits, workers)
        asked = [number for number in open_cases if (calls := noted[number][1]) and _new_calls(calls, known[number])]
        inputs = [json.dumps({**about, "calls": noted[number][1]}) for number in asked]
        for number, execution in zip(asked, _run(sandbox, PROGRAM, inputs, limits, workers), strict=True):
            results = _results(execution, len(noted[number][1]))
            if results is None:
                outcomes[number] = BROKEN, execution
            else:
                known[number] = [[call, result] for call, result in zip(noted[number][1], results, strict=True)]
        open_cases = [number for number in open_cases if outcomes[number] is None]
        told = _run_tests(suite, open_cases, known, False, sandbox, limits, workers)
        for number in open_cases:
            status, calls = told[number]
            if status != "new" or (number not in asked and not _new_calls(calls, known[number])):
                outcomes[number] = (FAILED if status == "new" else status), None
        open_cases = [number for number in open_cases if outcomes[number] is None]
        if not open_cases:
            break
    return [(BROKEN, None) if outcome is None else outcome for outcome in outcomes]


def _run_tests(
    suite: Suite,
    numbers: Sequence[int],
    known: Sequence[list[Any]],
    noting: bool,
    sandbox: Sandbox,
    limits: Limits | None,
    workers: int | None,
) -> dict[int, tuple[str, list[Any]]]:
    """Run the assertions of some cases without the program; return status and calls of each."""
    inputs = [
        json.dumps(
            {
                "setup": suite.setup,
                "test": suite.cases[number].input,
                "names": [suite.function, *suite.others],
                "known": known[number],
                "noting": noting,
            }
        )
        for number in numbers
    ]
    told = {}
    for number, execution in zip(numbers, _run(sandbox, ASSERTIONS, inputs, limits, workers), strict=True):
        try:
            record = json.loads(execution.stdout) if execution.ok else {}
            told[number] = record["status"], record["calls"]
        except (ValueError, RecursionError, KeyError, TypeError):
            told[number] = BROKEN, []
    return told


def _run(
    sandbox: Sandbox, code: str, inputs: Sequence[str], limits: Limits | None, workers: int | None
) -> list[Execution]:
    if not inputs:
        return []
    executions = sandbox.run_many(code, inputs, limits=limits, parallel=workers)
    return [execution for execution in executions if execution is not None]


def _new_calls(calls: Sequence[Any], known: Sequence[Any]) -> bool:
    return list(calls) != [call for call, _ in known]


def _results(execution: Execution, count: int) -> list[Any] | None:
    """Return what the function returned for each call; None if the program failed or wrote something else."""
    try:
        results = json.loads(execution.stdout) if execution.ok and not execution.truncated else None
    except (ValueError, RecursionError):
        return None
    return results if isinstance(results, list) and len(results) == count else None
