"""The page on the errors of graders shows the results that were measured."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "grader-errors.md"
RESULTS = ROOT / "benchmarks" / "grader_errors.json"
HEADER = [
    "| grader | material | right answers refused | wrong answers paid | unreadable |",
    "|---|---|---|---|---|",
]
NEW_PAIRS = ROOT / "benchmarks" / "grader_new_pairs.json"
NEW_HEADER = [
    "| set | pairs | right at first sight | right now | math-verify | the original GEM | wrong answers paid now |",
    "|---|---|---|---|---|---|---|",
]
PAIRS = ROOT / "benchmarks" / "judge_pairs.json"
PAIRS_HEADER = [
    "| judge, reward | part of LLMBar | worse answer preferred | one position preferred | unreadable |",
    "|---|---|---|---|---|",
]
ENOUGH = 20
"""A source of more pairs than this has a line of its own."""


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
        return "none read"
    low, high = wilson(errors, of)
    return f"{errors:,} of {of:,}: {errors / of:.1%} ({100 * low:.1f} … {100 * high:.1f})"


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    refused, paid = (
        shown(row[mistaken], row[kind] - row[f"{kind}_unreadable"]) if row[kind] else "none measured"
        for kind, mistaken in (("right", "right_refused"), ("wrong", "wrong_paid"))
    )
    unreadable = shown(row["right_unreadable"] + row["wrong_unreadable"], row["right"] + row["wrong"])
    return f"| {row['grader']} | {row['material']} | {refused} | {paid} | {unreadable} |"


def pairs_line(row: dict[str, Any]) -> str:
    """Return a row of the table of pairs."""
    read = row["pairs"] - row["unreadable"]
    shares = ((row["wrong"], read), (row["first"] + row["second"], read), (row["unreadable"], row["pairs"]))
    return f"| {row['judge']}, {row['reward']} | {row['part']} | {' | '.join(shown(*share) for share in shares)} |"


def new_line(name: str, rows: list[dict[str, Any]]) -> str:
    """Return a row of the table of new pairs."""
    total = {key: sum(row[key] for row in rows) for key in ("pairs", "first", "now", "math_verify", "original")}
    wrong, paid = (sum(row[key] for row in rows) for key in ("wrong", "wrong_paid"))
    first, now = (shown(total[key], total["pairs"]) for key in ("first", "now"))
    others = " | ".join(f"{total[key] / total['pairs']:.1%}" for key in ("math_verify", "original"))
    return f"| {name} | {total['pairs']:,} | {first} | {now} | {others} | {paid} of {wrong} |"


def new_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of new pairs: its sets, and their sources with enough pairs."""
    lines = []
    for number in sorted({row["set"] for row in rows}):
        members = [row for row in rows if row["set"] == number]
        lines.append(new_line(f"**set {number}**, {len(members)} sources", members))
        lines += [new_line(row["source"], [row]) for row in members if row["pairs"] > ENOUGH]
    return lines


def test_the_page_shows_what_was_measured() -> None:
    """Every row of the result files stands in the tables, with the interval of its counts, and no other does."""
    rows, new, pairs = (json.loads(path.read_text("utf-8")) for path in (RESULTS, NEW_PAIRS, PAIRS))
    table = [text for text in PAGE.read_text("utf-8").splitlines() if text.startswith("|")]
    judged = [*PAIRS_HEADER, *map(pairs_line, pairs)]
    assert table == [*HEADER, *map(line, rows), *NEW_HEADER, *new_lines(new), *judged]


def test_every_pair_of_a_judge_has_one_outcome() -> None:
    """The outcomes of a part add up to its pairs, of which LLMBar has no more."""
    sizes = {"Natural": 100, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46}
    for row in json.loads(PAIRS.read_text("utf-8")):
        outcomes = [row[name] for name in ("right", "wrong", "first", "second", "other", "unreadable")]
        assert min(outcomes) >= 0
        of_each = re.fullmatch(r"(\d+) pairs of each", row["part"])
        size = len(sizes) * int(of_each[1]) if of_each else sizes[row["part"].rpartition("/")[2]]
        assert sum(outcomes) == row["pairs"] == size
        assert row["reward"] == "pairwise" or row["first"] == row["second"] == 0


def test_every_source_of_new_pairs_has_counts_that_fit_together() -> None:
    """As many pairs as the corpus has, and no more right than those."""
    corpus = json.loads((ROOT / "packages/gem-envs-math/tests/grader_corpus/unseen.json").read_text("utf-8"))
    rows = json.loads(NEW_PAIRS.read_text("utf-8"))
    assert [row["source"] for row in rows] == list(corpus)
    for row, content in zip(rows, corpus.values(), strict=True):
        judged = [pair for pair in content["pairs"] if len(pair) == 3]
        assert (row["set"], row["first"], row["pairs"]) == (content["round"], content["first_run"], len(judged))
        assert row["wrong"] == sum(not pair[0] for pair in judged)
        assert max(row[key] for key in ("first", "now", "math_verify", "original")) <= row["pairs"]


def test_every_row_has_counts_that_fit_together() -> None:
    """Each answer was unreadable, or read rightly or wrongly, and all rows have the same columns."""
    columns = [
        "grader",
        "material",
        "right",
        "right_unreadable",
        "right_refused",
        "wrong",
        "wrong_unreadable",
        "wrong_paid",
    ]
    for row in json.loads(RESULTS.read_text("utf-8")):
        assert list(row) == columns
        assert min(row[column] for column in columns[2:]) >= 0
        assert row["right_unreadable"] + row["right_refused"] <= row["right"]
        assert row["wrong_unreadable"] + row["wrong_paid"] <= row["wrong"]


def test_no_peer_is_ahead_on_a_source_with_enough_pairs() -> None:
    """Neither math-verify nor the original GEM has more right than GEM's grader."""
    for row in json.loads(NEW_PAIRS.read_text("utf-8")):
        if row["pairs"] > ENOUGH:
            assert row["now"] >= max(row["math_verify"], row["original"]), row["source"]
