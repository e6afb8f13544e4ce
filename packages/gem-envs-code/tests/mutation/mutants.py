"""Mutants of a solution: programs with one small mistake, as a hurried programmer makes it.

The operators are those of the literature (Jia and Harman, "An Analysis and Survey of the Development of Mutation
Testing", 2011: relational, arithmetic and logical operators, constants, deleted statements), and such as Python's own
vocabulary offers: the largest for the smallest, a sort that is left out, a split that stops early.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["changed_programs", "mutants", "with_fields"]

_Node = TypeVar("_Node", bound=ast.AST)

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.NotEq),
    ast.LtE: (ast.Lt, ast.GtE, ast.Eq),
    ast.Gt: (ast.GtE, ast.Lt, ast.NotEq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Eq),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "set": "list", "reversed": "list",
    "round": "int", "sum": "max",
}  # fmt: skip
_METHODS = {
    "lower": "upper", "upper": "lower", "lstrip": "strip", "rstrip": "strip", "strip": "lstrip", "find": "rfind",
    "rfind": "find", "popleft": "pop", "isalpha": "isalnum", "isalnum": "isalpha",
    "isdigit": "isalnum", "partition": "rpartition", "rpartition": "partition", "startswith": "endswith",
    "endswith": "startswith", "union": "intersection", "intersection": "union", "rsplit": "split", "index": "rindex",
}  # fmt: skip
_IDENTITY = frozenset(("sorted", "set", "reversed", "abs", "list", "int", "round"))
"""Functions of one argument that a mistake leaves out."""
_DROPPED = frozenset(("lower", "upper", "strip", "lstrip", "rstrip", "casefold", "title", "capitalize", "copy"))
"""Methods that a mistake leaves out."""
_LIMITED = {"split": 1, "rsplit": 1, "replace": 2}
"""Methods whose last argument limits how often they act, and the number of arguments before it."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Yield every mutant of a source: its place and change in words, and its own source."""
    return changed_programs(ast.parse(source), _changes)


def changed_programs(
    tree: ast.Module, changes: Callable[[ast.AST], Iterable[tuple[str, ast.AST | list[ast.AST]]]]
) -> Iterator[tuple[str, str]]:
    """Yield each different program with one node changed: the place and the change in words, and its source.

    Args:
        tree: of the program, which stays as it is.
        changes: yields the changes of a node, in words and as the node in its place.
    """
    seen = {ast.unparse(tree)}
    silent = _silent_nodes(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in silent:
            continue
        for word, changed in changes(node):
            mutant = _replaced(tree, number, changed)
            try:
                text = ast.unparse(ast.fix_missing_locations(mutant))
                compile(text, "mutant.py", "exec")
            except (SyntaxError, ValueError, TypeError, AttributeError, IndexError):
                continue  # no program
            if text not in seen:
                seen.add(text)
                yield f"line {getattr(node, 'lineno', 0)}: {word}", text


def _silent_nodes(tree: ast.Module) -> set[int]:
    """Return the nodes that say nothing to the running program: annotations and docstrings."""
    silent: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            arguments = node.args
            silent += [given.annotation for given in arguments.args if given.annotation is not None]
        if isinstance(node, ast.FunctionDef):
            silent += [node.returns] if node.returns is not None else []
            if ast.get_docstring(node) is not None:
                silent.append(node.body[0])
        if isinstance(node, ast.AnnAssign):
            silent.append(node.annotation)
    return {id(inner) for node in silent for inner in ast.walk(node)}


def _replaced(tree: ast.Module, number: int, changed: ast.AST | list[ast.AST]) -> ast.Module:
    """Return a copy of a tree in which another node, or several statements, stand in the place of one."""
    whole = copy.deepcopy(tree)
    old = list(ast.walk(whole))[number]

    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
            return copy.deepcopy(changed) if node is old else self.generic_visit(node)

    made = Replacing().visit(whole)
    assert isinstance(made, ast.Module)
    return made


def with_fields(node: _Node, **fields: object) -> _Node:
    """Return a copy of a node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | list[ast.AST]]]:
    """Yield the changes of one node, with a word for each."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in _COMPARISONS.get(type(operator), ()):
                    ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                    yield f"{type(operator).__name__} is {other.__name__}", with_fields(node, ops=ops)
        case ast.BinOp() | ast.AugAssign():
            for binary in _OPERATORS.get(type(node.op), ()):
                yield f"{type(node.op).__name__} is {binary.__name__}", with_fields(node, op=binary())
            if isinstance(node, ast.BinOp):
                yield "the right operand is gone", node.left
                yield "the left operand is gone", node.right
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and/or exchanged", with_fields(node, op=other_op)
            for place in range(len(node.values)):
                rest = node.values[:place] + node.values[place + 1 :]
                yield f"condition {place + 1} is gone", rest[0] if len(rest) == 1 else with_fields(node, values=rest)
        case ast.UnaryOp():
            yield f"{type(node.op).__name__} is gone", node.operand
        case ast.Constant(value=bool() as flag):
            yield "the other truth value", ast.Constant(not flag)
        case ast.Constant(value=int() as number):
            yield f"{number} is {number + 1}", ast.Constant(number + 1)
            yield f"{number} is {number - 1}", ast.Constant(number - 1)
        case ast.Constant(value=str() as text):
            if len(text) > 1:
                yield "the first character is gone", ast.Constant(text[1:])
                yield "the last character is gone", ast.Constant(text[:-1])
            else:
                yield "another text", ast.Constant(text + "x" if text else " ")
        case ast.Call():
            yield from _calls(node)
        case ast.Slice():
            for name in ("lower", "upper", "step"):
                if getattr(node, name) is not None:
                    yield f"no {name} bound", with_fields(node, **{name: None})
        case ast.IfExp():
            yield "always the first", node.body
            yield "always the second", node.orelse
        case ast.comprehension():
            for place in range(len(node.ifs)):
                yield "a condition is gone", with_fields(node, ifs=node.ifs[:place] + node.ifs[place + 1 :])
        case ast.If() | ast.While():
            yield "the condition is turned round", with_fields(node, test=ast.UnaryOp(ast.Not(), node.test))
            if isinstance(node, ast.If):
                yield "always the first branch", list(node.body)
                yield "always the other branch", list(node.orelse) or [ast.Pass()]
        case ast.Break():
            yield "continue", ast.Continue()
        case ast.Continue():
            yield "break", ast.Break()
        case ast.Assign() | ast.Expr():
            yield "the statement is gone", ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield "the statement is gone", ast.Pass()


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node.func:
        case ast.Name(id=name):
            if name in _NAMES:
                yield f"{name} is {_NAMES[name]}", with_fields(node, func=ast.Name(_NAMES[name], ast.Load()))
            if name in _IDENTITY and len(node.args) == 1:
                yield f"no {name}", node.args[0]
            if name == "range" and len(node.args) > 1:
                yield "a range from 0", with_fields(node, args=node.args[1:2])
        case ast.Attribute(attr=name):
            if name in _METHODS:
                yield f"{name} is {_METHODS[name]}", with_fields(node, func=with_fields(node.func, attr=_METHODS[name]))
            if name in _DROPPED:
                yield f"no {name}", node.func.value
            if name in _LIMITED and len(node.args) == _LIMITED[name] and not node.keywords:
                for count in (1, 2):
                    yield f"{name} at most {count}", with_fields(node, args=[*node.args, ast.Constant(count)])
            if name == "split":
                other: list[ast.expr] = [ast.Constant(" ")] if not node.args else []
                yield "split at other places", with_fields(node, args=other)
    for place, keyword in enumerate(node.keywords):
        yield f"no {keyword.arg}", with_fields(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])
