"""What the agent reads of a database, in the same words for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["TableText", "shown_rows"]

_MOST_ROWS = 50
_WIDEST = 200
"""Characters of a value that are shown."""


class TableText(NamedTuple):
    """A table in words; each field is a list of lines."""

    columns: list[str]
    constraints: list[str]
    indexes: list[str]
    definitions: list[str]
    policies: list[str]
    privileges: list[str]

    def shown(self) -> str:
        """Return the parts that there are."""
        parts = [(name, lines) for name, lines in self._asdict().items() if lines]
        return "\n".join(f"{name}:\n" + "\n".join(f"  {line}" for line in lines) for name, lines in parts)


def shown_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], command: str) -> str:
    """Return a result as text: a line with the columns and one for each row, or what the command did."""
    if not columns:
        return f"Done: {command}." if command else "Done."
    if not rows:
        return "No rows."
    lines = [" | ".join(columns), *(" | ".join(map(_cell, row)) for row in rows[:_MOST_ROWS])]
    if len(rows) > _MOST_ROWS:
        lines.append(f"… (only the first {_MOST_ROWS} rows are shown)")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = f"(a blob of {len(value)} bytes)" if isinstance(value, bytes) else str(value)
    text = text.replace("\n", " ").encode(errors="replace").decode()
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
