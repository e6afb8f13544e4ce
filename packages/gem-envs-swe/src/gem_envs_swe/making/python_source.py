"""A Python file whose spans are replaced, its other text kept: :class:`PythonSource`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

__all__ = ["Definition", "Edit", "Function", "Node", "PythonSource", "is_other_program"]

_LINE_END = re.compile(r"\r\n|\r|\n")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Node: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword


class Edit(NamedTuple):
    """A span of a text, in characters, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Definition:
    """A function of a file."""

    name: str
    """Dotted, with the classes around it."""
    node: Function

    @property
    def docstring(self) -> str | None:
        """The docstring, without its indentation."""
        return ast.get_docstring(self.node)

    @property
    def body(self) -> list[ast.stmt]:
        """The statements after the docstring."""
        return self.node.body[1:] if self.docstring is not None else self.node.body

    @property
    def lines(self) -> set[int]:
        """The lines of the statements after the docstring."""
        return {line for each in self.body for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}

    @property
    def first_line(self) -> int:
        """That of its first decorator, or of ``def``."""
        return min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)])


class PythonSource:
    """A file.

    Args:
        path: relative to the tree.
        text: its content.

    Raises:
        SyntaxError, ValueError, RecursionError: if it is no Python.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = _parsed(text)

    @cached_property
    def _starts(self) -> list[int]:
        """The index of the first character of each line, as the parser counts lines."""
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    def offset(self, line: int, column: int) -> int:
        """Return the index of a character from a line and the bytes of UTF-8 before it in that line."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode())

    def span(self, node: Node) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_start(self, line: int) -> int:
        """Return the index of the first character of a line, that of the end for the line after the last one."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def edited(self, edits: Iterable[Edit]) -> str:
        """Return the text with edits, which do not overlap."""
        text = self.text
        for edit in sorted(edits, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text

    def whole_lines(self, statement: ast.stmt) -> str:
        """Return the text of the lines that a statement stands in, with its decorators."""
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
        return self.text[self.line_start(first) : self.line_start((statement.end_lineno or statement.lineno) + 1)]

    @cached_property
    def definitions(self) -> list[Definition]:
        """The functions at the top and in classes; those inside of functions belong to them."""
        return list(_definitions(self.tree.body, ""))

    def definition_at(self, line: int) -> Definition | None:
        """Return the function that has a line."""
        for each in self.definitions:
            if each.first_line <= line <= (each.node.end_lineno or 0):
                return each
        return None


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():  # of invalid escape sequences, which are the author's affair
        warnings.simplefilter("ignore")
        return ast.parse(text)


def is_other_program(source: PythonSource, text: str) -> bool:
    """Return whether a text is Python that means something else than a file."""
    try:
        other = PythonSource(source.path, text)
        old, new = source.tree.body, other.tree.body
        if len(old) == len(new):
            # Only what differs is compared and compiled: a file may have thousands of lines, and a change has one.
            pairs = [
                pair for pair in zip(old, new, strict=True) if source.whole_lines(pair[0]) != other.whole_lines(pair[1])
            ]
            old, new = [before for before, _ in pairs], [after for _, after in pairs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(ast.Module(new, []), source.path, "exec", dont_inherit=True)
        return [ast.dump(each) for each in old] != [ast.dump(each) for each in new]
    except (SyntaxError, ValueError, RecursionError):
        return False


def _definitions(body: Iterable[ast.stmt], prefix: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Definition(f"{prefix}{node.name}", node)
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            for inner in (node.body, node.orelse, *(each.body for each in getattr(node, "handlers", ()))):
                yield from _definitions(inner, prefix)
