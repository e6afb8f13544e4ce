"""Samples with hidden melting and boiling points, and a thermometer whose scale may be off."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from gem_envs_lab.names import invented_words

__all__ = ["LEVELS", "WATER", "HeatLevel", "HeatWorld", "Substance", "draw_heat"]

WATER = "water"
COLDEST = -80
"""Degrees at which a sample has no heat to give off any more."""


class HeatLevel(NamedTuple):
    """The size of a task."""

    samples: int
    questions: tuple[str, ...]
    offset: bool
    """The thermometer shows too much or too little, everywhere by the same amount."""
    scale: bool
    """Its degrees have another size, too."""
    labels: bool
    turns: int


LEVELS: Mapping[str, HeatLevel] = MappingProxyType(
    {
        "easy": HeatLevel(1, ("melts",), False, False, False, 20),
        "medium": HeatLevel(2, ("melts", "boils"), True, False, True, 40),
        "hard": HeatLevel(4, ("first melts", "last melts"), True, True, True, 110),
    }
)
"""Name → level, from the easiest to the hardest. A hard question asks for the boiling point of an unnamed sample."""


class Substance(NamedTuple):
    """A sample in a dish. Degrees are Celsius, heat is in kilojoules for the whole dish."""

    melting: int
    boiling: int
    solid: int
    """Kilojoules for a degree while it is solid."""
    liquid: int
    """The same while it is liquid."""
    fusion: int
    """Kilojoules that melt it, at a constant temperature."""
    vapour: int
    """Kilojoules that turn it into vapour."""

    def heat_at(self, degrees: int) -> int:
        """Return the heat of a dish at a temperature below the melting point, or of a liquid, counted from −80 °C."""
        if degrees < self.melting:
            return (degrees - COLDEST) * self.solid
        return (self.melting - COLDEST) * self.solid + self.fusion + (degrees - self.melting) * self.liquid

    def condition(self, heat: int) -> tuple[str, float]:
        """Return the state of a dish (solid, melting, liquid, boiling, gone) and its temperature in °C."""
        warming = (self.melting - COLDEST) * self.solid
        if heat < warming:
            return "solid", COLDEST + heat / self.solid
        heat -= warming
        if heat <= self.fusion:
            return "melting", float(self.melting)
        heat -= self.fusion
        warming = (self.boiling - self.melting) * self.liquid
        if heat < warming:
            return "liquid", self.melting + heat / self.liquid
        return ("boiling" if heat < warming + self.vapour else "gone"), float(self.boiling)


class HeatWorld(NamedTuple):
    """The hidden values of the samples and of the thermometer."""

    substances: Mapping[str, Substance]
    room: int
    """The temperature in °C at which samples come from their jars."""
    offset: float
    scale: float
    """The thermometer shows ``scale`` times the degrees, and ``offset``."""
    labels: Mapping[str, int]
    """Sample → the melting point that its jar claims, wrong by at least 5."""
    question: str
    subject: str
    """The sample that is asked for."""
    wording: int

    @property
    def answer(self) -> int:
        """The temperature in °C that is asked for."""
        substance = self.substances[self.subject]
        return substance.melting if self.question == "melts" else substance.boiling

    def structure(self) -> object:
        """Return all values, without names."""
        subject = list(self.substances).index(self.subject)
        return [*self.substances.values()], self.room, self.offset, self.scale, self.question, subject

    def reading(self, degrees: float) -> float:
        """Return what the thermometer shows."""
        return self.scale * degrees + self.offset


def draw_heat(rng: random.Random, level: HeatLevel) -> HeatWorld:
    """Return samples whose melting points differ by at least 4 degrees."""
    words = invented_words(rng, level.samples)
    room = rng.randint(12, 28)
    points: list[int] = []
    while len(points) < level.samples:
        melting = rng.randint(-40, 160)
        if abs(melting - room) > 5 and all(abs(melting - point) >= 4 for point in points):
            points.append(melting)
    substances = {word: _substance(rng, point, room) for word, point in zip(words, points, strict=True)}
    question = rng.choice(level.questions)
    if question == "first melts":
        subject = min(substances, key=lambda name: substances[name].melting)
    elif question == "last melts":
        subject = max(substances, key=lambda name: substances[name].melting)
    else:
        subject = rng.choice(words)
    labels = {}
    if level.labels:
        for name, substance in substances.items():
            labels[name] = substance.melting + rng.choice((-1, 1)) * rng.randint(5, 60)
    if level.offset:
        substances[WATER] = Substance(
            0, 100, rng.randint(2, 3), rng.randint(4, 6), rng.randint(30, 60), rng.randint(150, 300)
        )
    return HeatWorld(
        substances,
        room,
        rng.choice((-1, 1)) * rng.randint(30, 250) / 10 if level.offset else 0.0,
        rng.choice((0.5, 0.6, 0.7, 0.8, 1.25, 1.4, 1.6, 1.8)) if level.scale else 1.0,
        labels,
        question,
        subject,
        rng.randrange(3),
    )


def _substance(rng: random.Random, melting: int, room: int) -> Substance:
    return Substance(
        melting,
        max(melting, room) + rng.randint(40, 160),
        rng.randint(2, 5),
        rng.randint(2, 6),
        rng.randint(12, 50),
        rng.randint(40, 150),
    )
