"""A shelf of substances, and the hidden rules by which they react."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from gem_envs_lab.names import invented_words

__all__ = ["LEVELS", "MixtureLevel", "MixtureWorld", "Note", "draw_mixtures"]

_COLOURS, _FORMS, _STRIPS, _VESSELS = map(
    str.split,
    (
        "amber azure black brown crimson green grey indigo ivory orange pink scarlet silver teal violet yellow",
        "crystals flakes foam gel grains needles oil powder syrup wax",
        "blue green orange purple red white yellow",
        "salt tincture powder oil extract resin",
    ),
)


class MixtureLevel(NamedTuple):
    """The size of a task."""

    bottles: int
    kinds: int
    depth: int
    """Reactions that build on each other on the way to the goal."""
    decoys: int
    """Reactions of each step that lead elsewhere."""
    shared_strips: int
    """Kinds that share the colour of their strip with another kind."""
    overridden: bool
    """The reactions of the way take place without the flame, and others of the same pairs above it."""
    notes: int
    """Notes of earlier students, one of which is right."""
    turns: int


LEVELS: Mapping[str, MixtureLevel] = MappingProxyType(
    {
        "easy": MixtureLevel(6, 5, 1, 4, 0, False, 0, 25),
        "medium": MixtureLevel(7, 5, 2, 2, 0, False, 0, 45),
        "hard": MixtureLevel(8, 5, 3, 2, 1, True, 3, 100),
    }
)
"""Name → level, from the easiest to the hardest."""


class Note(NamedTuple):
    """What an earlier student claims to have seen."""

    first: str
    second: str
    heated: bool
    look: str


class MixtureWorld(NamedTuple):
    """Substances by name, their kinds, and the reactions between kinds.

    Kinds below ``len(strips)`` stand on the shelf; the others are products.
    """

    bottles: tuple[str, ...]
    kinds: tuple[int, ...]
    """The kind of each bottle."""
    strips: tuple[str, ...]
    """The colour of a test strip for each kind on the shelf."""
    looks: tuple[str, ...]
    """The look of each product, which is all that tells them apart."""
    cold: Mapping[tuple[int, int], int]
    """Two kinds in ascending order → the kind of their product, at room temperature."""
    hot: Mapping[tuple[int, int], int]
    """The same above the flame, where it differs."""
    goal: int
    notes: tuple[Note, ...]
    wording: int
    """The number of the wording of the goal."""

    def structure(self) -> object:
        """Return the reactions and the kinds of the bottles, without names."""
        return self.kinds, self.strips, self.looks, sorted(self.cold.items()), sorted(self.hot.items())

    def product(self, first: int, second: int, heated: bool) -> int | None:
        """Return what two kinds make; None if they do not react."""
        pair = (first, second) if first < second else (second, first)
        if heated and pair in self.hot:
            return self.hot[pair]
        return self.cold.get(pair)

    def look(self, kind: int) -> str:
        """Return the look of a product."""
        return self.looks[kind - len(self.strips)]


def draw_mixtures(rng: random.Random, level: MixtureLevel) -> MixtureWorld:
    """Return a world in which the goal can be made, in ``level.depth`` reactions and no fewer."""
    kinds = [*range(level.kinds), *(rng.randrange(level.kinds) for _ in range(level.bottles - level.kinds))]
    rng.shuffle(kinds)
    strips = rng.sample(_STRIPS, level.kinds - level.shared_strips)
    strips += rng.sample(strips, level.shared_strips)
    rng.shuffle(strips)
    cold: dict[tuple[int, int], int] = {}
    hot: dict[tuple[int, int], int] = {}
    products = level.kinds
    pairs = list(combinations(range(level.kinds), 2))
    goal = -1
    for _ in range(level.depth):
        path, *decoys = rng.sample(pairs, min(len(pairs), 1 + level.decoys))
        goal, products = products, products + 1
        if level.overridden:
            cold[path], hot[path] = goal, products
            products += 1
        else:
            (hot if rng.random() < 0.5 else cold)[path] = goal
        for decoy in decoys:
            (hot if rng.random() < 0.5 else cold)[decoy] = products
            products += 1
        # The next step uses the product of this one; what its decoys make leads nowhere.
        pairs = [(kind, goal) for kind in range(level.kinds)]
    looks = rng.sample([f"{colour} {form}" for colour in _COLOURS for form in _FORMS], products - level.kinds)
    bottles = [f"{word} {rng.choice(_VESSELS)}" for word in invented_words(rng, level.bottles)]
    world = MixtureWorld(
        tuple(bottles), tuple(kinds), tuple(strips), tuple(looks), cold, hot, goal, (), rng.randrange(4)
    )
    return world._replace(notes=_notes(rng, world, level.notes)) if level.notes else world


def _notes(rng: random.Random, world: MixtureWorld, count: int) -> tuple[Note, ...]:
    """Return one note that is right, on the first reaction of the way, and others that are wrong."""
    first, second = next(iter(world.cold))
    right = Note(_bottle(rng, world, first), _bottle(rng, world, second), False, world.look(world.cold[first, second]))
    notes = [right]
    while len(notes) < count:
        one, other = rng.sample(range(len(world.bottles)), 2)
        heated = rng.random() < 0.5
        look = rng.choice(world.looks)
        made = world.product(world.kinds[one], world.kinds[other], heated)
        if made is None or world.look(made) != look:
            notes.append(Note(world.bottles[one], world.bottles[other], heated, look))
    rng.shuffle(notes)
    return tuple(notes)


def _bottle(rng: random.Random, world: MixtureWorld, kind: int) -> str:
    return rng.choice([name for name, its in zip(world.bottles, world.kinds, strict=True) if its == kind])
