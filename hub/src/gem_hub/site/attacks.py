"""The pages' data on the hack audit: what each attack earned in each environment, beside the reference policy."""

from __future__ import annotations

from dataclasses import dataclass

from gem_hub.site.text import shortened
from gem_testing.record import AttackAuditRecord, AttackRecord, ConformanceRecord, EstimateRecord

__all__ = ["ShownAttack", "ShownAudit", "audits_of"]

_MESSAGE = 300
_WORDS = {"withstood": ("withstood", "good"), "not played": ("not played", "unknown"), "broke": ("breaks it", "bad")}


@dataclass(frozen=True)
class ShownAttack:
    """One attack."""

    name: str
    outcome: str
    """``"withstood"``, ``"pays"``, ``"pays, as declared"``, ``"breaks it"`` or ``"not played"``."""
    tone: str
    """``"good"``, ``"bad"`` or ``"unknown"``."""
    variant: str
    earned: EstimateRecord | None
    bound: float | None
    message: str
    """How it broke the environment, or the declared reason."""

    @property
    def is_finding(self) -> bool:
        """Whether it is more than withstood."""
        return self.outcome != "withstood"


@dataclass(frozen=True)
class ShownAudit:
    """The audit of one environment."""

    id: str
    kind: str
    episodes: int
    seeds: int
    """Seeds of each variant."""
    reference: EstimateRecord | None
    random: EstimateRecord | None
    attacks: list[ShownAttack]

    @property
    def withstood(self) -> int:
        return sum(attack.outcome == "withstood" for attack in self.attacks)

    @property
    def findings(self) -> list[ShownAttack]:
        return [attack for attack in self.attacks if attack.is_finding]

    @property
    def tone(self) -> str:
        """``"bad"`` if an attack pays undeclared or breaks it, ``"good"`` if it withstood all, else ``"unknown"``."""
        tones = {attack.tone for attack in self.attacks}
        return "bad" if "bad" in tones else "unknown" if "unknown" in tones or not tones else "good"


def audits_of(record: ConformanceRecord) -> list[ShownAudit]:
    """Return the audits of a record, in the order of its environments; none where no attacks were played."""
    return [
        _audit(environment.id, environment.attacks)
        for package in record.packages
        for environment in package.environments
        if environment.attacks is not None
    ]


def _audit(env_id: str, audit: AttackAuditRecord) -> ShownAudit:
    return ShownAudit(
        id=env_id,
        kind=shortened(audit.kind, 80),
        episodes=sum(attack.episodes for attack in audit.results),
        seeds=audit.seeds[1],
        reference=audit.reference,
        random=audit.random,
        attacks=[_attack(attack) for attack in audit.results],
    )


def _attack(attack: AttackRecord) -> ShownAttack:
    outcome, tone = _WORDS.get(attack.outcome, ("pays", "bad"))
    if attack.outcome == "pays" and attack.declared:
        outcome, tone = "pays, as declared", "unknown"
    return ShownAttack(
        name=attack.name,
        outcome=outcome,
        tone=tone,
        variant=attack.variant,
        earned=attack.earned,
        bound=attack.bound,
        message=shortened(attack.message or attack.declared * (attack.outcome == "pays"), _MESSAGE),
    )
