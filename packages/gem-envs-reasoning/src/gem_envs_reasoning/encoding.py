"""Items as JSON and back, with types unknown to JSON: tuples, sets, dates, fractions, keys that are not str."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

__all__ = ["decode", "encode"]

_TAG = "\u0000type"


def encode(value: Any) -> Any:
    """Return JSON values from which :func:`decode` makes an equal value.

    Raises:
        TypeError: for an unknown type.
    """
    if value is None or type(value) in (str, bool, int, float):
        return value
    if type(value) is list:
        return [encode(inner) for inner in value]
    if type(value) is dict:
        if all(type(key) is str and key != _TAG for key in value):
            return {key: encode(inner) for key, inner in value.items()}
        return {_TAG: "dict", "of": [[encode(key), encode(inner)] for key, inner in value.items()]}
    if isinstance(value, tuple):
        return {_TAG: "tuple", "of": [encode(inner) for inner in value]}
    if isinstance(value, frozenset):
        return {_TAG: "frozenset", "of": [encode(inner) for inner in value]}
    if isinstance(value, set):
        return {_TAG: "set", "of": [encode(inner) for inner in value]}
    if isinstance(value, datetime.datetime):
        return {_TAG: "datetime", "of": value.isoformat()}
    if isinstance(value, datetime.date):
        return {_TAG: "date", "of": value.isoformat()}
    if isinstance(value, datetime.time):
        return {_TAG: "time", "of": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {_TAG: "timedelta", "of": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, complex):
        return {_TAG: "complex", "of": [value.real, value.imag]}
    if isinstance(value, Fraction | Decimal):
        return {_TAG: type(value).__name__, "of": str(value)}
    if isinstance(value, (str, int, float, list, dict)):  # subclasses: enums of str, named dicts
        base: Any = next(kind for kind in (str, int, float, list, dict) if isinstance(value, kind))
        return encode(base.__str__(value) if base is str else base(value))
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return encode(value.tolist())
    raise TypeError(f"cannot encode an object of type {type(value).__name__}")


def decode(value: Any) -> Any:
    """Undo :func:`encode`."""
    if type(value) is list:
        return [decode(inner) for inner in value]
    if type(value) is not dict:
        return value
    kind = value.get(_TAG)
    if kind is None:
        return {key: decode(inner) for key, inner in value.items()}
    of = decode(value["of"])
    if kind == "dict":
        return {key: inner for key, inner in of}  # noqa: C416  # pairs are lists here
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](of)
    if kind in ("datetime", "date", "time"):
        return getattr(datetime, kind).fromisoformat(of)
    if kind in ("Fraction", "Decimal"):
        return {"Fraction": Fraction, "Decimal": Decimal}[kind](of)
    return datetime.timedelta(*of) if kind == "timedelta" else complex(*of)
