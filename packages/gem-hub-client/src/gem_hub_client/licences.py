"""Whether a licence, as an SPDX expression, is among those that a user allows.

An expression is read as SPDX 2.3 defines it (annex D): ``WITH`` binds closest, then ``AND``, then ``OR``. One side of
an ``OR`` is enough, an ``AND`` needs both. ``Apache-2.0 WITH LLVM-exception`` is a licence of its own here: who allows
``Apache-2.0`` has not said that the exception is welcome as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gem_hub_client.errors import HubError

__all__ = ["checked_licence", "permitted"]

_TOKEN = re.compile(r"\s*([()]|[A-Za-z0-9.+:-]+)")
_DEEPEST = 50


def permitted(expression: str, allowed: Collection[str]) -> bool:
    """Return whether the licences of an expression are allowed; False for what is no SPDX expression, or empty.

    Args:
        expression: such as ``"MIT OR (Apache-2.0 AND BSD-3-Clause)"``.
        allowed: licences as :func:`checked_licence` returns them.
    """
    try:
        return _Expression(expression, allowed).value()
    except ValueError:
        return False


def checked_licence(text: str) -> str:
    """Return one licence in the form in which it is compared: ``ID`` or ``ID WITH EXCEPTION``.

    Raises:
        HubError: if it is an expression of several licences, or none.
    """
    words = text.split()
    simple = len(words) == 1 or (len(words) == 3 and words[1].upper() == "WITH")
    if not simple or any(_TOKEN.fullmatch(word) is None or word in "()" for word in words):
        raise HubError(f"{text!r} is no licence; write one SPDX identifier, such as MIT or Apache-2.0, for each option")
    return " ".join(words).casefold()


class _Expression:
    """A reader of one expression; each method returns whether what it has read is allowed, or raises ValueError."""

    def __init__(self, text: str, allowed: Collection[str]) -> None:
        self._tokens = self._split(text.casefold())
        self._allowed = allowed
        self._depth = 0

    def value(self) -> bool:
        found = self._any()
        if self._tokens:
            raise ValueError(f"{self._tokens[0]!r} is left over")
        return found

    def _any(self) -> bool:
        found = self._all()
        while self._take("or"):
            found = self._all() or found
        return found

    def _all(self) -> bool:
        found = self._one()
        while self._take("and"):
            found = self._one() and found
        return found

    def _one(self) -> bool:
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise ValueError("too deep")
            found = self._any()
            if not self._take(")"):
                raise ValueError("a bracket is open")
            self._depth -= 1
            return found
        name = self._word()
        return (f"{name} with {self._word()}" if self._take("with") else name) in self._allowed

    def _word(self) -> str:
        if not self._tokens or self._tokens[0] in ("(", ")", "and", "or", "with"):
            raise ValueError("a licence is missing")
        return self._tokens.pop(0)

    def _take(self, token: str) -> bool:
        if self._tokens[:1] != [token]:
            return False
        self._tokens.pop(0)
        return True

    @staticmethod
    def _split(text: str) -> list[str]:
        tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text[at]!r} is not part of an expression")
            tokens.append(match[1])
            at = match.end()
        return tokens
