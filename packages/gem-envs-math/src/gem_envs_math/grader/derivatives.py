r"""Signs that belong to the letter behind them, and are no factors: ``\frac{dy}{dx}``, ``\Delta x``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gem_envs_math.grader.limits import UnknownNotationError
from gem_envs_math.grader.scan import Token
from gem_envs_math.grader.tokens import closes

__all__ = ["joined"]

_PREFIXES = frozenset({"\\Delta", "\\angle"})
_ABOVE = re.compile(r"d(?:\^\{?(\d)\}?)?(\\?[A-Za-z]+)?")
_BELOW = re.compile(r"d(\\?[A-Za-z]+)(?:\^\{?(\d)\}?)?")


def joined(tokens: list[Token]) -> list[Token]:
    r"""Return the tokens with each derivative, ``\frac{d^2y}{dx^2}`` or ``dy/dx``, and each ``\Delta x`` as one name.

    Raises:
        UnknownNotationError: at a derivative of an expression, ``\frac{d}{dx} x^2``.
    """
    if not any(token.raw[:1] == "d" or token.raw in _PREFIXES for token in tokens):
        return tokens
    found: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        after = tokens[position + 1] if position + 1 < len(tokens) else None
        length, name = _derivative(tokens, position)
        if not length and token.raw in _PREFIXES and after is not None and after.kind == "sym":
            length, name = 2, f"{token.value}{after.raw}"
        if length:
            found.append(Token("sym", name, token.space, name))
        else:
            found.append(token)
        position += length or 1
    return found


def _derivative(tokens: list[Token], start: int) -> tuple[int, str]:
    """Return the number of tokens of the derivative that begins at a place, and its name; 0 if none does."""
    if tokens[start].kind == "frac":
        middle = start + 1 + _group(tokens[start + 1 :])
        end = middle + _group(tokens[middle:])
        name = _name(tokens[start + 2 : middle - 1], tokens[middle + 1 : end - 1])
        return (end - start, name) if name else (0, "")
    for length, parts in ((3, (1, 2)), (5, (2, 3))):  # "dy/dx" of two words, or of four letters
        piece = tokens[start : start + length]
        if len(piece) == length and piece[parts[0]].kind == "/":
            name = _name(piece[: parts[0]], piece[parts[1] :])
            if name:
                return length, name
    return 0, ""


def _group(tokens: list[Token]) -> int:
    """Return the number of tokens of a group in braces, with which the tokens begin; 0 if they do not."""
    return closes(tokens) + 1 if tokens and tokens[0].kind == "{" else 0


def _name(above: Sequence[Token], below: Sequence[Token]) -> str:
    one, two = (re.sub(r"\s", "", "".join(token.raw for token in part)) for part in (above, below))
    first, second = _ABOVE.fullmatch(one), _BELOW.fullmatch(two)
    if first is None or second is None or first[1] != second[2]:
        return ""
    if first[2] is None:
        raise UnknownNotationError("a derivative of an expression")
    return f"{one}/{two}".replace("{", "").replace("}", "")
