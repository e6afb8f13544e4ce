"""Units of measurement: their names, and the conversions between them.

Only exact, linear conversions of everyday units; any other word is a unit of its own kind ("5 apples").
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

__all__ = ["MULTIPLIERS", "NO_UNITS", "NUMBER_WORDS", "Unit", "is_known", "is_unit_letter", "unit_of"]

Unit = tuple[Fraction, tuple[tuple[str, int], ...]]
"""Its value in base units, and the base units with their powers, sorted."""

_INCH = Fraction(254, 10000)
_POUND = Fraction(45359237, 100000)
_TABLE: dict[str, tuple[str, Fraction]] = {}
_LETTERS = frozenset({"m", "s", "g", "h", "l", "L", "N", "J", "W", "V", "K", "C", "F"})


def _add(base: str, marks: Mapping[str, Fraction | int] = MappingProxyType({}), **names: Fraction | int) -> None:
    for name, worth in {**marks, **names}.items():
        _TABLE[name] = (base, Fraction(worth))


_add("m", m=1, meter=1, metre=1, km=1000, kilometer=1000, kilometre=1000, cm=Fraction(1, 100))
_add("m", centimeter=Fraction(1, 100), centimetre=Fraction(1, 100), mm=Fraction(1, 1000), millimeter=Fraction(1, 1000))
_add("m", inch=_INCH, inches=_INCH, ft=12 * _INCH, foot=12 * _INCH, feet=12 * _INCH, yd=36 * _INCH, yard=36 * _INCH)
_add("m", mi=63360 * _INCH, mile=63360 * _INCH, dm=Fraction(1, 10), decimeter=Fraction(1, 10))
_add("g", g=1, gram=1, kg=1000, kilogram=1000, mg=Fraction(1, 1000), milligram=Fraction(1, 1000), tonne=10**6)
_add("g", lb=_POUND, lbs=_POUND, pound=_POUND, oz=_POUND / 16, ounce=_POUND / 16)
_add("s", s=1, sec=1, second=1, min=60, minute=60, h=3600, hr=3600, hour=3600, day=86400, week=604800)
_add("s", ms=Fraction(1, 1000), millisecond=Fraction(1, 1000))
_add("month", month=1, year=12, yr=12)
_add("L", L=1, l=1, liter=1, litre=1, mL=Fraction(1, 1000), ml=Fraction(1, 1000), milliliter=Fraction(1, 1000))
_add("dollar", dollar=1, usd=1, buck=1, cent=Fraction(1, 100))
_add("dollar", marks={"$": 1, "¢": Fraction(1, 100)})
_add("euro", {"€": 1}, euro=1, eur=1)
_add("pound sterling", {"£": 1}, gbp=1)
_add("degree", {"°": 1}, degree=1, deg=1)
_add("N", N=1, newton=1)
_add("J", J=1, joule=1, kJ=1000)
_add("W", W=1, watt=1, kW=1000)
_add("V", V=1, volt=1)
_add("square", square=1)  # "5 squares"; "square metres" is seen before

_BASES = frozenset(base for base, _ in _TABLE.values())

MULTIPLIERS = {
    "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
}  # fmt: skip
NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip
NO_UNITS = frozenset({
    "a", "about", "all", "am", "an", "and", "answer", "any", "approximately", "around", "at", "be", "between", "both",
    "but",
    "clock", "correct", "either", "equal", "equals", "exactly", "except", "for", "from", "if", "in", "incorrect", "is",
    "least", "less", "maybe", "minus", "mod", "modulo", "more", "most", "neither", "no", "none", "nor", "not", "o",
    "of",
    "on", "or", "otherwise", "over", "plus", "pm", "right", "than", "the", "then", "times", "to", "was", "when",
    "where",
    "which", "with", "without", "wrong",
})  # fmt: skip
"""Words after a number that change its value."""


@lru_cache(maxsize=1024)
def unit_of(words: tuple[str, ...]) -> Unit | None:
    """Return the unit that words and marks name (``("km", "/", "h")``, ``("square", "feet")``), or None."""
    worth, powers = Fraction(1), dict[str, int]()
    sign, following, position = 1, 1, 0
    if not words or len(words) > 9:
        return None
    while position < len(words):
        word = words[position]
        position += 1
        if word in ("/", "per"):
            if position == len(words) or not powers:
                return None
            sign = -1
            continue
        if word in ("*", "-", "."):
            continue
        if word.lower() in ("square", "sq", "cubic", "cu") and position < len(words) and words[position].isalpha():
            following = 2 if word.lower() in ("square", "sq") else 3
            continue
        if not (word.isalpha() or word in _TABLE) or word.lower() in NO_UNITS:
            return None
        base, factor = _single(word)
        power = following
        following = 1
        if position + 1 < len(words) and words[position] == "^" and words[position + 1].lstrip("-").isdigit():
            power = int(words[position + 1][:4])
            position += 2
        if not 1 <= abs(power) <= 9:
            return None
        worth *= factor ** (sign * power)
        powers[base] = powers.get(base, 0) + sign * power
    if len(powers) > 4 or not powers:
        return None
    return worth, tuple(sorted((base, power) for base, power in powers.items() if power))


def _single(word: str) -> tuple[str, Fraction]:
    if word in _TABLE:
        return _TABLE[word]
    low = word.lower()
    for name in (low, low.removesuffix("s"), low.removesuffix("es")):
        if name in _TABLE and len(low) > 1:
            return _TABLE[name]
    if low.endswith("ies") and len(low) > 4:
        return low[:-3] + "y", Fraction(1)
    if low.endswith("s") and not low.endswith("ss") and len(low) > 3:
        return low[:-1], Fraction(1)
    return low, Fraction(1)


def is_unit_letter(letter: str) -> bool:
    """Return whether a single letter after a number and a blank is a unit rather than a variable."""
    return letter in _LETTERS


def is_known(unit: Unit) -> bool:
    """Return whether a unit is one of measurement, rather than a word for counted objects."""
    return any(base in _BASES for base, _ in unit[1])
