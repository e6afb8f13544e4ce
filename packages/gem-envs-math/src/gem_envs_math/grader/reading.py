"""How the grader reads a gold answer, in one line: :func:`read_gold`."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from fractions import Fraction
from typing import Any

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.grading import read, text_of
from gem_envs_math.grader.limits import TooMuchError
from gem_envs_math.grader.units import Unit
from gem_envs_math.grader.values import (
    Approximation,
    Assignment,
    Congruence,
    Dots,
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
    UnreadNotation,
    Value,
    is_read,
)
from gem_questions.rewards import GoldReading

__all__ = ["read_gold"]

_LONGEST_LINE = 200
_SIGNS = {"<": "<", "le": "≤", "=": "=", "ne": "≠"}


def read_gold(gold: Any, question: str | None = None) -> GoldReading:
    """Return how the grader reads a gold answer: as one line, with the kind of answer and whether it was read.

    Args:
        gold: a str, a number, or a list of alternatives.
        question: without effect on the reading; taken for :class:`gem_questions.rewards.Grader`.
    """
    if isinstance(gold, AbstractSequence) and not isinstance(gold, (str, bytes, bytearray)):
        readings = [read_gold(alternative) for alternative in gold[:20]]
        if not readings:
            return GoldReading("nothing", "empty", False)
        joined = " or else ".join(reading.text for reading in readings)
        return GoldReading(_cut(joined), readings[0].kind, all(reading.readable for reading in readings))
    text = text_of(gold)
    if text is None:
        return GoldReading(_cut(f"no answer: {gold!r}"), "empty", False)
    try:
        value = read(text)
    except TooMuchError as error:
        return GoldReading(_cut(f"{text} ({error})"), "too large", False)
    if value is None:
        return GoldReading("nothing", "empty", False)
    return GoldReading(_cut(_shown(value)), _kind(value), is_read(value))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _kind(value: Value) -> str:
    if isinstance(value, Formula):
        return "number" if value.is_number else "expression"
    if isinstance(value, Sequence):
        if value.opening in ("", "{"):
            return "set" if value.opening else "list"
        return "tuple" if len(value.items) != 2 or value.opening + value.closing == "()" else "interval"
    if isinstance(value, Unordered):
        return {"equal": "number", "minus": "set", "union": "set", "cap": "set"}.get(value.kind, value.kind)
    return _KINDS[type(value)]


_KINDS: dict[type, str] = {
    Infinity: "infinity", Dots: "text", Interval: "inequality", Assignment: "equation", Relational: "equation",
    Matrix: "matrix", Ratio: "ratio", NamedSet: "set", Congruence: "congruence", Approximation: "number",
    TextAnswer: "text", UnreadNotation: "unread",
}  # fmt: skip


def _shown(value: Value) -> str:
    if isinstance(value, Formula):
        unit = "" if value.unit is None else f" {_unit(value.unit)}"
        return _formula(value.node[1]) + "%" if value.percent else _formula(value.node) + unit
    if isinstance(value, Infinity):
        return "∞" if value.sign > 0 else "-∞"
    if isinstance(value, Dots):
        return "…"
    if isinstance(value, Sequence):
        return f"{value.opening}{', '.join(map(_shown, value.items))}{value.closing}"
    if isinstance(value, Unordered):
        joint = {"union": " ∪ ", "cap": " ∩ ", "equal": " = ", "minus": " \\ "}.get(value.kind, ", ")
        inner = joint.join(map(_shown, value.items))
        return f"{{{inner}}}" if value.kind == "set" else inner
    if isinstance(value, Interval):
        low = "" if isinstance(value.low, Infinity) else f"{_shown(value.low)} {'≤' if value.low_closed else '<'} "
        high = "" if isinstance(value.high, Infinity) else f" {'≤' if value.high_closed else '<'} {_shown(value.high)}"
        return f"{low}{value.variable}{high}"
    if isinstance(value, Assignment):
        return f"{value.name or 'it'} = {_shown(value.value)}"
    if isinstance(value, Relational):
        return f"{_formula(value.difference)} {_SIGNS.get(value.kind, value.kind)} 0"
    if isinstance(value, Matrix):
        return f"[{'; '.join(', '.join(map(_shown, row)) for row in value.rows)}]"
    if isinstance(value, Ratio):
        return ":".join(map(_shown, value.parts)) + (f" {value.half}m" if value.half else "")
    if isinstance(value, NamedSet):
        return {"reals": "ℝ", "empty": "∅"}.get(value.name, value.name)
    if isinstance(value, Congruence):
        return f"{value.name + ' ≡ ' if value.name else ''}{_shown(value.residue)} mod {_shown(value.modulus)}"
    if isinstance(value, Approximation):
        return f"{_shown(value.exact)} ≈ {_shown(value.decimals)}"
    return f'"{value.text}"' if isinstance(value, TextAnswer) else value.key


def _unit(unit: Unit) -> str:
    return "·".join(base.lstrip("?") + (f"^{power}" if power != 1 else "") for base, power in unit[1]) + (
        f" × {_number(unit[0])}" if unit[0] != 1 else ""
    )


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


_STRENGTH = {"+": 1, "neg": 1, "*": 2, "/": 2, "^": 3}


def _formula(node: Node, strength: int = 0) -> str:
    kind = node[0]
    if kind == "n":
        return _number(node[1])
    if kind == "v":
        return str(node[1])
    if kind == "f":
        return f"{node[1]}({', '.join(map(_formula, node[2:]))})"
    own = _STRENGTH[kind]
    if kind == "neg":
        text = f"-{_formula(node[1], 2)}"
    elif kind == "+" and node[2][0] == "neg":
        text = f"{_formula(node[1])} - {_formula(node[2][1], 2)}"
    else:
        sign = {"+": " + ", "*": "·", "/": "/", "^": "^"}[kind]
        text = _formula(node[1], own + (kind == "^")) + sign + _formula(node[2], own + 1)
    return f"({text})" if own < strength else text
