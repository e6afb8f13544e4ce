"""The hack audit of a wheel: how long the kit attacks, and what its record may say.

An attack that pays is a warning and no refusal: record, page and signed statement show it. Whether the owner
mends or declares it is not for a gate to decide, because the bound is about means of few episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_hub.refusal import GateFindings
from gem_hub_client.sanitize import sanitize
from gem_testing.attacks.audit import SECONDS
from gem_testing.record import EnvironmentRecord

__all__ = ["attack_options", "judge_attacks"]

_SHARE = 4.0
"""The audit gets this part of the run's time, divided by the environments, as if they were attacked one by one."""


def attack_options(environments: int, seconds: float) -> list[str]:
    """Return the options of ``gem check`` for the audit.

    Args:
        environments: the number of environments of the wheel.
        seconds: the time limit of the whole run.
    """
    each = min(SECONDS, seconds / _SHARE / max(1, environments))
    return ["--attacks", "--attack-seconds", f"{each:.3f}"]


def judge_attacks(environment: EnvironmentRecord, exempt: Mapping[str, Any], findings: GateFindings) -> None:
    """Warn of attacks that pay or break an environment; refuse a record that declares what the manifest does not.

    Args:
        environment: of the record.
        exempt: name of a clause or of a family of attacks → reason, as the wheel's manifest has them.
        findings: receives refusals and warnings.
    """
    if environment.attacks is None:
        return
    for attack in environment.attacks.results:
        family = f"attacks.{attack.name.partition('.')[0]}"
        if attack.declared and exempt.get(family) != attack.declared:
            message = f"the record declares that {attack.name} may pay, and its manifest does not"
            findings.refuse("conformance.record", environment.id, message)
        elif attack.outcome == "broke":
            findings.warn("attacks.broke", environment.id, f"{attack.name}: {sanitize(attack.message)[:500]}")
        elif attack.outcome == "pays" and attack.earned is not None:
            earned = (
                f"{attack.earned.mean:.2f} in {attack.earned.episodes} episodes, and {attack.bound:.2f} is the bound"
            )
            reason = f"; declared: {sanitize(attack.declared)[:200]}" if attack.declared else ""
            findings.warn(
                "attacks.declared" if attack.declared else "attacks.pays",
                environment.id,
                f"{attack.name} ({sanitize(attack.variant)}) earns {earned}{reason}",
            )
