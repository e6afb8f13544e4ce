"""Slices of a split, in the syntax of the library ``datasets``: ``train[:100]``, ``train[10%:20%]``, ``train+test``.

The rules are those of https://huggingface.co/docs/datasets/loading#slice-splits: a bound counts from the end if it is
negative, a percentage is rounded to the closest row, and a bound beyond the split means its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.errors import ArgumentError, DatasetError

__all__ = ["SplitSlice", "parse_split"]

_PART = re.compile(r"(?P<split>[^\[\]+]+?)(?:\[(?P<start>-?\d*%?):(?P<stop>-?\d*%?)\])?", re.ASCII)


@dataclass(frozen=True)
class SplitSlice:
    """One part of a split expression."""

    split: str
    start: str = ""
    stop: str = ""

    @property
    def whole(self) -> bool:
        """Whether this is the split without bounds."""
        return not (self.start or self.stop)

    def span(self, size: int) -> range:
        """Return the indices that the slice takes of a split with ``size`` rows.

        Raises:
            DatasetError: if it takes none.
        """
        start, stop = _bound(self.start, size, 0), _bound(self.stop, size, size)
        if start >= stop:
            raise DatasetError(f"{self} takes no row of the split, which has {size}")
        return range(start, stop)

    def __str__(self) -> str:
        return self.split if self.whole else f"{self.split}[{self.start}:{self.stop}]"


def parse_split(split: str) -> list[SplitSlice]:
    """Return the parts of a split expression; a name without brackets and plus signs is one part.

    Raises:
        ArgumentError: if the expression is malformed.
    """
    if not any(sign in split for sign in "[]+"):
        return [SplitSlice(split)]
    parts = [_PART.fullmatch(part.strip()) for part in split.split("+")]
    bounds = [match[name] or "" for match in parts if match for name in ("start", "stop")]
    if None in parts or any(bound in ("%", "-", "-%") for bound in bounds):
        raise ArgumentError(
            f"split {split!r} is malformed; write 'train', 'train[:100]', 'train[10%:20%]', or several of them with '+'"
        )
    pairs = list(zip(bounds[::2], bounds[1::2], strict=True))
    if any(start and stop and start.endswith("%") is not stop.endswith("%") for start, stop in pairs):
        raise ArgumentError(f"split {split!r} has a percentage and a row number in one slice; write both alike")
    if any(bound.endswith("%") and abs(int(bound[:-1])) > 100 for bound in bounds):
        raise ArgumentError(f"split {split!r} has a percentage above 100")
    return [SplitSlice(match["split"].strip(), match["start"] or "", match["stop"] or "") for match in parts if match]


def _bound(text: str, size: int, default: int) -> int:
    if not text:
        return default
    number = round(int(text[:-1]) * size / 100) if text.endswith("%") else int(text)
    return min(size, max(0, size + number) if number < 0 else number)
