"""Words that are products of letters: ``xy``, ``2ab``, the ``def`` of a fraction."""

from __future__ import annotations

from gem_envs_math.grader.counted import NO_UNITS
from gem_envs_math.grader.formula import END
from gem_envs_math.grader.scan import TEXT, Token
from gem_envs_math.grader.units import is_unit_word

__all__ = ["spread"]

_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxyz")
_MATHEMATICS = frozenset({"+", "-", "*", "/", "^", "_", "=", "frac", "sqrt", "(", "<", ">", "le", "ge"})
_SIGNS = frozenset("+-*/=(")
_QUANTITIES = frozenset({"ans", "avg"})
"""Names for an answer that could be products of letters."""
_SHORT = 3
_LONGEST = 6


def spread(tokens: list[Token]) -> list[Token]:
    """Return the tokens with products of letters taken apart; words and units stay whole."""
    if not any(token.kind == "word" for token in tokens):
        return tokens
    words = [token for token in tokens if token.kind == "word"]
    written = any(token.kind in _MATHEMATICS for token in tokens) and all(
        token.value is not TEXT and len(token.raw) <= _SHORT and token.raw.lower() not in NO_UNITS | _QUANTITIES
        for token in words
    )
    plain = not any(token.raw.startswith("\\") for token in tokens)
    spread_out: list[Token] = []
    group = 0
    for number, token in enumerate(tokens):
        group += (token.kind == "{") - (token.kind == "}")
        before = spread_out[-1] if spread_out else END
        after = tokens[number + 1] if number + 1 < len(tokens) else END
        environment = number > 1 and tokens[number - 2].kind in ("begin", "end")
        if (
            token.kind == "word"
            and not environment
            and not (plain and before.kind == "_" and after.kind != "_")  # "v_min", which LaTeX would write in braces
            and (
                _is_product(token, before, len(tokens) == 1)
                or _among_operators(token, before, after, written, group)
                or (token.raw == "by" and before.kind in _SIGNS)  # "c - by", not "3 by 4"
            )
        ):
            for place, letter in enumerate(token.raw):
                spread_out.append(Token("sym", letter, token.space and place == 0, letter))
        else:
            spread_out.append(token)
    return spread_out


def _is_product(token: Token, before: Token, alone: bool) -> bool:
    if (
        token.value is TEXT
        or len(token.raw) > _SHORT
        or token.raw.lower() in _QUANTITIES
        or is_unit_word(token.raw)
        or is_unit_word(f"{before.raw} {token.raw}")
        or token.raw in NO_UNITS
    ):
        return False
    if before.kind == "num" and token.space:  # "5 cat"
        return token.raw in ("xy", "yz", "xz", "xyz")
    if alone and token.raw[0].islower() and token.raw[-1].isupper():  # "aB"
        return True
    return all(letter in _CONSONANTS or (letter == "a" and not alone) for letter in token.raw)


def _among_operators(token: Token, before: Token, after: Token, written: bool, group: int) -> bool:
    """Return whether a word with vowels, or in capitals, is a product: in a group, or among short words only."""
    if token.value is TEXT or is_unit_word(token.raw) or (before.kind == "num" and token.space):
        return False
    if token.raw.isupper() and "=" in (before.kind, after.kind):  # the name of a line: AB = 5
        return False
    return written or (group > 0 and len(token.raw) <= _LONGEST)
