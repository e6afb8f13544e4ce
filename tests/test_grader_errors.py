"""The page on the errors of graders shows the results that were measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "grader-errors.md"
RESULTS = ROOT / "benchmarks" / "grader_errors.json"
HEADER = [
    "| grader | material | right answers refused | wrong answers paid | unreadable |",
    "|---|---|---|---|---|",
]


def wilson(errors: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z = 1.959964
    share = errors / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def shown(errors: int, of: int) -> str:
    """Return a share with its count and its interval."""
    if not of:
        return "none measured"
    low, high = wilson(errors, of)
    return f"{errors:,} of {of:,}: {errors / of:.1%} ({100 * low:.1f} … {100 * high:.1f})"


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    refused, paid = shown(row["right_refused"], row["right"]), shown(row["wrong_paid"], row["wrong"])
    return f"| {row['grader']} | {row['material']} | {refused} | {paid} | {row['unreadable']:,} |"


def test_the_page_shows_what_was_measured() -> None:
    """Every row of the result file stands in the table, with the interval of its counts, and no other does."""
    rows = json.loads(RESULTS.read_text("utf-8"))
    table = [text for text in PAGE.read_text("utf-8").splitlines() if text.startswith("|")]
    assert table == [*HEADER, *map(line, rows)]


def test_every_row_has_counts_that_fit_together() -> None:
    """No more errors than answers, and the same columns in each."""
    for row in json.loads(RESULTS.read_text("utf-8")):
        assert 0 <= row["right_refused"] <= row["right"]
        assert 0 <= row["wrong_paid"] <= row["wrong"]
        assert 0 <= row["unreadable"] <= row["right"] + row["wrong"]
        assert set(row) == {"grader", "material", "right", "right_refused", "wrong", "wrong_paid", "unreadable"}
