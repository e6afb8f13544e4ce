"""A compact form of rows and records for exported pages: JSON, and long lists of numbers as a binary tail.

Layout: the length of the JSON in bytes (32 bits, little-endian); the JSON; the pieces. All of it is deflated (RFC
1950). The JSON is an object, whose parts are put together in this order:

- ``value``: the value itself, in which null stands for what follows;
- ``pieces``: ``[path, kind, offset, count]`` for each list of numbers. Kind ``u32`` are 32-bit integers, kind ``f16``
  numbers in IEEE 754 binary16, in which NaN stands for null. All first bytes of the numbers precede all second ones,
  and so on, which deflates better;
- ``spelled``: the numbers of the turns whose tokens are the texts of their ids in the page's :class:`Vocabulary`;
- ``quotes``: ``[path, turn, start, end]`` for each text that is part of the joined tokens of a turn.

``packed.js`` reads it.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

__all__ = ["Vocabulary", "pack", "pack_record"]

_SHORTEST = 8
"""Items of a list from which on it is worth a piece."""

_SHORTEST_QUOTE = 24
"""Characters of a text from which on it is worth a quote."""

_IDS = ("token_ids", "prompt_token_ids")

Path = list["str | int"]


class Vocabulary:
    """The texts of token ids, in all episodes of a page."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def take(self, ids: Any, tokens: Any) -> bool:
        """Learn the texts of these ids, and return whether ids alone now say what the tokens are.

        They do not where an id has several texts, as it has where tokens are parts of characters.
        """
        if not isinstance(ids, list) or not isinstance(tokens, list) or len(ids) != len(tokens) or not ids:
            return False
        if not all(type(each) is int for each in ids) or not all(isinstance(each, str) for each in tokens):
            return False
        found = dict(zip(ids, tokens, strict=True))
        if [found[each] for each in ids] != tokens:
            return False
        if any(self._texts.get(each, text) != text for each, text in found.items()):
            return False
        self._texts.update(found)
        return True

    def pack(self) -> bytes:
        """Return the texts in the packed form: an object from id to text."""
        return pack(self._texts)


def pack(value: Any) -> bytes:
    """Return a JSON-serialisable value in the packed form, without pieces."""
    return _assembled({"value": value, "pieces": []}, [])


def pack_record(record: dict[str, Any], vocabulary: Vocabulary) -> bytes:
    """Return the record of an episode in the packed form.

    Log-probabilities keep three significant digits; all else stays exact.
    """
    transitions = record.get("transitions")
    if not isinstance(transitions, list):
        return pack(record)
    packed = [dict(each) if isinstance(each, dict) else each for each in transitions]
    turns = [(number, each) for number, each in enumerate(packed) if isinstance(each, dict)]
    spelled = [number for number, turn in turns if vocabulary.take(turn.get("token_ids"), turn.get("tokens"))]
    quotes = [quote for number in spelled for quote in _quotes(packed[number], number)]
    for number in spelled:
        packed[number]["tokens"] = None
    pieces: list[tuple[Path, str, int, int]] = []
    contents: list[bytes] = []
    for number, turn in turns:
        for name, kind, content, count in _pieces(turn):
            pieces.append((["transitions", number, name], kind, sum(map(len, contents)), count))
            contents.append(content)
    header = {"value": {**record, "transitions": packed}, "pieces": pieces, "spelled": spelled, "quotes": quotes}
    return _assembled(header, contents)


def _pieces(turn: dict[str, Any]) -> Iterator[tuple[str, str, bytes, int]]:
    """Take the lists of numbers out of a turn, and yield name, kind, content and count of each."""
    for name in (*_IDS, "logprobs"):
        values = turn.get(name)
        if not isinstance(values, list) or len(values) < _SHORTEST:
            continue
        kind = "u32" if name in _IDS else "f16"
        content = _integers(values) if kind == "u32" else _halves(values)
        if content is not None:
            turn[name] = None
            yield name, kind, content, len(values)
    if isinstance(alternatives := turn.get("top_logprobs"), list):
        turn["top_logprobs"] = _rounded(alternatives)


def _quotes(turn: dict[str, Any], number: int) -> Iterator[tuple[Path, int, int, int]]:
    """Take the texts that the tokens spell out of a turn, and yield where they are."""
    spelling = "".join(turn["tokens"])
    if not spelling or max(spelling) > "\uffff":  # a browser counts units of 16 bits
        return
    if isinstance(turn.get("action"), dict):
        turn["action"] = dict(turn["action"])
    for path in (["action"], ["action", "content"], ["action", "reasoning_content"], ["reasoning"]):
        holder = turn if len(path) == 1 else turn.get(path[0])
        text = holder.get(path[-1]) if isinstance(holder, dict) else None
        if not isinstance(text, str) or len(text) < _SHORTEST_QUOTE or (start := spelling.find(text)) < 0:
            continue
        holder[path[-1]] = None  # type: ignore[index]
        yield ["transitions", number, *path], number, start, start + len(text)


def _integers(values: list[Any]) -> bytes | None:
    try:
        return _planes(struct.pack(f"<{len(values)}I", *values), 4)
    except struct.error:  # no integers, or too large ones
        return None


def _halves(values: list[Any]) -> bytes | None:
    numbers = [float("nan") if value is None else value for value in values]
    try:
        return _planes(struct.pack(f"<{len(numbers)}e", *numbers), 2)
    except (struct.error, OverflowError):  # no numbers, or too large ones
        return None


def _planes(content: bytes, width: int) -> bytes:
    """Return numbers of a width in bytes with their first bytes first."""
    return b"".join(content[byte::width] for byte in range(width))


def _rounded(value: Any) -> Any:
    """Return lists of alternatives with their log-probabilities cut to three decimals."""
    if isinstance(value, float):
        return round(value, 3)
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _assembled(header: dict[str, Any], contents: list[bytes]) -> bytes:
    # Escapes keep text that is not valid Unicode.
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    return zlib.compress(struct.pack("<I", len(text)) + text + b"".join(contents), 9)
