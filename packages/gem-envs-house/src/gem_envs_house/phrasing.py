"""Chores in words: four ways to say each, drawn evenly."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gem_envs_house.catalogue import a, plural, preposition
from gem_envs_house.house import CLEAN, COOL, HOT, SLICED, Chore

__all__ = ["phrase", "task_sentence"]

_ADJECTIVES = ((CLEAN, "clean"), (HOT, "hot"), (COOL, "cool"), (SLICED, "sliced"))
_VERBS = ((SLICED, "slice"), (CLEAN, "clean"), (HOT, "heat"), (COOL, "cool"))
WAYS = 4
"""Number of ways to say a chore."""


def phrase(chore: Chore, way: int) -> str:
    """Return a chore as an imperative without a full stop; ``way`` is 0 … ``WAYS - 1``."""
    place = a(chore.receptacle)
    if chore.in_light:
        return (
            f"examine {a(chore.thing)} with {place}",
            f"look at {a(chore.thing)} under {place}",
            f"find {a(chore.thing)} and hold it under the light of {place}",
            f"inspect {a(chore.thing)} by the light of {place}",
        )[way]
    where = f"{preposition(chore.receptacle)} {place}"
    if chore.number > 1:
        things, one = plural(chore.thing), f"{preposition(chore.receptacle)} one {chore.receptacle}"
        return (
            f"put two {things} {one}",
            f"find two {things} and put both of them {one}",
            f"bring two {things} together {one}",
            f"make sure that two {things} are {one}",
        )[way]
    described = a(" ".join([word for bit, word in _ADJECTIVES if chore.marks & bit] + [chore.thing]))
    verbs = [verb for bit, verb in _VERBS if chore.marks & bit]
    steps = "".join(f", {verb} it" for verb in verbs)
    if verbs:
        first = f"{verbs[0]} {a(chore.thing)}" + "".join(f", {verb} it" for verb in verbs[1:])
        found = f"find {a(chore.thing)}{steps}, and put it {where}"
        done = f"{first}{',' if len(verbs) > 1 else ''} and put it {where}"
    else:
        found, done = (
            f"find {a(chore.thing)} and put it {where}",
            f"fetch {a(chore.thing)} and leave it {where}",
        )
    return (f"put {described} {where}", found, done, f"make sure that {described} is {where}")[way]


def task_sentence(rng: random.Random, chores: Sequence[Chore]) -> str:
    """Return a whole task, with a way drawn for each of its chores."""
    phrases = [phrase(chore, rng.randrange(WAYS)) for chore in chores]
    if len(phrases) == 1:
        return f"Your task is to: {phrases[0]}."
    lines = "\n".join(f"{number}. {text}" for number, text in enumerate(phrases, start=1))
    return f"Your task is to do all of this, so that all of it holds at the end:\n{lines}"
