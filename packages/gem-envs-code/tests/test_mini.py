"""The bundled problems as environments."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_code import MiniEnv
from gem_envs_code.problems import MODULES, CodeProblem, all_problems, problems_of, suite_of
from gem_envs_code.suite import Suite


def fenced(code: str) -> str:
    """An action with a program in it."""
    return f"I think this will do.\n\n```python\n{code}\n```\n"


ALL_SUITES = pytest.mark.xdist_group("all suites of code")
"""Tests that make the hidden tests of every problem, which one worker does once."""

# By day one problem in eighty: in test_structures.py every solution also runs without a sandbox.
SAMPLE = [
    pytest.param(problem, id=problem.id, marks=pytest.mark.nightly if place % 80 else pytest.mark.slow)
    for place, problem in enumerate(all_problems())
]


@cache
def places(split: str) -> dict[str, int]:
    """Return the index of each problem of a split."""
    rows = MiniEnv(split=split).rows
    return {rows[index]["id"]: index for index in range(len(rows))}


@pytest.mark.parametrize("problem", SAMPLE)
def test_the_reference_solution_passes_through_the_environment(problem: CodeProblem) -> None:
    """As the oracle plays it: in a fenced block, in the sandbox, against every example and hidden test."""
    env = MiniEnv(split=problem.split)
    env.reset(options={"index": places(problem.split)[problem.id]})
    _, reward, _, _, info = env.step(env.reference_answer(env.row))
    assert (reward, info["tests_passed"], info["failure"]) == (1.0, info["tests_total"], None)


def test_problems_are_many_and_different() -> None:
    """Of every kind, with ids, statements and tests of their own."""
    problems = all_problems()
    assert len({problem.id for problem in problems}) == len({problem.text() for problem in problems}) == len(problems)
    assert min(Counter((problem.difficulty, problem.split) for problem in problems).values()) >= 8
    assert {problem.is_program for problem in problems} == {True, False}
    assert sum(problem.check is not None for problem in problems) >= 5


@pytest.mark.sampled(8)
@ALL_SUITES
@pytest.mark.parametrize("module", MODULES)
def test_no_test_is_there_twice_and_no_expected_output_in_the_question(module: str) -> None:
    """Inputs differ from each other and from the examples; only the examples' outputs are shown."""
    for problem in problems_of(module):
        suite = suite_of(problem)
        assert len({case.input for case in suite.cases}) == len(suite.cases)
        assert len(suite.cases) >= 12 or problem.id in ("shorten-runs", "running-ledger", "word-families")
        text = problem.text()
        shown = {case.output.strip() for case in suite.cases[: len(problem.examples)]}
        for case in suite.cases[len(problem.examples) :]:
            assert case.output.strip() in shown or len(case.output.strip()) < 12 or case.output.strip() not in text, (
                problem.id
            )


def test_train_and_test_have_no_problem_in_common() -> None:
    """Nor do the difficulties."""
    seen: list[str] = []
    for split in ("train", "test"):
        for difficulty in ("easy", "medium", "hard"):
            rows = MiniEnv(difficulty, split).rows
            seen += [rows[index]["id"] for index in range(len(rows))]
    assert len(seen) == len(set(seen)) == len(all_problems())


@pytest.mark.slow
@ALL_SUITES
def test_questions_and_tests_of_a_version_stay_as_they_are() -> None:
    """They are the same in every process, and as they were when the version was new.

    A score counts only beside scores on the same tests. A change of them therefore needs a new version of the id.
    """
    suites = [suite_of(problem).cases for problem in all_problems()]
    assert len(set(suites)) == len(suites)
    known = repr([(problem.id, problem.text(), cases) for problem, cases in zip(all_problems(), suites, strict=True)])
    digest = "2965754914b511f9d9a87bf53b65bb838fa34be5ea7d8ff320098505a382b2dd"
    assert hashlib.sha256(known.encode()).hexdigest() == digest


@pytest.mark.nightly
def test_other_seeds_draw_other_tests() -> None:
    """So that a generator can be tested on more than what it will be used for."""
    for problem in all_problems():
        if problem.structure not in ("place_queens", "code_check", "count_rows", "take_game"):
            assert json.dumps(problem.inputs(1)) != json.dumps(problem.inputs(2))


def test_a_statement_says_what_the_agent_must_know() -> None:
    """The examples with their outputs, the function's name and parameters, and the format of the answer."""
    env = MiniEnv()
    for index in range(len(env.rows)):
        observation, _ = env.reset(options={"index": index})
        problem = env.problem(env.row)
        assert isinstance(observation, str)
        assert "```python" in observation
        assert ("standard input" in observation) == problem.is_program
        assert problem.is_program or f"`{problem.name}(" in observation
        assert re.search(r"Examples?:\n", observation)


def test_what_a_program_gets() -> None:
    """Nothing for a wrong one, less for no program, and the reason in info."""
    env = MiniEnv(seconds=0.5)
    index = places("train")["warming"]
    total = len(suite_of(next(p for p in all_problems() if p.id == "warming")).cases)
    for action, reward, failure in (
        (fenced("print(5)"), 0.0, "wrong answer"),
        (fenced("print(1 / 0)"), 0.0, "runtime error"),
        (fenced("while True: pass"), 0.0, "time limit"),
        (fenced("text = 'x' * (1 << 33)"), 0.0, "memory"),
        (fenced("this is no Python"), 0.0, "runtime error"),
        (fenced(""), 0.0, "wrong answer"),
        ("The answer is 5.", -0.1, None),
        ("```python\nprint(5)", -0.1, None),
    ):
        env.reset(options={"index": index})
        _, paid, terminated, truncated, info = env.step(action)
        assert (paid, terminated, truncated) == (reward, True, False)
        assert info["failure"] == failure
        assert info["tests_total"] == total
        assert 0 <= info["tests_passed"] < total
        assert info["action_status"] == ("malformed" if reward < 0 else "legal")


def test_only_the_longest_tests_are_run_if_asked() -> None:
    """max_tests chooses by length of input and keeps the order."""
    suite = suite_of(all_problems()[0])
    some = suite.longest(3)
    assert isinstance(some, Suite)
    assert len(some.cases) == 3
    lengths = sorted((len(case.input) for case in suite.cases), reverse=True)
    assert sorted((len(case.input) for case in some.cases), reverse=True) == lengths[:3]
    env = MiniEnv(max_tests=3)
    env.reset(seed=0)
    assert env.step(env.reference_answer(env.row))[4]["tests_total"] == 3


def test_wrong_arguments_are_refused() -> None:
    """A difficulty or split that there is not is an error that lists those there are."""
    with pytest.raises(ArgumentError, match="difficulty must be one of None, 'easy'"):
        MiniEnv("simple")
    with pytest.raises(ArgumentError, match="split must be one of 'train', 'test'"):
        MiniEnv(split="dev")
    with pytest.raises(ArgumentError, match="max_tests must be at least 1"):
        MiniEnv(max_tests=0)


def test_making_one_is_cheap() -> None:
    """No statement, test or sandbox is made before it is needed."""
    code = (
        "import sys, gem; env = gem.make('code:Mini-v0-easy')\n"
        "assert not {'gem_tools.sandbox', 'datasets', 'pyarrow', 'numpy'} & set(sys.modules)\n"
        "from gem_envs_code.problems.problem import suite_of; env.reset(seed=1)\n"
        "assert suite_of.cache_info().currsize == 0 and 'gem_tools.sandbox' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_several_environments_judge_side_by_side() -> None:
    """In threads, with one sandbox between them, each gets its own verdict."""
    with gem.make_vec("code:Mini-v0-easy", num_envs=8, mode="thread", seed=3) as envs:
        envs.reset()
        actions = [
            env.unwrapped.reference_answer(env.unwrapped.row) if index % 2 else fenced("print('no')")  # type: ignore[attr-defined]
            for index, env in enumerate(envs.envs)
        ]
        _, rewards, *_ = envs.step(actions)
    assert list(rewards) == [0.0, 1.0] * 4
