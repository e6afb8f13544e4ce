"""The problems that share a structure: solved twice, with wrong solutions that fail, and different from each other.

Solutions are ours, so they run in the process of the test, in a thousandth of the sandbox's time. A sample goes through
the sandbox as the programs of agents do.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from gem_envs_code.judge import judge
from gem_envs_code.problems import MODULES, CodeProblem, all_problems, problems_of, suite_of
from gem_envs_code.problems.structure import SourceFunction
from gem_tools.sandbox import Limits, Sandbox

PROBLEMS = [problem for problem in all_problems() if problem.second is not None]
MINIMUM_PROBLEMS = 500
MINIMUM_STRUCTURES = 120
FAMILIES = [name for name in MODULES if name.startswith("families.")]


def output(solve: Callable[..., Any], problem: CodeProblem, given: Any) -> str:
    """What a solution returns, as JSON; the name of the exception that it raises."""
    try:
        return json.dumps(solve(given) if problem.is_program else solve(*json.loads(json.dumps(given))), sort_keys=True)
    except Exception as error:  # a wrong solution may fail in any way
        return type(error).__name__


def given_of(problem: CodeProblem) -> list[Any]:
    """The inputs of the examples and the hidden tests."""
    return [*problem.examples, *problem.inputs()]


@cache
def expected_of(problem: CodeProblem) -> list[str]:
    """The outputs of the reference solution, without those of the examples."""
    return [output(problem.solve, problem, given) for given in given_of(problem)]


def survives(solve: Callable[..., Any], problem: CodeProblem) -> bool:
    """Whether a solution passes every hidden test of a problem."""
    hidden = problem.inputs()
    expected = expected_of(problem)[len(problem.examples) :]
    return all(output(solve, problem, given) == right for given, right in zip(hidden, expected, strict=True))


def body_of(problem: CodeProblem, source: str) -> str:
    """The source of a program without its last lines, which read and print."""
    return source.rpartition("\nimport sys\n")[0] if problem.is_program else source


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_second_solution_finds_the_expected_outputs(family: str, pytestconfig: pytest.Config) -> None:
    """It agrees with the reference on every example and hidden test, and at night on the tests of other seeds."""
    seeds = range(1, 8) if pytestconfig.getoption("--tier") == "all" else ()
    for problem in problems_of(family):
        assert problem.second is not None
        inputs = [*given_of(problem), *(given for seed in seeds for given in problem.inputs(seed))]
        for given in inputs:
            right = problem.solve(given) if problem.is_program else problem.solve(*json.loads(json.dumps(given)))
            assert output(problem.second, problem, given) == json.dumps(right, sort_keys=True), (problem.id, given)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_mistake_fails_a_hidden_test(family: str) -> None:
    """A solution with one mistake, and the solutions of the structure's other variants, which read another rule."""
    problems = list(problems_of(family))
    for problem in problems:
        mistakes: dict[str, Callable[..., Any]] = {
            text: SourceFunction(body_of(problem, source)) for text, source in problem.wrong_solutions().items()
        }
        for other in problems:
            if other.structure == problem.structure and other is not problem:
                mistakes[other.id] = other.solve
        assert len(mistakes) >= 3, problem.id
        for text, solve in mistakes.items():
            assert not survives(solve, problem), (problem.id, text)


def test_every_edit_is_a_mistake_of_some_problem() -> None:
    """Each old text occurs in the reference solution of a variant, so that no planned mistake is missing."""
    used = defaultdict(set)
    for problem in PROBLEMS:
        for old, new in problem.edits:
            used[problem.structure, old, new].add(old in problem.solution())
    assert {key for key, found in used.items() if True not in found} == set()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_answer_is_right_without_the_task(family: str) -> None:
    """A constant, the first argument, or the input itself does not pass."""
    for problem in problems_of(family):
        hidden = expected_of(problem)[len(problem.examples) :]
        assert max(Counter(hidden).values()) <= 0.96 * len(hidden), problem.id
        assert not survives(lambda *given: given[0], problem)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_examples_show_more_than_one_output(family: str) -> None:
    """Where a statement has two examples or more, their outputs are not all the same."""
    for problem in problems_of(family):
        shown = expected_of(problem)[: len(problem.examples)]
        assert len(set(shown)) > 1, problem.id
        assert not re.search(r"\$\w", problem.text() + problem.solution()), problem.id


def test_problems_differ_in_more_than_numbers() -> None:
    """Distinct are statements that differ when every number in them is replaced by the same sign.

    Statements of one structure share their frame and differ in the rule. That the rules differ in effect follows from
    :func:`test_every_mistake_fails_a_hidden_test`: no variant's solution solves another variant.
    """
    problems = all_problems()
    masked = {re.sub(r"\d+([.,]\d+)*|[⁰¹²³⁴-⁹]+", "#", problem.statement.lower()) for problem in problems}
    assert len(masked) == len(problems) >= MINIMUM_PROBLEMS


def test_structures_are_many_and_none_is_another_in_disguise() -> None:
    """Structures count as two if the shapes of their solutions differ: names, constants and operators aside."""
    shapes = defaultdict(set)
    for problem in all_problems():
        shapes[_shape(body_of(problem, problem.solution()))].add(problem.structure)
    structures = {problem.structure for problem in all_problems()}
    assert len(structures) >= MINIMUM_STRUCTURES
    # Structures that share the shape of one variant count as one.
    groups: list[set[str]] = []
    for names in shapes.values():
        joined = names.union(*(group for group in groups if group & names))
        groups = [group for group in groups if not group & names] + [joined]
    assert len(groups) >= MINIMUM_STRUCTURES


def _shape(source: str) -> str:
    """The tree of a program's syntax with its names, constants, operators and annotations left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name, value in list(ast.iter_fields(node)):
            if isinstance(value, (str, int, ast.operator, ast.cmpop, ast.unaryop)) or name in ("annotation", "returns"):
                setattr(node, name, None)
            elif name == "ops":
                setattr(node, name, [])
    return ast.dump(tree)


def test_no_structure_is_in_both_splits() -> None:
    """Variants of one structure are similar, so they stay on one side."""
    splits = defaultdict(set)
    for problem in all_problems():
        splits[problem.structure].add(problem.split)
    assert all(len(names) == 1 for names in splits.values())
    counts = Counter(problem.split for problem in all_problems())
    assert counts["test"] >= 0.15 * len(all_problems())


def _sampled() -> list[Any]:
    return [
        pytest.param(problem, id=problem.id, marks=() if place % 300 == 0 else pytest.mark.nightly)
        for place, problem in enumerate(PROBLEMS)
    ]


@pytest.mark.parametrize("problem", _sampled())
def test_the_sandbox_gives_the_same_verdicts(problem: CodeProblem, sandbox: Sandbox) -> None:
    """The judge accepts both solutions and refuses every wrong one."""
    limits = Limits(seconds=60.0, cpu_seconds=2.0, memory=512 << 20, output=4 << 20)

    def accepted(source: str) -> bool:
        return judge(source, suite_of(problem), sandbox=sandbox, limits=limits, workers=1).accepted

    ending = f"\nimport sys\nprint({problem.name}(sys.stdin.read()))\n" if problem.is_program else ""
    assert isinstance(problem.second, SourceFunction)
    assert accepted(problem.solution())
    assert accepted(problem.second.source + ending)
    for text, source in problem.wrong_solutions().items():
        assert not accepted(source), text
