r"""From text to tokens: one pass over Unicode, LaTeX and plain ASCII notation, linear in the length of the text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from gem_envs_math.grader.limits import DIGITS, TERMS, NotMathError, TooMuchError, UnknownNotationError
from gem_envs_math.grader.notation import (
    ACCENTS,
    FUNCTIONS,
    GREEK,
    NAMES,
    OPERATORS,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    TRANSLATION,
    UNIT_LETTERS,
)
from gem_envs_math.grader.units import MULTIPLIERS

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


_SUPER = re.compile(f"[{''.join(map(chr, SUPERSCRIPTS))}]+")
_SUB = re.compile(f"[{''.join(map(chr, SUBSCRIPTS))}]+")
_SIZES = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|hline)"
    r"(?![a-zA-Z])\.?"
)
_SPACES = re.compile(
    r"(?<!\\)\\(?:[;:> ]|q?quad|(?:space|hspace\*?\{[^{}]*\}|enspace|thinspace|medspace|nobreakspace)(?![a-zA-Z]))"
    r"|~|(?<!\\)\\\n"
)
_REAL = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_DOUBLED = re.compile(
    r"\\\\(?=(?:[dtc]?frac|sqrt|left|right|text|mathrm|pi|boxed|cdot|times|cup|infty|begin|end)(?![a-zA-Z]))"
)
_BACKSLASHES = re.compile(r"\\+")
_EMPHASIS = re.compile(r"\A(\*\*|[`\"'])([^*`\"']+)\1\Z")
_LABEL = re.compile(
    r"\A(?:final\s+)?answer\s*:\s*|\A\\text\s*\{\s*(?:final\s+)?answer\s*:\s*\}\s*(?=\S)", re.IGNORECASE
)
_REMARK = re.compile(r"(?<=[\d}])\s*(?:\\text\s*\{\s*)?\(([a-z]{3,}(?: [a-z]{2,}){0,3})\)\s*\}?\Z")
"""Words in brackets behind a number, ``5 (students)``."""
_QUANTIFIED = re.compile(r"(?<=\S)\s*,?\s*(?:\\text\s*\{\s*)?,?\s*\bfor\s+(?:all|every|any|each)\s[^=]*\Z")
"""The values for which an equation holds: ``f(x) = x for all x > 0``."""
_PERIODIC = re.compile(r"(?<![\d.])(\d*\.\d*?)(?:(\d)\2{2,}|(\d{2,9}?)\3+)(?:\.{3,}|\\[lc]?dots(?![a-zA-Z]))")
"""A decimal whose last digits return before it goes on: ``0.333...``, ``0.1818...``."""
_ORDINAL = re.compile(r"\A(\d+)\s*(?:\^\s*)?\{?\s*(?:\\(?:text|mathrm)\s*\{\s*)?(?:st|nd|rd|th)[\s}]*\Z")
_PYTHON_ARRAY = re.compile(r"\A(?:(?:sp|sympy|np|numpy)\.)?(?:Matrix|array)\s*\((.*)\)\Z", re.DOTALL)
_ANGLES = re.compile(r"\A<([^<>=]+,[^<>=]+)>\Z")
_RECURRING = re.compile(r"(?<![\d.])(0\.\d*|\d+\.)\((\d+)\)")
_MARKUP = re.compile(r"\\(?:(?:text)?color\s*\{[^{}]*\}|underline(?![a-zA-Z])|text\s*\{\s*[.,;:]?\s*\}\Z)")
_UPRIGHT = re.compile(r"\\(?:mathrm|text|rm)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_BOLD = re.compile(r"\\(?:math(?:bf|it|sf|tt|normal)|boldsymbol|bm)\s*(?=\{[^{}]*[\\{])")
"""A typeface of more than letters and digits."""
_POWER_OR_SPACE = re.compile(r"\\[,!]|\^")
_TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_LOG_BASE = re.compile(r"(?<![a-zA-Z])log(\d{1,3})(?=\()")
_COMBINATIONS = re.compile(r"(?:\A|(?<=[-+=*/(\s]))(?:\{\})?[_^]\{?(\d{1,4})\}?\s*C\s*_\{?(\d{1,4})\}?")
_GROUP = r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*?)"
_INFIX = re.compile(rf"(?<!\\)\{{{_GROUP}\\(choose|over)(?![a-zA-Z]){_GROUP}\}}")
_CLOSER = re.compile(r"(?<![a-zA-Z\\])([a-zA-Z])\\!(?=[a-zA-Z](?![a-zA-Z]))")
"""Two letters with less space between them than in a word."""
_ARROW = r"\\(?:vec|overrightarrow|mathbf|boldsymbol|bm)(?![a-zA-Z])\s*(?:\{[^{}]*\}|[a-zA-Z])"
_CROSS_PRODUCT = re.compile(rf"{_ARROW}\s*\\times\s*{_ARROW}")
_TEMPERATURE = re.compile(
    r"(?:\^?\s*(?:\{\s*\\circ\s*\}|\\circ)|\s*\bdeg(?:rees?)?)\s*"
    r"(?:(?:[CF]|[Cc]elsius|[Ff]ahrenheit)(?![a-zA-Z])|\\(?:text|mathrm|rm)\s*\{\s*(?:[CF]|[Cc]elsius|[Ff]ahrenheit)\s*\})"
)
_DISPLAY = re.compile(
    r"\\begin\s*\{(align|aligned|alignedat|gather|gathered|equation|split|eqnarray|multline)\*?\}(.*?)\\end\s*\{\1\*?\}",
    re.DOTALL,
)
_ALIGNMENT = re.compile(r"(?<!\\)&")
_CONTINUED = re.compile(r"\s*(?:[=<>]|\\(?:[lg]eq?|approx|equiv)(?![a-zA-Z]))")
_PYTHON_COMPLEX = re.compile(rf"(\(?\s*[-+]?\s*{_REAL}\s*[-+]\s*(?:{_REAL})?\s*\*?\s*)j(\s*\)?)")
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]]")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\\[,!])
  | (?P<repeating>\d*\.\d*\\(?:overline|bar|dot)\s*(?:\{\d+\}|\d))
  | (?P<grouped>(?<!\d,)\d{1,3}(?:(?:(?:\{,\}|,)?(?:\\[,!]\s*)+|\{,\}|,)\d{3})+(?:\.\d+)?(?!\d|,\d))
  | (?P<spaced>\d{1,3}(?:[ ]\d{3})+(?:\.\d+)?(?!\s*[/\d]))
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+(?![a-zA-Z\d]))?)
  | \\(?:text(?:bf|it|rm|sf|tt|up|normal)?|mbox|hbox)\s*\{(?P<text>[^{}]*)\}
  | \\(?:math(?:rm|it|bf|sf|tt|normal)|boldsymbol|bm|operatorname\*?|rm|bf|it)\s*\{(?P<font>[^{}\\]*)\}
  | \\(?P<accent>vec|overrightarrow|overline|bar|hat|widehat|tilde|widetilde|dot|mathcal|mathscr)(?![a-zA-Z])\s*
     (?:\{\s*(?P<accented>[A-Za-z]{1,4})\s*\}|(?P<one>[A-Za-z]))
  | \\(?P<command>[a-zA-Z]+)
  | (?P<letters>[^\W\d_]+)
  | (?P<power>\*\*)
  | (?P<compare><=|>=|!=|==)
  | (?P<escaped>\\[{}%$\#&_|])
  | (?P<row>\\\\(?:\[-?[\d.]+\s*(?:pt|ex|em|mm|cm)\])?)
  | (?P<other>[-+*/^_!.|()\[\]{},;:=<>%'&$"?€£¢¥₹₩₽₫])
    """,
    re.VERBOSE,
)


def cleaned(text: str) -> str:
    """Return the text without typographic details: Unicode variants, sizes, spaces, dollars around it."""
    if not text.isascii():
        text = _SUPER.sub(lambda found: "^{" + found[0].translate(SUPERSCRIPTS) + "}", text)
        text = _SUB.sub(lambda found: "_{" + found[0].translate(SUBSCRIPTS) + "}", text)
        text = text.translate(TRANSLATION)
    if "\\" in text:
        text = _single_backslashes(text)
        text = _CLOSER.sub(r"\1", text)
        text = _DELIMITERS.sub(" ", text)
        text = _SIZES.sub(" ", text)
        text = _SPACES.sub(" ", text)
        text = _MARKUP.sub(" ", text)
        text = _UPRIGHT.sub(_factors_of_a_unit, text)
        if "\\times" not in text:  # which multiplies bold letters as vectors
            text = _BOLD.sub("", text)
        text = _DISPLAY.sub(_undisplayed, text) if "begin" in text else text.strip().removesuffix("\\\\")
        if "\\choose" in text or "\\over" in text:
            text = _INFIX.sub(_with_prefix, text)
            whole = _INFIX.fullmatch("{" + text + "}")
            text = _with_prefix(whole) if whole else text
    elif "~" in text:
        text = text.replace("~", " ")
    if "C" in text:
        text = _COMBINATIONS.sub(r"\\binom{\1}{\2}", text)
    if "circ" in text or "eg" in text:
        text = _TEMPERATURE.sub(_scale_of, text)
    if "log" in text:
        text = _LOG_BASE.sub(r"log_{\1}", text)
    if "10" in text:
        text = _TIMES_TEN.sub("*", text)
    if "(" in text:
        text = _PYTHON_ARRAY.sub(r"\1", _RECURRING.sub(r"\1\\overline{\2}", text))
    text = _LABEL.sub("", _EMPHASIS.sub(r"\2", text.strip()))
    if "." in text and ("..." in text or "dots" in text):
        text = _PERIODIC.sub(r"\1\\overline{\2\3}", text)
    if "for" in text and "=" in text:
        text = _QUANTIFIED.sub("", text)
    if ")" in text:
        text = _REMARK.sub(r" \\text{\1}", text)
    text = _ANGLES.sub(r"(\1)", _ORDINAL.sub(r"\1", text))
    if "j" in text:
        text = _imaginary(text)
    if "$" in text and text.replace("\\$", "").count("$") % 2 == 0:
        text = text.replace("\\$", "\\\0").replace("$", " ").replace("\\\0", "\\$").strip()
    return text


def _with_prefix(found: re.Match[str]) -> str:
    r"""Return a group of TeX's infix commands as LaTeX writes it: ``{n \choose k}`` as ``{\binom{n}{k}}``."""
    above, below = (_INFIX.sub(_with_prefix, part) for part in (found[1], found[3]))
    return f"{{\\{'binom' if found[2] == 'choose' else 'frac'}{{{above}}}{{{below}}}}}"


def _undisplayed(found: re.Match[str]) -> str:
    """Return the content of an environment that only lays it out: a chain of relations, or its rows."""
    rows = [_ALIGNMENT.sub(" ", row) for row in found[2].split("\\\\") if row.strip()]
    if all(map(_CONTINUED.match, rows[1:])):
        return " ".join(rows)
    return "\\begin{gathered}" + "\\\\ ".join(rows) + "\\end{gathered}"


def _factors_of_a_unit(found: re.Match[str]) -> str:
    r"""Return a unit of several factors, ``\mathrm{m\,s^{-2}}``, with each of its names in upright letters."""
    inner = found[1]
    if not _POWER_OR_SPACE.search(inner) or "\\" in _POWER_OR_SPACE.sub("", inner):
        return found[0]
    return re.sub(r"[^\W\d_]+", lambda name: f"\\text{{{name[0]}}}", inner)


def _imaginary(text: str) -> str:
    """Return the text with the imaginary unit of Python and of engineers as i, in a number with a real part alone."""
    found = _PYTHON_COMPLEX.fullmatch(text)
    return text if found is None else f"{found[1]}i{found[2]}"


def _scale_of(found: re.Match[str]) -> str:
    return r"\text{ celsius}" if found[0].rstrip("} ")[-1] in "Cs" else r"\text{ fahrenheit}"


def _single_backslashes(text: str) -> str:
    """Return the text without the second backslash where a serialisation doubled all of them."""
    if "\\\\" in text and _DOUBLED.search(text):
        if all(len(run) % 2 == 0 for run in _BACKSLASHES.findall(text)):
            return text.replace("\\\\", "\\")
        if "begin" not in text:
            return text.replace("\\\\", "\\")
    return text.rstrip("\\") if text.endswith("\\") and not text.endswith("\\\\") else text


def scan(text: str) -> list[Token]:
    """Return the tokens of a cleaned text.

    Raises:
        NotMathError: if a character cannot be part of a formula.
        UnknownNotationError: at a LaTeX command that only a full reader knows.
        TooMuchError: beyond the limits.
    """
    if "times" in text and _CROSS_PRODUCT.search(text):
        raise UnknownNotationError("a product of vectors")
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
        if kind == "grouped" and _is_pair(raw, tokens, text[position:]):
            for place, part in enumerate(re.findall(r"[\d.]+", raw)):
                if place:
                    tokens.append(Token(",", ",", False, ","))
                tokens.append(Token("num", _number(part), space and not place, part))
        elif kind in ("grouped", "spaced"):
            tokens.append(Token("num", _number(_SEPARATORS.sub("", raw)), space, raw))
        elif kind == "number":
            tokens.append(Token("num", _number(raw), space, raw))
        elif kind == "repeating":
            tokens.append(Token("num", _repeating(raw), space, raw))
        elif kind == "text":
            tokens.extend(_words(found["text"], space))
        elif kind == "font":
            tokens.extend(_in_font(found["font"], space, tokens))
        elif kind in ("accented", "one"):
            name = ACCENTS[found["accent"]] + found[kind]
            tokens.append(Token("sym", name, space, name))
        elif kind == "command":
            tokens.append(_command(found["command"], space))
        elif kind == "letters":
            tokens.extend(_letters(raw, space, tokens, text[position : position + 2]))
        else:
            tokens.append(Token(_MARKS.get(raw, raw), raw, space, raw))
        space = False
        if len(tokens) > LIMIT:
            raise TooMuchError(f"more than {LIMIT} tokens")
    return tokens


_SPELT = {name for name in GREEK if name.islower()} - frozenset(
    ("angle", "chi", "ell", "eta", "imath", "mu", "nu", "psi", "triangle", "xi")
)
"""Greek letters that a formula may have by name; the others are words, a unit, or products of letters as well."""
_OF_SEVERAL = frozenset({"gcd", "lcm", "max", "min"})
"""Functions of several numbers."""
_SEPARATORS = re.compile(r"\{,\}|\\[,!]|[,\s]")
LIMIT = 4 * TERMS
_MARKS = {
    "**": "^", "<=": "le", ">=": "ge", "!=": "ne", "==": "=", "\\{": "lset", "\\}": "rset", "\\%": "%", "\\$": "$",
    "\\#": "#", "\\&": "&", "\\_": "_", "\\\\": "row",
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


def _is_pair(raw: str, before: list[Token], after: str) -> bool:
    """Return whether "12,102" is two numbers, because it fills brackets: the interval (12,102), max(12,102)."""
    if not before or before[-1].kind not in ("(", "[") or "{" in raw or "\\!" in raw:
        return False
    if len(before) > 1 and before[-2].value in _OF_SEVERAL:
        return True
    # A bracket behind a letter or a number belongs to a product or a function.
    return after.lstrip()[:1] in (")", "]") and (len(before) < 2 or before[-2].kind not in ("num", "sym", "fn", ")"))


def _in_font(text: str, space: bool, before: list[Token]) -> list[Token]:
    r"""Return the content of ``\mathrm{…}``: a constant, a function, a variable, or the words of a unit."""
    name = text.strip()
    if (name in FUNCTIONS and not _is_time(name, before)) or name in NAMES:
        return _letters(name, space, before, "")
    if len(name) == 1 and name.isalpha() and (name in "ei" or not before or before[-1].kind not in ("num", "/")):
        return [Token("sym", name, space, name)]
    return _words(text, space)


def _is_time(name: str, before: list[Token]) -> bool:
    """Return whether "min" and "sec" are units of time: behind a number, or per another unit."""
    if name not in ("min", "sec") or not before:
        return False
    return before[-1].kind == "num" or (before[-1].kind == "/" and len(before) > 1 and before[-2].kind == "word")


def _command(name: str, space: bool) -> Token:
    raw = "\\" + name
    if name in OPERATORS:
        return Token(OPERATORS[name], raw, space, raw)
    if name in GREEK:
        return Token("sym", name.removeprefix("var"), space, raw)  # the variants of a letter are one letter
    if name in FUNCTIONS:
        return Token("fn", name, space, raw)
    if name in NAMES and name != "inf":  # an infimum
        kind, value = NAMES[name]
        return Token(kind, value, space, raw)
    raise UnknownNotationError(raw)


def _letters(raw: str, space: bool, before: list[Token], after: str) -> list[Token]:
    if raw[0] >= "\u3040":  # Chinese, Japanese and Korean have no variables
        start = 1 if raw[0] in MULTIPLIERS and len(raw) > 1 else 0  # "5万元"
        parts = [raw[:start], raw[start:]] if start else [raw]
        return [Token("word", part, space and not place, part) for place, part in enumerate(parts)]
    if len(raw) == 1:
        return [Token("sym", UNIT_LETTERS.get(raw, raw), space, raw)]
    name = raw.lower()
    if name in ("deg", "degree", "degrees") and before and before[-1].kind in ("num", "sym", ")", "}"):
        return [Token("degree", "degree", space, raw)]
    if name == "cup" and before and before[-1].kind == "num" and not after:  # "40 cup", and no union
        return [Token("word", raw, space, raw)]
    if name in NAMES:
        kind, value = NAMES[name]
        return [Token(kind, value, space, raw)]
    if raw in _SPELT and (before or after):  # alone it is a word
        return [Token("sym", raw.removeprefix("var"), space, raw)]
    is_function = raw in FUNCTIONS or name in ("max", "min") or (name in FUNCTIONS and after[:1] == "(")
    if name in ("fraction", "rational") and after[:1] == "(":  # as Python and SymPy write them
        return [Token("fn", "fraction", space, raw)]
    if is_function and not (_is_time(raw, before) and after[:1] not in ("(", "^") and after != "**"):
        return [Token("fn", name, space, raw)]
    if (after[:1] in ("(", "\\", "|", "^") or after == "**") and len(raw) <= 10:  # "Bsin(x)", "xsqrt(2)"
        for split in range(1, min(4, len(raw) - 1)):
            rest = name[split:]
            if rest in FUNCTIONS or (rest in NAMES and NAMES[rest][0] in ("fn", "sqrt")):
                letters = [Token("sym", letter, space and not n, letter) for n, letter in enumerate(raw[:split])]
                return [*letters, *_letters(raw[split:], False, [], "")]
    return [Token("word", raw, space, raw)]


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
