r"""Parsing an answer: from LaTeX, or plain text, to a value of :mod:`gem_envs_math.grader.values`."""

from __future__ import annotations

import re
from fractions import Fraction

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.formula import DEGREE, FormulaParser, spread
from gem_envs_math.grader.limits import DEPTH, LONGEST, TERMS, NotMathError, TooMuchError, UnknownNotationError
from gem_envs_math.grader.scan import Token, cleaned, scan
from gem_envs_math.grader.units import MULTIPLIERS, NUMBER_WORDS, Unit, is_known, is_unit_letter, unit_of
from gem_envs_math.grader.values import (
    Assignment,
    Formula,
    Infinity,
    Interval,
    Matrix,
    NamedSet,
    Ratio,
    Relational,
    Sequence,
    TextAnswer,
    Unordered,
    UnreadLatex,
    Value,
)

__all__ = ["parse", "words_of"]

_OPENING = frozenset({"(", "[", "{", "lset", "lfloor", "lceil", "begin"})
_CLOSING = frozenset({")", "]", "}", "rset", "rfloor", "rceil", "end"})
_RELATED = 6
_RELATIONS = frozenset({"=", "<", ">", "le", "ge", "ne", "in", "approx"})
_TURNED = {"<": ">", ">": "<", "le": "ge", "ge": "le"}
_MATRICES = frozenset({"pmatrix", "bmatrix", "matrix", "smallmatrix", "Bmatrix"})
_CURRENCIES = {"$": "$", "€": "€", "£": "£"}
_CHOICE = re.compile(r"\(([A-Ha-h])\)|([A-Ha-h])[).:]")
_TEXT_ONLY = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|mathbf|boxed|fbox|emph)\s*\{([^{}]*)\}")
_PHRASES: dict[str, Value] = {
    "all real numbers": NamedSet("reals"), "all reals": NamedSet("reals"), "the real numbers": NamedSet("reals"),
    "no solution": NamedSet("empty"), "no solutions": NamedSet("empty"), "empty set": NamedSet("empty"),
    "the empty set": NamedSet("empty"), "infinity": Infinity(1),
}  # fmt: skip
_BOX = re.compile(r"\\f?boxed\s*\{")


def parse(text: str) -> Value:
    """Return the value of an answer.

    Raises:
        TooMuchError: beyond the limits.
        NotMathError: if the text is empty.
    """
    if len(text) > LONGEST:
        raise TooMuchError(f"more than {LONGEST} characters")
    text = _unwrapped(cleaned(text))
    if not text:
        raise NotMathError("nothing")
    words = words_of(text)
    if words in _PHRASES:
        return _PHRASES[words]
    if words in NUMBER_WORDS:
        return _formula(("n", Fraction(NUMBER_WORDS[words])))
    choice = _CHOICE.fullmatch(text)
    if choice is not None:
        return _formula(("v", (choice[1] or choice[2]).upper()))
    try:
        return _value(spread(scan(text.rstrip(". ") or text)), 0)
    except UnknownNotationError:
        return UnreadLatex(re.sub(r"\s+", "", text))
    except NotMathError:
        return TextAnswer(words)
    except RecursionError:
        raise TooMuchError("too many levels") from None


def words_of(text: str) -> str:
    """Return the normal form of a text answer: lower case, no marks around it, single spaces."""
    text = _TEXT_ONLY.sub(r"\1", text)
    return " ".join(text.split()).casefold().strip(" .,;:!?\"'")


def _unwrapped(text: str) -> str:
    r"""Remove a box, a ``\\text{…}`` or redundant braces around the whole text."""
    for _ in range(4):
        whole = _TEXT_ONLY.fullmatch(text)
        box = _BOX.match(text)
        if whole is not None:
            text = whole[1].strip()
        elif box is not None and text.endswith("}"):
            text = text[box.end() : -1].strip()
        else:
            break
    return text


def _value(tokens: list[Token], depth: int) -> Value:
    if not tokens:
        raise NotMathError("nothing")
    if depth > DEPTH:
        raise TooMuchError("too many levels")
    if tokens[0].kind == "approx":
        return _value(tokens[1:], depth)
    parts = _split(tokens, _is_separator)
    if len(parts) > 1:
        return _several(parts, depth)
    if any(token.kind in ("pm", "mp") for token in tokens):
        flips = {"pm": ("+", "-"), "mp": ("-", "+")}
        return Unordered("list", tuple(
            _value([Token(flips[t.kind][way], "", t.space, "") if t.kind in flips else t for t in tokens], depth + 1)
            for way in (0, 1)
        ))  # fmt: skip
    parts, marks = _split_by(tokens, _RELATIONS)
    if marks:
        return _related(parts, marks, depth)
    parts = _split(tokens, lambda token: token.kind == "cup")
    if len(parts) > 1:
        return Unordered("union", tuple(_value(part, depth + 1) for part in parts))
    parts = _split(tokens, lambda token: token.kind == ":")
    if len(parts) > 1:
        return Ratio(tuple(_value(part, depth + 1) for part in parts))
    return _single(tokens, depth)


def _is_separator(token: Token) -> bool:
    return token.kind in (",", ";", "or", "and") or (token.kind == "word" and token.raw.lower() in ("or", "and"))


def _several(parts: list[list[Token]], depth: int) -> Value:
    if not parts[-1]:  # "1, 2,"
        parts.pop()
    parts = [part for number, part in enumerate(parts) if part or number == 0]  # "1, 2, and 3"
    if len(parts) > TERMS:
        raise TooMuchError("too many elements")
    items = [_value_or_words(part, depth + 1) for part in parts]
    if len(items) == 1:
        return items[0]
    first = items[0]
    if isinstance(first, Assignment) and all(isinstance(item, Formula) for item in items[1:]):
        items[1:] = [Assignment(first.name, item, None) for item in items[1:]]  # "x = 1, 2"
    flat: list[Value] = []
    for item in items:  # "\pm 1, 2"
        flat.extend(item.items if isinstance(item, Unordered) and item.kind == "list" else (item,))
    return Unordered("list", tuple(flat))


def _value_or_words(tokens: list[Token], depth: int) -> Value:
    try:
        return _value(tokens, depth)
    except UnknownNotationError:
        raise
    except NotMathError:
        if not any(token.kind == "word" for token in tokens):
            raise
        return TextAnswer(words_of("".join(" " * token.space + token.raw for token in tokens)))


def _related(parts: list[list[Token]], marks: list[str], depth: int) -> Value:
    if any(not part for part in parts):
        raise NotMathError("nothing beside a relation")
    if len(marks) > _RELATED:
        raise TooMuchError("too many relations")
    if marks == ["in"]:
        return Assignment(_name(parts[0]) or "", _value(parts[1], depth + 1), None)
    if set(marks) <= {"=", "approx"}:
        return _equated(parts, depth)
    if len(marks) == 1:
        return _compared(parts[0], marks[0], parts[1], depth)
    if len(marks) == 2:
        low, high = marks
        variable = _name(parts[1])
        if variable is not None and low in _TURNED and high in _TURNED and (low in "<le") == (high in "<le"):
            ends = [_value(parts[0], depth + 1), _value(parts[2], depth + 1)]
            closed = [low in ("le", "ge"), high in ("le", "ge")]
            if low not in "<le":
                ends.reverse()
                closed.reverse()
            return Interval(ends[0], ends[1], closed[0], closed[1], variable)
    raise UnknownNotationError("relations")


def _equated(parts: list[list[Token]], depth: int) -> Value:
    name = _name(parts[0])
    if len(parts) == 2:
        if name is None and (name := _name(parts[1])) is not None:
            parts = parts[::-1]
        value = _value(parts[1], depth + 1)
        difference = None
        left = _try_formula(parts[0])
        if left is not None and isinstance(value, Formula):
            difference = ("+", left, ("neg", value.node))
        if name is not None:
            return Assignment(name, value, difference)
        if difference is None:
            raise UnknownNotationError("=")
        return Relational("=", difference)
    if name is not None and len(parts) == 3 and isinstance(last := _value(parts[2], depth + 1), Formula):
        middle = _value(parts[1], depth + 1)  # "x = 6/2 = 3" stands for its end if both sides agree
        if isinstance(middle, Formula):
            return Unordered("equal", (Assignment(name, middle, None), Assignment(name, last, None)))
    raise UnknownNotationError("=")


def _compared(left: list[Token], mark: str, right: list[Token], depth: int) -> Value:
    name, turned = _name(left), False
    if name is None and (name := _name(right)) is not None:
        left, right, turned = right, left, True
    if name is None or mark == "ne":
        node = ("+", FormulaParser(left).whole(), ("neg", FormulaParser(right).whole()))
        if mark in (">", "ge"):
            return Relational(_TURNED[mark], ("neg", node))
        return Relational(mark, node)
    mark = _TURNED[mark] if turned else mark
    end = _value(right, depth + 1)
    if mark in ("<", "le"):
        return Interval(Infinity(-1), end, False, mark == "le", name)
    return Interval(end, Infinity(1), mark == "ge", False, name)


def _single(tokens: list[Token], depth: int) -> Value:
    first, last = tokens[0], tokens[-1]
    if len(tokens) == 1 and first.kind == "emptyset":
        return NamedSet("empty")
    if [token.kind for token in tokens] == ["mathbb", "{", "sym", "}"] and tokens[2].raw == "R":
        return NamedSet("reals")
    if last.kind == "infty" and len(tokens) <= 2 and (len(tokens) == 1 or first.kind in "+-"):
        return Infinity(-1 if first.kind == "-" else 1)
    if first.kind == "begin":
        return _matrix(tokens, depth)
    if first.kind in _OPENING and _closes(tokens) == len(tokens) - 1:
        bracketed = _bracketed(tokens, depth)
        if bracketed is not None:
            return bracketed
    return _quantity(tokens)


def _bracketed(tokens: list[Token], depth: int) -> Value | None:
    opening, closing, inner = tokens[0].kind, tokens[-1].kind, tokens[1:-1]
    if opening == "lset" and not inner:
        return NamedSet("empty")
    parts = _split(inner, lambda token: token.kind in (",", ";"))
    if opening == "lset" or (opening == "{" and len(parts) > 1):
        if any(token.kind in ("mid", "|", ":") for token in inner):
            raise UnknownNotationError("a set by its property")
        value = _value(inner, depth + 1)
        return Unordered("set", value.items if isinstance(value, Unordered) and value.kind == "list" else (value,))
    if opening == "{":
        return _value(inner, depth + 1)
    if opening in "([" and len(parts) > 1:
        if len(parts) > TERMS:
            raise TooMuchError("too many elements")
        items = tuple(_value(part, depth + 1) for part in parts)
        if all(isinstance(item, Assignment) for item in items):  # "(x = 1, y = 2)" needs no order
            return Unordered("list", items)
        return Sequence(opening, closing, items)
    if opening == "[" and inner and inner[0].kind in "([":  # a list of one list
        return Sequence(opening, closing, (_value(inner, depth + 1),))
    return None


def _matrix(tokens: list[Token], depth: int) -> Value:
    if len(tokens) < 8 or tokens[2].raw not in _MATRICES or [t.raw for t in tokens[-3:]] != ["{", tokens[2].raw, "}"]:
        raise UnknownNotationError("an environment")
    inner = tokens[4:-4]
    if any(token.kind in ("begin", "end") for token in inner):
        raise UnknownNotationError("a matrix of matrices")
    rows = _split(inner, lambda token: token.kind == "row")
    if len(rows) > 1 and not rows[-1]:
        rows.pop()
    return Matrix(tuple(
        tuple(_value(cell, depth + 1) for cell in _split(row, lambda token: token.kind == "&")) for row in rows
    ))  # fmt: skip


def _quantity(tokens: list[Token]) -> Value:
    """Return a formula and its unit."""
    sign = 1 if tokens[0].kind == "-" and len(tokens) > 1 and tokens[1].kind in _CURRENCIES else 0
    if tokens[sign].kind in _CURRENCIES and len(tokens) > sign + 1:
        value = _quantity(tokens[:sign] + tokens[sign + 1 :])
        if isinstance(value, Formula) and value.unit is None:
            return Formula(value.node, unit_of((_CURRENCIES[tokens[sign].kind],)))
        raise NotMathError("a currency and a unit")
    start = 1 if tokens[0].kind in "+-" else 0
    if (
        len(tokens) > start + 1
        and tokens[start].kind == "num"
        and tokens[start + 1].space
        and tokens[start + 1].kind == "sym"
        and is_unit_letter(tokens[start + 1].raw)
        and (unit := _unit(tokens[start + 1 :])) is not None
    ):
        return Formula(FormulaParser(tokens, 0, start + 1).whole(), unit)
    reader = FormulaParser(tokens)
    node = reader.sum()
    position = reader.position
    while position < len(tokens) and tokens[position].kind == "word":
        word = tokens[position].raw.lower()
        if word == "percent":
            node = ("/", node, ("n", Fraction(100)))
        elif word in MULTIPLIERS or word.removesuffix("s") in MULTIPLIERS:
            node = ("*", node, ("n", Fraction(MULTIPLIERS.get(word) or MULTIPLIERS[word.removesuffix("s")])))
        else:
            break
        position += 1
    if position == len(tokens):
        return _formula(node)
    if tokens[position].kind in ("*",) and position + 1 < len(tokens) and tokens[position + 1].kind == "word":
        position += 1
    unit = _unit(tokens[position:])
    if unit is None or not (is_known(unit) or any(token.kind == "num" for token in tokens[:position])):
        raise NotMathError(tokens[position].raw)  # "a circle"
    return Formula(node, unit)


def _formula(node: Node) -> Formula:
    if node[0] == "*" and node[2] == DEGREE:
        return Formula(node[1], unit_of(("°",)))
    return Formula(node)


def _unit(tokens: list[Token]) -> Unit | None:
    words: list[str] = []
    for token in tokens:
        if token.kind in ("{", "}", "(", ")", "."):
            continue
        if token.kind in ("circ", "degree"):
            words[-1:] = ["°"]
        elif token.kind in ("word", "sym", "/", "^", "*", "-", "num", "$", "€", "£", "¢"):
            words.append("$" if token.kind == "$" else "*" if token.kind == "*" else token.raw)
        else:
            return None
    return unit_of(tuple(words))


def _name(tokens: list[Token]) -> str | None:
    r"""Return the name on one side of an equation (``x``, ``x_1``, ``f(x)``, ``x_{12}``), or None."""
    kinds = [token.kind for token in tokens]
    if not kinds or kinds[0] not in ("sym", "word"):
        return None
    if len(tokens) == 1:
        return tokens[0].raw
    if kinds[1] == "_" and (len(tokens) == 3 or (kinds[2] == "{" and kinds.index("}") == len(kinds) - 1)):
        return "".join(token.raw for token in tokens if token.kind not in "{}")
    if kinds[0] == "sym" and kinds[1] == "(" and kinds[-1] == ")" and len(kinds) >= 4:
        inner = kinds[2:-1]
        if len(inner) % 2 and all(
            kind in ("sym", "num") if n % 2 == 0 else kind == "," for n, kind in enumerate(inner)
        ):
            return "".join(token.raw for token in tokens)
    return None


def _try_formula(tokens: list[Token]) -> Node | None:
    try:
        return FormulaParser(tokens).whole()
    except NotMathError:
        return None


def _split(tokens: list[Token], is_mark: object) -> list[list[Token]]:
    return _split_at(tokens, is_mark)[0]


def _split_by(tokens: list[Token], kinds: frozenset[str]) -> tuple[list[list[Token]], list[str]]:
    return _split_at(tokens, lambda token: token.kind in kinds)


def _split_at(tokens: list[Token], is_mark: object) -> tuple[list[list[Token]], list[str]]:
    """Return the parts between marks outside brackets, and the marks."""
    assert callable(is_mark)
    parts: list[list[Token]] = [[]]
    marks: list[str] = []
    depth = 0
    for token in tokens:
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
        if depth == 0 and is_mark(token):
            parts.append([])
            marks.append(token.kind)
        else:
            parts[-1].append(token)
    return parts, marks


def _closes(tokens: list[Token]) -> int:
    """Return the index at which the bracket that opens the tokens closes."""
    depth = 0
    for position, token in enumerate(tokens):
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
            if depth == 0:
                return position
    return -1
