"""Units of measurement: their names, and the conversions between them.

Only exact, linear conversions of everyday units. A noun for counted objects is a unit of its own kind ("5 apples"). Any
other word is an uncertain unit: the comparison accepts it only if the gold answer or the question has it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from gem.tables import read_table
from gem_envs_math.grader.counted import ADJECTIVES, COUNTED, NO_UNITS, singular

__all__ = ["MULTIPLIERS", "NUMBER_WORDS", "Unit", "is_known", "is_unit_letter", "is_unit_word", "uncertain", "unit_of"]

Unit = tuple[Fraction, tuple[tuple[str, int], ...]]
"""Its value in base units, and the base units with their powers, sorted."""

_INCH = Fraction(254, 10000)
_POUND = Fraction(45359237, 100000)
_TABLE: dict[str, tuple[str, Fraction]] = {}
_LETTERS = frozenset({"m", "s", "g", "h", "l", "L", "N", "J", "W", "V", "K", "C", "F", "A", "T", "Ω"})


def _add(base: str, marks: Mapping[str, Fraction | int] = MappingProxyType({}), **names: Fraction | int) -> None:
    for name, worth in {**marks, **names}.items():
        _TABLE[name] = (base, Fraction(worth))


_add("m", m=1, meter=1, metre=1, kilometer=1000, kilometre=1000, centimeter=Fraction(1, 100))
_add("m", centimetre=Fraction(1, 100), millimeter=Fraction(1, 1000), decimeter=Fraction(1, 10))
_add("m", {"in": _INCH}, inch=_INCH, inches=_INCH)
_add("m", ft=12 * _INCH, foot=12 * _INCH, feet=12 * _INCH, yd=36 * _INCH, yard=36 * _INCH)
_add("m", mi=63360 * _INCH, mile=63360 * _INCH)
_add("g", g=1, gram=1, kilogram=1000, milligram=Fraction(1, 1000), tonne=10**6)
_add("g", lb=_POUND, lbs=_POUND, pound=_POUND, oz=_POUND / 16, ounce=_POUND / 16)
_add("s", s=1, sec=1, second=1, min=60, minute=60, h=3600, hr=3600, hour=3600, day=86400, week=604800)
_add("s", millisecond=Fraction(1, 1000))
_add("month", month=1, year=12, yr=12)
_add("dollar", dollar=1, usd=1, buck=1, cent=Fraction(1, 100))
_add("dollar", marks={"$": 1, "¢": Fraction(1, 100)})
_add("euro", {"€": 1}, euro=1, eur=1)
_add("pound sterling", {"£": 1}, gbp=1)
_add("degree", {"°": 1}, degree=1, deg=1)
_add("square", square=1)  # "5 squares"; "square metres" is seen before
_add("A", {"A": 1}, amp=1, ampere=1)
_add("mol", mol=1, mole=1)
_add("rad", rad=1, radian=1, mrad=Fraction(1, 1000))
_add("eV", {"eV": 1})
_add("m", nanometer=Fraction(1, 10**9), micron=Fraction(1, 10**6), angstrom=Fraction(1, 10**10))
_add("yen or yuan", {"¥": 1})
_add("dong", dong=1, kilodong=1000, megadong=10**6)
_add("K", {"K": 1}, kelvin=1)
_add("celsius", celsius=1)
_add("fahrenheit", fahrenheit=1)
_add("bit", bit=1, byte=8)
for _name in (
    "atm", "AU", "cal", "kcal", "calorie", "dB", "decibel", "dyne", "erg", "knot", "lightyear", "lumen", "parsec", "pc",
    "kpc", "Mpc", "steradian", "torr", "yen", "euro", "rupee", "peso", "pesos", "franc", "ruble", "yuan", "won",
    "shilling", "nickel", "dime", "penny", "pennies", "ton", "acre", "hectare", "bushel", "decade", "century",
    "percent", "revolution", "candela", "molar",
):  # fmt: skip
    _TABLE.setdefault(_name, (_name.lower(), Fraction(1)))

_ABROAD = read_table(__file__, "units_abroad.json")
"""Units and nouns of Chinese, Japanese, Korean, Vietnamese, Russian, Spanish, French and German questions."""

_BASES = frozenset(base for base, _ in _TABLE.values())

_DERIVED = {
    "N": ("kg", "*", "m", "/", "s", "^", "2"), "J": ("N", "*", "m"), "W": ("J", "/", "s"), "C": ("A", "*", "s"),
    "V": ("J", "/", "C"), "Ω": ("V", "/", "A"), "F": ("C", "/", "V"), "Wb": ("V", "*", "s"),
    "T": ("Wb", "/", "m", "^", "2"), "H": ("Wb", "/", "A"), "Pa": ("N", "/", "m", "^", "2"), "L": ("dm", "^", "3"),
    "Hz": ("s", "^", "-1"), "mph": ("mile", "/", "hour"), "kmh": ("km", "/", "hour"), "kph": ("km", "/", "hour"),
    "kmph": ("km", "/", "hour"), "fps": ("foot", "/", "second"), "rpm": ("revolution", "/", "minute"),
    "mpg": ("mile", "/", "gallon"),
}  # fmt: skip
"""Units made of others (of the SI: BIPM, The International System of Units, 9th edition, table 4)."""

_NAMES = {
    "newton": "N", "joule": "J", "watt": "W", "coulomb": "C", "volt": "V", "ohm": "Ω", "farad": "F", "weber": "Wb",
    "tesla": "T", "henry": "H", "pascal": "Pa", "hertz": "Hz", "l": "L", "liter": "L", "litre": "L", "milliliter": "mL",
    "millilitre": "mL", "ml": "mL", "kohm": "kΩ",
}  # fmt: skip
_GALLON = Fraction(3785411784, 10**9)  # of the United States, in litres
_PARTS_OF_GALLON = {
    "gallon": 1, "gal": 1, "quart": 4, "qt": 4, "pint": 8, "cup": 16, "tablespoon": 256, "tbsp": 256, "teaspoon": 768,
    "tsp": 768,
}  # fmt: skip
_PREFIXES = {
    "f": Fraction(1, 10**15), "p": Fraction(1, 10**12), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6),
    "μ": Fraction(1, 10**6), "m": Fraction(1, 1000), "c": Fraction(1, 100), "d": Fraction(1, 10), "k": Fraction(1000),
    "M": Fraction(10**6), "G": Fraction(10**9),
}  # fmt: skip
_PREFIXED = frozenset(
    {"m", "g", "s", "A", "mol", "eV", "N", "J", "W", "C", "V", "Ω", "F", "Wb", "T", "H", "Pa", "L", "Hz"}
)
_NEVER_PRODUCTS = frozenset({
    "km", "cm", "mm", "dm", "nm", "um", "kg", "mg", "ms", "mL", "mA", "kJ", "kW", "kHz", "MHz", "GHz", "kPa", "MPa",
    "GPa", "keV", "MeV", "GeV", "mmol", "kmol",
})  # fmt: skip
"""Units with a prefix that are units wherever they stand; "nC" and "kT" are so behind a number alone."""

_LARGE = frozenset({"Hz", "Pa", "eV", "Ω", "W"})
"""Units that take the prefixes in capitals; "MN" is a line."""

_NO_PREFIXES = frozenset({"cd", "pc", "pT", "pH", "dC", "cC", "dT", "cT"})

MULTIPLIERS = {
    "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "lakh": 10**5, "crore": 10**7, **_ABROAD["multipliers"],
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
    sign, following, position = 1, 1, 0
    if not words or len(words) > 9:
        return None
    words = _in_english(words)
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
        if not word.isalpha() and word not in _TABLE:
            return None
        factor, bases = _single(word)
        if word.lower() in NO_UNITS and bases[0][0] not in _BASES:
            return None
        power = following
        following = 1
        if position + 1 < len(words) and words[position] == "^" and words[position + 1].lstrip("-").isdigit():
            power = int(words[position + 1][:4])
            position += 2
        if not 1 <= abs(power) <= 9:
            return None
        worth *= factor ** (sign * power)
        for base, count in bases:
            powers[base] = powers.get(base, 0) + sign * power * count
    if len(powers) > 4 or not powers:
        return None
    return worth, tuple(sorted((base, power) for base, power in powers.items() if power))


def _in_english(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with units of other languages by their English names, ``("平方米",)`` as ``("m", "^", "2")``."""
    found: list[str] = []
    names: Mapping[str, str] = _ABROAD["names"]
    position = 0
    while position < len(words):
        word = words[position].lower()
        both = f"{word} {words[position + 1].lower()}" if position + 1 < len(words) else ""
        power = next(
            (
                power
                for mark, power in _ABROAD["powers"].items()
                if word[len(mark) :] in names and word.startswith(mark)
            ),
            0,
        )
        if both in names:
            found.append(names[both])
            position += 1
        elif power:
            found += [names[word[2:]], "^", str(power)]
        else:
            found.append(names.get(word, words[position]))
        position += 1
    return tuple(found)


@lru_cache(maxsize=1024)
def _single(word: str) -> Unit:
    """Return the unit that a word names; an uncertain one if it is no known unit or noun."""
    low = word.lower()
    forms = (word, low, low.removesuffix("s"), low.removesuffix("es")) if len(low) > 2 else (word,)
    for name in forms:
        if name in _TABLE:
            base, worth = _TABLE[name]
            return worth, ((base, 1),)
        if name in _PARTS_OF_GALLON:
            return _multiple(_GALLON / _PARTS_OF_GALLON[name], _single("L"))
        if _NAMES.get(name, name) in _DERIVED:
            derived = unit_of(_DERIVED[_NAMES.get(name, name)])
            assert derived is not None
            return derived
    symbol = _NAMES.get(word, word)
    taking = _LARGE if symbol[:1].isupper() else _PREFIXED
    if symbol[:1] in _PREFIXES and symbol[1:] in taking and symbol not in _NO_PREFIXES:
        return _multiple(_PREFIXES[symbol[0]], _single(symbol[1:]))
    name = singular(low)
    return Fraction(1), (((name if name in COUNTED or low in _COUNTED else UNCERTAIN + name), 1),)


def _multiple(factor: Fraction, unit: Unit) -> Unit:
    return factor * unit[0], unit[1]


def _is_unit(word: str) -> bool:
    """Return whether a word names a unit of measurement."""
    return _single(word)[1][0][0] in _BASES


_COUNTED = COUNTED | frozenset(_ABROAD["counted"])

UNCERTAIN = "?"
"""Begins the name of a unit that may be none."""


def is_unit_letter(letter: str) -> bool:
    """Return whether a single letter after a number and a blank is a unit rather than a variable."""
    return letter in _LETTERS


def is_known(unit: Unit) -> bool:
    """Return whether a unit is one of measurement, rather than a word for counted objects."""
    return any(base in _BASES for base, _ in unit[1])


def is_unit_word(word: str) -> bool:
    """Return whether a word of two letters or more, or two words, are the name of a unit of measurement."""
    if word in _NEVER_PRODUCTS or word.lower() in _ABROAD["names"] or (len(word) > 3 and not uncertain(_single(word))):
        return True
    return len(word) > 1 and (word in _TABLE or word in _NAMES or word in _PARTS_OF_GALLON or word in _DERIVED)


def uncertain(unit: Unit) -> list[str]:
    """Return the words of a unit that are neither a unit of measurement nor a known noun."""
    return [base[1:] for base, _ in unit[1] if base.startswith(UNCERTAIN)]
