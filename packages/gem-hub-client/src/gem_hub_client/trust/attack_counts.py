"""Counts what came of the hack audit in a conformance record, for lists and for a hub's signed statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["COUNTS", "attack_counts", "audit_text"]

COUNTS = ("environments", "episodes", "withstood", "pays", "declared", "broke", "not_played")
"""The environments that were attacked, the episodes played, and the attacks by what came of them. *Declared* are those
that pay as the manifest says they may; *pays* are the others that do."""


def attack_counts(record: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the counts of a record, of any origin; None if it has no audit.

    Raises:
        ValueError: if it has one that cannot be counted.
    """
    counted: Counter[str] = Counter()
    try:
        for package in record["packages"]:
            for environment in package["environments"]:
                audit = environment.get("attacks")
                if audit is None:
                    continue
                counted["environments"] += 1
                for attack in audit["results"]:
                    outcome = {"not played": "not_played"}.get(attack["outcome"], attack["outcome"])
                    declared = outcome == "pays" and bool(attack["declared"])
                    counted["declared" if declared else outcome] += 1
                    if type(attack["episodes"]) is not int or attack["episodes"] < 0:
                        raise TypeError(f"{attack['episodes']!r} is no number of episodes")
                    counted["episodes"] += attack["episodes"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the audit of attacks cannot be counted: {error!r}") from error
    if unknown := counted.keys() - set(COUNTS):
        raise ValueError(f"the audit of attacks has the outcome {sorted(unknown)[0]!r}, which is none")
    return {name: counted[name] for name in COUNTS} if counted["environments"] else None


def audit_text(counts: Mapping[str, int]) -> str:
    """Return the counts in a few words: ``"118 of 120 attacks withstood, 1 pays as declared, 1 pays"``."""
    played = sum(counts[name] for name in COUNTS[2:-1])
    said = [f"{counts['withstood']} of {played} attacks withstood"]
    for name, one, several in (
        ("declared", "pays as declared", "pay as declared"),
        ("pays", "pays", "pay"),
        ("broke", "breaks it", "break it"),
    ):
        if counts[name]:
            said.append(f"{counts[name]} {one if counts[name] == 1 else several}")
    return ", ".join(said)
