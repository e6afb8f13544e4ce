"""Values that agents write, checked by the declared kind of their column, and the JSON schemas of the kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

from gem_envs_office.declarations import OfficeColumn, company
from gem_envs_office.store import OfficeStore

__all__ = ["OfficeRefusalError", "read_values", "schema_of"]

_LONGEST = {"text": 200, "body": 4000, "mail": 200}
"""Characters."""
_MAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,128}")
_MOST = 10**9


class OfficeRefusalError(Exception):
    """A call that its arguments, the data or the agent's role do not allow; the message says why. Nothing changed."""


def read_values(
    store: OfficeStore, tool: str, columns: Mapping[str, OfficeColumn], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call, each of the kind of its column; a missing optional one is left out.

    Raises:
        OfficeRefusalError: if one is unknown, missing or wrong; it names the tool, the argument and the value.
    """
    for name in given:
        if name not in columns:
            raise OfficeRefusalError(f"{tool} has no argument {name!r:.60}; it takes {', '.join(columns) or 'none'}")
    values = {}
    for name, column in columns.items():
        if given.get(name) is None:
            if not column.optional:
                raise OfficeRefusalError(f"{tool} needs the argument {name}, {_described(column)}")
            continue
        try:
            values[name] = _read(store, column, given[name])
        except ValueError as error:
            reason = str(error) or f"must be {_described(column)}"
            raise OfficeRefusalError(f"{tool}: {name} {reason}, got {_as_json(given[name])}") from None
    return values


def schema_of(column: OfficeColumn) -> dict[str, Any]:
    """Return the JSON schema of a value of this kind."""
    plain = {"money": "number", "int": "integer", "object": "object", "refs": "array"}
    schema: dict[str, Any] = {"type": plain.get(column.kind, "string")}
    if column.kind == "refs":
        schema["items"] = {"type": "string"}
    if column.choices:
        schema["enum"] = list(column.choices)
    else:
        schema["description"] = column.told or _described(column)
    return schema


def _described(column: OfficeColumn) -> str:
    if column.kind == "choice":
        return f"one of the texts {', '.join(map(_as_json, column.choices))}"
    if column.kind in ("ref", "refs"):
        table = company().tables[column.table]
        one = f"a key of {table.name}, such as {table.prefix}101"
        return one if column.kind == "ref" else f"a list; each is {one}"
    return {
        "date": "a date, such as 2027-03-01",
        "time": "a time, such as 2027-03-01T09:30",
        "money": "an amount in euros, at least 0.01",
        "int": "a whole number, at least 0",
        "mail": "an e-mail address",
        "object": "a JSON object",
    }.get(column.kind, "a text")


def _as_json(value: Any) -> str:
    """Return a value as agents write it, so that the number 2 and the text "2" look different."""
    return json.dumps(value, ensure_ascii=False, default=str)[:80]


def _read(store: OfficeStore, column: OfficeColumn, value: Any) -> Any:
    if column.kind == "money":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value) or abs(value) > _MOST:
            raise ValueError
        if round(value, 2) < 0.01:
            raise ValueError
        return round(float(value), 2)
    if column.kind == "int":
        whole = isinstance(value, float) and value.is_integer()
        if isinstance(value, bool) or not (isinstance(value, int) or whole) or not 0 <= value <= _MOST:
            raise ValueError
        return int(value)
    if column.kind == "object":
        if not isinstance(value, Mapping):
            raise ValueError
        return dict(value)
    if column.kind == "refs":
        if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value) or len(value) > 50:
            raise ValueError("must be a list of different keys")
        return [_text(store, column, one) for one in value]
    return _text(store, column, value)


def _text(store: OfficeStore, column: OfficeColumn, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    if column.kind in ("ref", "refs"):
        if store.get(column.table, value) is None:
            raise ValueError(f"must be {_described(column)}")
    elif column.kind == "choice":
        if value not in column.choices:
            raise ValueError
    elif column.kind == "date":
        if len(value) != 10:
            raise ValueError("must be a date, such as 2027-03-01")
        _parsed(date.fromisoformat, value, "a date, such as 2027-03-01")
    elif column.kind == "time":
        if len(value) != 16:
            raise ValueError("must be a time, such as 2027-03-01T09:30")
        _parsed(datetime.fromisoformat, value, "a time, such as 2027-03-01T09:30")
    elif column.kind == "mail" and not _MAIL.fullmatch(value):
        raise ValueError
    longest = _LONGEST.get(column.kind, 200)
    if not value.strip() or len(value) > longest:
        raise ValueError(f"must have 1 to {longest} characters")
    return value.encode(errors="replace").decode()


def _parsed(parse: Any, value: str, what: str) -> None:
    try:
        parse(value)
    except ValueError:
        raise ValueError(f"must be {what}") from None
