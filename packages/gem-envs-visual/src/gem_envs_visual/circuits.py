"""Circuits of resistors and switches, drawn as a plan."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from gem_envs_visual.env import AnswerEnv
from gem_questions.pictures.canvas import Canvas

__all__ = [
    "BOX",
    "HEIGHT",
    "MARGIN",
    "SWITCH",
    "WIDTH",
    "Circuit",
    "CircuitPlansEnv",
    "Parallel",
    "Part",
    "Resistor",
    "Series",
    "Switch",
]

WIDTH, HEIGHT = 480, 360
MARGIN = 34
"""Pixels between the side of the picture and the circuit, for a terminal and its name."""
BOX = 46
"""Pixels of the width of a resistor's box."""
SWITCH = 28
"""Pixels from one contact of a switch to the other."""
_RAIL = 9
"""Pixels between the sides of a group of branches and the wires that join them."""
_GAP = 10
"""Pixels between branches."""
_MOST_OHMS = 999


class Resistor(NamedTuple):
    """A resistor."""

    ohms: int


class Switch(NamedTuple):
    """A switch."""

    closed: bool


class Series(NamedTuple):
    """Parts one after the other."""

    parts: tuple[Part, ...]


class Parallel(NamedTuple):
    """Branches side by side."""

    branches: tuple[Part, ...]


Part = Resistor | Switch | Series | Parallel


class CircuitPlanLevel(NamedTuple):
    """How large the circuits of a level are."""

    resistors: int
    switches: int
    """Further branches or parts with a switch: an open one carries nothing, a closed one changes nothing."""


def resistance(part: Part) -> Fraction | None:
    """Return the resistance of a part in ohms; None where it carries nothing."""
    if isinstance(part, Resistor):
        return Fraction(part.ohms)
    if isinstance(part, Switch):
        return Fraction(0) if part.closed else None
    if isinstance(part, Series):
        values = [resistance(one) for one in part.parts]
        return None if None in values else sum((value for value in values if value is not None), Fraction(0))
    carrying = [value for one in part.branches if (value := resistance(one)) is not None]
    if not carrying or 0 in carrying:
        return Fraction(0) if carrying else None
    return 1 / sum((1 / value for value in carrying), Fraction(0))


def in_signs(part: Part) -> str:
    """Return a part such as ``(30+(40|/))``: 30 ohms before 40 ohms beside an open switch; a closed one is ``=``."""
    if isinstance(part, Resistor):
        return str(part.ohms)
    if isinstance(part, Switch):
        return "=" if part.closed else "/"
    sign, inner = ("+", part.parts) if isinstance(part, Series) else ("|", part.branches)
    return f"({sign.join(map(in_signs, inner))})"


def size(part: Part) -> tuple[int, int]:
    """Return the width and height of a part's drawing, in pixels."""
    if isinstance(part, Resistor):
        return 62, 26
    if isinstance(part, Switch):
        return 48, 34
    inner = [size(one) for one in (part.parts if isinstance(part, Series) else part.branches)]
    if isinstance(part, Series):
        return sum(wide for wide, _ in inner), max(high for _, high in inner)
    return max(wide for wide, _ in inner) + 4 * _RAIL, sum(high for _, high in inner) + _GAP * (len(inner) - 1)


@dataclass(frozen=True)
class Circuit:
    """A circuit between two terminals."""

    whole: Part
    question: str = (
        "The numbers in the boxes are ohms. What is the resistance between the terminals A and B, in ohms? An open "
        "switch carries nothing, a closed one has no resistance. Put the number in \\boxed{}, such as \\boxed{35}."
    )

    @property
    def answer(self) -> str:
        """The number of ohms."""
        return str(resistance(self.whole))

    def structure(self) -> object:
        """Return the circuit in signs."""
        return in_signs(self.whole)

    def guess(self, rng: random.Random) -> str:
        """Return a possible number."""
        return str(rng.randint(4, 80))

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        y = HEIGHT // 2
        _draw(canvas, self.whole, MARGIN, y, WIDTH - 2 * MARGIN)
        for x, name in ((MARGIN, "A"), (WIDTH - MARGIN, "B")):
            canvas.disc((x, y), 5, "ink")
            canvas.text(x + (-18 if name == "A" else 18), y, name, align="centre")
        return canvas


def _draw(canvas: Canvas, part: Part, x: int, y: int, width: int) -> None:
    """Draw a part with its wires from the left to the right of the width that it has."""
    own, high = size(part)
    if isinstance(part, Series):
        spare = width - own
        for number, one in enumerate(part.parts):
            room = size(one)[0] + spare * (number + 1) // len(part.parts) - spare * number // len(part.parts)
            _draw(canvas, one, x, y, room)
            x += room
        return
    middle = x + width // 2
    if isinstance(part, Parallel):
        rails = (x + _RAIL, x + width - _RAIL)
        canvas.line((x, y), (rails[0], y), "ink", 2)
        canvas.line((rails[1], y), (x + width, y), "ink", 2)
        top = y - high // 2
        heights = []
        for one in part.branches:
            tall = size(one)[1]
            heights.append(top + tall // 2)
            _draw(canvas, one, rails[0], heights[-1], rails[1] - rails[0])
            top += tall + _GAP
        for rail in rails:
            canvas.line((rail, min(*heights, y)), (rail, max(*heights, y)), "ink", 2)
            canvas.disc((rail, y), 3, "ink")
        return
    canvas.line((x, y), (x + width, y), "ink", 2)
    if isinstance(part, Resistor):
        canvas.rectangle(middle - BOX // 2, y - 11, BOX, 22, "white")
        canvas.frame(middle - BOX // 2, y - 11, BOX, 22, "ink")
        canvas.text(middle, y, str(part.ohms), align="centre")
    else:
        left, right = middle - SWITCH // 2, middle + SWITCH // 2
        canvas.rectangle(left, y - 2, SWITCH, 5, "white")
        canvas.line((left, y), (right - 1, y if part.closed else y - 14), "ink", 3)
        for contact in (left, right):
            canvas.ring((contact, y), 4, "ink")


class CircuitPlansEnv(AnswerEnv[Circuit]):
    """Work out the resistance of a circuit.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    units = ("\\OMEGA", "\N{GREEK CAPITAL LETTER OMEGA}", "\N{OHM SIGN}", "OHMS", "OHM")
    levels: ClassVar[Mapping[str, CircuitPlanLevel]] = {
        "easy": CircuitPlanLevel(3, 0),
        "medium": CircuitPlanLevel(5, 1),
        "hard": CircuitPlanLevel(8, 3),
    }

    def _drawn(self, rng: random.Random) -> Circuit:
        level: CircuitPlanLevel = self._level
        while True:
            whole = _drawn_part(rng, rng.randint(4, 80), level.resistors, None)
            if whole is None:
                continue
            for _ in range(level.switches):
                whole = _with_switch(rng, whole)
            wide, high = size(whole)
            if wide <= WIDTH - 2 * MARGIN and high <= HEIGHT - 20:
                return Circuit(whole)


def _drawn_part(rng: random.Random, ohms: int, resistors: int, above: type | None) -> Part | None:
    """Return a part of a given resistance, in another arrangement than what it is part of; None if there is none."""
    if resistors == 1:
        return Resistor(ohms)
    kind = rng.choice([one for one in (Series, Parallel) if one is not above])
    if kind is Series:
        if ohms < 2:
            return None
        share = rng.randint(1, ohms - 1)
        split = (share, ohms - share)
    else:
        # 1/a + 1/b = 1/ohms wherever (a - ohms)(b - ohms) = ohms².
        more = [d for d in range(1, ohms + 1) if ohms**2 % d == 0 and ohms + ohms**2 // d <= _MOST_OHMS]
        if not more:
            return None
        d = rng.choice(more)
        split = (ohms + d, ohms + ohms**2 // d)
        if rng.random() < 0.5:
            split = split[::-1]
    left = rng.randint(1, resistors - 1)
    first, second = (_drawn_part(rng, *one, kind) for one in zip(split, (left, resistors - left), strict=True))
    return None if first is None or second is None else kind((first, second))


def _with_switch(rng: random.Random, part: Part) -> Part:
    """Return a part of the same resistance with a switch more somewhere in it."""
    if isinstance(part, (Series, Parallel)) and rng.random() < 0.7:
        inner = list(part[0])
        number = rng.randrange(len(inner))
        inner[number] = _with_switch(rng, inner[number])
        return type(part)(tuple(inner))
    if rng.random() < 0.3:
        return Series((part, Switch(closed=True)))
    dead: list[Part] = [Resistor(rng.randint(2, 99)), Switch(closed=False)]
    rng.shuffle(dead)
    branches: list[Part] = [part, Series(tuple(dead))]
    rng.shuffle(branches)
    return Parallel(tuple(branches))
