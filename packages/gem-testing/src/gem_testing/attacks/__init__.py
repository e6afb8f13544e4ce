"""The hack audit: attacks on the reward of an environment, and what each of them earns.

``gem check --attacks`` plays them. See :mod:`gem_testing.attacks.families` for the battery, and
:mod:`gem_testing.attacks.audit` for the rule by which an attack pays.
"""

from __future__ import annotations

from gem_testing.attacks.audit import AttackAudit, AttackResult, audit
from gem_testing.attacks.families import FAMILIES

__all__ = ["FAMILIES", "AttackAudit", "AttackResult", "audit"]
