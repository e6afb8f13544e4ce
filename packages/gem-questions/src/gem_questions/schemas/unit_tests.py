"""Modules of tests for pytest or unittest, as KodCode and BigCodeBench have them, taken apart into cases.

A case runs apart from the program under test and sees of it what its functions return and raise; so a module that would
share anything else with the program is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.content import row_name

__all__ = ["cases_of", "parsed"]


def cases_of(row: Mapping[str, Any], source: str) -> list[str]:
    """Return one source for each test function and test method of a module of tests for pytest or unittest.

    Such tests run apart from the program and see of it what functions return and raise. A test that relies on anything
    else that both would share, such as files, patches, captured output or a fixture, would judge right programs wrong.

    Raises:
        DatasetError: if there are no tests, or some rely on more.
    """
    tree = parsed(row, source)
    shared = sorted(_shared_with_program(tree))
    if shared:
        raise DatasetError(
            f"{row_name(row)} has tests that share more with the program than its results: {', '.join(shared)}; they "
            "cannot be judged apart from it, so remove the row"
        )
    cases = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            cases.append(f"{source}\n\n{node.name}()")
        elif isinstance(node, ast.ClassDef):
            methods = [inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)]
            tests = [name for name in methods if name.startswith("test")]
            unittests = any(ast.unparse(base).endswith("TestCase") for base in node.bases)
            called = "run_unittest({0}, {1!r})" if unittests else "{0}().{1}()"
            cases += [f"{source}\n\n{called.format(node.name, name)}" for name in tests]
    if not cases:
        raise DatasetError(f"{row_name(row)} has no tests: its 'test' is {source!r:.60}; remove the row")
    return cases


def parsed(row: Mapping[str, Any], source: str) -> ast.Module:
    """Return the tree of a row's tests; DatasetError if they are no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DatasetError(f"{row_name(row)} has tests that are no Python: {error}; remove the row") from error


def _shared_with_program(tree: ast.Module) -> set[str]:
    """Return what a module of tests uses that both processes would have to share."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.partition(".")[0] not in _VALUE_MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."
            if module.partition(".")[0] not in _VALUE_MODULES or module == "unittest.mock":
                found.add(module)
            found.update(alias.name for alias in node.names if alias.name in ("mock", "patch", "Mock", "MagicMock"))
        elif isinstance(node, ast.Name) and node.id in _SHARING_NAMES:
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr in _SHARING_ATTRIBUTES:
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.update(_fixtures(node))
    return found


def _fixtures(test: ast.FunctionDef) -> set[str]:
    """Return the arguments of a test that no parametrization gives: fixtures, whose names say what they share."""
    given = {"self"}
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize") and decorator.args:
            with suppress(ValueError):
                names = ast.literal_eval(decorator.args[0])
                listed = names.split(",") if isinstance(names, str) else names
                given.update(str(name).strip() for name in listed)
        elif not (
            isinstance(decorator, (ast.Attribute, ast.Call)) and ast.unparse(decorator).startswith("pytest.mark.")
        ):
            return {ast.unparse(decorator)}
    return {argument.arg for argument in test.args.args} - given


_VALUE_MODULES = frozenset((
    "solution", "pytest", "unittest", "__future__", "typing", "math", "cmath", "re", "string", "json", "copy",
    "operator", "itertools", "functools", "collections", "dataclasses", "enum", "datetime", "calendar", "decimal",
    "fractions", "statistics", "numbers", "heapq", "bisect", "random", "textwrap", "base64", "hashlib", "binascii",
    "struct", "unicodedata", "contextlib", "types", "abc", "time",
))  # fmt: skip
"""Modules of tests that change nothing outside their own process; ``random`` unless it is seeded."""
_SHARING_NAMES = frozenset(("open", "input", "exec", "eval", "globals", "patch", "__import__"))
_SHARING_ATTRIBUTES = frozenset(("seed", "mock", "patch", "setattr", "stdout", "stdin", "stderr", "environ", "fixture"))
