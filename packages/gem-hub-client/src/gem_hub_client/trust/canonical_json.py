"""The one encoding of metadata over which signatures are made (OLPC canonical JSON, as TUF uses it)."""

from __future__ import annotations

from typing import Any

__all__ = ["canonical_json"]


def canonical_json(value: Any) -> bytes:
    """Return the canonical encoding of a JSON value.

    Keys are sorted, nothing but quotes and backslashes is escaped, there is no white space, and numbers are whole.

    Raises:
        ValueError: if the value has no such encoding.
    """
    parts: list[str] = []
    _encode(value, parts)
    return "".join(parts).encode()


def _encode(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(f'"{escaped}"')
    elif value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            parts.append("," if number else "[")
            _encode(item, parts)
        parts.append("]" if value else "[]")
    elif isinstance(value, dict):
        for number, key in enumerate(sorted(value)):
            parts.append("," if number else "{")
            _encode(key, parts)
            parts.append(":")
            _encode(value[key], parts)
        parts.append("}" if value else "{}")
    else:
        raise ValueError(f"{value!r} cannot be signed")
