"""Changes that make a function slower and leave its results: :func:`slowdowns`, as edits of its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gem_envs_swe.making.python_source import Definition, Edit, PythonSource

__all__ = ["Slowdown", "slowdowns"]

_MEMOS = {"cache": "", "lru_cache": "", "cached_property": "property"}
"""Decorator of :mod:`functools` → what takes its place; empty for none."""
_UNMOVABLE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.GeneratorExp, ast.Lambda)
_BIND_TIGHTER = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Starred)
"""What has ``not`` among its operands with parentheses only."""
_WORK = (ast.Call, ast.ListComp, ast.SetComp, ast.DictComp)
_BOUND = (*_WORK, ast.Attribute, ast.Subscript)
"""Work that needs no parentheses where a name stood."""


class Slowdown(NamedTuple):
    """A slower form of one function."""

    what: str
    """``lookup``, ``memo`` or ``loop``."""
    edits: tuple[Edit, ...]


def slowdowns(source: PythonSource, definition: Definition) -> Iterator[Slowdown]:
    """Return the slower forms that a function can have. Whether one keeps the results, and what it costs, runs say."""
    yield from _without_memo(source, definition)
    formatted = {
        id(child) for node in ast.walk(definition.node) if isinstance(node, ast.JoinedStr) for child in ast.walk(node)
    }
    operands = {
        id(child)
        for node in ast.walk(definition.node)
        if isinstance(node, _BIND_TIGHTER)
        for child in ast.iter_child_nodes(node)
    }
    for statement in definition.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Compare) and id(node) not in formatted:
                yield from _searched(source, node, is_operand=id(node) in operands)
    for node in ast.walk(definition.node):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield from _repeated(source, block, formatted)


def _without_memo(source: PythonSource, definition: Definition) -> Iterator[Slowdown]:
    for each in definition.node.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
        if name not in _MEMOS:
            continue
        start, end = source.span(each)
        if not (other := _MEMOS[name]):
            start, end = source.line_start(each.lineno), source.line_start((each.end_lineno or each.lineno) + 1)
        yield Slowdown("memo", (Edit(start, end, other),))


def _searched(source: PythonSource, node: ast.Compare, *, is_operand: bool) -> Iterator[Slowdown]:
    """Return a membership as a search through all elements, which for a set or a dictionary is slower."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.In | ast.NotIn):
        return
    wanted, among = node.left, node.comparators[0]
    if not isinstance(wanted, ast.Name) or not isinstance(among, ast.Name | ast.Attribute):
        return
    text = f"any(each == {wanted.id} for each in {source.of(among)})"
    start, end = source.span(node)
    if isinstance(node.ops[0], ast.NotIn):
        is_enclosed = source.text[start - 1 : start] + source.text[end : end + 1] == "()"
        text = f"(not {text})" if is_operand and not is_enclosed else f"not {text}"
    if "each" not in (wanted.id, *(part.id for part in ast.walk(among) if isinstance(part, ast.Name))):
        yield Slowdown("lookup", (Edit(start, end, text),))


def _repeated(source: PythonSource, block: list[ast.stmt], formatted: set[int]) -> Iterator[Slowdown]:
    """Return work before a loop that is done in each of its rounds instead."""
    for number, statement in enumerate(block):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        inside = list(ast.walk(value))
        if not isinstance(target, ast.Name) or not any(isinstance(each, _WORK) for each in inside):
            continue
        if any(isinstance(each, _UNMOVABLE) for each in inside):
            continue
        fixed = {target.id, *(each.id for each in inside if isinstance(each, ast.Name))}
        for later in block[number + 1 :]:
            if fixed & _stored(later):
                break
            if isinstance(later, ast.For | ast.While):
                uses = [
                    each for part in later.body for each in ast.walk(part)
                    if isinstance(each, ast.Name) and each.id == target.id
                ]  # fmt: skip
                if uses and not any(id(each) in formatted for each in uses):
                    text = source.of(value) if isinstance(value, _BOUND) else f"({source.of(value)})"
                    yield Slowdown("loop", tuple(Edit(*source.span(each), text) for each in uses))


def _stored(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
