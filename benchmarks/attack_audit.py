"""Plays the battery of attacks against bundled environments, and counts which they withstand.

    python benchmarks/attack_audit.py               # the environments that were not attacked yet
    python benchmarks/attack_audit.py rg game:Sudoku-v0 …   # namespaces or ids: these, anew
    python benchmarks/results.py run attack_audit -- benchmarks/attack_audit.py --no-play

Prints a table of the packages, one of the families of attacks, and one of the attacks that pay. Finished audits are
kept in ``results/attack_audits.jsonl``, one environment a line, so that a run that was ended goes on, and a new
environment costs its own audit alone; ``tests/test_attack_coverage.py`` notices one without. Variants are left out, and
what needs a container, a browser or another program is counted as needing more. Environments over data sets are
attacked over the rows of ``attack_rows.py``. ``gem check --attacks`` plays the battery of single environments, each in
a process of its own.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attack_rows import has_made_rows, made_rows

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.registry import all_specs
from gem_testing.attacks import FAMILIES, AttackAudit, audit

KEPT = Path(__file__).parent / "results" / "attack_audits.jsonl"
MADE = "made rows"
COUNTED = ("attacks", "episodes", "withstood", "pay, declared", "pay", "break it", "not played")


def main() -> None:
    """Play, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", help="namespaces or ids to attack anew; by default, what was not attacked")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the battery of one environment")
    parser.add_argument("--no-play", action="store_true", help="print the tables of what is kept")
    options = parser.parse_args()
    specs = attacked_specs()
    playable = [spec for spec in specs if is_playable(spec)]
    audits = kept_audits()
    if options.wanted:
        chosen = [spec for spec in playable if {spec.namespace, spec.id} & {*options.wanted}]
        unknown = {*options.wanted} - {text for spec in chosen for text in (spec.namespace, spec.id)}
        if unknown:
            parser.error(f"no environment that can be attacked here is called {', '.join(sorted(unknown))}")
    else:
        chosen = [spec for spec in playable if spec.id not in audits]
    for spec in () if options.no_play else chosen:
        audits[spec.id] = audited(spec, options.seconds)
        keep(audits, playable)
    known = [audits[spec.id] for spec in playable if spec.id in audits]
    print_packages(known, specs)
    print_families(known)
    print_findings(known)


def attacked_specs() -> list[EnvSpec]:
    """Return the bundled environments without their variants."""
    specs = [spec for spec in all_specs() if spec.distribution]
    bases = {spec.id for spec in specs}
    return [spec for spec in specs if not any(spec.id.startswith(f"{base}-") for base in bases)]


def is_playable(spec: EnvSpec) -> bool:
    """Return whether an environment needs nothing but rows that can be made."""
    return not spec.requires or has_made_rows(spec)


def kept_audits() -> dict[str, dict[str, Any]]:
    """Return the audits that are kept, by the ids of their environments."""
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ()
    return {one["id"]: one for one in map(json.loads, lines)}


def keep(audits: Mapping[str, dict[str, Any]], specs: Iterable[EnvSpec]) -> None:
    """Write the audits of these environments; those of environments that are gone are left out."""
    ids = sorted(spec.id for spec in specs if spec.id in audits)
    KEPT.write_text("".join(f"{json.dumps(audits[full_id])}\n" for full_id in ids), encoding="utf-8")


def audited(spec: EnvSpec, seconds: float) -> dict[str, Any]:
    """Play the battery of one environment, and return what is kept of it."""
    played = spec.with_kwargs({"dataset": made_rows(spec)}) if has_made_rows(spec) else spec
    try:
        return summary(spec, audit(played, seconds=seconds))
    except GemError as error:
        return {"id": spec.id, "package": spec.distribution, "error": str(error), "families": {}, "findings": []}


def summary(spec: EnvSpec, found: AttackAudit) -> dict[str, Any]:
    """Return the counts of each family of attacks, and the rows of the attacks that pay or break the environment."""
    families = {}
    for family in FAMILIES:
        some = [result for result in found.results if result.name.startswith(f"{family}.")]
        if some:
            outcomes = Counter(result.outcome for result in some)
            declared = sum(result.outcome == "pays" and bool(result.declared) for result in some)
            episodes = sum(result.episodes for result in some)
            paid = (declared, outcomes["pays"] - declared, outcomes["broke"])
            counts = (len(some), episodes, outcomes["withstood"], *paid, outcomes["not played"])
            families[family] = dict(zip(COUNTED, counts, strict=True))
    findings = []
    for result in found.results:
        if result.outcome not in ("pays", "broke"):
            continue
        figures = result.message
        if result.earned is not None and result.outcome == "pays":
            earned = result.earned
            figures = f"{earned.mean:.2f}, {earned.low:.2f} to {earned.high:.2f}, {earned.episodes}"
        bound = "–" if result.bound is None else f"{result.bound:.2f}"
        target = "–" if found.reference is None else f"{found.reference.mean:.2f}"
        findings.append([result.name, result.variant, figures, bound, target, result.declared or "no"])
    return {"id": spec.id, "package": spec.distribution, "error": "", "families": families, "findings": findings}


def print_packages(audits: Iterable[Mapping[str, Any]], specs: Sequence[EnvSpec]) -> None:
    """Print what came of each package's environments."""
    known = {one["id"]: one for one in audits if not one["error"]}
    names = ("package", "environments", "need more", "not attacked", "attacked", MADE, *COUNTED)
    print(f"| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    for name in [*sorted({spec.distribution or "" for spec in specs}), None]:
        some = [spec for spec in specs if name in (None, spec.distribution)]
        attacked = [known[spec.id] for spec in some if spec.id in known]
        more = sum(not is_playable(spec) for spec in some)
        over_made = sum(has_made_rows(spec) and spec.id in known for spec in some)
        counts = (len(some), more, len(some) - more - len(attacked), len(attacked), over_made)
        families = [counted for one in attacked for counted in one["families"].values()]
        print(f"| {name or 'all'} | {' | '.join(map(str, counts))} | {_counted(families)} |")
    print()


def print_families(audits: Sequence[Mapping[str, Any]]) -> None:
    """Print what came of each family of attacks."""
    print(f"| family | {' | '.join(COUNTED)} |")
    print("|---" * (1 + len(COUNTED)) + "|")
    for family, about in FAMILIES.items():
        some = [one["families"][family] for one in audits if family in one["families"]]
        print(f"| {family}: {about} | {_counted(some)} |")
    print()


def print_findings(audits: Iterable[Mapping[str, Any]]) -> None:
    """Print the attacks that pay or break an environment."""
    print("| environment | attack | variant | mean, 95 % interval, episodes | bound | reference | declared |")
    print("|---|---|---|---|---|---|---|")
    rows = [(one["id"], *row) for one in audits for row in one["findings"]]
    for full_id, attack, variant, *cells in rows:
        print(f"| `{full_id}` | {attack} | `{_cell(variant)}` | {' | '.join(map(_cell, cells))} |")
    if not rows:
        print("| none | | | | | | |")
    print()


def _counted(families: Iterable[Mapping[str, int]]) -> str:
    totals: Counter[str] = Counter()
    for counts in families:
        totals.update(counts)
    return " | ".join(str(totals[name]) for name in COUNTED)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    main()
