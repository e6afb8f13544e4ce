"""Answers that are not formulas: words, numbers in words, letters of choices, and notation that is not read."""

from __future__ import annotations

import re
import unicodedata

from gem_envs_math.grader.units import MULTIPLIERS, NUMBER_WORDS
from gem_envs_math.grader.values import TextAnswer, UnreadNotation

__all__ = [
    "INDEX", "chemical_formula", "choice_letter", "choice_letters", "notation_key", "number_in_chinese",
    "number_in_words", "text_value", "unwrapped", "words_of",
]  # fmt: skip

_TEXT_ONLY = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|mathbf|boxed|fbox|emph)\s*\{([^{}]*)\}")
_BOX = re.compile(r"\\f?boxed\s*\{")
_NO_WORDS = re.compile(r"[\d\\+*/^=<>|_%$#&{}\[\]~]")
_CHOICE = re.compile(r"\(([A-Ha-h])\)|([A-Ha-h])[).:](?=\s|$|\\|[^A-Za-z])|([A-H])(?=\s+\([^()]+\)$|\s*$)")
_IDEOGRAPHS = re.compile(r"(?<=[\u3040-\u9fff])\s+(?=[\u3040-\u9fff])")
"""Blanks between Chinese or Japanese signs, which mean nothing."""
_CHINESE_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_CHINESE_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10**4}
_OPTION = re.compile(r"(?:option|choice)\s+(?=\(?[A-H]\b)", re.IGNORECASE)
_OTHER_CHOICE = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z])")
_OPERATORS = frozenset("+-*/^_=!<>")
_CHOICES = re.compile(r"\(?[A-H]\)?(?:(?:\s|[,;、&]|\band\b)*\(?[A-H]\)?){1,7}\.?")
_PIECE = re.compile(r"\\[a-zA-Z]+|[^\W\d_]+|\d+(?:\.\d+)?|\S")
_THIN = re.compile(r"(?<!\\)\\[,!;: ]")
_SHORT_FRACTION = re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)")
_SAME = {
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\leq": "\\le", "\\geq": "\\ge", "\\neq": "\\ne",
    "\\rightarrow": "\\to", "\\cdot": "*", "\\colon": ":", "\\mid": "|", "\\vert": "|", "\\lvert": "|",
    "\\rvert": "|", "\\lbrace": "\\{", "\\rbrace": "\\}", "\\infin": "\\infty", "\\hat": "\\widehat",
    "\\implies": "\\Rightarrow", "\\dots": "\\ldots", "\\cdots": "\\ldots", "\\varnothing": "\\emptyset",
}  # fmt: skip
_FONTS = frozenset(
    {
        "\\text", "\\textbf", "\\textit", "\\textrm", "\\mbox", "\\mathrm", "\\mathbf", "\\operatorname",
        "\\boldsymbol", "\\mathit", "\\rm", "\\limits", "\\nolimits", "\\displaystyle", "\\hfill",
    }
)  # fmt: skip
_PROSE = re.compile(r"(?<![\\A-Za-z])(?!d[a-z](?![a-z])|sin|cos|tan|cot|sec|csc|log|ln|exp)[A-Za-z]{2,}")
_MISREAD = re.compile(
    r"\\(?:pmod|equiv|bmod|approx|sim|text\w*|mbox|(?:min|max)(?!\s*[\\({_])|mathrm\{[^{}]{2,})|[%=<>]"
    r"|\\(?:le|ge|ne|lt|gt)q?(?![a-z])"
)
INDEX = re.compile(r"_\{[^{}]*\}")
_COMMAND = re.compile(r"\\(?!text|mathrm|mbox|%|\$|\{|\})[a-zA-Z]+")
_TENS = {name: 10 * number for number, name in enumerate(
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)}  # fmt: skip


def words_of(text: str) -> str:
    """Return the normal form of a text answer: lower case, no marks around it, single spaces."""
    text = _TEXT_ONLY.sub(r"\1", text)
    return _IDEOGRAPHS.sub("", " ".join(text.split())).casefold().strip(" .,;:!?\"'")


def text_value(text: str) -> TextAnswer | UnreadNotation:
    """Return the value of a cleaned text that is not a formula: words, or notation that is not read."""
    words = words_of(text)
    bare = _TEXT_ONLY.sub(r"\1", text)
    primed = bare.endswith("'") and not bare.startswith("'")  # "x'" is no word
    if (
        not primed
        and not _NO_WORDS.search(bare)
        and not any(unicodedata.category(mark) == "Sm" for mark in bare if mark > "\x7f")
    ):
        return TextAnswer(words)
    return UnreadNotation(notation_key(text), _is_formula(text, bare))


def _is_formula(text: str, bare: str) -> bool:
    """Return whether a full reader of LaTeX may succeed where this one failed, rather than misread something else."""
    without_indices = INDEX.sub("", text)
    return (
        _COMMAND.search(text) is not None
        and not _PROSE.search(bare)
        and not _MISREAD.search(without_indices)
        and text.count("{") - text.count("}") == text.count("\\{") - text.count("\\}")
        and text.count("(") + text.count("[") == text.count(")") + text.count("]")
        and text[-1] not in "+-*/^_=?&|"
    )


def notation_key(text: str) -> str:
    """Return the normal form of notation: without spaces, fonts, braces around single signs."""
    found: list[str] = []
    text = _SHORT_FRACTION.sub(r"\\frac \1 \2", _THIN.sub(" ", text))
    for piece in _PIECE.findall(text):
        piece = _SAME.get(piece, piece)
        if piece in _FONTS:
            continue
        if piece == "}" and len(found) > 1 and found[-2] == "{":
            found[-2:] = found[-1:]
        else:
            found.append(piece.casefold() if len(piece) > 1 and piece[0] != "\\" else piece)
    return " ".join(found).strip(" .,;")


def number_in_words(words: str) -> int | None:
    """Return the number that English words below a million name ("two hundred and five"), or None."""
    total = part = 0
    pieces = words.replace("-", " ").split()
    if not pieces or len(pieces) > 12:
        return None
    last = ""
    for number, piece in enumerate(pieces):
        if piece in NUMBER_WORDS and (not last or last in _TENS or last in MULTIPLIERS or last == "and"):
            if last in _TENS and not 0 < NUMBER_WORDS[piece] < 10:
                return None
            part += NUMBER_WORDS[piece]
        elif piece in _TENS and (not last or last in MULTIPLIERS or last == "and"):
            part += _TENS[piece]
        elif piece == "hundred" and 0 < part < 100:
            part *= 100
        elif piece == "thousand" and 0 < part < 1000 and not total:
            total, part = part * 1000, 0
        elif piece != "and" or last not in ("hundred", "thousand") or number == len(pieces) - 1:
            return None
        last = piece
    return total + part


def number_in_chinese(words: str) -> int | None:
    """Return the number below a hundred million that Chinese numerals name ("二十五"), or None."""
    if not words or len(words) > 15 or not set(words) <= _CHINESE_DIGITS.keys() | _CHINESE_POWERS.keys():
        return None
    total = part = digit = 0
    last = 10**5
    for sign in words:
        if sign in _CHINESE_DIGITS:
            if digit:
                return None
            digit = _CHINESE_DIGITS[sign]
            continue
        power = _CHINESE_POWERS[sign]
        if power == 10**4:
            if total or not part + digit:
                return None
            total, part, digit, last = (part + digit) * power, 0, 0, power
        elif power >= last or not (digit or (power == 10 and sign == words[0])):
            return None
        else:
            part, digit, last = part + (digit or 1) * power, 0, power
    return total + part + digit


def chemical_formula(text: str) -> str | None:
    r"""Return a compound's formula without its typography, ``\mathrm{H_2SO_4}`` as ``H2SO4``; None if it is none."""
    if len(text) > _LONGEST_COMPOUND or not any("A" <= sign <= "Z" for sign in text):
        return None
    plain = re.sub(r"\\(?:ce|mathrm|text|rm)(?![a-zA-Z])|[{}_$\s]", "", unicodedata.normalize("NFKC", text))
    elements = _ELEMENT.findall(plain) if _COMPOUND.fullmatch(plain) else []
    return plain if len(elements) > 1 and _ELEMENTS.issuperset(elements) else None


_LONGEST_COMPOUND = 80
_ELEMENT = re.compile(r"[A-Z][a-z]?")
_COMPOUND = re.compile(r"(?:[A-Z][a-z]?\d{0,3}|\((?:[A-Z][a-z]?\d{0,3})+\)\d{0,2})+(?:\^\d?[+-])?")
_SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am"
)
_ELEMENTS = frozenset(_SYMBOLS.split())


def choice_letter(text: str) -> tuple[str, str] | None:
    """Return the letter of a choice that begins a text and what follows it: "(C) 5" is C and 5; None without one."""
    text = _TEXT_ONLY.sub(r"\1", text).replace("\\ ", " ").strip().strip("$").strip()
    text = text[option.end() :] if (option := _OPTION.match(text)) else text
    found = _CHOICE.match(text)
    if found is None or text[found.end() : found.end() + 1] in _OPERATORS:  # "(b)+0" is a sum
        return None
    rest = text[found.end() :].strip(" .:,;~\\")
    if _OTHER_CHOICE.search(rest):  # "(A) or (B)"
        return None
    return found[1] or found[2] or found[3], rest


def choice_letters(text: str) -> frozenset[str] | None:
    """Return the letters of a text that is several choices, ``BC``, ``B, C`` or ``(B) and (C)``; None if it is not."""
    if text[:1] not in "(ABCDEFGH\\$":
        return None
    text = _TEXT_ONLY.sub(r"\1", text).strip().strip("$").strip()
    if _CHOICES.fullmatch(text) is None:
        return None
    letters = re.findall("[A-H]", text)
    return frozenset(letters) if 1 < len(letters) == len(set(letters)) else None


def unwrapped(text: str) -> str:
    r"""Remove a box, a ``\text{…}`` or redundant braces around the whole text."""
    for _ in range(4):
        whole = _TEXT_ONLY.fullmatch(text)
        box = _BOX.match(text)
        if whole is not None:
            text = whole[1].strip()
        elif box is not None and _box_end(text, box.end()) == len(text):
            text = text[box.end() : -1].strip()
        else:
            break
    return text


def _box_end(text: str, start: int) -> int:
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if not depth:
            return position + 1
    return -1
