"""Candidates in which a function was copied for some of its callers, to be merged again under its tests."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.python_source import Definition, Edit, PythonSource, is_other_program
from gem_envs_swe.making.single_changes import tested_functions
from gem_envs_swe.making.structure_tests import structure_test

__all__ = ["copied_functions"]

_COPIES = ("{}_for_{}", "_{}_in_{}", "{}_of_{}")


def copied_functions(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return functions with copies: one (level 1), several (2), with other names of their variables (3)."""
    functions = list(tested_functions(baseline))
    generator.shuffle(functions)
    for source, definition in functions:
        if "." in definition.name or definition.node.decorator_list or definition.node not in source.tree.body:
            continue
        callers = [
            (caller, calls)
            for other, caller in functions
            if other is source and caller is not definition and (calls := _calls(caller, definition.name))
        ]
        if callers:
            made = _copied(baseline, source, definition, callers, generator)
            if made is not None:
                yield made


def _calls(caller: Definition, name: str) -> list[ast.Name]:
    """Return the names of a function where another one calls it."""
    return [
        node.func for node in ast.walk(caller.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]  # fmt: skip


def _copied(
    baseline: Baseline, source: PythonSource, definition: Definition, callers: list[tuple[Definition, list[ast.Name]]],
    generator: random.Random,
) -> Candidate | None:  # fmt: skip
    level = generator.choice((1, 2, 3))
    renamed = level == 3 and _can_rename(definition)
    level = 3 if renamed else min(level, 2)
    chosen = callers[: 1 if level == 1 else 3]
    form = generator.choice(_COPIES)
    edits, copies = [], []
    start, end = source.line_start(definition.first_line), source.line_start((definition.node.end_lineno or 0) + 1)
    for number, (caller, calls) in enumerate(chosen):
        copy = form.format(definition.name.strip("_"), caller.name.replace(".", "_").strip("_"))
        text = _copy(source, definition, copy, renamed=renamed, suffix=("value", "item", "part")[number])
        if any(copy in each for each in baseline.tree.files.values()):
            return None
        copies.append(copy)
        edits += [Edit(*source.span(call), copy) for call in calls]
        edits.append(Edit(end, end, f"\n\n{text.rstrip()}\n"))
    merged = [edit for edit in edits if edit.start != edit.end]
    merged.append(Edit(end, end, "".join(edit.text for edit in edits if edit.start == edit.end)))
    text = source.edited(merged)
    if not is_other_program(source, text) or start == end:
        return None
    hidden, test = structure_test(baseline, baseline.package_files, copies)
    listed = ", ".join(f"`{copy}`" for copy in copies)
    several = len(copies) > 1
    said = (
        f"# Merge {listed} into `{definition.name}`\n\n"
        f"`{source.path}` has `{definition.name}` and {'copies' if several else 'a copy'} of it: {listed}. "
        f"{'They do' if several else 'It does'} the same{', with other names of variables' if renamed else ''}.\n\n"
        f"Remove {'them' if several else 'it'}, and let all callers use `{definition.name}`. No name of a copy "
        "must be left in the package, also not as an alias. The behaviour must not change: all tests pass now, and "
        "must pass afterwards.\n"
    )
    lines = {line for caller, _ in chosen for line in caller.lines} | definition.lines
    return Candidate(
        kind="refactor", level=level, what="copied function", write={source.path: text},
        lines={source.path: frozenset(lines)}, functions=(f"{source.path}:{definition.name}",),
        asked={"statement": said}, hidden=hidden, hidden_tests=(test,),
    )  # fmt: skip


def _can_rename(definition: Definition) -> bool:
    """Return whether the variables of a function are all names in its text: no formatted string reads them."""
    inner = (ast.JoinedStr, ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not any(isinstance(each, inner) for statement in definition.node.body for each in ast.walk(statement))


def _copy(source: PythonSource, definition: Definition, name: str, *, renamed: bool, suffix: str) -> str:
    """Return the text of a function under another name, perhaps with other names of its variables."""
    start, end = source.span(definition.node)
    node = definition.node
    edits = []
    head = source.text.index(node.name, start)
    edits.append(Edit(head, head + len(node.name), name))
    if renamed:
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        written = {each.id for each in names if isinstance(each.ctx, ast.Store)} - arguments
        edits += [Edit(*source.span(each), f"{each.id}_{suffix}") for each in names if each.id in written]
    text = source.edited(edits)
    return text[start : len(text) - (len(source.text) - end)]
