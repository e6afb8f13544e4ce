"""The statement of a task, written from what its failing tests show: :func:`statement_of`.

It is never written from the diff. What it quotes are lines of the tests and messages of their failures;
:func:`gives_away` finds the ones that hold a line of the solution all the same.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.hidden_tests import test_functions
from gem_envs_swe.making.proving import TaskProof
from gem_envs_swe.making.python_source import Definition, PythonSource
from gem_envs_swe.making.suites import FailedTest
from gem_envs_swe.task_set import REPOSITORY
from gem_terminal.plain_text import plain_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["gives_away", "statement_of"]

_MOST_LINES = 40
"""Lines of a test that are quoted."""
_MOST_PARAMETERS = 8
"""Parameters of a test that are listed."""
_MOST_LETTERS = 200
"""Characters of one of them."""
_MOST_MESSAGE = 900
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_HINT = re.compile(r"\n *(?:Use -v to get .*|\.\.\.Full output truncated.*)|, use -vv to show")
"""What pytest says of its own options."""
_SHORT = 12
"""A line of a solution with fewer characters, such as ``return None``, gives nothing away."""


@dataclass(frozen=True)
class _Example:
    """A failing test as it is shown."""

    test: str
    code: str
    failure: FailedTest
    called: tuple[str, ...]
    """Functions that the test calls, those of the failing line first."""


def statement_of(proof: TaskProof, baseline: Baseline, seed: int) -> str:
    """Return the statement of a proved change.

    Args:
        proof: the failing tests and their failures.
        baseline: the package.
        seed: chooses wording and form.
    """
    generator = random.Random(seed)
    candidate = proof.candidate
    if "statement" in candidate.asked:
        return candidate.asked["statement"]
    most = 6 if candidate.kind == "feature" else 3 if candidate.level == 1 else 2
    name = candidate.functions[0].rpartition(".")[2].rpartition(":")[2] if candidate.kind == "feature" else ""
    shown = _chosen(_examples(proof, baseline), proof.groups, most, name, generator)
    first = shown[0]
    function, place = _function(candidate.functions, first, candidate.kind, baseline)
    is_called = function is not None
    function = function or first.test.rpartition("::")[2].partition("[")[0]
    words = {
        "function": function, "place": place, "exception": first.failure.type, "count": str(len(proof.failing)),
    }  # fmt: skip
    wrong = "differs" if first.failure.type in ("AssertionError", "Failed") else "raises"
    title = {"feature": "missing", "regression": "several"}.get(candidate.kind, wrong if is_called else "check")
    parts = [f"# {_say('titles', title, generator, words)}", _say("openings", candidate.kind, generator, words)]
    parts += [text for key in ("signature", "documentation") if (text := candidate.asked.get(key))]
    if candidate.kind == "bug" and candidate.level == 1 and (found := _deepest(first, baseline)) is not None:
        parts.append(_say("texts", "hints", generator, {"function": found[0], "place": found[1]}))
    for example in shown:
        parts += [_say("texts", "examples", generator, words), _fenced(example.code, "python")]
        if candidate.kind != "feature":
            parts += [_say("texts", "results", generator, words), _fenced(_message(example.failure), "")]
    is_sample = len(proof.failing) > len(shown)
    if is_sample and candidate.kind != "feature":
        parts.append(_say("texts", "more", generator, words))
    closing = "mend" if candidate.kind != "feature" else "sampled" if is_sample else "shown"
    parts.append(_say("closings", closing, generator, words))
    return plain_text("\n\n".join(parts)) + "\n"


def _chosen(
    examples: list[_Example], groups: Iterable[frozenset[str]], most: int, name: str, generator: random.Random
) -> list[_Example]:
    """Return the examples that are shown: one of each group at least, then others.

    Tests that call a function of a name, where one is given, come first, and among them short ones.
    """
    generator.shuffle(examples)
    examples.sort(key=lambda each: (name not in ("", *each.called), each.code.count("\n") > _MOST_LINES // 2))
    chosen: list[_Example] = []
    for group in groups:
        if not any(each.test in group for each in chosen):
            chosen += [each for each in examples if each.test in group][:1]
    return chosen + [each for each in examples if each not in chosen][: max(0, most - len(chosen))]


def _deepest(example: _Example, baseline: Baseline) -> tuple[str, str] | None:
    """Return the function of the package, and its file, in which the traceback ends; None if it ends in the test."""
    if not example.failure.frames:
        return None
    path, line = example.failure.frames[-1]
    source = baseline.tree.source(_relative(path))
    definition = None if source is None or source.path in baseline.test_files else source.definition_at(line)
    return None if source is None or definition is None else (definition.name, source.path)


def gives_away(statement: str, proof: TaskProof, baseline: Baseline) -> bool:
    """Return whether a statement holds a line of the solution that the agent's tree has not."""
    added = {
        line[1:].strip() for line in proof.patch.splitlines() if line.startswith("+") and not line.startswith("+++")
    }
    seen = "\n".join(
        (*proof.visible.values(), *(text for path, text in baseline.tree.files.items() if path not in proof.visible))
    )
    lines = {line.strip() for line in statement.splitlines()}
    return any(line in lines for line in added if len(line) >= _SHORT and line not in seen)


def _examples(proof: TaskProof, baseline: Baseline) -> list[_Example]:
    """Return the failing tests, one for each function and change."""
    own = set(proof.failing).difference(proof.candidate.hidden_tests)
    functions = test_functions(baseline, sorted(own)) or {}
    found: dict[tuple[str, str, tuple[bool, ...]], list[str]] = {}
    for test, (source, definition) in functions.items():
        key = source.path, definition.name, tuple(test in group for group in proof.groups)
        found.setdefault(key, []).append(test)
    whole = proof.candidate.kind == "feature"
    return [
        _example(tests, *functions[tests[0]], proof.run.failures.get(tests[0], FailedTest()), whole=whole)
        for tests in found.values()
    ]


def _example(
    tests: list[str], source: PythonSource, definition: Definition, failure: FailedTest, *, whole: bool
) -> _Example:
    """Return a test as it is shown: to the line of its failure, or whole, where what follows says what is expected.

    Args:
        tests: its name with the parameters of ``failure``, then with others with which it fails.
        source: its file.
        definition: its function.
        failure: why it fails.
        whole: whether it is shown whole.
    """
    end = definition.node.end_lineno or definition.node.lineno
    last = max(
        (line for path, line in failure.frames
         if _relative(path) == source.path and definition.node.lineno <= line <= end),
        default=end,
    )  # fmt: skip
    statement = _innermost(definition, last)
    if not whole:
        end = last if statement is None else statement.end_lineno or last
    head = source.text[source.line_start(definition.first_line) : source.line_start(end + 1)]
    lines = textwrap.dedent(head).rstrip().splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:5], "    ...", *lines[-(_MOST_LINES - 6) :]]
    code = "\n".join(lines)
    parameters = [f"[{each.partition('[')[2]}" for each in tests if "[" in each]
    if parameters:
        code += f"\n# with the parameters {_plain(parameters[0])}"
    code += "".join(f"\n# and with {_plain(each)}" for each in parameters[1:_MOST_PARAMETERS])
    if len(parameters) > _MOST_PARAMETERS:
        code += f"\n# and with {len(parameters) - _MOST_PARAMETERS} more"
    # The last call before the failure tells most; the decorators, with their parameters, call for other tests too.
    before = [each for each in definition.node.body if each.lineno <= end]
    nodes = [*before, *([] if statement is None else [statement])]
    return _Example(
        tests[0], code, failure, tuple(dict.fromkeys(name for node in nodes[::-1] for name in _called(node)))
    )


def _plain(parameters: str) -> str:
    """Return parameters as a comment shows them."""
    return parameters if len(parameters) <= _MOST_LETTERS else f"{parameters[:_MOST_LETTERS]}..."


def _innermost(definition: Definition, line: int) -> ast.stmt | None:
    """Return the smallest statement of a function that has a line."""
    found = [
        node for node in ast.walk(definition.node)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0) and node is not definition.node
    ]  # fmt: skip
    return min(found, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def _called(node: ast.AST) -> Iterable[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if isinstance(each.func, ast.Name):
                yield each.func.id
            elif isinstance(each.func, ast.Attribute):
                yield each.func.attr


def _function(functions: tuple[str, ...], example: _Example, kind: str, baseline: Baseline) -> tuple[str | None, str]:
    """Return the function to name, and its file: one of the package that the test calls; None if it names none.

    The function that is changed is named where the test calls it, and where it is to be written.
    """
    path, _, name = functions[0].partition(":")
    if kind == "feature":
        return name, path
    called = [each for each in example.called if each in baseline.names and not each.startswith("__")]
    short = name.rpartition(".")[2]
    return (short if short in called else called[0] if called else None), path


def _message(failure: FailedTest) -> str:
    message = _HINT.sub("", failure.message)
    message = message if len(message) <= _MOST_MESSAGE else f"{message[:_MOST_MESSAGE]} ..."
    message = _ADDRESS.sub("0x...", message.replace(f"{REPOSITORY}/", ""))
    return f"{failure.type}: {message}" if message and failure.type != "Failed" else message or failure.type


def _relative(path: str) -> str:
    return path.removeprefix(f"{REPOSITORY}/")


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("statements.toml").read_text(encoding="utf-8"))


def _say(table: str, key: str, generator: random.Random, words: dict[str, str]) -> str:
    return str(generator.choice(_wording()[table][key])).format_map(words)
