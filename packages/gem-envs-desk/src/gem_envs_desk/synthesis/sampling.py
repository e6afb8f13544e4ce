"""Values for schemas: readable, seeded, and valid for their schema."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.schemas import kind_of

__all__ = ["is_valid", "sample"]

_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeio")
_TRIES = 30
_EPOCH = datetime(2025, 1, 1, tzinfo=timezone.utc)
_SMALLEST, _LARGEST = 1, 500


def sample(schema: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:
    """Return a value of a resolved schema. Objects get their required properties.

    Raises:
        UnsupportedSchemaError: if no valid value was found.
    """
    for _ in range(_TRIES):
        value = _draw(schema, rng, depth)
        if is_valid(schema, value):
            return value
    raise UnsupportedSchemaError(f"no value was found for a schema of type {kind_of(schema) or 'any'}")


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value fits a resolved schema. A pattern that Python cannot read fits nothing."""
    import re

    from jsonschema import Draft202012Validator

    try:
        return bool(Draft202012Validator(schema).is_valid(value))
    except (re.error, OverflowError):
        return False


def _draw(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        return rng.choice(values or schema["enum"])
    kind = kind_of(schema)
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        return _number(schema, rng, whole=kind == "integer")
    if kind == "array":
        least = int(schema.get("minItems", 1))
        most = int(schema.get("maxItems", max(least, 2)))
        if least > 20 or "items" not in schema:
            return []
        return [
            sample(schema["items"], rng, depth + 1) for _ in range(rng.randint(least, max(least, min(most, least + 2))))
        ]
    if kind == "object":
        properties = schema.get("properties", {})
        return {
            name: sample(properties[name], rng, depth + 1) for name in schema.get("required", []) if name in properties
        }
    return _text(schema, rng)


def _number(schema: Mapping[str, Any], rng: random.Random, *, whole: bool) -> int | float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = _SMALLEST if high is None or high > _SMALLEST else high - _LARGEST
    if high is None:
        high = max(_LARGEST, low + _LARGEST)
    step = schema.get("multipleOf", 1 if whole else 0.01)
    if whole or step >= 1:
        step = max(1, int(step))
        first, last = math.ceil(low / step), math.floor(high / step)
        return step * rng.randint(first, max(first, min(last, first + 10_000)))
    return round(rng.uniform(low, min(high, low + 1000.0)), 2)


def _text(schema: Mapping[str, Any], rng: random.Random) -> str:
    if "pattern" in schema:
        return _matching(schema["pattern"], rng)
    made = _formatted(schema.get("format", ""), rng)
    if made is not None:
        return made
    text = _word(rng)
    if rng.random() < 0.5:
        text = f"{text} {_word(rng)}"
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    while len(text) < min(least, 200):
        text = f"{text} {_word(rng)}"
    return text if most is None else text[: int(most)].strip() or text[: int(most)]


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 3))).capitalize()


def _formatted(name: str, rng: random.Random) -> str | None:
    moment = _EPOCH + timedelta(minutes=rng.randrange(60 * 24 * 700))
    if name == "date-time":
        return moment.strftime("%Y-%m-%dT%H:%M:00Z")
    if name == "date":
        return moment.strftime("%Y-%m-%d")
    if name == "time":
        return moment.strftime("%H:%M:00Z")
    if name == "email":
        return f"{_word(rng).lower()}@{_word(rng).lower()}.example"
    if name in ("uri", "url", "uri-reference"):
        return f"https://{_word(rng).lower()}.example/{_word(rng).lower()}"
    if name in ("hostname", "idn-hostname"):
        return f"{_word(rng).lower()}.example"
    if name == "ipv4":
        return f"192.0.2.{rng.randrange(1, 255)}"
    if name == "uuid":
        bits = f"{rng.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-8{bits[17:20]}-{bits[20:]}"
    return None


def _matching(pattern: str, rng: random.Random) -> str:
    import re

    import rstr

    try:
        return str(rstr.Rstr(rng).xeger(pattern))
    except (re.error, RecursionError, OverflowError, KeyError, ValueError, TypeError, IndexError) as error:
        raise UnsupportedSchemaError(f"no text was found for the pattern {pattern[:60]!r}") from error
