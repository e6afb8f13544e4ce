"""Kills of what writes to a hub, each followed by a comparison of the hub with a rebuild.

    python benchmarks/hub_kills.py [--publications 3] [--registry 150]

The scripts and the checks are those of ``hub/tests``: publications killed at random moments, and changes killed before
each of their calls that change the file system; a registry that is killed while two users upload and a clerk publishes
results, founds organisations and publishes private packages, with its state in SQLite and in PostgreSQL. Each row
counts what a reader would have stumbled over after one of the kills, acknowledged changes that are not there, and files
that are not what a rebuild gives. PostgreSQL is a fresh server of this machine. POSIX only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "hub" / "tests"
UNLIKE = "is not what a rebuild gives"
KILLS_OF_A_HUB = 30
"""Kills of a registry with one hub: a comparison after each costs the more the more releases the hub has."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registry", type=int, default=150, help="kills of a registry with each database")
    parser.add_argument(
        "--publications", type=int, default=3, help="times that 100 publications are killed at random moments"
    )
    options = parser.parse_args()
    sys.path.append(str(TESTS))
    from registry_postgres import postgres_server

    row("what is killed", "kills", "acknowledged", "lost", "readers stumbled", "unlike a rebuild")
    print("|---|---|---|---|---|---|")
    publications("random", options.publications, "a publication, at a random moment")
    publications("steps", 1, "two releases, a yank and a rebuild, before each step")
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()
        registry(options.registry, lambda: f"sqlite:///{folder}/{next(numbers)}.db", "a registry with SQLite")
    with postgres_server() as new_database:
        registry(options.registry, new_database, "a registry with PostgreSQL")


def publications(mode: str, times: int, what: str) -> None:
    """Print the row of killed publications; what had come to its end before is listed and numbered without a gap."""
    kills = lost = stumbled = unlike = 0
    for seed in range(times):
        told = outcome_of("kill_publishers.py", mode, "1", str(seed))
        gaps = set(range(1, len(told["serials"]) + 1)) ^ set(told["serials"])
        problems = sorted_out(told["problems"])
        kills, lost = kills + told["killed"], lost + len(gaps) + abs(told["listed"] - told["records"])
        stumbled, unlike = stumbled + problems[0], unlike + problems[1] + len(told["differing"]) + len(told["still"])
    row(what, kills, "–", lost, stumbled, unlike)


def registry(kills: int, new_database: Callable[[], str], what: str) -> None:
    """Print the row of registries, whose users repeat each request until it is acknowledged."""
    uploads = acts = lost = stumbled = unlike = 0
    for begun in range(0, kills, KILLS_OF_A_HUB):
        told = outcome_of("kill_registry.py", str(min(KILLS_OF_A_HUB, kills - begun)), new_database())
        uploads, acts = uploads + told["acknowledged"], acts + told["acts"]
        lost += len(told["lost"]) + len(told["lost by the clerk"]) + len(told["unqueued"])
        problems = sorted_out([*told["problems"], *map(str, told["refused"]), *told["left"]])
        stumbled, unlike = stumbled + problems[0], unlike + problems[1] + len(told["differing"]) + len(told["still"])
    row(what, kills, f"{uploads} uploads, {acts} other changes", lost, stumbled, unlike)


def sorted_out(problems: list[str]) -> tuple[int, int]:
    """Return how many problems a reader had, and how many files differed from a rebuild."""
    unlike = sum(UNLIKE in problem for problem in problems)
    return len(problems) - unlike, unlike


def outcome_of(script: str, *words: str) -> dict[str, Any]:
    """Return what a script of the tests has printed; its scratch folder stands where it expects one."""
    with tempfile.TemporaryDirectory() as scratch:
        place = 1 if script == "kill_publishers.py" else 0
        arguments = [*words[:place], scratch, *words[place:]]
        done = subprocess.run([sys.executable, str(TESTS / script), *arguments], stdout=subprocess.PIPE, check=True)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def row(*cells: object) -> None:
    """Print a row of the table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
