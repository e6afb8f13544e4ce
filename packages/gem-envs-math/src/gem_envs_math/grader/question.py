r"""What a question demands of its answer.

- An answer that repeats an expression or an equation of the question earns nothing, with or without a frill such as
  ``-(-c)``, unless the gold answer is written alike: ``\frac{10!+11!}{9!}`` is not the answer to "Simplify
  ``\frac{10!+11!}{9!}``".
- "Simplify", "evaluate", "compute": no arithmetic is left to do that the gold answer does not leave. "In simplest
  form", "in lowest terms": no fraction to cancel, no root to simplify. "Factor", "expand": the form of the gold answer.
  "Interval notation", "as an interval": no inequality.
- "To the nearest tenth": a gold answer with more decimals equals its rounded value.
- "Percent": ``20`` and ``20\%`` are one answer.
- A number in a base that the question speaks of may leave the base out.
- Nouns of the question may stand behind a number.

A demand that the gold answer itself does not meet is none.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from gem_envs_math.grader.compare import equal
from gem_envs_math.grader.counted import singular
from gem_envs_math.grader.forms import (
    factors,
    form_of,
    has_work_left,
    is_expanded,
    is_reduced,
    node_form,
    nodes_of,
    size_of,
)
from gem_envs_math.grader.limits import LONGEST, NotMathError, TooMuchError
from gem_envs_math.grader.numbers import value_of
from gem_envs_math.grader.parser import parse
from gem_envs_math.grader.scan import cleaned
from gem_envs_math.grader.texts import notation_key
from gem_envs_math.grader.values import (
    Approximation,
    Assignment,
    Formula,
    Infinity,
    Interval,
    Relational,
    Sequence,
    TextAnswer,
    Unordered,
    Value,
    is_read,
)

__all__ = ["Demands", "demands_of", "rounds_to"]

_LONGEST_QUESTION = 20_000
_SPANS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
_PLAIN = re.compile(r"[-(√]{0,8}\d(?:[\d\s+\-*/^().!×÷·%−]|,(?=\d{3}(?!\d)))*[\d)!%]")
_PICTURE = re.compile(r"\[asy\].*?\[/asy\]|\\begin\{(?:asy|tikzpicture|tabular)\}.*?\\end\{[a-z]+\}", re.DOTALL)
_PARTS = re.compile(r"=|<|>|\\(?:le|ge|leq|geq|ne|neq|approx|equiv|to|text\{[^}]*\}|quad|qquad)(?![a-z])|,(?!\d{3})|;")
_LISTED = re.compile(r"[,;](?!\d{3})|\\(?:quad|qquad|text\{[^}]*\})")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PERCENT = re.compile(r"percent|%", re.IGNORECASE)
_OPTION = re.compile(r"(?:^|[\s({])[B-Db-d](?:\)|[.:]\s)", re.MULTILINE)
_COMPUTE = re.compile(r"\b(?:simplif|evaluat|comput|calculat)|simplest form|lowest terms", re.IGNORECASE)
_SIMPLEST = re.compile(r"\bsimplif|simplest|lowest terms|\breduced form", re.IGNORECASE)
_FACTOR = re.compile(
    r"(?:^|[.;:]\s+)factor\b|\bfactori[sz]e\b|factored form|\bfactor (?:completely|\$|the (?:exp|pol|quad))",
    re.IGNORECASE,
)
_EXPAND = re.compile(r"\bexpand\b|expanded form", re.IGNORECASE)
_INTERVAL = re.compile(r"interval notation|as an interval|as a union of intervals|in interval form", re.IGNORECASE)
_NEAREST = re.compile(
    r"nearest (whole|integer|ones?|tenth|hundredth|thousandth|ten(?!th)|hundred(?!th)|thousand(?!th)|cent\b|degree"
    r"|dollar)|to (one|two|three|four|1|2|3|4) decimal",
    re.IGNORECASE,
)
_PLACES = {
    "whole": 0, "integer": 0, "one": 0, "ones": 0, "degree": 0, "dollar": 0, "tenth": 1, "hundredth": 2, "cent": 2,
    "thousandth": 3, "ten": -1, "hundred": -2, "thousand": -3,
}  # fmt: skip
_DECIMALS = {"one": 1, "two": 2, "three": 3, "four": 4}
_LITERAL = re.compile(r"-?\d*\.(\d+)")
_LONGER = 2
_BASE = re.compile(r"\bbases?\b|binary|ternary|octal|hexadecimal", re.IGNORECASE)
_INDEXED = re.compile(r"(\d{1,400})_\(?(\w+)\)?")


class Demands:
    """The demands of one question.

    Args:
        question: its text.
    """

    def __init__(self, question: str) -> None:
        text = _PICTURE.sub(" ", question[:_LONGEST_QUESTION])
        self._text = text
        self.percent = bool(_PERCENT.search(text))
        self.lists_options = bool(_OPTION.search(text))
        self.nouns = frozenset(singular(word) for word in _WORD.findall(text))
        self._simplest = bool(_SIMPLEST.search(text))
        self._compute = bool(_COMPUTE.search(text))
        self._factor = bool(_FACTOR.search(text))
        self._expand = bool(_EXPAND.search(text))
        self._interval = bool(_INTERVAL.search(text))
        nearest = _NEAREST.search(text)
        self.place: Fraction | None = None
        """The place to which numbers are rounded, such as 1/10."""
        if nearest is not None:
            word = (nearest[1] or nearest[2]).lower()
            places = _PLACES[word] if nearest[1] else _DECIMALS.get(word) or int(word)
            self.place = Fraction(1, 10) ** places

    def objection(self, text: str, answer: Value, gold: Value) -> str | None:
        """Return why an answer that equals the gold answer earns nothing: "copied", "form", or None."""
        form = form_of(answer)
        if isinstance(answer, Assignment) and not isinstance(gold, Assignment) and self._states(text, answer):
            return "copied"
        if form == form_of(gold):
            return None
        if form in self._expressions:
            return "copied"
        if self._compute and is_read(gold) and (not is_read(answer) or has_work_left(answer, gold)):
            return "form"
        one, two = _formula(answer), _formula(gold)
        if one is not None and two is not None and self._is_disguised(one, two):
            return "copied"
        if one is not None and two is not None:
            return "form" if self._objects_to_form(one, two) else None
        if self._interval and _is_inequality(answer) and not _is_inequality(gold):
            return "form"
        return None

    def asked_side(self, text: str, equation: Relational) -> str | None:
        """Return the right side of "a + b = 12", if the question has the left side but not the equation."""
        left, sign, right = text.partition("=")
        if not sign or "=" in right or self._states(text, equation):
            return None
        return right.strip() if _forms(left) & self._expressions else None

    def rounded(self, answer: Value, gold: Value) -> bool:
        """Return whether an answer is the gold answer, rounded as the question demands."""
        if self.place is None:
            return False
        numbers = [value.quotient.number if isinstance(value, Formula) else None for value in (answer, gold)]
        one, two = numbers
        if one is None or two is None or (two / self.place).denominator == 1 or (one / self.place).denominator != 1:
            return False
        return abs(one - two) * 2 <= self.place

    def base_left_out(self, answer: Value, gold: Value) -> bool:
        """Return whether one of two numbers has the index of a base that the question names, and the other has none."""
        if not _BASE.search(self._text):
            return False
        for one, two in ((answer, gold), (gold, answer)):
            if not isinstance(one, Formula) or not isinstance(two, Formula) or one.node[0] != "v":
                continue
            indexed = _INDEXED.fullmatch(one.node[1])
            if indexed is not None and two.node[0] == "n" and two.node[1] == int(indexed[1]):
                return re.search(rf"(?<!\w){indexed[2]}(?!\w)", self._text) is not None or one is gold
        return False

    def _states(self, text: str, equation: Assignment | Relational) -> bool:
        """Return whether the question says what an equation says."""
        if notation_key(cleaned(text)) in self._equations:
            return True
        return any(_is_same(equation, stated) for stated in self._stated)

    def _is_disguised(self, answer: Formula, gold: Formula) -> bool:
        """Return whether an answer is a formula of the question, of the gold answer's value, with a frill around it."""
        own = {node_form(node) for node in nodes_of(gold.node)}
        for node in nodes_of(answer.node):
            form = node_form(node)
            if form in self._expressions and form not in own and _is_same(Formula(node), Formula(gold.node)):
                return True
        return False

    def _objects_to_form(self, one: Formula, two: Formula) -> bool:
        answer, gold = one.node, two.node
        if self._simplest and is_reduced(gold) and not is_reduced(answer):
            return True
        if self._simplest and size_of(answer) > _LONGER * size_of(gold) + 4:
            return True
        if self._factor and factors(gold) > max(1, factors(answer)):
            return True
        return self._expand and is_expanded(gold) and not is_expanded(answer)

    @cached_property
    def _spans(self) -> list[str]:
        return [next(filter(None, found)) for found in _SPANS.findall(self._text)]

    @cached_property
    def _equations(self) -> dict[str, str]:
        """The question's formulas with a relation, by the normal form of their notation."""
        parts = {part for span in self._spans[:200] for part in (span, *_LISTED.split(span))}
        return {notation_key(cleaned(part)): part for part in sorted(parts) if "=" in part}

    @cached_property
    def _stated(self) -> list[Value]:
        return [value for part in self._equations.values() if (value := _parsed(part)) is not None]

    @cached_property
    def _expressions(self) -> frozenset[Any]:
        """The forms of the question's formulas, and of the formulas in them."""
        spans = self._spans + _PLAIN.findall(_SPANS.sub(" ; ", self._text))
        found: set[Any] = set()
        for span in spans[:200]:
            for part in {span, *_PARTS.split(span)}:
                found |= _forms(part)
        return frozenset(found)


def _parsed(text: str) -> Value | None:
    if not text.strip() or len(text) > LONGEST:
        return None
    try:
        return parse(text)
    except (NotMathError, TooMuchError):
        return None


def _is_same(one: Value, two: Value) -> bool:
    try:
        return equal(one, two) is True
    except (ArithmeticError, TooMuchError):
        return False


def _forms(text: str) -> set[Any]:
    value = _parsed(text)
    if value is None:
        return set()
    found = {form_of(value)}
    for formula in _formulas(value):
        found |= {node_form(node) for node in nodes_of(formula) if node[0] not in ("n", "v")}
    return found


def _formulas(value: Value) -> list[Any]:
    if isinstance(value, Formula):
        return [value.node]
    if isinstance(value, Relational):
        return [value.difference]
    if isinstance(value, Assignment):
        return _formulas(value.value)
    if isinstance(value, (Unordered, Sequence)):
        return [node for item in value.items for node in _formulas(item)]
    return []


def rounds_to(answer: Value, gold: str, value: Value) -> bool:
    """Return whether a number rounds to a gold answer with decimals, at these decimals: 1.57 to 1.6."""
    literal = _LITERAL.fullmatch(gold.strip().strip("$"))
    one, two = value_of(answer), value_of(value)
    if literal is None or one is None or two is None or len(gold.strip("-0.")) < 2:
        return False
    return abs(one - two) <= 0.5 * 10.0 ** -len(literal[1]) * (1 + 1e-9)


def _formula(value: Value) -> Formula | None:
    if isinstance(value, Assignment):
        return _formula(value.value)
    if isinstance(value, Approximation):
        return _formula(value.exact)
    if isinstance(value, Unordered) and value.kind == "equal":
        return _formula(value.items[-1])
    return value if isinstance(value, Formula) else None


def _is_inequality(value: Value) -> bool:
    if isinstance(value, Unordered):
        return any(map(_is_inequality, value.items))
    return isinstance(value, (Interval, Relational)) and not isinstance(value, (TextAnswer, Infinity))


@lru_cache(maxsize=512)
def demands_of(question: str) -> Demands:
    """Return the demands of a question."""
    return Demands(question)
