"""References in a text: what a report cites, and what a folded history must keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gem.errors import ArgumentError, ArgumentTypeError

__all__ = ["Reference", "ReferenceReader"]

_IN_BRACKETS = re.compile(r"\[([^\[\]\n]{1,400})\]")
_KEY = re.compile(r"(?:@|(?!\d+\.\d+$)(?=.{0,63}\d))[A-Za-z0-9][\w.:/@+-]{0,63}", re.ASCII)
_ADDRESS = re.compile(r"""https?://[^\s<>"'`|\\^{}\[\]]{1,2000}|\b(?:10\.\d{4,9}/|arXiv:)[^\s<>"'\[\]]{1,200}""")


class Reference(NamedTuple):
    """A place of a text that names a document."""

    name: str
    """By which the document is known: a key without its brackets, or an address."""
    shown: str
    """The name as notes show it."""
    start: int
    end: int


class ReferenceReader:
    """Finds references, in time linear in the length of a text.

    Without an expression these are addresses of the web, DOIs and arXiv identifiers, and keys in brackets that have a
    digit or begin with ``@``: ``[12]``, ``[a17, b2]``, ``[@smith]``. A decimal number in brackets is none.

    Args:
        expression: a regular expression for other references; its first group, if it has one, is the name.

    Raises:
        ArgumentError: if it is not a regular expression, or matches the empty text.
    """

    def __init__(self, expression: str | None = None) -> None:
        self._expression: re.Pattern[str] | None = None
        if expression is None:
            return
        if not isinstance(expression, str):
            raise ArgumentTypeError(f"references must be a regular expression as text, got {type(expression).__name__}")
        try:
            self._expression = re.compile(expression)
        except re.error as error:
            raise ArgumentError(f"references is not a regular expression: {error}: {expression!r:.200}") from error
        if self._expression.match(""):
            raise ArgumentError(f"references must not match the empty text, got {expression!r:.200}")

    def __call__(self, text: str) -> list[Reference]:
        """Return the references of a text in their order, repeated ones too."""
        if self._expression is not None:
            return [
                Reference(name, found[0], found.start(), found.end())
                for found in self._expression.finditer(text)
                if (name := found[1 if self._expression.groups else 0])
            ]
        return sorted([*_keys(text), *_addresses(text)], key=lambda one: one.start)


def _keys(text: str) -> Iterator[Reference]:
    for found in _IN_BRACKETS.finditer(text):
        keys = [key.strip() for key in re.split("[,;]", found[1])]
        if all(map(_KEY.fullmatch, keys)):
            yield from (Reference(key, f"[{key}]", found.start(), found.end()) for key in keys)


def _addresses(text: str) -> Iterator[Reference]:
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(".,;:!?*_")
        if "(" not in address:
            address = address.partition(")")[0]
        yield Reference(address, address, found.start(), found.start() + len(address))
