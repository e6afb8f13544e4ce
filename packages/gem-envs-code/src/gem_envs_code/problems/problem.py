"""The parts of a bundled problem.

A problem is written as one Python function, the reference solution, under a decorator that holds the rest::

    @program("easy", "Print the sum of the whole numbers on the line.", ["1 2 3"], tests=_lines_of_numbers)
    def sum_of_line(text: str) -> str:
        return str(sum(map(int, text.split())))

The reference solution imports what it needs inside, so that its source alone is a solution.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from gem_envs_code.suite import Case, Suite

__all__ = ["CodeProblem", "Tests", "function", "program", "suite_of"]

Tests = Callable[[random.Random], Iterator[Any]]
"""Yields the inputs of hidden tests: the text of standard input, or a tuple of arguments."""

_VERSION = "code:Mini-v0"
"""Part of the seed of every problem's tests: another version of the environment may draw others."""


@dataclass(frozen=True, eq=False)
class CodeProblem:
    """One problem. Its reference solution is ``solve``, a function of the text of standard input or of arguments."""

    id: str
    """In kebab case, unique among all problems."""
    difficulty: str
    statement: str
    examples: tuple[Any, ...]
    tests: Tests
    solve: Callable[..., Any]
    is_program: bool
    check: Callable[..., bool] | None
    split: str
    structure: str
    """The name that the problems of one structure have in common."""
    second: Callable[..., Any] | None = None
    """A solution that finds the same outputs in another way."""
    edits: tuple[tuple[str, str], ...] = ()
    """Mistakes: old and new text of the reference solution."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.solve.__name__

    def text(self) -> str:
        """Return the statement with its examples, as the agent sees it."""
        if self.is_program:
            parts = [f"Input:\n{given.strip()}\nOutput:\n{self.solve(given).strip()}" for given in self.examples]
        else:
            parts = [
                f"{self.name}({', '.join(map(repr, given))}) returns {self.solve(*_copy(given))!r}"
                for given in self.examples
            ]
        signature = "" if self.is_program else f"\n\nThe function is `{self.name}{_parameters(self.solve)}`."
        word = "Example" if len(parts) == 1 else "Examples"
        return f"{self.statement}{signature}\n\n{word}:\n" + "\n".join(parts)

    def solution(self) -> str:
        """Return the source of the reference solution, as an agent would write it."""
        source = _source(self.solve)
        return f"{source}\nimport sys\nprint({self.name}(sys.stdin.read()))\n" if self.is_program else source

    def wrong_solutions(self) -> dict[str, str]:
        """Return programs with one mistake each, by a text that names the mistake."""
        source = self.solution()
        return {f"{old} -> {new}": source.replace(old, new) for old, new in self.edits if old in source}

    def inputs(self, seed: int = 0) -> list[Any]:
        """Return inputs of tests; those of the hidden ones for seed 0. No two are the same, nor an example.

        The hidden ones include the inputs of ``boundary_inputs.json``, on which a wrong program differs that passes all
        that are drawn.
        """
        rng = random.Random(f"{_VERSION} {self.id} {seed}")
        seen = {json.dumps(given) for given in self.examples}
        drawn = []
        for given in chain(self.tests(rng), _boundary_inputs().get(self.id, ()) if seed == 0 else ()):
            key = json.dumps(given)
            if key not in seen:
                seen.add(key)
                drawn.append(given)
        return drawn

    def case(self, given: Any) -> Case:
        """Return the test with an input."""
        if self.is_program:
            return Case(given, self.solve(given))
        return Case(json.dumps(given), json.dumps(self.solve(*_copy(given))))

    def suite(self, inputs: Iterable[Any]) -> Suite:
        """Return the tests with these inputs."""
        checker = None if self.check is None else f"{_source(self.check)}\ncheck = {self.check.__name__}\n"
        return Suite(tuple(map(self.case, inputs)), None if self.is_program else self.name, checker)


@cache
def _boundary_inputs() -> dict[str, list[Any]]:
    """Return further inputs of hidden tests by the problem's id; arguments as tuples."""
    content = json.loads(Path(__file__).with_name("boundary_inputs.json").read_text("utf-8"))
    return {
        name: [tuple(given) if isinstance(given, list) else given for given in inputs]
        for name, inputs in content.items()
    }


@lru_cache(maxsize=1024)
def suite_of(problem: CodeProblem) -> Suite:
    """Return a problem's examples and hidden tests, made once a process."""
    return problem.suite([*problem.examples, *problem.inputs()])


def program(
    difficulty: str,
    statement: str,
    examples: Sequence[str],
    *,
    tests: Tests,
    check: Callable[[str, str, str], bool] | None = None,
    split: str = "train",
) -> Callable[[Callable[[str], str]], CodeProblem]:
    """Make a problem of a function from standard input to standard output."""
    return lambda solve: _problem(difficulty, statement, examples, tests, solve, True, check, split)


def function(
    difficulty: str,
    statement: str,
    examples: Sequence[tuple[Any, ...]],
    *,
    tests: Tests,
    check: Callable[[list[Any], Any, Any], bool] | None = None,
    split: str = "train",
) -> Callable[[Callable[..., Any]], CodeProblem]:
    """Make a problem of a function that the agent's code must define. Arguments and results are JSON values."""
    return lambda solve: _problem(difficulty, statement, examples, tests, solve, False, check, split)


def _problem(
    difficulty: str,
    statement: str,
    examples: Sequence[Any],
    tests: Tests,
    solve: Callable[..., Any],
    is_program: bool,
    check: Callable[..., bool] | None,
    split: str,
) -> CodeProblem:
    """Return a problem with a structure of its own."""
    name = solve.__name__
    identity = name.replace("_", "-")
    return CodeProblem(identity, difficulty, statement, tuple(examples), tests, solve, is_program, check, split, name)


def _copy(arguments: tuple[Any, ...]) -> Any:
    """Return arguments as the tested code gets them: from JSON, and its own to change."""
    return json.loads(json.dumps(arguments))


def _source(target: Callable[..., Any]) -> str:
    source = getattr(target, "source", None) or inspect.getsource(target)
    return source if hasattr(target, "source") or source.startswith("def ") else source[source.index("\ndef ") + 1 :]


def _parameters(target: Callable[..., Any]) -> str:
    signature = inspect.signature(target)
    given = ", ".join(f"{name}: {parameter.annotation}" for name, parameter in signature.parameters.items())
    return f"({given}) -> {signature.return_annotation}"
