r"""Tables of mathematical notation: Unicode signs, LaTeX commands, names of functions."""

from __future__ import annotations

from collections.abc import Mapping

from gem.tables import read_table

__all__ = ["ACCENTS", "FUNCTIONS", "GREEK", "NAMES", "OPERATORS", "SUBSCRIPTS", "SUPERSCRIPTS", "TRANSLATION"]

# Marks of structure and functions keep a blank behind them, so that they do not run into the next letter.
_UNICODE = {
    **dict.fromkeys("−‐‑‒–—﹣－", "-"), **dict.fromkeys("×✕⨯", "\\times "), **dict.fromkeys("·⋅∙•", "\\cdot "),
    "÷": "/", "⁄": "/", "∕": "/", "π": "\\pi ", "∞": "\\infty ", "√": "\\sqrt ", "≤": "\\le ", "⩽": "\\le ",
    "≥": "\\ge ",
    "⩾": "\\ge ", "≠": "\\ne ", "∪": "\\cup ", "∩": "\\cap ",
    "∖": "\\setminus ", "∧": "\\land ", "∨": "\\lor ", "∉": "\\notin ", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}",
    "ℚ": "\\mathbb{Q}", "ℂ": "\\mathbb{C}", "∈": "\\in ", "°": "^\\circ ", "º": "^\\circ ", "±": "\\pm ",
    "∓": "\\mp ",
    "∠": "\\angle ", "△": "\\triangle ",
    "∅": "\\emptyset ", "≈": "\\approx ", "ℝ": "\\mathbb{R}", "θ": "\\theta ", "α": "\\alpha ", "β": "\\beta ",
    "γ": "\\gamma ",
    "φ": "\\phi ", "ϕ": "\\phi ", "λ": "\\lambda ", "μ": "\\mu ", "ω": "\\omega ", "δ": "\\delta ", "σ": "\\sigma ",
    "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅕": " 1/5", "⅖": " 2/5", "⅗": " 3/5", "⅘": " 4/5",
    "⅙": " 1/6", "⅚": " 5/6", "⅛": " 1/8", "⅜": " 3/8", "⅝": " 5/8", "⅞": " 7/8",
    "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "…": "\\ldots ", "⟨": "\\langle ", "⟩": "\\rangle ", "％": "%",
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
}  # fmt: skip
TRANSLATION = str.maketrans(
    {
        **_UNICODE,
        **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code) not in "-%"},
    }
)
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_TABLES = read_table(__file__, "notation.json")
OPERATORS: Mapping[str, str] = _TABLES["operators"]
GREEK = frozenset(_TABLES["greek"])
FUNCTIONS = frozenset(_TABLES["functions"])
NAMES: Mapping[str, tuple[str, str]] = {name: (kind, value) for name, (kind, value) in _TABLES["names"].items()}
ACCENTS: Mapping[str, str] = _TABLES["accents"]
"""Commands for the name of a variable → what they add to the name; a vector's arrow and a script font add nothing."""
