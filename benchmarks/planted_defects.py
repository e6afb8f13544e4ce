"""Small defects in the rules of the desks: :func:`drawn`. ``desk_mutants.py`` plants them.

The kinds: a comparison or a limit off by one, a number, a guard or a write left out, a filter by owner or state left
out, another state, the opposite condition, another arithmetic, another condition of SQL, another number in the written
policy. Draws of the generators (``rng…``) stay as they are, since they decide what tasks occur and not what is right.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

SOURCES = Path(__file__).parents[1] / "packages" / "gem-envs-desk" / "src" / "gem_envs_desk"
DESKS = ("retail", "airline", "telecom", "library")
SHARED = (
    "records.py",
    "request_maker.py",
    "acts/judge.py",
    "acts/ownership.py",
    "acts/progress.py",
    "acts/user.py",
    "checks.py",
)

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_FILTERS = ("find", "query", "row", "rows")
_STATES = re.compile(r"[a-z][a-z ]+[a-z]")
_SQL = ((" = ?", " != ?"), (" AND ", " OR "), ("lower(?)", "upper(?)"), (" = 'open'", " != 'open'"), (" + ?", " - ?"))
_POLICY_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\d)(?!\. )")

Change = Callable[[Any], "ast.AST | None"]
"""Makes a defect of a node: in place, or by returning another one."""


@dataclass(frozen=True)
class Defect:
    """A place of a file, and what becomes of it."""

    file: str
    """Below the package's folder."""
    line: int
    kind: str
    words: str
    source: Callable[[], str]
    """Returns the whole changed file."""


def drawn(group: str, count: int, rng: Random) -> list[Defect]:
    """Return defects of a desk, or of what all share: each kind in turn, no two at one line."""
    files = [SOURCES / name for name in SHARED] if group == "shared" else sorted((SOURCES / group).glob("*.*"))
    found = [defect for file in files for defect in defects(file)]
    rng.shuffle(found)
    kinds = sorted({defect.kind for defect in found})
    rng.shuffle(kinds)
    chosen: list[Defect] = []
    lines: set[tuple[str, int]] = set()
    while len(chosen) < count and found:
        for kind in kinds:
            place = next((one for one in found if one.kind == kind), None)
            if place is not None:
                found.remove(place)
                if (place.file, place.line) not in lines and len(chosen) < count:
                    lines.add((place.file, place.line))
                    chosen.append(place)
    return chosen


def defects(file: Path) -> Iterator[Defect]:
    """Yield the defects of a module or a written policy."""
    name = file.relative_to(SOURCES).as_posix()
    if file.suffix not in (".py", ".md"):
        return
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        for match in _POLICY_NUMBER.finditer(source):
            line = source.count("\n", 0, match.start()) + 1
            front = source[: match.start()].rpartition("\n")[2][-30:]
            words = f"{match[0]} + 1 in '{front}{source[match.start() : match.end() + 20].splitlines()[0]}'"
            changed = f"{source[: match.start()]}{float(match[0]) + 1:g}{source[match.end() :]}"
            yield Defect(name, line, "policy", words, partial(str, changed))
        return
    for index, node in enumerate(_rule_nodes(ast.parse(source))):
        for kind, change in _changes(node):
            place = copy.deepcopy(node)
            after = change(place) or place
            text = "left out" if isinstance(after, ast.Pass) else ast.unparse(after)
            words = f"{_short(ast.unparse(node))} → {_short(text)}"
            yield Defect(name, getattr(node, "lineno", 0), kind, words, partial(_changed, source, index, change))


def _changed(source: str, index: int, change: Change) -> str:
    """Return a module with a change of its node of this index."""
    tree = ast.parse(source)
    place = list(_rule_nodes(tree))[index]
    after = change(place)
    if after is not None:
        tree = _Replaced(place, after).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def _short(text: str) -> str:
    return " ".join(text.split())[:70]


def _rule_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree in order, without docstrings, annotations and the draws of generators."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_prose(child) or _draws(child):
                continue
            yield child
            yield from _rule_nodes(child)


def _is_prose(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _draws(node: ast.AST) -> bool:
    """Return whether an expression draws, so that a change of it gives other tasks and no wrong ones."""
    if not isinstance(node, (ast.Call, ast.Compare)):
        return False
    if isinstance(node, ast.Compare):
        return any(_draws(part) for part in ast.walk(node) if isinstance(part, ast.Call))
    function = node.func
    return isinstance(function, ast.Attribute) and ast.unparse(function.value).rpartition(".")[2] == "rng"


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Yield the kinds of defects at a node, each with what makes it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:

        def compared(place: Any) -> None:
            place.ops[0] = _COMPARISONS[type(place.ops[0])]()

        yield "comparison", compared
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):

        def counted(place: Any) -> None:
            place.value += 1 if type(place.value) is int or place.value >= 2 else 0.05

        yield "number", counted
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for old, new in _SQL:
            if old in node.value and re.match(r"SELECT|UPDATE|WHERE|FROM", node.value):

                def queried(place: Any, old: str = old, new: str = new) -> None:
                    place.value = place.value.replace(old, new, 1)

                yield "SQL", queried
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        yield "guard left out", lambda place: ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "guard or write left out", lambda place: ast.Pass()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILTERS:
        for index in range(len(node.keywords) if len(node.keywords) > 1 else 0):

            def unfiltered(place: Any, index: int = index) -> None:
                del place.keywords[index]

            yield "filter left out", unfiltered
    value = node.value.value if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) else None
    if isinstance(value, str) and _STATES.fullmatch(value):

        def stated(place: Any) -> None:
            place.value = ast.Constant(f"not {place.value.value}")

        yield "state", stated
    if isinstance(node, ast.BoolOp):

        def opposed(place: Any) -> None:
            place.op = ast.Or() if isinstance(place.op, ast.And) else ast.And()

        yield "condition", opposed
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition", lambda place: place.operand
    if isinstance(node, ast.IfExp):

        def exchanged(place: Any) -> None:
            place.body, place.orelse = place.orelse, place.body

        yield "condition", exchanged
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:

        def reckoned(place: Any) -> None:
            place.op = _ARITHMETIC[type(place.op)]()

        yield "arithmetic", reckoned
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min", "any", "all"):

        def bounded(place: Any) -> None:
            place.func.id = {"max": "min", "min": "max", "any": "all", "all": "any"}[place.func.id]

        yield "arithmetic", bounded


class _Replaced(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, place: ast.AST, other: ast.AST) -> None:
        self.place, self.other = place, other

    def visit(self, node: ast.AST) -> Any:
        return self.other if node is self.place else self.generic_visit(node)
