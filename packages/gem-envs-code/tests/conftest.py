"""How the tests of every field of problems look at one problem."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gem_envs_code.compare import same_text, same_value
from gem_envs_code.judge import SANDBOX, JudgeResult, judge
from gem_envs_code.problems import CodeProblem, all_problems, suite_of
from gem_tools.sandbox import Sandbox

DRAWN = 200
"""Tests of each problem whose outputs are computed a second time; more than 10,000 for all problems."""
SMALL = 1500
"""Characters of an input that any second way of computing can take."""


def problem_named(identity: str) -> CodeProblem:
    """Return a problem by its id."""
    return next(problem for problem in all_problems() if problem.id == identity)


@pytest.fixture(autouse=True, scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One sandbox for all tests, which would otherwise start it anew for every environment that they make."""
    with SANDBOX.handle() as sandbox:
        yield sandbox


@pytest.fixture
def confirm() -> Callable[[str, Callable[..., Any]], None]:
    """Compare a problem's expected outputs with those of an independent way to compute them."""

    def confirmed(identity: str, again: Callable[..., Any], largest: float = math.inf) -> None:
        problem = problem_named(identity)
        suite = suite_of(problem)
        confirmed = 0
        for given, case in zip([*problem.examples, *problem.inputs()], suite.cases, strict=True):
            if len(case.input) <= largest:
                _agree(problem, given, case.output, again)
                confirmed += 1
        seed = 0
        while confirmed < DRAWN:
            seed += 1
            for given in problem.inputs(seed):
                if len(json.dumps(given)) <= SMALL:
                    _agree(problem, given, problem.case(given).output, again)
                    confirmed += 1

    return confirmed


def _agree(problem: CodeProblem, given: Any, expected: str, again: Callable[..., Any]) -> None:
    if problem.is_program:
        second = again(given)
        if problem.check is not None:
            assert problem.check(given, expected, expected)
        assert same_text(str(second), expected), (problem.id, given[:500], expected[:500], str(second)[:500])
        return
    second = json.dumps(again(*json.loads(json.dumps(given))))
    if problem.check is not None:
        # The second opinion says only whether there is an answer at all.
        assert bool(json.loads(expected)) == bool(json.loads(second)), (problem.id, given)
        assert problem.check(json.loads(json.dumps(given)), json.loads(expected), json.loads(expected))
        return
    assert same_value(second, expected, unwrap=False), (problem.id, str(given)[:500], expected[:500], second[:500])


@pytest.fixture
def verdict_on(sandbox: Sandbox) -> Callable[[str, str], JudgeResult]:
    """Judge a program on the hidden tests of a problem as the environment does."""
    from gem_tools.sandbox import Limits

    limits = Limits(seconds=20.0, cpu_seconds=2.0, memory=512 << 20, output=4 << 20)
    return lambda identity, code: judge(code, suite_of(problem_named(identity)), sandbox=sandbox, limits=limits)


@pytest.fixture
def changed() -> Callable[[str, str, str], str]:
    """Return the reference solution of a problem with a mistake put into it."""

    def with_mistake(identity: str, right: str, wrong: str) -> str:
        source = problem_named(identity).solution()
        assert right in source, (identity, right)
        return source.replace(right, wrong)

    return with_mistake
