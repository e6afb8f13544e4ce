"""JavaScript source by its tokens: :func:`tokens_of`, and small changes of behaviour: :func:`changes_of`.

The lexical grammar is that of ECMAScript (ECMA-262, chapter 12), without JSX and types. Whether a slash begins a
regular expression is decided by the token before it, which is right but after a closing parenthesis or brace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ScriptToken", "SourceChange", "changes_of", "tokens_of"]


class ScriptToken(NamedTuple):
    """A token of a source."""

    kind: str
    """``word``, ``number``, ``string``, ``regexp``, ``template`` or ``sign``."""
    text: str
    start: int


class SourceChange(NamedTuple):
    """A change of one token."""

    what: str
    """The sort of the change, such as ``boundary``."""
    level: int
    start: int
    end: int
    text: str
    """What replaces the source between ``start`` and ``end``."""

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        return source[: self.start] + self.text + source[self.end :]


_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\A\#![^\n]*)
    |(?P<number>0[xXoObB][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?n?)
    |(?P<word>[\w$\#@][\w$]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    |(?P<template>`(?:[^`\\]|\\.)*`?)
    |(?P<sign>>>>=|\.\.\.|===|!==|\*\*=|<<=|>>=|>>>|&&=|\|\|=|\?\?=|=>|==|!=|<=|>=|&&|\|\||\?\?|\?\.|\+\+|--|\+=|-=|\*=|/=
      |%=|&=|\|=|\^=|<<|>>|\*\*|.)""",
    re.DOTALL | re.VERBOSE,
)
_REGEXP = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_BEFORE_VALUE = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof"}


def tokens_of(source: str) -> Iterator[ScriptToken]:
    """Yield the tokens of a source, without blanks and comments. Any text has tokens."""
    place = 0
    before: ScriptToken | None = None
    while place < len(source):
        token = None
        if source[place] == "/" and _may_begin_value(before) and (found := _REGEXP.match(source, place)):
            token = ScriptToken("regexp", found[0], place)
        else:
            found = _TOKEN.match(source, place)
            assert found is not None
            if found.lastgroup != "blank":
                token = ScriptToken(str(found.lastgroup), found[0], place)
        place = found.end()
        if token is not None:
            yield token
            before = token


def _may_begin_value(before: ScriptToken | None) -> bool:
    if before is None or before.kind == "sign":
        return before is None or before.text not in {")", "]", "}", "++", "--"}
    return before.kind == "word" and before.text in _BEFORE_VALUE


_SWAPS = {
    **{sign: ("condition", 1, other) for sign, other in (("===", "!=="), ("!==", "==="), ("==", "!="), ("!=", "=="))},
    **{sign: ("connective", 1, other) for sign, other in (("&&", "||"), ("||", "&&"))},
    **{sign: ("boundary", 2, other) for sign, other in (("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"))},
    **{word: ("default", 2, other) for word, other in (("true", "false"), ("false", "true"))},
}


def changes_of(source: str) -> Iterator[SourceChange]:
    """Yield changes that may break the behaviour of a source, in the order of their places.

    A comparison, a connective, a boundary, a constant and a number are swapped, a negation is removed, a sum becomes a
    difference.
    """
    tokens = list(tokens_of(source))
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        end = token.start + len(token.text)
        if token.kind in ("sign", "word") and token.text in _SWAPS and not _is_property(tokens, place):
            what, level, other = _SWAPS[token.text]
            yield SourceChange(what, level, token.start, end, other)
        elif token.kind == "number" and token.text.isdigit() and len(token.text) < 10:
            yield SourceChange("off by one", 2, token.start, end, str(int(token.text) + 1))
        elif token.text == "!" and following is not None and following.kind in ("word", "sign"):
            yield SourceChange("negation", 1, token.start, end, "")
        elif token.text == "+" and following is not None and following.kind == "number":
            yield SourceChange("order", 2, token.start, end, "-")


def _is_property(tokens: list[ScriptToken], place: int) -> bool:
    """Return whether a word is the name of a property, as in ``{ true: 1 }`` and ``a.true``."""
    if tokens[place].kind != "word":
        return False
    after = tokens[place + 1].text if place + 1 < len(tokens) else ""
    return (place > 0 and tokens[place - 1].text in (".", "?.")) or after == ":"
