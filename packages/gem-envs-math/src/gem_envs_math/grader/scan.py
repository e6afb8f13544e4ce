r"""From text to tokens: one pass over Unicode, LaTeX and plain ASCII notation, linear in the length of the text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from gem_envs_math.grader.limits import DIGITS, TERMS, NotMathError, TooMuchError, UnknownNotationError

__all__ = ["TEXT", "Token", "cleaned", "scan"]


TEXT = "text"
"""The value of a word in ``\\text{…}``."""


class Token(NamedTuple):
    """A piece of an answer.

    ``kind`` is ``num`` (``value`` a Fraction), ``sym`` (a variable or a constant), ``fn`` (a function's name), ``word``
    (letters outside of mathematics), ``cmd`` (a LaTeX command with arguments), or the operator itself.
    """

    kind: str
    value: object
    space: bool
    """Whether there is blank space before it."""
    raw: str


# Marks of structure and functions keep a blank behind them, so that they do not run into the next letter.
_UNICODE = {
    **dict.fromkeys("−‐‑‒–—﹣－", "-"), **dict.fromkeys("×✕⨯", "\\times "), **dict.fromkeys("·⋅∙•", "\\cdot "),
    "÷": "/", "⁄": "/", "∕": "/", "π": "\\pi ", "∞": "\\infty ", "√": "\\sqrt ", "≤": "\\le ", "⩽": "\\le ",
    "≥": "\\ge ",
    "⩾": "\\ge ", "≠": "\\ne ", "∪": "\\cup ", "∈": "\\in ", "°": "^\\circ ", "º": "^\\circ ", "±": "\\pm ",
    "∓": "\\mp ",
    "∅": "\\emptyset ", "≈": "\\approx ", "ℝ": "\\mathbb{R}", "θ": "\\theta ", "α": "\\alpha ", "β": "\\beta ",
    "γ": "\\gamma ",
    "φ": "\\phi ", "ϕ": "\\phi ", "λ": "\\lambda ", "μ": "\\mu ", "ω": "\\omega ", "δ": "\\delta ", "σ": "\\sigma ",
    "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅕": " 1/5", "⅖": " 2/5", "⅗": " 3/5", "⅘": " 4/5",
    "⅙": " 1/6", "⅚": " 5/6", "⅛": " 1/8", "⅜": " 3/8", "⅝": " 5/8", "⅞": " 7/8",
    "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "…": "...", "⟨": "\\langle ", "⟩": "\\rangle ", "％": "%",
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
}  # fmt: skip
_TRANSLATION = str.maketrans(
    {
        **_UNICODE,
        **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code) not in "-%"},
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_SUPER = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
_SUB = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|mathstrut)(?![a-zA-Z])\.?")
_SPACES = re.compile(r"(?<!\\)\\(?:quad|qquad|[;:> ]|space|hspace\{[^{}]*\}|enspace|thinspace)(?![a-zA-Z])|~|\\\n")
_TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]]")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\\[,!])
  | (?P<repeating>\d*\.\d*\\(?:overline|bar|dot)\s*(?:\{\d+\}|\d))
  | (?P<grouped>\d{1,3}(?:(?:\{,\}|,?\\[,!]|,)\d{3})+(?:\.\d+)?(?![\d,]\d))
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+(?![a-zA-Z\d]))?)
  | \\(?:text(?:bf|it|rm|sf|tt|normal)?|mbox|hbox|math(?:rm|it|bf|sf)|operatorname\*?|rm|bf)\s*\{(?P<text>[^{}]*)\}
  | \\(?P<command>[a-zA-Z]+)
  | (?P<letters>[^\W\d_]+)
  | (?P<power>\*\*)
  | (?P<compare><=|>=|!=|==)
  | (?P<escaped>\\[{}%$\#&_|])
  | (?P<row>\\\\)
  | (?P<other>[-+*/^_!.|()\[\]{},;:=<>%'&$"?€£¢])
    """,
    re.VERBOSE,
)

_OPERATORS = {
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "pm", "mp": "mp", "le": "le", "leq": "le",
    "leqslant": "le",
    "ge": "ge", "geq": "ge", "geqslant": "ge", "lt": "<", "gt": ">", "ne": "ne", "neq": "ne", "in": "in", "cup": "cup",
    "approx": "approx", "circ": "circ", "degree": "degree", "lbrace": "lset", "rbrace": "rset", "langle": "(",
    "rangle": ")",
    "lvert": "|", "rvert": "|", "vert": "|", "lparen": "(", "rparen": ")", "colon": ":", "prime": "'", "mid": "mid",
    "lfloor": "lfloor", "rfloor": "rfloor", "lceil": "lceil", "rceil": "rceil", "lbrack": "[", "rbrack": "]",
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "frac": "frac", "sqrt": "sqrt", "binom": "binom",
    "dbinom": "binom",
    "tbinom": "binom", "begin": "begin", "end": "end", "infty": "infty", "emptyset": "emptyset",
    "varnothing": "emptyset",
    "mathbb": "mathbb", "overline": "overline", "boxed": "boxed", "to": "to", "ldots": "dots", "dots": "dots",
    "cdots": "dots", "percent": "%", "lor": "or", "land": "and", "setminus": "setminus", "backslash": "setminus",
}  # fmt: skip
_GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta", "iota", "kappa",
    "lambda",
    "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "varphi", "chi", "psi", "omega", "Gamma", "Delta",
    "Theta", "Lambda", "Xi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "ell", "hbar",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "lg",
    "exp",
    "gcd", "lcm", "max", "min",
})  # fmt: skip
_NAMES = {
    "pi": ("sym", "pi"), "sqrt": ("sqrt", "sqrt"), "inf": ("infty", "inf"), "infinity": ("infty", "infinity"),
    "oo": ("infty", "oo"), "cup": ("cup", "cup"), "theta": ("sym", "theta"), "alpha": ("sym", "alpha"),
    "beta": ("sym", "beta"), "lambda": ("sym", "lambda"), "asin": ("fn", "arcsin"), "acos": ("fn", "arccos"),
    "atan": ("fn", "arctan"),
}  # fmt: skip


def cleaned(text: str) -> str:
    """Return the text without typographic details: Unicode variants, sizes, spaces, dollars around it."""
    if not text.isascii():
        text = _SUPER.sub(lambda found: "^{" + found[0].translate(_SUPERSCRIPTS) + "}", text)
        text = _SUB.sub(lambda found: "_{" + found[0].translate(_SUBSCRIPTS) + "}", text)
        text = text.translate(_TRANSLATION)
    if "\\" in text:
        text = _DELIMITERS.sub(" ", text)
        text = _SIZES.sub(" ", text)
        text = _SPACES.sub(" ", text)
    elif "~" in text:
        text = text.replace("~", " ")
    if "10" in text:
        text = _TIMES_TEN.sub("*", text)
    text = text.strip()
    if "$" in text and text.replace("\\$", "").count("$") % 2 == 0:
        text = text.replace("\\$", "\\\0").replace("$", " ").replace("\\\0", "\\$").strip()
    return text


def scan(text: str) -> list[Token]:
    """Return the tokens of a cleaned text.

    Raises:
        NotMathError: if a character cannot be part of a formula.
        UnknownNotationError: at a LaTeX command that only a full reader knows.
        TooMuchError: beyond the limits.
    """
    tokens: list[Token] = []
    position, space = 0, False
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise NotMathError(text[position])
        position = found.end()
        kind = found.lastgroup
        raw = found[0]
        if kind == "space":
            space = True
            continue
        if kind == "grouped":
            tokens.append(Token("num", _number(re.sub(r"\{,\}|\\[,!]|,", "", raw)), space, raw))
        elif kind == "number":
            tokens.append(Token("num", _number(raw), space, raw))
        elif kind == "repeating":
            tokens.append(Token("num", _repeating(raw), space, raw))
        elif kind == "text":
            tokens.extend(_words(found["text"], space))
        elif kind == "command":
            tokens.append(_command(found["command"], space))
        elif kind == "letters":
            tokens.append(_letters(raw, space, tokens[-1] if tokens else None))
        else:
            tokens.append(Token(_MARKS.get(raw, raw), raw, space, raw))
        space = False
        if len(tokens) > LIMIT:
            raise TooMuchError(f"more than {LIMIT} tokens")
    return tokens


LIMIT = 4 * TERMS
_MARKS = {
    "**": "^", "<=": "le", ">=": "ge", "!=": "ne", "==": "=", "\\{": "lset", "\\}": "rset", "\\%": "%", "\\$": "$",
    "\\#": "#", "\\&": "&", "\\_": "_", "\\|": "|", "\\\\": "row",
}  # fmt: skip
_TEXT_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?|\S")


def _words(text: str, space: bool) -> list[Token]:
    r"""Return the content of ``\text{…}``: words, never variables; numbers as elsewhere."""
    tokens = []
    for part in _TEXT_TOKEN.finditer(text):
        raw = part[0]
        before = space or (part.start() > 0 and text[part.start() - 1].isspace())
        if raw[0].isdigit():
            tokens.append(Token("num", _number(raw), before, raw))
        elif raw[0].isalpha():
            tokens.append(Token("word", TEXT, before, raw))
        else:
            tokens.append(Token(_MARKS.get(raw, raw), raw, before, raw))
        space = False
    return tokens


def _command(name: str, space: bool) -> Token:
    raw = "\\" + name
    if name in _OPERATORS:
        return Token(_OPERATORS[name], raw, space, raw)
    if name in _GREEK:
        return Token("sym", name, space, raw)
    if name in _FUNCTIONS:
        return Token("fn", name, space, raw)
    raise UnknownNotationError(raw)


def _letters(raw: str, space: bool, before: Token | None) -> Token:
    if len(raw) == 1:
        return Token("sym", raw, space, raw)
    name = raw.lower()
    if name in _NAMES:
        kind, value = _NAMES[name]
        return Token(kind, value, space, raw)
    if raw in _FUNCTIONS and not (raw == "min" and before is not None and before.kind == "num"):  # minutes
        return Token("fn", raw, space, raw)
    return Token("word", raw, space, raw)


def _number(raw: str) -> Fraction:
    digits, _, exponent = raw.lower().partition("e")
    if len(digits) > DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > DIGITS:
        raise TooMuchError(f"a number of more than {DIGITS} digits")
    whole, _, part = digits.partition(".")
    value = Fraction(int(whole + part or "0"), 10 ** len(part))
    return value * Fraction(10) ** int(exponent) if exponent else value


def _repeating(raw: str) -> Fraction:
    digits, _, period = raw.partition("\\")
    whole, _, part = digits.partition(".")
    again = re.sub(r"\D", "", period)
    if len(raw) > DIGITS:
        raise TooMuchError("a period of that length")
    scale = 10 ** len(part)
    return Fraction(int(whole + part or "0"), scale) + Fraction(int(again), scale * (10 ** len(again) - 1))
