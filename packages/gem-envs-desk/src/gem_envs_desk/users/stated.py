"""The data that a text states, in any usual notation: :func:`data_in`, and the figures of a message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache

__all__ = [
    "amounts_in",
    "data_in",
    "has_time",
    "names_price",
    "occurs",
    "own_choices",
    "own_data",
    "stated_choices",
    "with_plain_dates",
]

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"(?<![\w@.-])(?:[a-z]{1,4}-?\d{3,8}|\d{3,5}[- ]\d{4,6})(?![\w@-])")
_FLIGHT = re.compile(r"\b(?:flight|customer|item|payment|case|bill)(?: (?:number|id|code|method|no))?\W{0,3}$")
_STREET = re.compile(
    r"(?<![\w-])(\d{1,5}[a-z]?) ((?:[a-z'-]{2,20} ){1,2}"
    r"(?:street|st|lane|road|rd|square|avenue|ave|hill|quay|drive|way|"
    r"boulevard|court|"
    r"place))\b"
)
_SHORT = {"st": "street", "rd": "road", "ave": "avenue"}
_ZIP = re.compile(r"(?<![\w.,-])\d{5}(?![\w-]|\.\d)")
_ZIP_WORDS = re.compile(r"\b(?:zip|postcode|postal)\b")
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DATE_WORDS = re.compile(
    rf"\b(?:{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?|(\d{{1,2}})(?:st|nd|rd|"
    rf"th)? (?:of )?{_MONTH})(?:,? (\d{{4}}))?(?![\w:])"
)
_YEAR = "2026"
_COUNT = re.compile(
    r"\b(\d{1,2}|one|two|three|four|five|six) (?:checked |pieces of |items of )?(bags?|gb|gigabytes?|luggage|"
    r"suitcases?)\b"
)
_COUNTS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
_UNITS = {"g": "gb", "b": "bags", "l": "bags", "s": "bags"}
_NAME = re.compile(
    r"(?i:\b(?:my name is|your (?:full |last |first )?name is|your (?:full |last |first )?name|speaking (?:to|with)|"
    r"talking (?:to|with)|name:|customer:|passenger:|mr\.?|ms\.?|"
    r"mrs\.?)) ((?:[A-Z][a-zà-ÿ'-]+)(?: [A-Z][a-zà-ÿ'-]+)?)|"
    r"(?i:\b(?:are you|you are|you're|this is) )((?:[A-Z][a-zà-ÿ'-]+) (?:[A-Z][a-zà-ÿ'-]+))"
)
_NO_NAMES = frozenset("R V B C P I The Your Sorry Not Okay Yes No Abroad Sure".casefold().split())
_AMOUNT = re.compile(
    r"[€$£]\s?(\d[\d,]*(?:\.\d+)?)|(?<![\w.:-])(\d[\d,]*(?:\.\d+)?)(?:\s?(?:€|\$|£)|\s?(?:euros?|eur|dollars?|usd|"
    r"pounds?)\b|(?![\w:%-]))"
)
_PRICE = re.compile(
    r"[€$£]|\b(?:euros?|eur|dollars?|usd|pounds?|costs?|price|paid|pay|refund\w*|charge\w*|fee|fees|amount|total|"
    r"fare|sum|back)\b"
)
_NO_AMOUNT = re.compile(
    r"\s?(?:days?|hours?|minutes?|months?|weeks?|years?|gb|gigabytes?|bags?|items?|percent|pieces?|checked|st\b|"
    r"nd\b|rd\b|th\b|[ap]\.?m\b)"
)
_TIME = re.compile(r"\b\d{1,2}:\d{2}\b|\b\d{1,2} ?(?:am|pm|a\.m\.|p\.m\.|o'clock)")


def data_in(text: str, written: str = "") -> dict[str, set[str]]:
    """Return the kinds of data that a text in lower case states, each with its values in one notation.

    Codes of one pattern are one kind, such as an R with five digits. Names are found in the text as it was written.
    """
    found: dict[str, set[str]] = {}

    def add(kind: str, value: str) -> None:
        found.setdefault(kind, set()).add(value)

    for match in _EMAIL.finditer(text):
        add("e-mail", match[0].rstrip("."))
    for match in _CODE.finditer(text):
        if not _FLIGHT.search(text[max(match.start() - 24, 0) : match.start()]):
            code = match[0].replace(" ", "-")
            code = code if code[0].isdigit() else code.replace("-", "")
            add(f"code {_pattern(code)}", code)
    streets = list(_STREET.finditer(text))
    for match in streets:
        *words, last = match[2].split()
        add("street", " ".join([match[1], *words, _SHORT.get(last, last)]))
    if streets or _ZIP_WORDS.search(text):
        for match in _ZIP.finditer(text):
            add("street zip" if streets else "zip", match[0])
    for match in _DATE.finditer(text):
        add("date", match[0])
    for match in _DATE_WORDS.finditer(text):
        add("date", _plain_date(match))
    for match in _COUNT.finditer(text):
        add(_UNITS[match[2][0]], _COUNTS.get(match[1], match[1]))
    for match in _NAME.finditer(written):
        name = (match[1] or match[2]).casefold()
        if name.split()[0] not in _NO_NAMES:
            add("name", name)
    return found


@lru_cache(maxsize=2048)
def own_data(says: str) -> Mapping[str, Set[str]]:
    """Return the kinds of data in the user's own words, which they say again and again."""
    return data_in(says.casefold(), says)


def amounts_in(text: str) -> set[str]:
    """Return the numbers of a text that can be amounts, in one notation; codes, dates, times and counts are none."""
    found = set()
    without = _DATE.sub(" ", _DATE_WORDS.sub(" ", _TIME.sub(" ", text)))
    for match in _AMOUNT.finditer(without):
        number = match[1] or match[2]
        if match[1] is None and _NO_AMOUNT.match(without, match.end()):
            continue
        found.add(f"{float(number.replace(',', '')):.2f}")
    return found


def with_plain_dates(text: str) -> str:
    """Return a text in lower case with its dates in the notation 2026-05-15."""
    return _DATE_WORDS.sub(_plain_date, text)


def names_price(text: str) -> bool:
    """Return whether a text is about money."""
    return _PRICE.search(text) is not None


def has_time(text: str) -> bool:
    """Return whether a text states a time of the day."""
    return _TIME.search(text) is not None


def occurs(words: str, text: str) -> bool:
    """Return whether words stand in a text, both in lower case."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not (start and _is_inner(text[start - 1])) and not (end < len(text) and _is_inner(text[end])):
            return True
        start = text.find(words, start + 1)
    return False


def stated_choices(choices: Iterable[str], text: str) -> set[str]:
    """Return those of several choices, each ``"a|b"`` with its synonyms, that a text names."""
    return {choice for choice in choices if any(occurs(words, text) for words in choice.split("|"))}


def own_choices(choices: Iterable[str], says: str) -> set[str]:
    """Return those of several choices that the user's own words name."""
    return stated_choices(choices, says.casefold())


def _is_inner(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _plain_date(match: re.Match[str]) -> str:
    month, day = match[1] or match[4], match[2] or match[3]
    return f"{match[5] or _YEAR}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}"


def _pattern(code: str) -> str:
    letters = re.sub(r"[^a-z]", "", code)
    digits = re.sub(r"\d", "#", code[len(letters) :])
    return f"{letters if len(letters) == 1 else 'a' * len(letters)}{digits}"
