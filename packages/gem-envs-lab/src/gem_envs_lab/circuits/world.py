"""Cells and parts with hidden values, and the current in a loop of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gem_envs_lab.names import invented_words

__all__ = ["BELL", "FUSE", "LAMP", "LEVELS", "TOLERANCE", "Branch", "CircuitLevel", "CircuitWorld", "draw_circuits"]

LAMP, BELL = "lamp", "bell"
FUSE = 250.0
"""The current in milliamperes above which the fuse blows."""
TOLERANCE = 0.01
"""The share of the wanted current by which the current of the installed loop may be off."""
_LEAST = 8.0
"""Milliamperes: the smallest wanted current, so that two decimals are far finer than the tolerance."""


class CircuitLevel(NamedTuple):
    """The size of a task."""

    cells: int
    parts: int
    broken: int
    bell: bool
    """A bell, which lets the current pass one way only, must be in the loop."""
    beside: bool
    """Two parts stand beside each other in the loop from which the wanted current is drawn."""
    labels: bool
    """The parts have labels, half of them wrong."""
    fuses: int
    turns: int


LEVELS: Mapping[str, CircuitLevel] = MappingProxyType(
    {
        "easy": CircuitLevel(1, 5, 0, False, False, False, 3, 15),
        "medium": CircuitLevel(2, 6, 1, False, False, False, 2, 25),
        "hard": CircuitLevel(3, 7, 2, True, True, True, 1, 40),
    }
)
"""Name → level, from the easiest to the hardest."""


class Branch(NamedTuple):
    """One place in a loop: an element, or two parts beside each other."""

    name: str
    beside: str = ""
    turned: bool = False


class CircuitWorld(NamedTuple):
    """The hidden values of everything on the bench."""

    cells: Mapping[str, float]
    """Name → volts; negative where the unmarked plus is at the other end."""
    parts: Mapping[str, float | None]
    """Name → ohms, with lamp and bell; None for a broken part."""
    bell_way: int
    """The direction of the current that the bell lets pass, 1 or -1; 0 without a bell."""
    labels: Mapping[str, int]
    """Part → the ohms that its label claims; empty without labels."""
    wanted: float
    """The current in milliamperes that the installed loop must have."""
    wording: int

    def structure(self) -> object:
        """Return all values, without names."""
        return [*self.cells.values()], [*self.parts.values()], self.bell_way, [*self.labels.values()], self.wanted

    def current(self, loop: Sequence[Branch]) -> float:
        """Return the current in a closed loop in milliamperes; infinite in a short circuit.

        The elements of a loop follow each other, so voltages and resistances add up; of two parts beside each other the
        conductances add up. A cell has no resistance of its own.
        """
        volts = ohms = 0.0
        way = 0
        for name, beside, turned in loop:
            sign = -1 if turned else 1
            if name in self.cells:
                volts += sign * self.cells[name]
                continue
            own = self.parts[name]
            if beside:
                other = self.parts[beside]
                own = other if own is None else own if other is None else own * other / (own + other)
            if own is None:
                return 0.0
            ohms += own
            if name == BELL:
                way = sign * self.bell_way
        if way * volts < 0 or not volts:
            return 0.0
        return abs(volts) / ohms * 1000 if ohms else float("inf")

    def is_wanted(self, current: float) -> bool:
        """Whether a current is close enough to the wanted one."""
        return abs(current - self.wanted) <= TOLERANCE * self.wanted


def draw_circuits(rng: random.Random, level: CircuitLevel) -> CircuitWorld:
    """Return a world whose wanted current some loop of all that must be in it has."""
    words = invented_words(rng, level.parts + level.broken)
    while True:
        volts = rng.sample(range(3, 19), level.cells)
        cells = {f"cell {number}": rng.choice((-0.5, 0.5)) * half for number, half in enumerate(volts, 1)}
        ohms = rng.sample(range(20, 301, 5), level.parts)
        values: list[float | None] = [*ohms, *[None] * level.broken]
        rng.shuffle(values)
        parts: dict[str, float | None] = dict(zip(words, values, strict=True))
        parts[LAMP] = rng.randrange(40, 81, 5)
        if level.bell:
            parts[BELL] = rng.randrange(30, 91, 5)
        labels = {name: rng.randrange(20, 301, 5) for name in words} if level.labels else {}
        for name in rng.sample(list(labels), len(labels) // 2):
            labels[name] = int(parts[name] or labels[name])
        world = CircuitWorld(cells, parts, rng.choice((-1, 1)) if level.bell else 0, labels, 0.0, rng.randrange(4))
        wanted = round(world.current(_hidden_loop(rng, world, level)), 1)
        if _LEAST <= wanted <= 0.8 * FUSE:
            return world._replace(wanted=wanted)


def _hidden_loop(rng: random.Random, world: CircuitWorld, level: CircuitLevel) -> list[Branch]:
    """Return a loop that could be installed."""
    whole = [name for name, ohms in world.parts.items() if ohms is not None and name not in (LAMP, BELL)]
    used = rng.sample(whole, rng.randint(2 + level.beside, len(whole) - 2))
    cells = rng.sample(list(world.cells), rng.randint(min(2, level.cells), level.cells))
    loop = [Branch(name, "", rng.random() < 0.5) for name in cells]
    if level.beside:
        loop.append(Branch(used.pop(), used.pop()))
    loop += [Branch(name) for name in (*used, LAMP)]
    if level.bell:
        loop.append(Branch(BELL, "", rng.random() < 0.5))
    return loop
