"""Candidates for which a function has a new interface, and its callers still use the old one: :func:`api_changes`."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import NamedTuple

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.bugs import swapped
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.python_source import Definition, Edit, PythonSource, is_other_program
from gem_envs_swe.making.single_changes import tested_functions
from gem_envs_swe.making.structure_tests import structure_test

__all__ = ["api_changes"]

_OLD_NAMES = ("do_{}", "{}_impl", "make_{}", "old_{}", "{}_with_defaults", "compute_{}")
_OLD_KEYWORDS = ("{}_value", "use_{}", "{}_option", "with_{}")


class _CallSite(NamedTuple):
    source: PythonSource
    caller: Definition
    node: ast.Call


def api_changes(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return functions that, or whose parameter, were renamed (levels 2, 1), or whose arguments changed places (3)."""
    functions = list(tested_functions(baseline))
    sites: dict[str, list[_CallSite]] = {}
    for source, caller in functions:
        for node in ast.walk(caller.node):
            if isinstance(node, ast.Call) and (name := _name(node)) is not None:
                sites.setdefault(name, []).append(_CallSite(source, caller, node))
    names = [definition.name.rpartition(".")[2] for _, definition in functions]
    own = [each for each in functions if names.count(each[1].name.rpartition(".")[2]) == 1]
    generator.shuffle(own)
    for source, definition in own:
        short = definition.name.rpartition(".")[2]
        calls = [site for site in sites.get(short, ()) if site.caller is not definition]
        if not calls or short.startswith("__"):
            continue
        ways = [_renamed, _swapped, _other_keyword]
        generator.shuffle(ways)
        for way in ways:
            made = way(baseline, source, definition, calls, generator)
            if made is not None:
                yield made
                break


def _name(node: ast.Call) -> str | None:
    """Return the name by which a call names its function, where the name alone is replaced by an edit."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.attr
    return None


def _renamed(
    baseline: Baseline, source: PythonSource, definition: Definition, calls: list[_CallSite], generator: random.Random
) -> Candidate | None:
    short = definition.name.rpartition(".")[2]
    old = generator.choice(_OLD_NAMES).format(short.lstrip("_"))
    if any(old in text for text in baseline.tree.files.values()):
        return None
    edits: dict[PythonSource, list[Edit]] = {}
    for site in calls:
        end = site.source.span(site.node.func)[1]
        edits.setdefault(site.source, []).append(Edit(end - len(short), end, old))
    hidden, test = structure_test(baseline, {source.path, *(each.path for each in edits)}, {old})
    said = (
        f"# Callers of `{old}` must move to `{short}`\n\n"
        f"`{old}` is now called `{short}`; it is defined in `{source.path}`, and takes the same arguments. "
        f"Its callers in this package still use the old name, which no longer exists, and fail.\n\n"
        f"Move every caller to `{short}`. The name `{old}` must not come back, also not as an alias. "
        "All tests of the package must pass; they are not to be changed.\n"
    )
    return _made(2, "renamed function", source, definition, edits, calls, said, hidden, (test,))


def _swapped(
    baseline: Baseline, source: PythonSource, definition: Definition, calls: list[_CallSite], generator: random.Random
) -> Candidate | None:
    arguments = [each.arg for each in (*definition.node.args.posonlyargs, *definition.node.args.args)]
    if "." in definition.name:
        arguments = arguments[1:]
    if len(arguments) < 2:
        return None
    edits: dict[PythonSource, list[Edit]] = {}
    moved = []
    for site in calls:
        given = site.node.args
        if len(given) < 2 or any(isinstance(each, ast.Starred) for each in given[:2]):
            continue
        first, second = given[:2]
        edits.setdefault(site.source, []).extend(swapped(site.source, first, second))
        moved.append(site)
    short = definition.name.rpartition(".")[2]
    said = (
        f"# `{short}` takes its first two arguments in a new order\n\n"
        f"`{short}` in `{source.path}` now takes `{arguments[0]}` first and `{arguments[1]}` second; it was the "
        "other way round before. Its callers in this package have not been moved, and pass them in the old order.\n\n"
        f"Move every caller of `{short}` to the new order. Its definition is right as it is. All tests of the package "
        "must pass; they are not to be changed.\n"
    )
    return _made(3, "order of arguments", source, definition, edits, moved, said) if edits else None


def _other_keyword(
    baseline: Baseline, source: PythonSource, definition: Definition, calls: list[_CallSite], generator: random.Random
) -> Candidate | None:
    if definition.node.args.kwarg is not None:
        return None
    parameters = {each.arg for each in (*definition.node.args.args, *definition.node.args.kwonlyargs)}
    given = {keyword.arg for site in calls for keyword in site.node.keywords}
    used = sorted(parameters & given)
    if not used:
        return None
    new = generator.choice(used)
    old = generator.choice(_OLD_KEYWORDS).format(new)
    if any(old in text for text in baseline.tree.files.values()):
        return None
    edits: dict[PythonSource, list[Edit]] = {}
    moved = []
    for site in calls:
        for keyword in site.node.keywords:
            if keyword.arg == new:
                start = site.source.span(keyword)[0]
                edits.setdefault(site.source, []).append(Edit(start, start + len(new), old))
                moved.append(site)
    short = definition.name.rpartition(".")[2]
    hidden, test = structure_test(baseline, {source.path, *(each.path for each in edits)}, {old})
    said = (
        f"# The parameter `{old}` of `{short}` is now called `{new}`\n\n"
        f"`{short}` in `{source.path}` no longer has a parameter `{old}`; it is called `{new}`, and means the "
        "same. Its callers in this package still pass the old name.\n\n"
        f"Move every caller. `{short}` must not take `{old}` again. All tests of the package must pass; they are "
        "not to be changed.\n"
    )
    return _made(1, "renamed parameter", source, definition, edits, moved, said, hidden, (test,))


def _made(
    level: int, what: str, source: PythonSource, definition: Definition, edits: dict[PythonSource, list[Edit]],
    calls: list[_CallSite], statement: str, hidden: dict[str, str] | None = None, hidden_tests: tuple[str, ...] = (),
) -> Candidate | None:  # fmt: skip
    write = {each.path: each.edited(changes) for each, changes in edits.items()}
    if not all(is_other_program(each, write[each.path]) for each in edits):
        return None
    lines: dict[str, frozenset[int]] = {}
    for site in calls:
        span = range(site.node.lineno, (site.node.end_lineno or site.node.lineno) + 1)
        lines[site.source.path] = lines.get(site.source.path, frozenset()) | set(span)
    return Candidate(
        kind="api-change", level=level, what=what, write=write, lines=lines,
        functions=(f"{source.path}:{definition.name}",), asked={"statement": statement}, hidden=hidden or {},
        hidden_tests=hidden_tests,
    )  # fmt: skip
