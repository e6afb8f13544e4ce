"""Plays the battery of attacks against bundled environments, and counts which they withstand.

    python benchmarks/attack_audit.py --keep audits.jsonl [NAMESPACE …]

Prints a table of the packages, one of the families of attacks, and one of the attacks that pay. What needs a data set,
a container or a browser is left out, and counted as needing more. With ``--keep``, finished audits are kept in a file,
so that a run that was ended goes on. ``gem check --attacks`` plays the battery of single environments, each in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.registry import all_specs
from gem_testing.attacks import FAMILIES, audit

SPEAKS_AGAINST = ("pays", "broke")
COUNTED = ("attacks", "episodes", "withstood", "pay, declared", "pay", "break it")


def main() -> None:
    """Play, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("namespaces", nargs="*", help="of the environments; all by default")
    parser.add_argument("--keep", type=Path, help="file of finished audits, one a line")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the battery of one environment")
    parser.add_argument("--bases", action="store_true", help="leave variants out")
    parser.add_argument("--no-play", action="store_true", help="print the tables of what is kept")
    wanted = parser.parse_args()
    specs = [spec for spec in all_specs() if not wanted.namespaces or spec.namespace in wanted.namespaces]
    if wanted.bases:
        bases = {spec.id for spec in specs}
        specs = [spec for spec in specs if not any(spec.id.startswith(f"{base}-") for base in bases)]
    audits: dict[str, dict[str, Any]] = {}
    if wanted.keep is not None and wanted.keep.exists():
        lines = wanted.keep.read_text(encoding="utf-8").splitlines()
        audits = {one["id"]: one for one in map(json.loads, lines)}
    playable = [spec for spec in specs if not spec.requires]
    for spec in playable:
        if spec.id in audits or wanted.no_play:
            continue
        found = {"id": spec.id, "package": spec.distribution, "error": ""}
        try:
            found |= asdict(audit(spec, seconds=wanted.seconds))
        except GemError as error:
            found["error"] = str(error)
        audits[spec.id] = found
        if wanted.keep is not None:
            with wanted.keep.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(found)}\n")
    known = [audits[spec.id] for spec in playable if spec.id in audits]
    print_packages(known, specs)
    print_families(known)
    print_findings(known)


def print_packages(audits: Iterable[dict[str, Any]], specs: Iterable[EnvSpec]) -> None:
    """Print what came of each package's environments."""
    known = {one["id"]: one for one in audits if not one["error"]}
    names = ("package", "environments", "need more", "not attacked", "attacked", *COUNTED)
    print(f"| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    every = list(specs)
    for name in [*sorted({spec.distribution or "" for spec in every}), None]:
        some = [spec for spec in every if name in (None, spec.distribution)]
        attacked = [known[spec.id] for spec in some if spec.id in known]
        more = sum(bool(spec.requires) for spec in some)
        counts = (len(some), more, len(some) - more - len(attacked), len(attacked))
        results = [result for one in attacked for result in one["results"]]
        print(f"| {name or 'all'} | {' | '.join(map(str, counts))} | {_counted(results)} |")
    print()


def print_families(audits: Iterable[dict[str, Any]]) -> None:
    """Print what came of each family of attacks."""
    results = [result for one in audits for result in one.get("results", ())]
    print(f"| family | {' | '.join(COUNTED)} |")
    print("|---" * (1 + len(COUNTED)) + "|")
    for family, about in FAMILIES.items():
        some = [result for result in results if result["name"].startswith(f"{family}.")]
        print(f"| {family}: {about} | {_counted(some)} |")
    print()


def print_findings(audits: Iterable[dict[str, Any]]) -> None:
    """Print the attacks that pay or break an environment."""
    found = False
    print("| environment | attack | variant | mean, 95 % interval, episodes | bound | reference | declared |")
    print("|---|---|---|---|---|---|---|")
    for one in audits:
        for result in one.get("results", ()):
            if result["outcome"] not in SPEAKS_AGAINST:
                continue
            earned, reference = result["earned"], one["reference"]
            figures = result["message"]
            if result["outcome"] == "pays":
                interval = f"{earned['low']:.2f} to {earned['high']:.2f}"
                figures = f"{earned['mean']:.2f}, {interval}, {earned['episodes']}"
            target = "–" if reference is None else f"{reference['mean']:.2f}"
            cells = (
                *(f"`{one['id']}`", result["name"], f"`{_cell(result['variant'])}`", _cell(figures)),
                *(f"{result['bound']:.2f}", target, _cell(result["declared"]) or "no"),
            )
            print(f"| {' | '.join(cells)} |")
            found = True
    if not found:
        print("| none | | | | | | |")
    print()


def _counted(results: list[dict[str, Any]]) -> str:
    outcomes = Counter(f"{result['outcome']}{' declared' * bool(result['declared'])}" for result in results)
    withstood = outcomes["withstood"] + outcomes["withstood declared"]
    broke = outcomes["broke"] + outcomes["broke declared"]
    episodes = sum(result["episodes"] for result in results)
    return f"{len(results)} | {episodes} | {withstood} | {outcomes['pays declared']} | {outcomes['pays']} | {broke}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    main()
