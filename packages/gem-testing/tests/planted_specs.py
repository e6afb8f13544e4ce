"""The environments of ``planted/``: the specs of its manifests, and those of the defects that need no manifest."""

from __future__ import annotations

from pathlib import Path

from gem.discovery.manifest import parse, read_specs
from gem.env_spec import EnvSpec

__all__ = ["MANIFEST", "PLANTED", "REQUIREMENTS", "SAYS", "planted_specs"]

PLANTED = Path(__file__).parent / "planted"
MANIFEST = PLANTED / "planted_envs" / "environments.toml"
UNDECLARED = PLANTED / "planted_undeclared" / "environments.toml"
REQUIREMENTS = {MANIFEST: ("gem-core", "numpy>=1.24", "spacy"), UNDECLARED: ("gem-core", "planted-envs")}
"""Manifest → its package's declared dependencies."""

_CLAUSES = parse(PLANTED / "defects.toml")
_CHANGES = _CLAUSES.pop("specs")
SAYS: dict[str, str] = {name: says for defects in _CLAUSES.values() for name, says in defects.items()}
"""Class → a pattern of what its clause says."""
del _CLAUSES["manifest"]


def planted_specs() -> list[tuple[EnvSpec, Path]]:
    """Return each spec with its manifest; the first tag of a defect is the clause that has to name it."""
    return [
        *((spec, manifest) for manifest in REQUIREMENTS for spec in read_specs(manifest)),
        *((_spec(name, clause), MANIFEST) for clause, defects in _CLAUSES.items() for name in defects),
    ]


def _spec(name: str, clause: str) -> EnvSpec:
    changes = _CHANGES.get(name, {})
    return EnvSpec(
        f"defect:{name}",
        f"planted_envs.defects.{clause.partition('.')[0]}:{name}",
        tags=(clause,),
        kwargs=changes.get("kwargs", {}),
        turns=changes.get("turns", "multi"),
        modality=tuple(changes.get("modality", ["text"])),
        reward_range=tuple(changes.get("reward_range", (0.0, 1.0))),
        reference_policy=changes.get("reference_policy", "planted_envs.healthy:SumsPolicy") or None,
        null_return=changes.get("null_return"),
        step_seconds=changes.get("step_seconds"),
        reset_seconds=changes.get("reset_seconds"),
    )
