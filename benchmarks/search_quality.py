"""Recall of the hub's search on judged queries over invented packages.

    python benchmarks/search_quality.py [--misses]

``search_quality/packages.txt`` has 240 packages as authors would describe them, and ``search_quality/queries.txt`` 80
queries with every package that answers each. The ranking and the lexicon were tuned with the odd queries only. Recall
at 5 is the share of the relevant packages, at most five, among the first five hits.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_hub_client.catalogue import Catalogue
from gem_hub_client.search import search

DATA = Path(__file__).parent / "search_quality"


@dataclass(frozen=True)
class JudgedQuery:
    """A query and every package that answers it."""

    text: str
    relevant: frozenset[str]

    def recall(self, found: list[str], at: int = 5) -> float:
        """Return the share of the relevant packages, at most ``at``, among the first ``at`` of those found."""
        return len(self.relevant.intersection(found[:at])) / min(at, len(self.relevant))


def packages() -> list[dict[str, Any]]:
    """Return the packages as lines of a catalogue."""
    return [_line(number, cells) for number, cells in enumerate(_rows("packages.txt"))]


def queries() -> list[JudgedQuery]:
    """Return the queries in their order: odd ones for tuning, even ones held out."""
    return [JudgedQuery(text, frozenset(relevant.split())) for text, relevant in _rows("queries.txt")]


def _rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("#")]


def _line(number: int, cells: list[str]) -> dict[str, Any]:
    name, identity, turns, modality, requires, tags, summary, description = cells
    environment = {
        "id": f"{identity}-v0",
        "description": description,
        "tags": tags.split(),
        "requires": [] if requires == "-" else requires.split(","),
        "turns": turns,
        "modality": modality.split(","),
        "variants": [],
    }
    return {
        "name": name, "version": "1.0", "summary": summary, "tags": tags.split(), "environments": [environment],
        "status": "active", "reason": "", "conformance": None, "yanked": {}, "licence": "MIT", "requires_python": "",
        "requires_gem_core": "", "published": "2026-11-01T00:00:00Z", "serial": number + 1,
    }  # fmt: skip


def without_tags(line: dict[str, Any]) -> dict[str, Any]:
    """Return a package as it would be without controlled tags."""
    environments = [
        {**entry, "tags": [tag for tag in entry["tags"] if ":" not in tag]} for entry in line["environments"]
    ]
    return {**line, "tags": [tag for tag in line["tags"] if ":" not in tag], "environments": environments}


def report(lines: list[dict[str, Any]], asked: list[JudgedQuery], misses: bool = False) -> dict[str, tuple[float, ...]]:
    """Return recall at 5 and the share of queries with a relevant first hit, of both halves and of all queries."""
    with Catalogue.create(None) as catalogue:
        catalogue.apply(lines, 1)
        scores = []
        for number, query in enumerate(asked, 1):
            found = [hit.record["name"] for hit in search(catalogue, query.text).hits]
            scores.append((query.recall(found), float(bool(found) and found[0] in query.relevant)))
            if misses and query.recall(found) < 1 and number % 2:
                print(f"{query.text!r}: {query.recall(found):.2f}: {' '.join(found[:7])}")
                print(f"      wanted: {' '.join(sorted(query.relevant - {*found[:5]}))}")
    halves = {"tuned": scores[0::2], "held out": scores[1::2], "all": scores}
    return {name: tuple(sum(column) / len(part) for column in zip(*part, strict=True)) for name, part in halves.items()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="show what the tuned half misses")
    options = parser.parse_args()
    lines, asked = packages(), queries()
    known = {line["name"] for line in lines}
    assert all(query.relevant <= known for query in asked), [query for query in asked if not query.relevant <= known]
    print(f"{len(lines)} packages, {len(asked)} queries\n")
    print("| recall@5, relevant first | tuned | held out | all |\n|---|---|---|---|")
    for kind, some in (("with controlled tags", lines), ("without", [without_tags(line) for line in lines])):
        figures = report(some, asked, options.misses and some is lines)
        print(f"| {kind} | " + " | ".join(f"{recall:.3f}, {first:.3f}" for recall, first in figures.values()) + " |")


if __name__ == "__main__":
    main()
