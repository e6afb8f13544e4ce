"""The bundled problems: outputs computed a second time, and programs that the hidden tests must not pass.

The folder ``second_solutions`` has a module for each field of problems. ``SOLUTIONS`` computes expected outputs
independently, ``MISTAKES`` changes one place of a reference solution, ``TOO_SLOW`` has programs that need too long
on large inputs, and ``TOO_SIMPLE`` programs that guess.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gem_envs_code.compare import same_text, same_value
from gem_envs_code.judge import judge
from gem_envs_code.problems import CodeProblem, all_problems, suite_of
from gem_tools.sandbox import Limits, Sandbox

PROBLEMS = {problem.id: problem for problem in all_problems()}
LONGEST_INPUT = 1500
"""Characters of an input that every second solution can take."""


def _module(name: str) -> ModuleType:
    spec = spec_from_file_location(
        f"second_solutions_{name}", Path(__file__).parent / "second_solutions" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULES = {name: _module(name) for name in ("text", "numbers", "lists", "graphs", "geometry")}
SOLUTIONS = [solution for module in MODULES.values() for solution in module.SOLUTIONS]
# By day one mistake in each problem, and at night all of them.
MISTAKES = [
    pytest.param(
        *mistake, marks=() if mistake[0] not in {name for name, *_ in module.MISTAKES[:place]} else pytest.mark.nightly
    )
    for module in MODULES.values()
    for place, mistake in enumerate(module.MISTAKES)
]
TOO_SIMPLE = [program for module in MODULES.values() for program in module.TOO_SIMPLE.items()]
# One program by day: each runs until its CPU time is used up.
BY_DAY = {next(iter(MODULES["graphs"].TOO_SLOW))}
TOO_SLOW = [
    pytest.param(*program, id=program[0], marks=pytest.mark.slow if program[0] in BY_DAY else pytest.mark.nightly)
    for module in MODULES.values()
    for program in module.TOO_SLOW.items()
]


@pytest.fixture(scope="module")
def drawn(pytestconfig: pytest.Config) -> int:
    """Tests of each problem whose outputs are computed a second time: at night more than 10,000 for all problems."""
    return 200 if pytestconfig.getoption("--tier") == "all" else 25


def confirm(identity: str, solution: Callable[..., Any], drawn: int) -> None:
    """Compare a problem's expected outputs with those of a second solution.

    Args:
        identity: of the problem.
        solution: from an input, or a function's arguments, to the output.
        drawn: how many tests at least; those that the suite lacks are drawn with other seeds.
    """
    problem = PROBLEMS[identity]
    confirmed = 0
    for given, case in zip([*problem.examples, *problem.inputs()], suite_of(problem).cases, strict=True):
        _agree(problem, given, case.output, solution)
        confirmed += 1
    seed = 0
    while confirmed < drawn:
        seed += 1
        for given in problem.inputs(seed):
            if confirmed < drawn and len(json.dumps(given)) <= LONGEST_INPUT:
                _agree(problem, given, problem.case(given).output, solution)
                confirmed += 1


def _agree(problem: CodeProblem, given: Any, expected: str, solution: Callable[..., Any]) -> None:
    if problem.is_program:
        second = solution(given)
        if problem.check is not None:
            assert problem.check(given, expected, expected)
        assert same_text(str(second), expected), (problem.id, given[:500], expected[:500], str(second)[:500])
        return
    second = json.dumps(solution(*json.loads(json.dumps(given))))
    if problem.check is not None:
        # A second solution says only whether there is an answer at all.
        assert bool(json.loads(expected)) == bool(json.loads(second)), (problem.id, given)
        assert problem.check(json.loads(json.dumps(given)), json.loads(expected), json.loads(expected))
        return
    assert same_value(second, expected, unwrap=False), (problem.id, str(given)[:500], expected[:500], second[:500])


def passes(identity: str, code: str, sandbox: Sandbox) -> bool:
    """Whether a program passes the hidden tests of a problem with the environment's limits, one after the other."""
    limits = Limits(seconds=60.0, cpu_seconds=2.0, memory=512 << 20, output=4 << 20)
    return judge(code, suite_of(PROBLEMS[identity]), sandbox=sandbox, limits=limits, workers=1).accepted


@pytest.mark.sampled(12)
@pytest.mark.slow
@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.__name__)
def test_expected_outputs_are_right(solution: Callable[..., Any], drawn: int) -> None:
    """The reference and a second solution agree on hidden tests and on others that are drawn like them."""
    confirm(solution.__name__.replace("_", "-"), solution, drawn)


@pytest.mark.slow
def test_expected_lengths_of_ways_are_right(drawn: int) -> None:
    """The length stands on the first line of the output, and the checker confirms the rest."""
    problem, shortest_way = PROBLEMS["shortest-way"], MODULES["graphs"].shortest_way
    assert problem.check is not None
    inputs = [*problem.examples, *problem.inputs()]
    inputs += [given for seed in range(1, 1 + drawn // 10) for given in problem.inputs(seed)[:12]]
    for given in inputs:
        expected = problem.solve(given)
        assert expected.splitlines()[0] == shortest_way(given)
        assert problem.check(given, expected, expected)


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("identity", "right", "wrong"), MISTAKES)
def test_a_mistake_fails(identity: str, right: str, wrong: str, sandbox: Sandbox) -> None:
    """Off by one, an odd case forgotten, one condition too few: the hidden tests notice."""
    source = PROBLEMS[identity].solution()
    assert right in source
    assert not passes(identity, source.replace(right, wrong), sandbox)


@pytest.mark.parametrize(("identity", "source"), TOO_SIMPLE, ids=[identity for identity, _ in TOO_SIMPLE])
def test_a_program_that_guesses_fails(identity: str, source: str, sandbox: Sandbox) -> None:
    """A greedy choice, or an answer for the usual case alone, does not pass."""
    assert not passes(identity, source, sandbox)


@pytest.mark.parametrize(("identity", "source"), TOO_SLOW)
def test_a_slow_program_fails(identity: str, source: str, sandbox: Sandbox) -> None:
    """A program that takes too long on large inputs does not pass."""
    assert not passes(identity, source, sandbox)
