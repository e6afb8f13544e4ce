r"""Parsing an answer: from LaTeX, or plain text, to a value of :mod:`gem_envs_math.grader.values`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.derivatives import joined
from gem_envs_math.grader.formula import DEGREE, FormulaParser
from gem_envs_math.grader.letters import spread
from gem_envs_math.grader.limits import DEPTH, LONGEST, TERMS, NotMathError, TooMuchError, UnknownNotationError
from gem_envs_math.grader.matrices import bare_matrix, environment, matrix_expression
from gem_envs_math.grader.notation import CONNECTIVES
from gem_envs_math.grader.relations import RELATIONS, congruence, name_of, related
from gem_envs_math.grader.scan import Token, cleaned, scan
from gem_envs_math.grader.texts import INDEX, number_in_chinese, number_in_words, text_value, unwrapped, words_of
from gem_envs_math.grader.tokens import CLOSING, OPENING, closes, split_at
from gem_envs_math.grader.units import MULTIPLIERS, Unit, is_known, is_unit_letter, unit_of
from gem_envs_math.grader.values import (
    Assignment,
    Dots,
    Formula,
    Infinity,
    Matrix,
    NamedSet,
    Ratio,
    Relational,
    Sequence,
    TextAnswer,
    Unordered,
    Value,
    is_condition,
)
from gem_envs_math.grader.vectors import vector_expression

__all__ = ["parse"]

_CURRENCIES = {sign: sign for sign in "$€£¥₹₩₽₫"}
_PER = frozenset({"per", "/", "a", "an", "each"})
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?\s*([ap])\.?\s?m")
_FIGURE = re.compile(r"(?:m\s*)?\\?(angle|triangle)\s*[{(]?\s*((?:[A-Z]'*[\s,]*){3})[})]?")
_SHORTEST_LABEL = 4
_DOTS = re.compile(r"\.{3,}")
_SET_OPERATIONS = frozenset({"cup", "cap", "setminus"})
_CHOICE = re.compile(r"\(([A-Ha-h])\)|([A-Ha-h])[).:]")
_PHRASES: dict[str, Value] = {
    "all real numbers": NamedSet("reals"), "all reals": NamedSet("reals"), "the real numbers": NamedSet("reals"),
    "real numbers": NamedSet("reals"), "no solution": NamedSet("empty"), "no solutions": NamedSet("empty"),
    "empty set": NamedSet("empty"), "the empty set": NamedSet("empty"), "infinity": Infinity(1),
    "positive infinity": Infinity(1), "negative infinity": Infinity(-1), "minus infinity": Infinity(-1),
    "dne": TextAnswer("does not exist"),
    "no real solution": NamedSet("empty"), "no real solutions": NamedSet("empty"),
    "no real root": NamedSet("empty"), "no real roots": NamedSet("empty"), "none": NamedSet("empty"),
    "diverges": TextAnswer("divergent"), "does not converge": TextAnswer("divergent"),
    "converges": TextAnswer("convergent"),
}  # fmt: skip


def parse(text: str) -> Value:
    """Return the value of an answer.

    Raises:
        TooMuchError: beyond the limits.
        NotMathError: if the text is empty.
    """
    if len(text) > LONGEST:
        raise TooMuchError(f"more than {LONGEST} characters")
    text = _DOTS.sub(r"\\ldots ", cleaned(text))
    text = unwrapped(text.rstrip(". ") or text)
    if not text:
        raise NotMathError("nothing")
    words = words_of(text)
    if words in _PHRASES:
        return _PHRASES[words]
    number = number_in_words(words)
    number = number_in_chinese(words) if number is None else number
    if number is not None:
        return Formula(("n", Fraction(number)))
    clock = _CLOCK.fullmatch(words)
    if clock is not None:
        return Ratio(tuple(Formula(("n", Fraction(int(part or 0)))) for part in clock.groups()[:2]), clock[3])
    figure = _FIGURE.fullmatch(text)
    if figure is not None:
        return TextAnswer(_figure_name(figure[1], re.findall(r"[A-Z]'*", figure[2])))
    choice = _CHOICE.fullmatch(text)
    if choice is not None:
        return Formula(("v", choice[1] or choice[2]))
    try:
        tokens = [token for token in scan(text.rstrip(". ") or text) if token.kind != "boxed"]
        return _value(_with_connectives(spread(joined(tokens))), 0)
    except NotMathError:
        return _assigned_text(text)
    except RecursionError:
        raise TooMuchError("too many levels") from None


def _with_connectives(tokens: list[Token]) -> list[Token]:
    r"""Return the tokens with the words "and" and "or", and the signs of ``A U B`` and ``A - \{1\}``, as operators."""
    if not any(token.kind in ("word", "lset") or token.raw == "U" for token in tokens):
        return tokens
    found = []
    for place, token in enumerate(tokens):
        word = token.raw.lower()
        if token.kind == "word" and word in CONNECTIVES:
            found.append(token._replace(kind=CONNECTIVES[word]))
        elif (
            token.raw == "U"
            and 0 < place < len(tokens) - 1
            and tokens[place - 1].kind in CLOSING
            and tokens[place + 1].kind in OPENING
        ):
            found.append(token._replace(kind="cup"))
        elif token.kind == "-" and found and place + 1 < len(tokens) and tokens[place + 1].kind == "lset":
            found.append(token._replace(kind="setminus"))
        else:
            found.append(token)
    return found


def _figure_name(kind: str, corners: list[str]) -> str:
    """Return the name of an angle or a triangle, the same for all its names."""
    return f"{kind} {' '.join(min(corners, corners[::-1]) if kind == 'angle' else sorted(corners))}"


def _assigned_text(text: str) -> Value:
    """Return the value of text that is not read; where a name and "=" begin it, of what follows them."""
    left, sign, right = text.partition("=")
    if sign and right.strip() and not set("=<>") & set(INDEX.sub("", right)) and len(left) < 40:
        try:
            name = name_of(spread(scan(left.strip())))
        except NotMathError:
            name = None
        if name is not None:
            return Assignment(name, text_value(right.strip()), None)
    return text_value(text)


def _value(tokens: list[Token], depth: int) -> Value:
    if not tokens:
        raise NotMathError("nothing")
    if depth > DEPTH:
        raise TooMuchError("too many levels")
    if tokens[0].kind in ("approx", "="):  # "= 2"
        return _value(tokens[1:], depth)

    def read(part: list[Token]) -> Value:
        return _value(part, depth + 1)

    start = _domain_behind(tokens)
    if start:  # "x = 2\pi k (k \in \mathbb{Z})"
        return _several([tokens[:start], tokens[start + 1 : -1]], [","], depth)
    for is_separator in (_is_division, _is_separator):
        parts, marks = split_at(tokens, is_separator)
        if len(parts) > 1:
            return _several(parts, marks, depth)
    kinds = {token.kind for token in tokens}
    whole_set = tokens[0].kind == "lset" and closes(tokens) == len(tokens) - 1
    if kinds & {"pm", "mp"} and not whole_set:
        flips = {"pm": ("+", "-"), "mp": ("-", "+")}
        return Unordered("list", tuple(
            read([Token(flips[t.kind][way], "", t.space, "") if t.kind in flips else t for t in tokens])
            for way in (0, 1)
        ))  # fmt: skip
    if "pmod" in kinds or any(token.raw in ("mod", "\\mod", "\\bmod") for token in tokens):
        value = congruence(tokens, read)
        if value is not None:
            return value
    parts, marks = split_at(tokens, lambda token: token.kind in RELATIONS)
    if marks:
        return related(parts, marks, read)
    parts, marks = split_at(tokens, lambda token: token.kind in _SET_OPERATIONS)
    if marks:
        return _set_algebra(parts, marks, read)
    parts = _split(tokens, lambda token: token.kind == "word" and token.space and token.raw == "by")
    if len(parts) > 1 and all(parts):
        return _dimensions(tuple(map(read, parts)))
    parts = _split(tokens, lambda token: token.kind == ":" or (token.kind == "word" and token.raw == "to"))
    if len(parts) == 2 and all(parts) and all(_is_label(token) for token in parts[0]):
        return Assignment(" ".join(token.raw for token in parts[0]), read(parts[1]), None)
    if len(parts) > 1 and all(parts):
        return Ratio(tuple(map(read, parts)))
    return _single(tokens, depth)


def _is_label(token: Token) -> bool:
    """Return whether a token is a word that may stand before a colon and a value, ``Maximum: 3``."""
    return token.kind == "word" and len(token.raw) >= _SHORTEST_LABEL


def _is_division(token: Token) -> bool:
    """Return whether a token divides answers that may have commas inside, as in ``x=1, y=2; x=3, y=4``."""
    return token.kind in (";", "or", "lor")


def _is_separator(token: Token) -> bool:
    return token.kind in (",", "and", "land")


def _as_set(tokens: list[Token]) -> list[Token]:
    r"""Return the tokens of an operand of set algebra, in which plain braces are those of a set, ``{1} \cup {2}``."""
    if tokens and tokens[0].kind == "{" and closes(tokens) == len(tokens) - 1:
        return [tokens[0]._replace(kind="lset"), *tokens[1:-1], tokens[-1]._replace(kind="rset")]
    return tokens


def _domain_behind(tokens: list[Token]) -> int:
    r"""Return where the brackets of ``… (k \in \mathbb{Z})`` open at the end of the tokens; 0 if there are none."""
    if tokens[-1].kind != ")" or not any(token.kind == "in" for token in tokens):
        return 0
    for start in range(len(tokens) - 2, 0, -1):
        if tokens[start].kind == "(" and start + closes(tokens[start:]) == len(tokens) - 1:
            return start if any(token.kind == "in" for token in tokens[start:]) else 0
    return 0


def _set_algebra(parts: list[list[Token]], operations: list[str], read: Callable[[list[Token]], Value]) -> Value:
    r"""Return the value of sets with ``\cup``, ``\cap`` and ``\setminus`` between them.

    Without brackets, an intersection goes before a union, and a set may be taken away from either at the end.
    """
    if "setminus" in operations:
        first = operations.index("setminus")
        if set(operations[first:]) != {"setminus"}:
            raise UnknownNotationError("a union behind a difference of sets")
        whole = _set_algebra(parts[: first + 1], operations[:first], read) if first else read(_as_set(parts[0]))
        return Unordered("minus", (whole, *(read(_as_set(part)) for part in parts[first + 1 :])))
    parts = [_as_set(part) for part in parts]
    terms: list[list[Value]] = [[read(parts[0])]]
    for operation, part in zip(operations, parts[1:], strict=True):
        if operation == "cup":
            terms.append([])
        terms[-1].append(read(part))
    items = [Unordered("cap", tuple(term)) if len(term) > 1 else term[0] for term in terms]
    return Unordered("union", tuple(items)) if len(items) > 1 else items[0]


def _several(parts: list[list[Token]], marks: list[str], depth: int) -> Value:
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
    if isinstance(first, Relational) and first.kind == "ne" and all(isinstance(item, Formula) for item in items[1:]):
        left = first.difference[1]  # "x \\ne 1, 2"
        others = [item.node for item in items[1:] if isinstance(item, Formula)]
        items[1:] = [Relational("ne", ("+", left, ("neg", node))) for node in others]
    if {"land", "lor"} & set(marks) and any(isinstance(item, Formula) for item in items):
        raise UnknownNotationError("logic")
    if {"or", "lor"} & set(marks) and any(map(is_condition, items)):
        return Unordered("union", tuple(items))
    if {"and", "land"} & set(marks) and all(map(is_condition, items)):
        return Unordered("cap", tuple(items))
    if any(isinstance(item, Dots) for item in items):
        return Sequence("", "", tuple(items))
    flat: list[Value] = []
    for item in items:  # "\pm 1, 2"
        several = isinstance(item, Unordered) and item.kind == "list" and not _is_point_by_names(item)
        flat.extend(item.items if several and isinstance(item, Unordered) else (item,))
    return Unordered("list", tuple(flat))


def _is_point_by_names(value: Unordered) -> bool:
    """Return whether a list is one point: ``x = 1, y = 2``."""
    names = [item.name for item in value.items if isinstance(item, Assignment)]
    return len(names) == len(value.items) == len(set(names)) > 1


def _value_or_words(tokens: list[Token], depth: int) -> Value:
    try:
        return _value(tokens, depth)
    except UnknownNotationError:
        raise
    except NotMathError:
        value = text_value("".join(" " * token.space + token.raw for token in tokens))
        if not isinstance(value, TextAnswer):
            raise
        return value


def _single(tokens: list[Token], depth: int) -> Value:
    first, last = tokens[0], tokens[-1]
    if len(tokens) == 1 and first.kind == "emptyset":
        return NamedSet("empty")
    numbers = _number_set(tokens)
    if numbers is not None:
        return numbers
    if len(tokens) == 1 and first.kind == "dots":
        return Dots()
    if last.kind == "infty" and len(tokens) <= 2 and (len(tokens) == 1 or first.kind in "+-"):
        return Infinity(-1 if first.kind == "-" else 1)

    def read(part: list[Token]) -> Value:
        return _value(part, depth + 1)

    if any(token.kind == "begin" for token in tokens):
        if first.kind == "lset" and tokens[1].kind == "begin" and closes(tokens[1:]) == len(tokens) - 5:
            system = environment(tokens[1:], read)  # "\left\{ \begin{array}…", which closes with nothing
            return Unordered("list", tuple(row[0] for row in system.rows)) if hasattr(system, "rows") else system
        bare = bare_matrix(tokens)
        if bare is not None:
            return environment(bare, read)
        matrix = matrix_expression(tokens, read)
        if matrix is not None:
            return matrix
    if first.kind in OPENING and closes(tokens) == len(tokens) - 1:
        bracketed = _bracketed(tokens, depth)
        if bracketed is not None:
            return bracketed
        if first.kind == "(":
            try:
                return _quantity(tokens)
            except UnknownNotationError:
                raise
            except NotMathError:  # "(2 : 1)", "(5 cm)"
                return read(tokens[1:-1])
    vector = vector_expression(tokens, read)
    if vector is not None:
        return vector
    end = closes(tokens) if first.kind == "(" else -1
    if 0 < end < len(tokens) - 1 and tokens[end + 1].kind == "word" and any(t.kind == "," for t in tokens[:end]):
        point, unit = read(tokens[: end + 1]), _unit(tokens[end + 1 :])
        if isinstance(point, Sequence) and unit is not None:  # "(3, 4) cm"
            return Sequence("(", ")", tuple(_with_unit(item, unit) for item in point.items))
    return _quantity(tokens)


def _dimensions(sides: tuple[Value, ...]) -> Value:
    """Return the value of "3 by 4 cm", whose unit belongs to both sides."""
    last = sides[-1]
    if isinstance(last, Formula) and last.unit is not None:
        sides = tuple(_with_unit(side, last.unit) for side in sides)
    return Sequence("by", "by", sides)


def _with_unit(value: Value, unit: Unit) -> Value:
    return Formula(value.node, unit) if isinstance(value, Formula) and value.unit is None else value


def _number_set(tokens: list[Token]) -> NamedSet | None:
    r"""Return the set of numbers that ``\mathbb{R}``, ``\mathbb{Z}`` and the like name."""
    kinds = [token.kind for token in tokens]
    if kinds not in (["mathbb", "{", "sym", "}"], ["mathbb", "sym"]):
        return None
    letter = tokens[-1 if len(tokens) == 2 else 2].raw
    return NamedSet("reals" if letter == "R" else letter) if letter in "RZNQC" else None


def _bracketed(tokens: list[Token], depth: int) -> Value | None:
    opening, closing, inner = tokens[0].kind, tokens[-1].kind, tokens[1:-1]
    if opening in ("lset", "{") and not inner:
        return NamedSet("empty")
    parts = _split(inner, lambda token: token.kind in (",", ";"))
    conditions = _split(inner, lambda token: token.kind in ("mid", "|", ":"))
    if opening == "lset" or (opening == "{" and (len(parts) > 1 or _are_of_an_element(conditions))):
        if len(conditions) > 1:
            return _by_property(inner, len(conditions[0]), depth)
        value = _value(inner, depth + 1)
        if isinstance(value, Sequence) and not value.opening:  # with dots
            return Sequence("{", "}", value.items)
        return Unordered("set", value.items if isinstance(value, Unordered) and value.kind == "list" else (value,))
    if opening == "{":
        return _value(inner, depth + 1)
    if opening in "([" and len(parts) > 1:
        if len(parts) > TERMS:
            raise TooMuchError("too many elements")
        rows = [_split(row, lambda token: token.kind == ",") for row in _split(inner, lambda token: token.kind == ";")]
        if opening == "[" and len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            return Matrix(tuple(tuple(_value(cell, depth + 1) for cell in row) for row in rows))  # "[1, 2; 3, 4]"
        items = tuple(_element(part, depth + 1) for part in parts)
        if all(isinstance(item, Assignment) for item in items):  # "(x = 1, y = 2)" needs no order
            return Unordered("list", items)
        return Sequence(opening, closing, items)
    if opening in "([" and inner and (inner[0].kind in "([" or any(token.kind in RELATIONS for token in inner)):
        inside = _value(inner, depth + 1)
        # A list of one list, or redundant brackets around something else than a formula.
        return Sequence(opening, closing, (inside,)) if opening == "[" else _unless_formula(inside)
    if opening == "(" and any(token.kind in ("begin", "cup", "pm", "mp") for token in inner):
        return _unless_formula(_value(inner, depth + 1))
    return None


def _element(tokens: list[Token], depth: int) -> Value:
    """Return the value of an element of a list; a list of one number stays one, as a row of ``[[1], [2]]``."""
    if tokens and tokens[0].kind == "[" and closes(tokens) == len(tokens) - 1:
        value = _value(tokens, depth)
        return Sequence("[", "]", (value,)) if isinstance(value, Formula) else value
    return _value(tokens, depth)


def _are_of_an_element(conditions: list[list[Token]]) -> bool:
    """Return whether plain braces hold an element and a condition, ``{x | x > 1}``, and are no group ``{x|y|}``."""
    return len(conditions) > 1 and any(token.kind in RELATIONS for token in [*conditions[0][1:], *conditions[1]])


def _unless_formula(value: Value) -> Value | None:
    return None if isinstance(value, Formula) else value


def _by_property(inner: list[Token], length: int, depth: int) -> Value:
    r"""Return the value of the condition in ``\{x \in \mathbb{R} \mid 1 < x < 2\}``."""
    element, condition = inner[:length], inner[length + 1 :]
    sides, marks = split_at(element, lambda token: token.kind == "in")
    if (
        (marks and _number_set(sides[1]) != NamedSet("reals"))
        or len(marks) > 1
        or name_of(sides[0]) is None
        or "(" in element[0].kind
    ):
        raise UnknownNotationError("a set by its property")
    value = _value(condition, depth + 1)
    if isinstance(value, (Formula, TextAnswer, Assignment)):
        raise UnknownNotationError("a set by its property")
    return value


def _quantity(tokens: list[Token]) -> Value:
    """Return a formula and its unit."""
    sign = 1 if tokens[0].kind == "-" and len(tokens) > 1 and tokens[1].kind in _CURRENCIES else 0
    if tokens[sign].kind in _CURRENCIES and len(tokens) > sign + 1:
        rest = tokens[:sign] + tokens[sign + 1 :]
        per = next((n for n, token in enumerate(rest) if token.raw in _PER and _is_word(rest[n + 1 : n + 2])), 0)
        if per:  # "$20 per hour"
            price = (_CURRENCIES[tokens[sign].kind], "/", *(token.raw for token in rest[per + 1 :]))
            unit = unit_of(price)
            if unit is None:
                raise NotMathError("a price per something else")
            return _with_unit(_quantity(rest[:per]), unit)
        value = _quantity(rest)
        if isinstance(value, Formula) and value.unit is None:
            return Formula(value.node, unit_of((_CURRENCIES[tokens[sign].kind],)))
        if isinstance(value, Formula) and value.unit == unit_of((_CURRENCIES[tokens[sign].kind],)):
            return value
        raise NotMathError("a currency and a unit")
    if len(tokens) > 1 and (tokens[-1].kind == "%" or tokens[-1].raw.lower() in ("percent", "pct", "percentage")):
        value = _quantity(tokens[:-1])
        if isinstance(value, Formula) and value.unit is None:
            return Formula(("/", value.node, ("n", Fraction(100))), None, True)
        raise NotMathError("a percentage of a unit")
    letter = next((n for n, token in enumerate(tokens) if token.kind == "sym" and token.value != "pi"), 0)
    if (
        any(token.kind == "num" for token in tokens[:letter])
        and tokens[letter - 1].kind in ("num", "sym", "}", ")")
        and tokens[letter].space
        and is_unit_letter(tokens[letter].raw)
        and (unit := _unit(tokens[letter:])) is not None
    ):
        return Formula(FormulaParser(tokens, 0, letter).whole(), unit)
    reader = FormulaParser(tokens)
    node = reader.sum()
    position = reader.position
    while position < len(tokens) and tokens[position].kind == "word":
        word = tokens[position].raw.lower()
        worth = MULTIPLIERS.get(word) or MULTIPLIERS.get(word.removesuffix("s"))
        if worth is None:
            break
        node = ("n", node[1] * worth) if node[0] == "n" else ("*", node, ("n", Fraction(worth)))
        position += 1
    if position == len(tokens):
        return _formula(node)
    if tokens[position].kind in ("*",) and position + 1 < len(tokens) and tokens[position + 1].kind == "word":
        position += 1
    unit = _unit(tokens[position:])
    if unit is None and (compound := _compound(node, tokens[position:])) is not None:
        return compound
    if unit is None or not (is_known(unit) or any(token.kind == "num" for token in tokens[:position])):
        raise NotMathError(tokens[position].raw)  # "a circle"
    return Formula(node, unit)


def _compound(number: Node, tokens: list[Token]) -> Formula | None:
    """Return a number with units of one kind that become smaller, "1 hour 30 minutes"; None for anything else.

    Args:
        number: the number before the first unit.
        tokens: what follows it.
    """
    starts = [place for place, token in enumerate(tokens) if token.kind == "num"]
    if not starts or starts[0] == 0 or number[0] != "n":
        return None
    first = smaller = _unit(tokens[: starts[0]])
    if first is None or not is_known(first):
        return None
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        unit, value = _unit(tokens[start + 1 : end]), tokens[start].value
        assert isinstance(value, Fraction)
        if unit is None or smaller is None or unit[1] != first[1] or not value * unit[0] < smaller[0]:
            return None
        number, smaller = ("n", number[1] + value * unit[0] / first[0]), unit
    return Formula(number, first)


def _is_word(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[0].kind == "word"


def _formula(node: Node) -> Formula:
    number = _without_degrees(node)
    return Formula(node) if number is None else Formula(number, unit_of(("°",)))


def _without_degrees(node: Node) -> Node | None:
    r"""Return the number of degrees in ``-5^\circ``, ``\frac{45}{2}^\circ``; None if the formula is no angle."""
    if node[0] == "*" and node[2] == DEGREE:
        number: Node = node[1]
        return number
    if node[0] == "neg" and (inner := _without_degrees(node[1])) is not None:
        return ("neg", inner)
    if node[0] == "+":
        one, two = _without_degrees(node[1]), _without_degrees(node[2])
        return None if one is None or two is None else ("+", one, two)
    return None


def _unit(tokens: list[Token]) -> Unit | None:
    words: list[str] = []
    for token in tokens:
        if token.kind in ("{", "}", "(", ")", "."):
            continue
        if token.kind in ("circ", "degree"):
            words[-1:] = ["°"]
        elif token.kind == "num" and words[-2:] == ["^", "-"]:
            words[-1] = f"-{token.raw}"
        elif token.kind in ("word", "sym", "/", "^", "*", "-", "num", "¢") or token.kind in _CURRENCIES:
            words.append("$" if token.kind == "$" else "*" if token.kind == "*" else token.raw)
        else:
            return None
    return unit_of(tuple(words))


def _split(tokens: list[Token], is_mark: Callable[[Token], bool]) -> list[list[Token]]:
    return split_at(tokens, is_mark)[0]
