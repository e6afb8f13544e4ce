"""A compact form of rows and records for exported pages: JSON, and long lists of numbers as a binary tail.

Layout, little-endian: the length of the JSON in bytes (32 bits), the JSON ``{"value": …, "pieces": [[path, kind, offset,
count], …]}``, the pieces. A piece of kind ``u32`` holds 32-bit integers, one of kind ``f16`` numbers in IEEE 754
binary16, in which NaN stands for null. All of it is deflated (RFC 1950). ``packed.js`` reads it.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

__all__ = ["pack", "pack_record"]

_SHORTEST = 8
"""Items of a list from which on it is worth a piece."""

_IDS = ("token_ids", "prompt_token_ids")

Piece = tuple[list["str | int"], str, bytes, int]


def pack(value: Any) -> bytes:
    """Return a JSON-serialisable value in the packed form, without pieces."""
    return _assemble(value, [])


def pack_record(record: dict[str, Any]) -> bytes:
    """Return the record of an episode in the packed form.

    Log-probabilities keep three significant digits; all else stays exact.
    """
    transitions = record.get("transitions")
    if not isinstance(transitions, list):
        return pack(record)
    packed = [dict(each) if isinstance(each, dict) else each for each in transitions]
    pieces = [
        piece
        for number, transition in enumerate(packed)
        if isinstance(transition, dict)
        for piece in _pieces(transition, ["transitions", number])
    ]
    return _assemble({**record, "transitions": packed}, pieces)


def _pieces(transition: dict[str, Any], path: list[str | int]) -> Iterator[Piece]:
    """Take the lists of numbers out of a transition, which is changed, and yield them."""
    for name in (*_IDS, "logprobs"):
        values = transition.get(name)
        if not isinstance(values, list) or len(values) < _SHORTEST:
            continue
        kind = "u32" if name in _IDS else "f16"
        content = _integers(values) if kind == "u32" else _halves(values)
        if content is not None:
            transition[name] = None
            yield [*path, name], kind, content, len(values)
    if isinstance(alternatives := transition.get("top_logprobs"), list):
        transition["top_logprobs"] = _rounded(alternatives)


def _integers(values: list[Any]) -> bytes | None:
    try:
        return struct.pack(f"<{len(values)}I", *values)
    except struct.error:  # no integers, or too large ones
        return None


def _halves(values: list[Any]) -> bytes | None:
    numbers = [float("nan") if value is None else value for value in values]
    try:
        return struct.pack(f"<{len(numbers)}e", *numbers)
    except (struct.error, OverflowError):
        return None


def _rounded(value: Any) -> Any:
    """Return lists of alternatives with their log-probabilities cut to three decimals."""
    if isinstance(value, float):
        return round(value, 3)
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _assemble(value: Any, pieces: list[Piece]) -> bytes:
    offset, listed = 0, []
    for path, kind, content, count in pieces:
        listed.append([path, kind, offset, count])
        offset += len(content)
    # Escapes keep text that is not valid Unicode.
    text = json.dumps({"value": value, "pieces": listed}, separators=(",", ":")).encode("ascii")
    tail = b"".join(content for _, _, content, _ in pieces)
    return zlib.compress(struct.pack("<I", len(text)) + text + tail, 9)
