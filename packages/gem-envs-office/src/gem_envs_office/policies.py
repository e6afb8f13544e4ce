"""The written policies of the company, and the statements that find what breaks them: :class:`Rulebook`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gem.tables import read_table
from gem_envs_office.store import OfficeStore, Row

__all__ = ["Rulebook", "WrittenPolicy"]


class WrittenPolicy(NamedTuple):
    """A policy: its text, and the statements that find its violations."""

    title: str
    text: str
    """With ``{parameters}``, which differ between companies."""
    rules: Mapping[str, str]
    """What is forbidden → a statement in SQL whose rows are violations; ``:parameters`` as in the text."""


class Rulebook:
    """The policies of one company.

    Args:
        parameters: the numbers that stand in the policies of this company.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.parameters = dict(parameters)

    def documents(self) -> list[Row]:
        """Return the rows of the table ``policies``."""
        return [
            {
                "policy_id": f"PO{101 + place}",
                "title": policy.title,
                "body": policy.text.strip().format(**self.parameters),
            }
            for place, policy in enumerate(_policies())
        ]

    def violations(self, store: OfficeStore) -> list[str]:
        """Return what breaks a policy in a state, one phrase each."""
        found = []
        for policy in _policies():
            for forbidden, statement in policy.rules.items():
                rows = store.query(statement, self.parameters)
                found += [f"{forbidden} ({policy.title}: {', '.join(map(str, row.values()))})" for row in rows]
        return found


@lru_cache(maxsize=1)
def _policies() -> tuple[WrittenPolicy, ...]:
    declared = read_table(__file__, "policies.toml")["policy"]
    return tuple(WrittenPolicy(one["title"], one["text"], one.get("forbidden", {})) for one in declared)
