"""Answers and clues for crosswords: everyday words, and harder ones for ``hardcore``.

``data/README.md`` names their sources. The file is read on first use, once per process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["LONGEST", "SHORTEST", "answers", "clues"]

SHORTEST, LONGEST = 3, 12
"""Lengths of the answers, in letters."""


def clues(hardcore: bool) -> Mapping[str, tuple[str, ...]]:
    """Return every answer, in capitals, with its clues, each of which is enough to find it."""
    return _read()["hardcore" if hardcore else "basic"]


@cache
def answers(hardcore: bool) -> tuple[str, ...]:
    """Return every answer, the shortest first."""
    return tuple(sorted(clues(hardcore), key=lambda answer: (len(answer), answer)))


@cache
def _read() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    lists = json.loads((Path(__file__).parent / "data" / "crosswords.json").read_text(encoding="utf-8"))
    return {name: {answer: tuple(clues) for answer, clues in entries.items()} for name, entries in lists.items()}
