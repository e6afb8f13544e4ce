"""Plants with hidden genes, and how traits are inherited."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gem_envs_lab.names import invented_words

__all__ = ["LEVELS", "Genes", "GrowthLevel", "GrowthWorld", "Trait", "draw_growth", "offspring"]

Genes = tuple[int, ...]
"""For each trait, how many of the two copies are of the second form: 0, 1 or 2."""

_TRAITS = (
    ("flowers", "red", "pink", "white"),
    ("flowers", "blue", "violet", "crimson"),
    ("leaves", "round", "oval", "narrow"),
    ("leaves", "dark", "green", "pale"),
    ("growth", "tall", "middling", "dwarf"),
    ("seeds", "smooth", "dimpled", "wrinkled"),
    ("seeds", "black", "grey", "cream"),
    ("stem", "hairy", "downy", "bare"),
    ("stem", "straight", "bent", "twining"),
    ("scent", "sweet", "faint", "no"),
    ("fruit", "sour", "mild", "bitter"),
    ("fruit", "large", "mid-sized", "tiny"),
    ("roots", "deep", "spreading", "shallow"),
    ("thorns", "long", "short", "no"),
)
"""An organ, the look with two copies of one form, the look between, and the look with two copies of the other."""


class GrowthLevel(NamedTuple):
    """The size of a task."""

    traits: int
    chance_traits: int
    """Traits that are not inherited but depend on the weather."""
    plants: int
    pure: bool
    """The first plants breed true."""
    between: int
    """Inherited traits for which a plant with both forms looks neither like the one nor like the other."""
    seeds: int
    """Plants that grow from one cross."""
    turns: int


LEVELS: Mapping[str, GrowthLevel] = MappingProxyType(
    {
        "easy": GrowthLevel(2, 0, 3, True, 0, 8, 30),
        "medium": GrowthLevel(3, 0, 3, True, 1, 6, 40),
        "hard": GrowthLevel(4, 1, 4, False, 1, 5, 80),
    }
)
"""Name → level, from the easiest to the hardest."""


class Trait(NamedTuple):
    """What an organ looks like for 0, 1 and 2 copies of the second form of its gene, such as ``red flowers``."""

    looks: tuple[str, str, str]
    """The second is the first where one form hides the other."""
    chance: bool
    """Whether the weather decides, and no gene."""


class GrowthWorld(NamedTuple):
    """The traits of a kind of plant, and the genes of the first plants."""

    plant: str
    traits: tuple[Trait, ...]
    first: tuple[Genes, ...]
    wanted: Genes
    """0 or 2 for each trait that is inherited; -1 for the others."""
    seed: int
    """Decides what grows from each cross."""
    wording: int

    def structure(self) -> object:
        """Return all traits and genes, without the name of the plant."""
        return self.traits, self.first, self.wanted, self.seed

    def is_wanted(self, genes: Sequence[int]) -> bool:
        """Whether a plant has the wanted looks and breeds true."""
        return all(want in (-1, has) for want, has in zip(self.wanted, genes, strict=True))

    def wanted_copies(self, genes: Sequence[int]) -> int:
        """Return how many copies of wanted forms a plant has."""
        return sum(2 - abs(want - has) for want, has in zip(self.wanted, genes, strict=True) if want != -1)


def offspring(world: GrowthWorld, mother: Genes, father: Genes, number: int, seeds: int) -> list[Genes]:
    """Return the plants that grow from the cross of this number.

    Each parent passes on one of its two copies of each gene, independently of other genes (Mendel, 1866).
    """
    rng = random.Random((world.seed << 32) + number)
    grown = []
    for _ in range(seeds):
        genes = []
        for trait, one, other in zip(world.traits, mother, father, strict=True):
            if trait.chance:
                genes.append(rng.choice((0, 2)))
            else:
                genes.append((rng.random() < one / 2) + (rng.random() < other / 2))
        grown.append(tuple(genes))
    return grown


def draw_growth(rng: random.Random, level: GrowthLevel) -> GrowthWorld:
    """Return plants of which none is wanted, while both forms of each inherited trait are among them."""
    count = level.traits + level.chance_traits
    chosen: dict[str, tuple[str, ...]] = {}
    for organ, *looks in rng.sample(_TRAITS, len(_TRAITS)):
        chosen.setdefault(organ, tuple(looks))
    organs = list(chosen)[:count]
    rng.shuffle(organs)
    chance = set(rng.sample(organs, level.chance_traits))
    between = set(rng.sample([organ for organ in organs if organ not in chance], level.between))
    traits = []
    for organ in organs:
        low, high = rng.sample(chosen[organ][::2], 2)
        middle = chosen[organ][1] if organ in between else low
        traits.append(Trait((f"{low} {organ}", f"{middle} {organ}", f"{high} {organ}"), organ in chance))
    # With few wanted copies in each hybrid, a plant that happens to be right is as seldom as among pure ones.
    most = 2 * (level.traits - 1) if level.pure else level.traits
    while True:
        plants = tuple(
            tuple(rng.choice((0, 2) if level.pure or trait.chance else (0, 1, 2)) for trait in traits)
            for _ in range(level.plants)
        )
        wanted = tuple(-1 if trait.chance else rng.choice((0, 2)) for trait in traits)
        world = GrowthWorld(
            invented_words(rng, 1)[0], tuple(traits), plants, wanted, rng.getrandbits(32), rng.randrange(3)
        )
        if max(map(world.wanted_copies, plants)) > most:
            continue
        inherited = [set(column) for column, want in zip(zip(*plants, strict=True), wanted, strict=True) if want != -1]
        if all(1 in forms or {0, 2} <= forms for forms in inherited):
            return world
