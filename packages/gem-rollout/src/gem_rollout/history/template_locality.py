"""Proving from a chat template's source that it renders each message from its neighbourhood alone.

The proof walks over the template's syntax tree and accepts only constructs that are known to be harmless, so an
unknown construct makes a template count as not local. It covers every way from a message to distant ones:
``messages`` itself, ``loop``, and values that outlive one turn of a loop (only namespaces do).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

__all__ = ["generation_tag", "is_local"]

# fmt: off
_HARMLESS = frozenset({
    "Add", "And", "Assign", "AssignBlock", "Compare", "Concat", "CondExpr", "Const", "Continue", "Dict", "Div",
    "ExprStmt", "Filter", "FloorDiv", "Getattr", "Getitem", "If", "Keyword", "List", "Mod", "Mul", "Name", "Neg", "Not",
    "Operand", "Or", "Output", "Pair", "Pos", "Pow", "Slice", "Sub", "TemplateData", "Test", "Tuple",
})
"""Kinds of nodes that are harmless if all their children are."""

_FUNCTIONS = frozenset({"dict", "namespace", "raise_exception", "range", "strftime_now"})

_METHODS = frozenset({
    "capitalize", "count", "endswith", "find", "format", "get", "index", "items", "join", "keys", "lower", "lstrip",
    "removeprefix", "removesuffix", "replace", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "title", "upper", "values",
})
"""Methods that change nothing."""
# fmt: on

_MOST_DROPPED = 2
"""First messages that a template may take away before its loop: ``FIRST`` of ``chat_template.py`` less one."""


@lru_cache(maxsize=64)
def is_local(template: str) -> bool:
    """Return whether a Jinja chat template is proved to be local, as ``chat_template.py`` defines it.

    False also where jinja2 is not installed or cannot parse the template.
    """
    try:
        from jinja2 import Environment, TemplateSyntaxError, nodes
    except ImportError:
        return False

    environment = Environment(extensions=["jinja2.ext.loopcontrols", generation_tag()])  # noqa: S701  # only parses
    try:
        tree = environment.parse(template)
        proof = _Proof(tree.find_all(nodes.Macro), tree.find_all(nodes.Assign))
        proof.outside(tree.body)
    except (TemplateSyntaxError, RecursionError, _RefusedError):
        return False
    return proof.looped


@cache
def generation_tag() -> type[Any]:
    """Return the extension of jinja2 for ``{% generation %}``, with which templates for training mark the model's text.

    The tag itself prints nothing.
    """
    from jinja2 import nodes
    from jinja2.ext import Extension

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

        def parse(self, parser: Any) -> list[nodes.Node]:
            next(parser.stream)
            body: list[nodes.Node] = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return body

    return Generation


class _RefusedError(Exception):
    """The template has a construct that may reach beyond the neighbourhood."""


class _Proof:
    """One walk over a template. Nodes are handled by the names of their kinds, so that jinja2 loads on first use."""

    def __init__(self, macros: Iterable[Any], assignments: Iterable[Any]) -> None:
        self.functions = _FUNCTIONS.union(macro.name for macro in macros)
        self.lists = {"messages"}
        """Every name that the template gives to the messages or to all but the first few of them."""
        names = [(a.target.name, _sliced(a.node)) for a in assignments if _kind(a.target) == "Name"]
        for _ in names:
            self.lists.update(name for name, source in names if source in self.lists)
        self.dropped = 0
        self.looped = False
        """The loop over the messages has been passed."""
        self.loop_list = ""
        """In that loop: the iterated list."""

    def outside(self, body: list[Any]) -> None:
        """Walk over statements that stand in no loop and no macro."""
        for node in body:
            kind = _kind(node)
            if kind == "If":
                self.check(node.test)
                before, after = self.looped, []
                for branch in (node.body, node.elif_, node.else_):
                    self.looped = before
                    self.outside(branch)
                    after.append(self.looped)
                self.looped = any(after)
            elif kind == "Macro":
                for inner in node.iter_child_nodes():
                    self.check(inner, in_loop=True)  # the context of its calls
            elif kind == "For" and self.is_list(node.iter):
                self.message_loop(node)
            elif kind == "Assign" and _kind(node.target) == "Name" and self.is_list(node.node):
                continue
            else:
                self.check(node)

    def message_loop(self, node: Any) -> None:
        # A second loop or a filter would put something else between neighbours.
        if self.looped or node.test or node.else_ or _kind(node.target) != "Name":
            raise _RefusedError
        self.loop_list = node.iter.name if _kind(node.iter) == "Name" else ""
        for inner in node.body:
            self.check(inner, in_loop=True, own=True)
        self.loop_list, self.looped = "", True

    def is_list(self, node: Any) -> bool:
        """Return whether an expression is the messages or all but the first of them."""
        if _kind(node) == "Name":
            return node.name in self.lists
        if _kind(node) == "Getitem" and _kind(node.arg) == "Slice" and self.is_list(node.node):
            start, rest = node.arg.start, (node.arg.stop, node.arg.step)
            if start is None or rest != (None, None) or not _is_constant(start, 1) or self.dropped == _MOST_DROPPED:
                raise _RefusedError
            self.dropped += 1
            return True
        return False

    def check(self, node: Any, in_loop: bool = False, own: bool = False, not_first: bool = False) -> None:
        """Refuse a node that may look further than allowed.

        Args:
            node: any node.
            in_loop: it stands in the loop over the messages.
            own: it also stands in no inner loop, so that ``loop`` is that loop.
            not_first: it is also not reached for the first message.
        """
        kind = _kind(node)
        if self.is_allowed(node, own, not_first):
            return
        if kind == "Call":
            self.check_call(node, in_loop, own, not_first)
        elif kind == "For":
            self.check(node.iter, in_loop, own, not_first)
            for inner in node.iter_child_nodes(exclude=("iter",)):
                self.check(inner, in_loop)
        elif kind in ("And", "Or"):
            self.check(node.left, in_loop, own, not_first)
            settled = own and _at_first(node.left) is (kind == "Or")
            self.check(node.right, in_loop, own, not_first or settled)
        elif kind in _HARMLESS and not self.is_refused(node, own):
            for inner in node.iter_child_nodes():
                self.check(inner, in_loop, own, not_first)
        elif not ((kind == "NSRef" and not in_loop) or (kind == "Break" and not own)):
            raise _RefusedError

    def is_refused(self, node: Any, own: bool) -> bool:
        """Return whether a node of a harmless kind is the messages as a whole, the loop as a whole, or chance."""
        if _kind(node) == "Filter":
            return bool(node.name == "random")
        return _kind(node) == "Name" and (node.name in self.lists or (own and node.name == "loop"))

    def is_allowed(self, node: Any, own: bool, not_first: bool) -> bool:
        """Return whether a node is one of the ways of using the messages or the loop that locality allows."""
        kind = _kind(node)
        if kind == "Getitem":
            return self.is_neighbour(node, own, not_first)
        if kind == "Compare":
            return self.is_length_test(node) or (own and _is_first_test(node))
        if kind == "Test":
            return bool(node.name == "defined") and _kind(node.node) == "Name"
        if not own:
            return False
        if kind == "Mod":
            return _index_start(node.left) is not None and _is_constant(node.right, 2)
        return kind == "Getattr" and _is_loop(node.node) and node.attr in ("first", "last", "previtem", "nextitem")

    def check_call(self, node: Any, in_loop: bool, own: bool, not_first: bool) -> None:
        function = node.node
        if node.dyn_args or node.dyn_kwargs:
            raise _RefusedError
        if _kind(function) == "Getattr" and function.attr in _METHODS:
            self.check(function.node, in_loop, own, not_first)
        elif _kind(function) != "Name" or function.name not in self.functions:
            raise _RefusedError
        for argument in (*node.args, *node.kwargs):
            self.check(argument, in_loop, own, not_first)

    def is_neighbour(self, node: Any, own: bool, not_first: bool) -> bool:
        """Return whether a subscript gives the first message, a neighbour, or after the loop the last message."""
        if _kind(node.node) != "Name" or node.node.name not in self.lists:
            return False
        if _is_constant(node.arg, 0):
            return True
        if self.looped and (_is_constant(node.arg, -1)):
            return True
        if not own or node.node.name != self.loop_list:
            return False
        if _kind(node.arg) == "Add":
            return _index_start(node.arg.left) == 0 and _is_constant(node.arg.right, 1)
        # For the first message this would be messages[-1], which is the last.
        if _kind(node.arg) == "Sub" and not_first:
            return _index_start(node.arg.left) == 0 and _is_constant(node.arg.right, 1)
        return False

    def is_length_test(self, node: Any) -> bool:
        """Return whether a comparison asks whether any message remains, which is always true."""
        counted = node.expr
        return (
            _kind(counted) == "Filter"
            and counted.name in ("length", "count")
            and _kind(counted.node) == "Name"
            and counted.node.name in self.lists
            and all(_is_constant(operand.expr, 0) for operand in node.ops)
        )


def _kind(node: Any) -> str:
    return type(node).__name__


def _sliced(node: Any) -> str:
    """Return the name that an expression is, or is a slice of; empty for any other."""
    while _kind(node) == "Getitem" and _kind(node.arg) == "Slice":
        node = node.node
    name: str = node.name if _kind(node) == "Name" else ""
    return name


def _is_constant(node: Any, value: int) -> bool:
    if _kind(node) == "Neg":
        return _is_constant(node.node, -value)
    return _kind(node) == "Const" and type(node.value) is int and node.value == value


def _is_loop(node: Any) -> bool:
    return _kind(node) == "Name" and node.name == "loop"


def _index_start(node: Any) -> int | None:
    """Return 0 for ``loop.index0``, 1 for ``loop.index``, None for anything else."""
    if _kind(node) != "Getattr" or not _is_loop(node.node):
        return None
    return {"index0": 0, "index": 1}.get(node.attr)


def _is_first_test(node: Any) -> bool:
    """Return whether a comparison of the loop's index only asks whether this is the first turn."""
    start = _index_start(node.expr)
    return start is not None and len(node.ops) == 1 and _is_constant(node.ops[0].expr, start)


def _at_first(node: Any) -> bool | None:
    """Return the value of a condition for the first message; None if unknown."""
    kind = _kind(node)
    if kind == "Getattr" and _is_loop(node.node) and node.attr == "first":
        return True
    if kind == "Compare" and _is_first_test(node):
        return node.ops[0].op in ("eq", "gteq", "lteq")
    if kind == "Not":
        inner = _at_first(node.node)
        return None if inner is None else not inner
    if kind in ("And", "Or"):
        sides = (_at_first(node.left), _at_first(node.right))
        deciding = kind == "Or"
        return deciding if deciding in sides else (None if None in sides else not deciding)
    return None
