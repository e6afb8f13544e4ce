"""Words that the descriptions of tools list as values of an argument: "status: one of open, closed or 'on hold'"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["value_hints"]

_QUOTED = re.compile(r"""['"`]([A-Za-z][\w-]{1,30})['"`]""")
_LISTED = re.compile(r"\b[A-Za-z][\w-]{1,30}(?:\s*(?:,|\||/|\bor\b)\s*(?:or\s+|and\s+)?[A-Za-z][\w-]{1,30}){2,}")
_SEPARATOR = re.compile(r"\s*(?:,|\||/)\s*(?:or\s+|and\s+)?|\s+or\s+")
_MOST = 12


def value_hints(tools: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return tool and argument → the words that are listed as its values, for texts without an enum.

    A list stands in the description of the argument or of the tool, or behind the argument's name in the description
    of another tool. It is a guess: calls show which words a server takes.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for tool in tools:
        for name, schema in tool["parameters"].get("properties", {}).items():
            if not isinstance(schema, Mapping) or "enum" in schema or "pattern" in schema:
                continue
            texts = [str(schema.get("description", "")), str(tool.get("description", ""))]
            texts += [part for other in tools for part in _behind(name, str(other.get("description", "")))]
            words = list(dict.fromkeys(word for text in texts for word in _words(text)))
            if words:
                found[tool["name"], name] = tuple(words[:_MOST])
    return found


def _behind(name: str, text: str) -> list[str]:
    """Return the parts of a text behind an argument's name and a colon."""
    return [text[one.end() : one.end() + 200] for one in re.finditer(rf"\b{re.escape(name)}\s*:", text)]


def _words(text: str) -> list[str]:
    words = [found[1] for found in _QUOTED.finditer(text)]
    for found in _LISTED.finditer(text):
        words += _SEPARATOR.split(found[0])
    return [word for word in words if word]
