"""The lines of ``episodes.jsonl``: where they are, what they hold, and where the whole ones end."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem_eval.runs.episode_row import EpisodeRow, Prices

__all__ = ["end_of_lines", "parse_fast", "parse_line", "row_of_line", "scan"]

_BLOCK = 1 << 16  # bytes
_LONG_NUMBER = re.compile(rb"[:,\[] ?-?[0-9]{19}")
"""The beginning of an integer that may not fit 64 bits; also within a text, where it costs only time."""


def parse_line(line: bytes) -> Any:
    """Return the value of a line of JSON, exactly.

    Raises:
        ValueError: if it is not JSON.
    """
    # orjson makes floats of integers beyond 64 bits, which seeds and hashes may be.
    return json.loads(line) if _LONG_NUMBER.search(line) else parse_fast(line)


def parse_fast(line: bytes) -> Any:
    """Return the value of a line of JSON, with floats for integers beyond 64 bits.

    Raises:
        ValueError: if it is not JSON.
    """
    import orjson

    try:
        return orjson.loads(line)
    except ValueError:
        # orjson refuses lone surrogates, which models emit and which json escapes and reads.
        return json.loads(line)


def end_of_lines(path: Path) -> int:
    """Return the number of bytes up to and with the last newline; what follows is a line cut off by a crash.

    A missing file has 0.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                begin = max(0, end - _BLOCK)
                file.seek(begin)
                newline = file.read(end - begin).rfind(b"\n")
                if newline >= 0:
                    return begin + newline + 1
                end = begin
    except FileNotFoundError:
        pass
    return 0


def row_of_line(line: bytes, offset: int, prices: Prices | None) -> EpisodeRow | None:
    """Return the row of a line; None if the line holds no episode."""
    try:
        record = parse_fast(line)
        if isinstance(record, dict) and isinstance(record.get("seed"), float):  # the one integer that a row takes over
            record = json.loads(line)
        return EpisodeRow.of_record(record, offset, len(line), prices)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def scan(path: Path, begin: int, end: int, prices: Prices | None = None) -> Iterator[EpisodeRow]:
    """Yield a row for each episode whose line lies between two offsets.

    Lines that hold no episode (what a power failure leaves of a file) are skipped.
    """
    if begin >= end:
        return
    with path.open("rb") as file:
        file.seek(begin)
        offset = begin
        while offset < end and (line := file.readline()):
            row = row_of_line(line, offset, prices)
            if row is not None:
                yield row
            offset += len(line)
