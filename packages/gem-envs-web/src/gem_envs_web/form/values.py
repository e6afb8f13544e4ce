"""The values of a form's fields: how a letter says them, and how a form wants them.

A :class:`FieldValue` is one value with both. :func:`drawn_value` draws values of the kinds that forms.toml names.
"""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from typing import Any, NamedTuple

__all__ = ["NUMBER_WORDS", "FieldFormat", "FieldValue", "drawn_value", "format_of", "parsed_date", "written"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_STREETS = (
    "Mill Lane", "Harbour Road", "Lindenweg", "Church Street", "Rua Nova", "Canal Row", "Orchard Close", "Via Roma",
    "Station Road", "Kirkegata", "Castle Hill", "Meadow View", "Rue des Lilas", "Brewery Yard", "Fountain Square",
)  # fmt: skip
_DOMAINS = ("postkasse.example", "mailbox.example", "inbox.example", "letters.example", "webpost.example")
_ONLY_DIGITS = r"\d+"


class FieldFormat(NamedTuple):
    """How a form wants a value to be written."""

    name: str
    note: str
    """The form's words for it; empty where anything goes."""
    pattern: str
    """What the whole value must match."""

    def fits(self, text: str) -> bool:
        """Return whether a text is in this format; a date must be on the calendar."""
        if self.name in _DATES:
            return parsed_date(self, text) is not None
        return re.fullmatch(self.pattern, text, re.ASCII) is not None


class FieldValue(NamedTuple):
    """A value."""

    kind: str
    content: Any
    """A date, a number (minutes, cents, pieces or grams) or a text."""
    said: str
    """The words of a letter."""


_DATES = {
    "iso": FieldFormat("iso", "YYYY-MM-DD", r"\d{4}-\d{2}-\d{2}"),
    "dots": FieldFormat("dots", "DD.MM.YYYY", r"\d{2}\.\d{2}\.\d{4}"),
    "month": FieldFormat("month", "DD-Mon-YYYY, such as 07-Jan-2026", r"\d{2}-[A-Z][a-z]{2}-\d{4}"),
    "british": FieldFormat("british", "DD/MM/YYYY", r"\d{2}/\d{2}/\d{4}"),
    "american": FieldFormat("american", "MM/DD/YYYY", r"\d{2}/\d{2}/\d{4}"),
}
_FORMATS: dict[str, tuple[FieldFormat, ...]] = {
    "date": tuple(_DATES.values()),
    "time": (
        FieldFormat("colon", "HH:MM, 24 hours", r"([01]\d|2[0-3]):[0-5]\d"),
        FieldFormat("h", "HHhMM, 24 hours, such as 08h05", r"([01]\d|2[0-3])h[0-5]\d"),
    ),
    "phone": (
        FieldFormat("plus", "+ and digits, without blanks", r"\+\d{8,15}"),
        FieldFormat("zeros", "00 in place of +, digits, without blanks", r"00\d{8,15}"),
    ),
    "email": (FieldFormat("email", "", r"[^@\s]+@[^@\s]+\.[^@\s]+"),),
    "amount": (
        FieldFormat("point", "euros, digits and a point, such as 1250.00", r"\d+\.\d{2}"),
        FieldFormat("comma", "euros, digits and a comma, such as 1250,00", r"\d+,\d{2}"),
        FieldFormat("cents", "in cents, digits", _ONLY_DIGITS),
    ),
    "count": (FieldFormat("digits", "digits", _ONLY_DIGITS),),
    "weight": (FieldFormat("grams", "digits", _ONLY_DIGITS),),
    "code": (
        FieldFormat("hyphen", "two letters, hyphen, digits", r"[A-Z]{2}-\d{5}"),
        FieldFormat("joined", "two letters and digits, without hyphen", r"[A-Z]{2}\d{5}"),
    ),
}
_ANYTHING = FieldFormat("text", "", r"[^\r\n]+")
_AMBIGUOUS = ("british", "american", "cents")
"""Formats that a value in another format could fit, so that no error would say what is wanted."""


def format_of(rng: random.Random, kind: str, hidden: bool) -> FieldFormat:
    """Draw the format in which a form wants values of a kind.

    Args:
        rng: the generator.
        kind: a kind of field.
        hidden: whether the form says it only in the error after another format.
    """
    formats = _FORMATS.get({"days": "count", "product": "amount"}.get(kind, kind), (_ANYTHING,))
    return rng.choice([one for one in formats if not (hidden and one.name in _AMBIGUOUS)])


def written(value: FieldValue, form: FieldFormat) -> str:
    """Return a value as the form wants it."""
    content, name = value.content, form.name
    if value.kind == "date":
        return _written_date(content, name)
    if value.kind == "time":
        return f"{content // 60:02}{':' if name == 'colon' else 'h'}{content % 60:02}"
    if value.kind == "phone":
        return str(content) if name == "plus" else f"00{content[1:]}"
    if value.kind == "amount":
        if name == "cents":
            return str(content)
        return f"{content // 100}{'.' if name == 'point' else ','}{content % 100:02}"
    if value.kind == "code" and name == "joined":
        return str(content).replace("-", "")
    return str(content)


def _written_date(day: date, name: str) -> str:
    if name == "month":
        return f"{day.day:02}-{_MONTHS[day.month - 1][:3]}-{day.year}"
    pattern = {"iso": "%Y-%m-%d", "dots": "%d.%m.%Y", "british": "%d/%m/%Y", "american": "%m/%d/%Y"}[name]
    return day.strftime(pattern)


def parsed_date(form: FieldFormat, text: str) -> date | None:
    """Return the date that a text in the format of a date means, or None."""
    if not re.fullmatch(form.pattern, text, re.ASCII):
        return None
    try:
        if form.name == "month":
            month = next(number for number, name in enumerate(_MONTHS, 1) if name[:3] == text[3:6])
            return date(int(text[7:]), month, int(text[:2]))
        parts = [int(part) for part in re.findall(_ONLY_DIGITS, text)]
        if form.name == "iso":
            return date(*parts)
        day, month = (parts[1], parts[0]) if form.name == "american" else (parts[0], parts[1])
        return date(parts[2], month, day)
    except (ValueError, StopIteration):
        return None


def drawn_value(rng: random.Random, kind: str, field: Any, person: tuple[str, str], earlier: date | None) -> FieldValue:
    """Draw a value.

    Args:
        rng: the generator.
        kind: the kind; not ``choice``, ``yesno`` or a derived one.
        field: the field's table in forms.toml.
        person: given and family name of the person who writes.
        earlier: the date that this one is counted from, if the field has ``after``.
    """
    if kind == "date":
        return _drawn_date(rng, field, earlier)
    if kind == "time":
        minutes = 5 * rng.randrange(6 * 12, 22 * 12)
        return FieldValue(kind, minutes, _said_time(rng, minutes))
    if kind == "phone":
        code, area = rng.choice((31, 32, 39, 43, 45, 46, 48, 351, 353, 358, 385, 386)), rng.randrange(200, 800)
        first, second = rng.randrange(100, 1000), rng.randrange(1000, 10000)
        return FieldValue(kind, f"+{code}{area}{first}{second}", f"+{code} {area} {first} {second}")
    if kind == "amount":
        low, high = field["range"]
        cents = 100 * rng.randint(low, high) + rng.choice((0, 0, 50, 95, 25))
        return amount_value(rng, cents)
    if kind == "count":
        number = rng.randint(*field["range"])
        return FieldValue(kind, number, NUMBER_WORDS[number] if number < 13 else str(number))
    if kind == "weight":
        grams = 50 * rng.randrange(5, 130)
        return FieldValue(kind, grams, f"{grams / 1000:g} {rng.choice(('kg', 'kilos', 'kilograms'))}")
    return _drawn_text(rng, kind, field, person)


def amount_value(rng: random.Random, cents: int) -> FieldValue:
    """Return an amount of money in words that are chosen at random."""
    number = f"{cents / 100:,.2f}".removesuffix(".00")
    return FieldValue("amount", cents, rng.choice((f"{number} euros", f"€{number}", f"EUR {number}")))


def _drawn_text(rng: random.Random, kind: str, field: Any, person: tuple[str, str]) -> FieldValue:
    if kind == "email":
        given, family = (name.lower() for name in person)
        user = rng.choice(
            (f"{given}.{family}", f"{given[0]}{family}", f"{family}{rng.randrange(10, 100)}", f"{given}_{family}")
        )
        text = f"{user}@{rng.choice(_DOMAINS)}"
    elif kind == "street":
        text = f"{rng.choice(_STREETS)} {rng.randrange(1, 180)}"
    elif kind == "postcode":
        text = f"{rng.randrange(1000, 10000)}"
    elif kind == "code":
        text = (
            f"{rng.choice('ABCDEFGHKLMNPRSTUVWX')}{rng.choice('ABCDEFGHKLMNPRSTUVWX')}-{rng.randrange(10000, 100000)}"
        )
    else:
        text = rng.choice(field["values"])
    return FieldValue(kind, text, text)


def _drawn_date(rng: random.Random, field: Any, earlier: date | None) -> FieldValue:
    if earlier is None:
        low, high = field["years"]
        day = date(low, 1, 1) + timedelta(days=rng.randrange(365 * (high - low + 1)))
    else:
        _, low, high = field["after"]
        day = earlier + timedelta(days=rng.randint(low, high))
    month = _MONTHS[day.month - 1]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day // 10 != 1 else 0, "th")
    ways = (
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"the {day.day}{ending} of {month} {day.year}",
    )
    return FieldValue("date", day, rng.choice(ways))


def _said_time(rng: random.Random, minutes: int) -> str:
    hour, minute = divmod(minutes, 60)
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    this, following = NUMBER_WORDS[(hour - 1) % 12 + 1], NUMBER_WORDS[hour % 12 + 1]
    words = {
        0: f"{this} o'clock",
        15: f"a quarter past {this}",
        30: f"half past {this}",
        45: f"a quarter to {following}",
    }
    clock = f"{(hour - 1) % 12 + 1}:{minute:02}"
    if minute in words and rng.random() < 0.6:
        return f"{words[minute]} {part}"
    return f"{clock} {'am' if hour < 12 else 'pm'}" if rng.random() < 0.5 else f"{clock} {part}"
