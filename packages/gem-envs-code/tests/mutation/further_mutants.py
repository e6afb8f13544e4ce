"""Further mutants of a solution: bounds one off, exchanged arguments, other ties, and kinds of inputs ignored.

:mod:`mutants` changes single signs, constants and conditions. These are the mistakes that it does not make: of places
(slices, ranges and indices one off), of order (exchanged arguments, operands and keys, the last of equals for the
first), of statements (loops and returns that are gone, a loop that ends after its first round), of numbers below zero
and letters beyond ASCII, and of inputs of a kind that the programmer did not think of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutants import changed_programs, with_fields

__all__ = ["further_mutants"]

_KINDS = {
    "list": {
        "empty": "not {0}",
        "of one element": "len({0}) == 1",
        "of two elements": "len({0}) == 2",
        "of more than nine elements": "len({0}) > 9",
        "with equal elements": "any(v in {0}[:i] for i, v in enumerate({0}))",
        "all alike": "len({0}) > 1 and all(v == {0}[0] for v in {0})",
        "in order": "len({0}) > 1 and {0} == _in_order({0})",
        "in the opposite order": "len({0}) > 1 and {0}[::-1] == _in_order({0})",
        "with a number below zero": "any(v < 0 for v in _numbers({0}))",
        "with zero": "any(v == 0 for v in _numbers({0}))",
        "with a number beyond 9": "any(v > 9 for v in _numbers({0}))",
        "with a number beyond 99": "any(v > 99 for v in _numbers({0}))",
        "with an empty part": "any(v in ('', []) for v in {0})",
        "with a letter beyond ASCII": "not _text({0}).isascii()",
        "with a capital letter": "any(c.isupper() for c in _text({0}))",
    },
    "str": {
        "empty": "not {0}",
        "of one character": "len({0}) == 1",
        "of more than nine characters": "len({0}) > 9",
        "with equal characters": "len(set({0})) < len({0})",
        "all alike": "len({0}) > 1 and len(set({0})) == 1",
        "the same backwards": "len({0}) > 1 and {0} == {0}[::-1]",
        "with a letter beyond ASCII": "not {0}.isascii()",
        "with a capital letter": "any(c.isupper() for c in {0})",
        "with a digit": "any(c.isdigit() for c in {0})",
        "with a sign": "any(not c.isalnum() and not c.isspace() for c in {0})",
        "with two blanks in a row": "'  ' in {0}",
        "with a blank at an end": "{0} != {0}.strip()",
    },
    "int": {
        "below zero": "{0} < 0",
        "zero": "{0} == 0",
        "one": "{0} == 1",
        "beyond 9": "{0} > 9",
        "beyond 99": "{0} > 99",
    },
    "dict": {
        "empty": "not {0}",
        "of one key": "len({0}) == 1",
        "with equal values": "len(set(map(str, {0}.values()))) < len({0})",
    },
    "bool": {"true": "{0}", "false": "not {0}"},
}  # fmt: skip
"""Kinds of inputs by the type of an argument, as conditions on it."""
_CHANGES = {
    "list": {
        "without its first element": "{0}[1:]",
        "without its last element": "{0}[:-1]",
        "backwards": "{0}[::-1]",
        "in order": "_in_order({0})",
        "each element once": "[v for i, v in enumerate({0}) if v not in {0}[:i]]",
    },
    "str": {
        "without its first character": "{0}[1:]",
        "without its last character": "{0}[:-1]",
        "backwards": "{0}[::-1]",
        "in small letters": "{0}.lower()",
        "in ASCII": "{0}.encode('ascii', 'ignore').decode()",
        "with single blanks": "' '.join({0}.split())",
    },
    "int": {"one less": "{0} - 1", "one more": "{0} + 1", "without its sign": "abs({0})"},
    "bool": {"the other way": "not {0}"},
}
"""Changes of an argument, by its type."""
_HELP = """
def _in_order(values):
    try:
        return sorted(values)
    except TypeError:
        return values

def _numbers(values):
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, (list, dict)):
            yield from _numbers(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value

def _text(values):
    return ''.join(v if isinstance(v, str) else _text(v) if isinstance(v, (list, dict)) else '' for v in values)
"""
_TEXT_KINDS = {
    "with zero": "'0' in {0}.split()",
    "with a number below zero": "any(w[0] == '-' and w[1:].isdigit() for w in {0}.split())",
    "of one line": "len({0}.strip().splitlines()) == 1",
    "of two lines": "len({0}.strip().splitlines()) == 2",
    "with one word in its first line": "{0}.strip() and len({0}.strip().splitlines()[0].split()) == 1",
    "with equal lines": "len(set({0}.splitlines())) < len({0}.splitlines())",
    "with equal words": "any(len(set(l.split())) < len(l.split()) for l in {0}.splitlines())",
    "with an empty line": "'' in {0}.splitlines()",
    "with a letter beyond ASCII": "not {0}.isascii()",
    "with a capital letter": "any(c.isupper() for c in {0})",
}
"""Kinds of the text that a program reads."""


def further_mutants(source: str, is_program: bool) -> Iterator[tuple[str, str]]:
    """Yield every further mutant of a source: its place and change in words, and its own source."""
    tree = ast.parse(source)
    yield from changed_programs(tree, _changes)
    yield from _of_inputs(tree, is_program)


def _of_inputs(tree: ast.Module, is_program: bool) -> Iterator[tuple[str, str]]:
    """Yield mutants that have no answer for inputs of a kind, or that change or exchange arguments first."""
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    typed = [(given.arg, ast.unparse(given.annotation)) for given in function.args.args if given.annotation]
    starts: list[tuple[str, str]] = []
    for name, annotation in typed:
        kind = annotation.partition("[")[0]
        kinds = _TEXT_KINDS if is_program else _KINDS.get(kind, {})
        for held, test in {"str": "_text(", "int": "_numbers(", "str list[list": "''"}.items():
            if not any(part in annotation for part in held.split()):
                kinds = {words: condition for words, condition in kinds.items() if test not in condition}
        starts += [
            (f"{name} {words}: no answer", f"if {test.format(name)}:\n    return None") for words, test in kinds.items()
        ]
        if not is_program:
            starts += [
                (f"{name} {words}", f"{name} = {new.format(name)}") for words, new in _CHANGES.get(kind, {}).items()
            ]
    starts += [
        (f"{one} and {other} exchanged", f"{one}, {other} = {other}, {one}")
        for place, (one, kind) in enumerate(typed)
        for other, same in typed[place + 1 :]
        if kind == same
    ]
    for words, start in starts:
        changed = with_fields(function, body=[*ast.parse(start).body, *function.body])
        body: list[ast.stmt] = [changed if node is function else node for node in tree.body]
        yield words, _HELP + ast.unparse(ast.Module(body, []))


def _shifted(node: ast.expr, by: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(1))


def _whole(node: ast.expr) -> bool:
    """Return whether a node is a number that is written down, which :mod:`mutants` changes."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _listed(node: ast.expr) -> ast.Call:
    return ast.Call(ast.Name("list", ast.Load()), [node], [])


def _cut(node: ast.expr, lower: int | None, upper: int | None, step: int | None = None) -> ast.Subscript:
    parts = [None if part is None else ast.Constant(part) for part in (lower, upper, step)]
    return ast.Subscript(_listed(node), ast.Slice(*parts), ast.Load())


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | list[ast.AST]]]:
    """Yield the changes of one node, with a word for each."""
    match node:
        case ast.Slice():
            yield from _slices(node)
        case ast.Subscript(slice=index, ctx=ast.Load()) if not isinstance(index, (ast.Slice, ast.Tuple)) and not _whole(
            index
        ):
            for by in (-1, 1):
                yield f"index {by:+}", with_fields(node, slice=_shifted(index, by))
        case ast.BinOp(op=ast.Sub() | ast.FloorDiv() | ast.Div() | ast.Mod() | ast.Pow()):
            yield "operands exchanged", with_fields(node, left=node.right, right=node.left)
            if isinstance(node.op, ast.FloorDiv):
                yield (
                    "cut towards zero",
                    ast.Call(ast.Name("int", ast.Load()), [ast.BinOp(node.left, ast.Div(), node.right)], []),
                )
        case ast.Tuple(elts=[first, second, *rest], ctx=ast.Load()):
            yield "pair exchanged", with_fields(node, elts=[second, first, *rest])
            for place in range(len(node.elts)):
                constant: list[ast.expr] = [*node.elts[:place], ast.Constant(0), *node.elts[place + 1 :]]
                yield f"part {place + 1} is 0", with_fields(node, elts=constant)
        case ast.Call():
            yield from _calls(node)
        case ast.For() | ast.comprehension():
            yield "not the first", with_fields(node, iter=_cut(node.iter, 1, None))
            yield "not the last", with_fields(node, iter=_cut(node.iter, None, -1))
            yield "backwards", with_fields(node, iter=_cut(node.iter, None, None, -1))
            match node.target:
                case ast.Tuple(elts=[first, second, *rest]):
                    yield "targets exchanged", with_fields(node, target=ast.Tuple([second, first, *rest], ast.Store()))
            if isinstance(node, ast.For):
                yield "the first round only", with_fields(node, body=[*node.body, ast.Break()])
                yield "the loop is gone", ast.Pass()
        case ast.While():
            yield "the first round only", with_fields(node, body=[*node.body, ast.Break()])
            yield "the loop is gone", ast.Pass()
        case ast.If():
            for place in range(len(node.body) if len(node.body) > 1 else 0):
                yield (
                    f"statement {place + 1} is gone",
                    with_fields(node, body=node.body[:place] + node.body[place + 1 :]),
                )
            if node.orelse:
                yield "no other branch", with_fields(node, orelse=[])
        case ast.Return(value=ast.expr()):
            yield "no return", ast.Pass()
            yield "return None", ast.Return(ast.Constant(None))
        case ast.AugAssign():
            yield "set, not added to", ast.Assign([with_fields(node.target, ctx=ast.Store())], node.value)
        case ast.IfExp():
            yield "branches exchanged", with_fields(node, body=node.orelse, orelse=node.body)


def _slices(node: ast.Slice) -> Iterator[tuple[str, ast.AST]]:
    if node.lower is None:
        yield "from 1", with_fields(node, lower=ast.Constant(1))
    elif not _whole(node.lower):
        for by in (-1, 1):
            yield f"lower bound {by:+}", with_fields(node, lower=_shifted(node.lower, by))
    if node.upper is None:
        yield "to -1", with_fields(node, upper=ast.Constant(-1))
    elif not _whole(node.upper):
        for by in (-1, 1):
            yield f"upper bound {by:+}", with_fields(node, upper=_shifted(node.upper, by))


_OTHER_METHODS = {
    "lower": "casefold",
    "isdigit": "isnumeric",
    "title": "capitalize",
    "isalpha": "islower",
    "isupper": "istitle",
}


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node.args:
        case [first, second, *rest] if not any(isinstance(given, ast.Starred) for given in node.args):
            yield "arguments exchanged", with_fields(node, args=[second, first, *rest])
    match node.func:
        case ast.Name(id="range"):
            for place, given in enumerate(node.args[:2]):
                for by in (-1, 1):
                    if not _whole(given):
                        args = [*node.args[:place], _shifted(given, by), *node.args[place + 1 :]]
                        yield f"bound {place + 1} of range {by:+}", with_fields(node, args=args)
        case ast.Name(id="enumerate") if len(node.args) == 1:
            yield "counted from 1", with_fields(node, args=[*node.args, ast.Constant(1)])
        case ast.Name(id="min" | "max" | "sorted") if len(node.args) == 1:
            yield "ties the other way", with_fields(node, args=[_cut(node.args[0], None, None, -1)])
        case ast.Name(id="sum" | "len" | "any" | "all" | "set" | "tuple") if len(node.args) == 1:
            yield "not the last", with_fields(node, args=[_cut(node.args[0], None, -1)])
            yield "not the first", with_fields(node, args=[_cut(node.args[0], 1, None)])
        case ast.Attribute(attr="append") if len(node.args) == 1:
            yield (
                "put in front",
                with_fields(node, func=with_fields(node.func, attr="insert"), args=[ast.Constant(0), *node.args]),
            )
        case ast.Attribute(attr="pop") if not node.args:
            yield "pop of the first", with_fields(node, args=[ast.Constant(0)])
        case ast.Attribute(attr="isalpha" | "isalnum" | "isdigit" | "isupper" | "islower", value=value):
            yield (
                "in ASCII only",
                ast.BoolOp(ast.And(), [ast.Call(ast.Attribute(value, "isascii", ast.Load()), [], []), node]),
            )
    match node.func:
        case ast.Attribute(attr=name) if name in _OTHER_METHODS:
            yield (
                f"{name} is {_OTHER_METHODS[name]}",
                with_fields(node, func=with_fields(node.func, attr=_OTHER_METHODS[name])),
            )
