r"""Tables of mathematical notation: Unicode signs, LaTeX commands, names of functions."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from gem.tables import read_table

__all__ = [
    "ACCENTS", "CONNECTIVES", "FUNCTIONS", "GREEK", "NAMES", "OPERATORS", "SUBSCRIPTS", "SUPERSCRIPTS", "TRANSLATION",
    "UNIT_LETTERS",
]  # fmt: skip

_TABLES = read_table(__file__, "notation.json")
OPERATORS: Mapping[str, str] = _TABLES["operators"]
GREEK = frozenset(_TABLES["greek"])
FUNCTIONS = frozenset(_TABLES["functions"])
NAMES: Mapping[str, tuple[str, str]] = {name: (kind, value) for name, (kind, value) in _TABLES["names"].items()}
ACCENTS: Mapping[str, str] = _TABLES["accents"]
"""Commands for the name of a variable → what they add to the name; a vector's arrow and a script font add nothing."""
CONNECTIVES: Mapping[str, str] = _TABLES["connectives"]
"""The words between answers, those of some other languages too → "and" or "or"."""

# Marks of structure and functions keep a blank behind them, so that they do not run into the next letter.
_UNICODE = {
    **dict.fromkeys("−‐‑‒–—﹣－", "-"), **dict.fromkeys("×✕✖⨯⨉", "\\times "), **dict.fromkeys("·⋅∙•", "\\cdot "),
    **dict.fromkeys("∗⁎", "*"), **dict.fromkeys("÷⁄∕", "/"), "∶": ":", "∣": "\\mid ", "%": "%", "％": "%",
    **dict.fromkeys("°º", "^\\circ "),
    "√": "\\sqrt ", "∛": "\\sqrt[3] ", "∜": "\\sqrt[4] ", "…": "\\ldots ", "⋯": "\\cdots ",
    "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅕": " 1/5", "⅖": " 2/5", "⅗": " 3/5", "⅘": " 4/5",
    "⅙": " 1/6", "⅚": " 5/6", "⅐": " 1/7", "⅛": " 1/8", "⅜": " 3/8", "⅝": " 5/8", "⅞": " 7/8", "⅑": " 1/9",
    "⅒": " 1/10",
    "、": ", ", "或": " or ", "且": " and ", "和": " and ", "与": " and ", "又": " ",
    "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "″": "''",
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **{sign: f"\\{command} " for sign, command in _TABLES["signs"].items()},
    **{sign: f"\\mathbb{{{letter}}}" for sign, letter in zip("ℤℕℚℂℝ", "ZNQCR", strict=True)},
}  # fmt: skip


def _greek_letters() -> dict[str, str]:
    """Return the Greek letters with a command of their own, by their names in Unicode."""
    found = {}
    for sign in map(chr, range(0x391, 0x3CA)):
        case, _, name = unicodedata.name(sign, "").removeprefix("GREEK ").partition(" LETTER ")
        command = name.replace("LAMDA", "LAMBDA").lower()
        command = command.capitalize() if case == "CAPITAL" else command
        if command in GREEK:
            found[sign] = f"\\{command} "
    return found


UNIT_LETTERS = {"μ": "mu", "Ω": "Omega"}
"""Greek letters that are, or begin, a unit too (``kΩ``, ``μm``); they stay as they are."""

_UNICODE |= {sign: command for sign, command in _greek_letters().items() if sign not in UNIT_LETTERS} | {"µ": "μ"}
_STYLED = [chr(code) for code in (*range(0x3D0, 0x3F7), 0x210E, 0x2126, *range(0x1D400, 0x1D800))]
"""Letters and digits in the fonts of mathematics, and the variants of Greek letters."""
TRANSLATION = str.maketrans(
    {
        **_UNICODE,
        **{
            sign: _UNICODE.get(plain, plain)
            for sign in _STYLED
            if (plain := unicodedata.normalize("NFKC", sign)) != sign and len(plain) == 1
        },
        **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code) not in "-%"},
    }
)


def _raised(kind: str) -> dict[str, str]:
    """Return the signs that Unicode has above the line (``super``) or below it (``sub``), with the plain ones."""
    blocks = (0xB2, 0xB3, 0xB9, *range(0x2B0, 0x2E5), *range(0x1D2C, 0x1D80), *range(0x2070, 0x20A0), 0x2C7C)
    pieces = {chr(code): unicodedata.decomposition(chr(code)).split() for code in blocks}
    return {sign: chr(int(piece[1], 16)) for sign, piece in pieces.items() if piece[:1] == [f"<{kind}>"]}


SUPERSCRIPTS = str.maketrans(_raised("super"))
SUBSCRIPTS = str.maketrans(_raised("sub"))
