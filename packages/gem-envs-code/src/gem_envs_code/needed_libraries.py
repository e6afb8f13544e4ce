"""The installed libraries that the tests of a problem import, as those of EvalPlus import NumPy."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from gem_envs_code.suite import Suite

__all__ = ["needed_libraries"]

_STAND_INS = frozenset(("pytest", "solution"))
"""Modules that the tests find without a library; see :mod:`gem_envs_code.assertions`."""


def needed_libraries(suite: Suite) -> set[str]:
    """Return the top-level modules that assertions import beyond the standard library; empty for other tests.

    An import in a ``try`` is left out, as tests that make one go on without it.
    """
    if suite.setup is None:
        return set()
    sources = dict.fromkeys((suite.setup, *(case.input for case in suite.cases)))
    found = {name for source in sources if "import" in source for name in _imported(ast.parse(source))}
    return found - sys.stdlib_module_names - _STAND_INS


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the top-level names of the modules that a tree imports outside a ``try``."""
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield (node.module or "").partition(".")[0]
    elif not isinstance(node, ast.Try):
        for child in ast.iter_child_nodes(node):
            yield from _imported(child)
