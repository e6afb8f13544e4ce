"""Takes the tests of a task out of the tree that an agent sees: :func:`cut_tests`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.python_source import Definition, Edit, PythonSource

__all__ = ["cut_tests", "test_functions", "without"]


def test_functions(baseline: Baseline, tests: Iterable[str]) -> dict[str, tuple[PythonSource, Definition]] | None:
    """Return the function of each test; None if one has none in the tree, as a test of another form."""
    found = {}
    for test in tests:
        place = baseline.place(test)
        source = None if place is None else baseline.tree.source(place[0])
        definition = None if place is None or source is None else source.definition_at(place[1])
        if source is None or definition is None or source.path not in baseline.test_files:
            return None
        found[test] = source, definition
    return found


def cut_tests(baseline: Baseline, tests: Iterable[str]) -> dict[str, str] | None:
    """Return the test files, path → text, without the functions of some tests; None if one cannot be taken out."""
    functions = test_functions(baseline, tests)
    if functions is None:
        return None
    by_file: dict[str, tuple[PythonSource, dict[str, Definition]]] = {}
    for source, definition in functions.values():
        by_file.setdefault(source.path, (source, {}))[1][definition.name] = definition
    return {path: without(source, list(cut.values())) for path, (source, cut) in by_file.items()}


def without(source: PythonSource, cut: list[Definition]) -> str:
    """Return the text of a file without some functions; a block that has nothing left gets a ``pass``."""
    gone = {id(each.node) for each in cut}
    only = set()
    for node in ast.walk(source.tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and not isinstance(node, ast.Module):
                kept = [each for each in block if id(each) not in gone]
                if not kept:
                    only.add(id(block[0]))
    edits = []
    for each in cut:
        start, end = source.line_start(each.first_line), source.line_start((each.node.end_lineno or 0) + 1)
        indent = " " * each.node.col_offset
        edits.append(Edit(start, end, f"{indent}pass\n" if id(each.node) in only else ""))
    return source.edited(edits)
