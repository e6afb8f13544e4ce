"""What the worlds that go on have in common: people, topics, and instructions that touch different rows."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gem_envs_desk.names import FIRST_NAMES, family_name
from gem_envs_desk.task import DeskCall, DeskTask, ToldFact

__all__ = ["OwnerInstruction", "instructed", "people"]


@dataclass(frozen=True)
class OwnerInstruction:
    """One thing to do, with its solution."""

    kind: str
    text: str
    gold: tuple[DeskCall, ...]
    facts: tuple[ToldFact, ...] = ()
    naive: tuple[DeskCall, ...] | None = None
    """The calls of an agent that ignores the policy; None if the same as gold."""


def people(rng: Random, split: str, count: int) -> list[str]:
    """Return names of distinct people of a split."""
    names: dict[str, None] = {}
    while len(names) < count:
        names[f"{rng.choice(FIRST_NAMES)} {family_name(rng, split)}"] = None
    return list(names)


def instructed(instructions: list[OwnerInstruction], state: dict[str, object]) -> DeskTask:
    """Return the task of instructions that touch different rows."""
    gold: list[DeskCall] = []
    facts: list[ToldFact] = []
    for one in instructions:
        facts += [ToldFact(fact.value, fact.source + len(gold), fact.about) for fact in one.facts]
        gold += one.gold
    lines = "\n".join(f"{number}. {one.text}" for number, one in enumerate(instructions, 1))
    kind = " + ".join(sorted(one.kind for one in instructions))
    naive = [call for one in instructions for call in (one.gold if one.naive is None else one.naive)]
    return DeskTask(
        kind,
        state,
        tuple(gold),
        tuple(facts),
        text=f"{lines}\n\nThen report.",
        naive=None if naive == gold else tuple(naive),
    )
