"""Units of measurement: their names, and the conversions between them.

Only exact, linear conversions of everyday units. A noun for counted objects is a unit of its own kind ("5 apples"). Any
other word is an uncertain unit: the comparison accepts it only if the gold answer or the question has it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from gem_envs_math.grader.counted import ADJECTIVES, COUNTED, NO_UNITS, singular

__all__ = ["MULTIPLIERS", "NUMBER_WORDS", "Unit", "is_known", "is_unit_letter", "is_unit_word", "uncertain", "unit_of"]

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
_add("m", {"in": _INCH}, inch=_INCH, inches=_INCH)
_add("m", ft=12 * _INCH, foot=12 * _INCH, feet=12 * _INCH, yd=36 * _INCH, yard=36 * _INCH)
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
_add("A", amp=1, ampere=1, mA=Fraction(1, 1000))
_add("Hz", {"Hz": 1}, hertz=1, kHz=1000, MHz=10**6, GHz=10**9)
_add("Pa", {"Pa": 1}, pascal=1, kPa=1000, MPa=10**6, GPa=10**9)
_add("eV", {"eV": 1}, keV=1000, MeV=10**6, GeV=10**9)
_add("mol", mol=1, mole=1, mmol=Fraction(1, 1000), kmol=1000)
_add("rad", rad=1, radian=1, mrad=Fraction(1, 1000))
_add("m", nm=Fraction(1, 10**9), nanometer=Fraction(1, 10**9), micron=Fraction(1, 10**6), um=Fraction(1, 10**6))
_add("m", angstrom=Fraction(1, 10**10))
_add("T", {"T": 1}, tesla=1)
_add("ohm", {"Ω": 1}, ohm=1, kohm=1000)
_add("K", {"K": 1}, kelvin=1)
_add("C", {"C": 1}, coulomb=1, celsius=1)
_add("F", {"F": 1}, fahrenheit=1, farad=1)
_add("A", {"A": 1})
_add("bit", bit=1, byte=8)
for _name in (
    "atm", "AU", "cal", "kcal", "calorie", "dB", "decibel", "dyne", "erg", "farad", "gallon", "henry", "kelvin",
    "celsius", "fahrenheit", "knot", "lightyear", "lumen", "parsec", "pc", "kpc", "Mpc", "pint",
    "quart", "cup", "tablespoon", "teaspoon", "steradian", "tesla", "torr", "weber", "yen", "euro", "rupee",
    "peso", "pesos", "franc", "ruble", "shilling", "nickel", "dime", "penny", "pennies", "ton", "acre", "hectare",
    "bushel", "decade", "century", "percent", "revolution", "candela", "molar", "coulombs",
):  # fmt: skip
    _TABLE.setdefault(_name, (_name.lower(), Fraction(1)))

_COMPOUND = {
    "mph": ("mile", "/", "hour"), "kmh": ("km", "/", "hour"), "kph": ("km", "/", "hour"), "kmph": ("km", "/", "hour"),
    "fps": ("foot", "/", "second"), "rpm": ("revolution", "/", "minute"), "mpg": ("mile", "/", "gallon"),
}  # fmt: skip
"""Abbreviations of several units."""

_BASES = frozenset(base for base, _ in _TABLE.values())

MULTIPLIERS = {
    "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip


@lru_cache(maxsize=1024)
def unit_of(words: tuple[str, ...]) -> Unit | None:
    """Return the unit that words and marks name (``("km", "/", "h")``, ``("square", "feet")``), or None."""
    worth, powers = Fraction(1), dict[str, int]()
    words = tuple(part for word in words for part in _COMPOUND.get(word.lower(), (word,)))
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
        if word in ("*", "-", ".") or (word.lower() in ADJECTIVES and words[position : position + 1]):
            continue
        if word.lower() in ("square", "sq", "cubic", "cu") and position < len(words) and words[position].isalpha():
            following = 2 if word.lower() in ("square", "sq") else 3
            continue
        if word not in _TABLE and (not word.isalpha() or word.lower() in NO_UNITS):
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
    name = singular(low)
    return (name if name in COUNTED or low in COUNTED else UNCERTAIN + name), Fraction(1)


UNCERTAIN = "?"
"""Begins the name of a unit that may be none."""


def is_unit_letter(letter: str) -> bool:
    """Return whether a single letter after a number and a blank is a unit rather than a variable."""
    return letter in _LETTERS


def is_known(unit: Unit) -> bool:
    """Return whether a unit is one of measurement, rather than a word for counted objects."""
    return any(base in _BASES for base, _ in unit[1])


def is_unit_word(word: str) -> bool:
    """Return whether a word of two letters or more is the name of a unit of measurement."""
    return len(word) > 1 and (
        word in _TABLE or word in _COMPOUND or (len(word) > 3 and not _single(word)[0].startswith(UNCERTAIN))
    )


def uncertain(unit: Unit) -> list[str]:
    """Return the words of a unit that are neither a unit of measurement nor a known noun."""
    return [base[1:] for base, _ in unit[1] if base.startswith(UNCERTAIN)]
