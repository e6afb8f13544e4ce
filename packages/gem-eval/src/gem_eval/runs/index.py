"""The index of a run, ``index.jsonl``: derived from ``episodes.jsonl``, kept beside it, and never trusted.

A reader takes the rows of the index as far as they fit the episodes, and scans the rest of the episodes itself. So
an index may be missing, cut off, older than the episodes, of another version, or from another run.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from gem_eval.runs.episode_row import EpisodeRow, Prices
from gem_eval.runs.lines import end_of_lines, parse_fast, row_of_line, scan
from gem_rollout.garbage import without_collections

__all__ = ["EpisodeIndex"]

_SEED = 1 + [item.name for item in fields(EpisodeRow)].index("seed")
"""Where the seed is in ``EpisodeRow.to_values``."""


class EpisodeIndex:
    """The rows of all episodes of a folder, kept current while another process appends to it."""

    def __init__(self, folder: Path, prices: Prices | None = None) -> None:
        self.episodes = folder / "episodes.jsonl"
        self.path = folder / "index.jsonl"
        self.prices = prices
        self._forget()

    def _forget(self) -> None:
        self.rows: list[EpisodeRow] = []
        self.end = 0
        """Bytes of ``episodes.jsonl`` that the rows cover."""
        self.scanned = 0
        """How many rows came from the episodes, because the index lacked them."""
        self._read = 0  # bytes of index.jsonl
        self._trusted = False  # the index has been compared with the episodes

    def refresh(self) -> bool:
        """Take in what was appended since the last call; return whether anything was."""
        end = end_of_lines(self.episodes)
        if end < self.end:  # another run lies in this folder now
            self._forget()
        if end == self.end:
            return False
        self._follow_index(end)
        self._scan(end)
        return True

    def encoded(self) -> bytes:
        """Return all rows as ``index.jsonl`` holds them."""
        return b"".join(encode(row) for row in self.rows)

    def _scan(self, end: int) -> None:
        before = len(self.rows)
        with without_collections():
            self.rows.extend(scan(self.episodes, self.end, end, self.prices))
        self.scanned += len(self.rows) - before
        self.end = max(self.end, end)

    def _follow_index(self, end: int) -> None:
        """Append the rows that ``index.jsonl`` has, up to the first that does not fit the episodes."""
        stop = end_of_lines(self.path)
        if stop <= self._read:
            return
        with without_collections():
            fitting = self._fitting_rows(stop, end)
        if not self._trusted and fitting:
            if not all(self._agrees(row) for row in (fitting[0], fitting[len(fitting) // 2], fitting[-1])):
                return
            self._trusted = True
        for row in fitting:
            if row.offset > self.end:  # lines that are no episodes, or rows that are missing
                self._scan(row.offset)
            self.rows.append(row)
            self.end = row.offset + row.length

    def _fitting_rows(self, stop: int, end: int) -> list[EpisodeRow]:
        """Read ``index.jsonl`` up to a place, and return its rows up to the first that does not fit the episodes."""
        fitting: list[EpisodeRow] = []
        reached = self.end
        with self.path.open("rb") as file:
            file.seek(self._read)
            while self._read < stop and (line := file.readline()):
                self._read += len(line)
                try:
                    row = decode(line)
                    fits = row.length > 0 and row.offset + row.length <= end
                except (ValueError, TypeError, AttributeError):
                    break
                if not fits:
                    break
                if row.offset >= reached:  # else it was scanned before the writer had indexed it
                    fitting.append(row)
                    reached = row.offset + row.length
        self._read = stop
        return fitting

    def _agrees(self, row: EpisodeRow) -> bool:
        """Return whether the episodes hold this very episode where the row says."""
        with self.episodes.open("rb") as file:
            file.seek(max(0, row.offset - 1))
            if row.offset and file.read(1) != b"\n":
                return False
            line = file.read(row.length)
        whole = line.find(b"\n") == len(line) - 1
        return whole and row_of_line(line, row.offset, self.prices) == row


def decode(line: bytes) -> EpisodeRow:
    """Return the row of a line of the index.

    Raises:
        ValueError, TypeError: if it holds none of this version.
    """
    values = parse_fast(line)
    if type(values) is list and len(values) > _SEED and type(values[_SEED]) is float:  # a seed above 64 bits
        values = json.loads(line)
    return EpisodeRow.from_values(values)


def encode(row: EpisodeRow) -> bytes:
    """Return a row as one line of ``index.jsonl``."""
    import orjson

    try:
        return orjson.dumps(row.to_values(), option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate in a name, or a seed above 64 bits
        return json.dumps(row.to_values()).encode("ascii") + b"\n"
