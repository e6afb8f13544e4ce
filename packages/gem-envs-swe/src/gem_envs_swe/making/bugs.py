"""Defects as people make them: small changes of a function's syntax tree, as edits of its text."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gem_envs_swe.making.python_source import Definition, Edit, Node, PythonSource

__all__ = ["Defect", "defects", "swapped"]

_BOUNDARIES: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_NEGATIONS: dict[type[ast.cmpop], str] = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "/", ast.Div: "//", ast.Mod: "//",
    ast.BitOr: "&", ast.BitAnd: "|",
}  # fmt: skip
_OTHER_EXCEPTIONS = {
    "ValueError": "TypeError", "TypeError": "ValueError", "KeyError": "LookupError", "IndexError": "KeyError",
    "AttributeError": "KeyError", "StopIteration": "RuntimeError", "NotImplementedError": "ValueError",
    "RuntimeError": "ValueError", "OverflowError": "ValueError", "LookupError": "ValueError",
}  # fmt: skip
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_NEED_PARENTHESES = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Compare)
"""What ``not`` is written before with parentheses."""


@dataclass(frozen=True)
class Defect:
    """A defect of one function."""

    what: str
    edits: tuple[Edit, ...]
    line: int
    names: frozenset[str]
    """The variables that the changed expression reads, by which two places belong together."""
    whole: bool = False
    """Whether every call of the function may notice it, not only one that runs the line."""


def defects(source: PythonSource, definition: Definition) -> Iterator[Defect]:
    """Return the defects that a function can have, in the order of its text."""
    yield from _of_defaults(source, definition)
    beside = {id(each) for block in _blocks(definition) if len(block) > 1 for each in block}
    for statement in definition.body:
        for node in _in_order(statement):
            made = _of_node(source, node)
            if isinstance(node, ast.If):
                made = _of_branch(source, node, is_alone=id(node) not in beside)
            for what, edits in made:
                # A defect that leaves the meaning alone, such as a swap of equal texts, is none.
                if all(source.text[edit.start : edit.end] != edit.text for edit in edits):
                    yield Defect(what, tuple(edits), node.lineno, _names(node))
    for block in _blocks(definition):
        for first, second in pairwise(block):
            if (exchanged := _swapped_statements(source, first, second)) is not None:
                yield Defect("order", exchanged, first.lineno, _names(first))


def _in_order(statement: ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.expr | ast.stmt)]
    inside = {id(child) for node in nodes if isinstance(node, ast.JoinedStr) for child in ast.walk(node)}
    annotations = {id(child) for node in nodes for each in _annotations(node) for child in ast.walk(each)}
    yield from sorted(
        (node for node in nodes if id(node) not in inside | annotations),
        key=lambda node: (node.lineno, node.col_offset),
    )


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = node.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.annotation is not None:
                yield each.annotation
        if node.returns is not None:
            yield node.returns


def _of_node(source: PythonSource, node: ast.expr | ast.stmt) -> Iterator[tuple[str, list[Edit]]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _of_comparison(source, node)
    elif isinstance(node, ast.BoolOp):
        yield from _of_junction(source, node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        text = source.of(node.operand)
        needs = isinstance(node.operand, _NEED_PARENTHESES) and not isinstance(node.operand, ast.Compare)
        yield "condition", [Edit(*source.span(node), f"({text})" if needs else text)]
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node):
        yield "operator", [_between(source, node.left, node.right, _OPERATORS[type(node.op)])]
    elif isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 100:
        yield "constant", [Edit(*source.span(node), str(node.value + 1))]
        if node.value > 0:
            yield "constant", [Edit(*source.span(node), str(node.value - 1))]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", [Edit(*source.span(node), str(not node.value))]
    elif isinstance(node, ast.Call):
        yield from _of_call(source, node)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(named, ast.Name) and named.id in _OTHER_EXCEPTIONS:
            yield "exception", [Edit(*source.span(named), _OTHER_EXCEPTIONS[named.id])]
    elif isinstance(node, ast.Try):
        for handler in node.handlers:
            if isinstance(handler.type, ast.Name) and handler.type.id in _OTHER_EXCEPTIONS:
                yield "exception", [Edit(*source.span(handler.type), _OTHER_EXCEPTIONS[handler.type.id])]


def _of_comparison(source: PythonSource, node: ast.Compare) -> Iterator[tuple[str, list[Edit]]]:
    operator, right = type(node.ops[0]), node.comparators[0]
    if operator in _BOUNDARIES:
        yield "boundary", [_between(source, node.left, right, _BOUNDARIES[operator])]
    elif operator in _OPPOSITES:
        yield "condition", [_between(source, node.left, right, _OPPOSITES[operator])]


def _of_junction(source: PythonSource, node: ast.BoolOp) -> Iterator[tuple[str, list[Edit]]]:
    other = "or" if isinstance(node.op, ast.And) else "and"
    if len(node.values) == 2:
        yield "condition", [_between(source, node.values[0], node.values[1], other)]
    for each in node.values[1:]:
        # The condition without one of its parts: the text from the end of the part before it.
        before = node.values[node.values.index(each) - 1]
        yield "condition", [Edit(_outer(source, before)[1], _outer(source, each)[1], "")]


def _of_call(source: PythonSource, node: ast.Call) -> Iterator[tuple[str, list[Edit]]]:
    if len(node.args) >= 2 and not any(isinstance(each, ast.Starred) for each in node.args[:2]):
        first, second = node.args[:2]
        if not (isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass", "getattr", "hasattr")):
            yield "arguments", [*swapped(source, first, second)]
    for keyword in node.keywords:
        if (
            keyword.arg is not None
            and isinstance(keyword.value, ast.Constant)
            and isinstance(keyword.value.value, bool)
        ):
            yield "default", [Edit(*source.span(keyword.value), str(not keyword.value.value))]


def _of_branch(source: PythonSource, node: ast.If, *, is_alone: bool) -> Iterator[tuple[str, list[Edit]]]:
    """Return the negation of a condition, as people write it, and the loss of a guard that does not stand alone."""
    test = node.test
    if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):  # its own defect takes the not away
        operator = type(test.ops[0]) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
        if isinstance(test, ast.Compare) and operator in _NEGATIONS:
            yield "condition", [_between(source, test.left, test.comparators[0], _NEGATIONS[operator])]
        elif operator not in _OPPOSITES:  # whose own defect is the same
            text = source.of(test)
            negated = f"not ({text})" if isinstance(test, _NEED_PARENTHESES) else f"not {text}"
            yield "condition", [Edit(*source.span(test), negated)]
    start, end = source.line_start(node.lineno), source.line_start((node.end_lineno or node.lineno) + 1)
    first, last = source.text[start:end].lstrip(" \t"), source.text[source.span(node)[1] : end].strip()
    is_guard = not node.orelse and isinstance(node.body[-1], _LEAVES)
    if is_guard and not is_alone and first.startswith("if") and last[:1] in ("", "#"):  # no elif
        follows = source.text[end:].partition("\n")
        if source.text[:start].endswith(("\n\n", "\r\n\r\n")) and not follows[0].strip():
            end += len(follows[0]) + len(follows[1])
        yield "guard", [Edit(start, end, "")]


def _of_defaults(source: PythonSource, definition: Definition) -> Iterator[Defect]:
    arguments = definition.node.args
    for default in (*arguments.defaults, *arguments.kw_defaults):
        if not isinstance(default, ast.Constant):
            continue
        if isinstance(default.value, bool):
            text = str(not default.value)
        elif type(default.value) is int:
            text = str(default.value + 1)
        elif default.value == "" or default.value == " ":
            text = repr("-")
        else:
            continue
        yield Defect("default", (Edit(*source.span(default), text),), default.lineno, frozenset(), whole=True)


def _blocks(definition: Definition) -> Iterator[list[ast.stmt]]:
    for node in (definition.node, *(inner for each in definition.body for inner in ast.walk(each))):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield definition.body if node is definition.node else block


def _swapped_statements(source: PythonSource, first: ast.stmt, second: ast.stmt) -> tuple[Edit, ...] | None:
    """Return the edits that exchange two statements of which the second reads what the first writes, or None."""
    simple = (ast.Assign, ast.AugAssign, ast.Expr)
    if not isinstance(first, simple) or not isinstance(second, simple):
        return None
    if first.end_lineno == second.lineno or not _names(first) & _names(second):
        return None
    return swapped(source, first, second)


def swapped(source: PythonSource, first: Node, second: Node) -> tuple[Edit, Edit]:
    """Return the edits that exchange two parts of a text, with the parentheses around them."""
    one, other = _outer(source, first), _outer(source, second)
    return Edit(*one, source.text[slice(*other)]), Edit(*other, source.text[slice(*one)])


def _between(source: PythonSource, left: ast.expr, right: ast.expr, operator: str) -> Edit:
    """Return the edit of the operator between two operands, whose parentheses stay."""
    start, end = source.span(left)[1], source.span(right)[0]
    between = source.text[start:end]
    head = len(between) - len(between.lstrip(" \t\\\r\n)"))
    tail = len(between.rstrip(" \t\\\r\n("))
    if "#" in between:  # a comment between the operands; the whole text is replaced by itself, which is no defect
        return Edit(start, end, between)
    return Edit(start + head, start + tail, operator)


def _outer(source: PythonSource, node: Node) -> tuple[int, int]:
    """Return where a node begins and ends with the parentheses around it."""
    start, end = source.span(node)
    while True:
        before = source.text[:start].rstrip()
        rest = source.text[end:]
        skipped = len(rest) - len(rest.lstrip())
        if before.endswith("(") and rest.lstrip().startswith(")") and "\n" not in rest[:skipped]:
            start, end = len(before) - 1, end + skipped + 1
        else:
            return start, end


def _names(node: ast.AST) -> frozenset[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return frozenset(name for name in names if not hasattr(builtins, name))


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operand is text, with which another operator only raises TypeError."""
    sides = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in sides
    )
