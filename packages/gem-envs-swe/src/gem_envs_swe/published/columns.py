"""Values in the columns of published rows: texts, lists in four spellings, nested objects."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gem_envs_swe.published.published_row import MalformedRowError

__all__ = ["Columns"]

_MOST_LITERAL = 32 << 20


class Columns:
    """The columns of a row; names are found in any case, and values are checked as they are read."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        self._names: dict[str, str] = {}
        for name in row:
            if isinstance(name, str):
                self._names.setdefault(name.lower(), name)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._names

    def value(self, *names: str) -> Any:
        """Return the value of the first of several columns that exists and is not null; None if there is none."""
        for name in names:
            found = self._names.get(name.lower())
            if found is not None and self._row[found] is not None:
                return self._row[found]
        return None

    def text(self, *names: str, needed: bool = True) -> str:
        """Return the text of a column; empty if it is missing and not needed.

        Raises:
            MalformedRowError: if it is needed and missing or empty, or no text.
        """
        value = self.value(*names)
        if value is None or (needed and value == ""):
            if needed:
                raise MalformedRowError(f"no {names[0]}", f"the row has no text in its column {names[0]!r}")
            return ""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise MalformedRowError(
                f"{names[0]} is no text", f"the column {names[0]!r} holds {type(value).__name__} in place of text"
            )
        return value

    def texts(self, *names: str, needed: bool = True) -> tuple[str, ...]:
        """Return the texts of a column: a list, or a list written as JSON or as Python has it.

        A test that is listed twice counts once.

        Raises:
            MalformedRowError: if the column is needed and missing, or holds something else.
        """
        value = self.value(*names)
        if value is None:
            if needed:
                raise MalformedRowError(f"no {names[0]}", f"the row has no column {names[0]!r}")
            return ()
        if isinstance(value, str):
            value = _read_list(value, names[0])
        if hasattr(value, "tolist"):  # NumPy's, as pandas gives lists
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise MalformedRowError(
                f"{names[0]} is no list of texts",
                f"the column {names[0]!r} holds {_shown(value)} in place of a list of texts",
            )
        return tuple(dict.fromkeys(value))

    def object(self, *names: str) -> Mapping[str, Any]:
        """Return the object of a column, also one written as JSON; empty if it is missing.

        Raises:
            MalformedRowError: if the column holds something else.
        """
        value = self.value(*names)
        if value is None or value == "":
            return {}
        if isinstance(value, str):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if not isinstance(value, Mapping):
            raise MalformedRowError(
                f"{names[0]} is no object", f"the column {names[0]!r} holds {_shown(value)} in place of an object"
            )
        return value


def _read_list(text: str, column: str) -> Any:
    """Return the list that a text spells, as JSON or, as SWE-bench Pro has it, as Python's literal."""
    if not text.strip():
        return []
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return ast.literal_eval(text.strip()) if len(text) <= _MOST_LITERAL else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise MalformedRowError(
            f"{column} is no list of texts", f"the column {column!r} is neither a list nor one in JSON: {_shown(text)}"
        ) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
