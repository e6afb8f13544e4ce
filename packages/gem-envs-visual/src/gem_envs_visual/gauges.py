"""Clocks and gauges to read."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.names import names
from gem_questions.pictures.canvas import Canvas, Point, around

__all__ = [
    "BEGIN",
    "CELL",
    "FOOT",
    "HOUR_HAND",
    "MINUTES",
    "MINUTE_HAND",
    "POINTER",
    "RADIUS",
    "SWEEP",
    "TUBE",
    "Gauges",
    "GaugesEnv",
    "Instrument",
]

WIDTH, HEIGHT = 480, 380
CELL = (160, 190)
"""Width and height of an instrument's place, in pixels."""
RADIUS = 60
MINUTES = 720
"""Minutes on the face of a clock."""
HOUR_HAND, MINUTE_HAND, POINTER = 32, 52, (61, 74)
"""Pixels from the centre to the tip of a hand, and to tip and foot of the pointer of a dial, which runs around it."""
BEGIN, SWEEP = 225, 270
"""Degrees at which a dial begins, clockwise from the top, and those that it spans."""
TUBE, FOOT = 120, 46
"""Pixels of the scale of a tube, and of its lower end below the centre of its place."""
_SCALES = (1, 2, 3, 5, 10, 20, 50)
_NUMBER = "Put the number in \\boxed{}, such as \\boxed{35}."
_TIME = "Put hours and minutes in \\boxed{} without a colon, such as \\boxed{735} or \\boxed{1204}."


class GaugeLevel(NamedTuple):
    """How many instruments there are, and how fine they are."""

    instruments: int
    clock_step: int
    """Minutes."""
    marks: int
    """From one end of a scale to the other."""
    label_every: int
    kinds: tuple[str, ...]


class Instrument(NamedTuple):
    """A clock, a dial or a tube."""

    kind: str
    """``"clock"``, ``"dial"`` or ``"tube"``."""
    name: str
    value: int
    """Minutes after twelve, or marks from the beginning of the scale."""
    scale: int
    """What one mark stands for; 1 for a clock."""


@dataclass(frozen=True)
class Gauges:
    """Instruments, and a question about them."""

    level: GaugeLevel
    instruments: tuple[Instrument, ...]
    asked: tuple[str, ...]
    """The kind of the question, and the instruments that it is about."""

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        return self._asked_and_answered()[0]

    @property
    def answer(self) -> str:
        """A number, or the hours and minutes of a time."""
        return self._asked_and_answered()[1]

    def _asked_and_answered(self) -> tuple[str, str]:
        kind, *about = self.asked
        named = {one.name: one for one in self.instruments}
        values = [named[name].value * named[name].scale for name in about]
        if kind == "time":
            hours, minutes = divmod(values[0], 60)
            return f"What time does the clock {about[0]} show? {_TIME}", f"{hours or 12}{minutes:02}"
        if kind == "value":
            return f"What does {about[0]} show? {_NUMBER}", str(values[0])
        if kind == "later":
            return (
                f"How many minutes does it take until the clock {about[0]} shows what the clock {about[1]} shows now, "
                f"within twelve hours? {_NUMBER}",
                str((values[1] - values[0]) % MINUTES),
            )
        if kind == "difference":
            return f"How far apart are the values of {about[0]} and {about[1]}? {_NUMBER}", str(
                abs(values[0] - values[1])
            )
        return f"What do {about[0]}, {about[1]} and {about[2]} show together? {_NUMBER}", str(sum(values))

    def structure(self) -> object:
        """Return the instruments without names, and the question by places."""
        order = [one.name for one in self.instruments]
        about = [order.index(name) for name in self.asked[1:]]
        return [one._replace(name="") for one in self.instruments], self.asked[0], about

    def guess(self, rng: random.Random) -> str:
        """Return a possible number or time."""
        if self.asked[0] == "time":
            return f"{rng.randint(1, 12)}{5 * rng.randrange(12):02}"
        return str(rng.choice(_SCALES) * rng.randint(1, self.level.marks))

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        wide, high = CELL
        for number, one in enumerate(self.instruments):
            middle = (wide * (number % 3) + wide // 2, high * (number // 3) + 86)
            canvas.text(middle[0], middle[1] + 88, one.name, align="centre")
            if one.kind == "clock":
                _draw_clock(canvas, middle, one)
            elif one.kind == "dial":
                _draw_dial(canvas, middle, one, self.level)
            else:
                _draw_tube(canvas, middle, one, self.level)
        return canvas


def _draw_clock(canvas: Canvas, middle: Point, one: Instrument) -> None:
    canvas.ring(middle, RADIUS, "ink", 2)
    for minute in range(60):
        inner = RADIUS - (9 if minute % 5 == 0 else 5)
        canvas.line(
            around(middle, inner, 6 * minute),
            around(middle, RADIUS - 2, 6 * minute),
            "ink",
            2 if minute % 5 == 0 else 1,
        )
    canvas.text(middle[0], middle[1] - RADIUS - 9, "12", align="centre")
    canvas.line(middle, around(middle, HOUR_HAND, one.value / 2), "blue", 7)
    canvas.line(middle, around(middle, MINUTE_HAND, 6 * (one.value % 60)), "red", 3)
    canvas.disc(middle, 5, "ink")


def _draw_dial(canvas: Canvas, middle: Point, one: Instrument, level: GaugeLevel) -> None:
    canvas.ring(middle, RADIUS, "ink", 2)
    for mark in range(level.marks + 1):
        turn = BEGIN + SWEEP * mark / level.marks
        canvas.line(
            around(middle, RADIUS - _mark_length(mark, level), turn), around(middle, RADIUS - 2, turn), "ink", 2
        )
        if mark % level.label_every == 0:
            x, y = around(middle, RADIUS - 27, turn)
            canvas.text(x, y, str(mark * one.scale), align="centre")
    turn = BEGIN + SWEEP * one.value / level.marks
    tip, foot = POINTER
    canvas.polygon([around(middle, tip, turn), around(middle, foot, turn - 6), around(middle, foot, turn + 6)], "red")


def _draw_tube(canvas: Canvas, middle: Point, one: Instrument, level: GaugeLevel) -> None:
    x, bottom = middle[0], middle[1] + FOOT
    unit = TUBE // level.marks
    canvas.frame(x - 8, bottom - TUBE - 6, 16, TUBE + 16, "ink", 2)
    canvas.rectangle(x - 6, bottom - unit * one.value, 12, unit * one.value + 8, "red")
    canvas.disc((x, bottom + 14), 11, "red")
    for mark in range(level.marks + 1):
        y = bottom - unit * mark
        canvas.line((x + 10, y), (x + 8 + _mark_length(mark, level), y), "ink", 1)
        if mark % level.label_every == 0:
            canvas.text(x + 28, y, str(mark * one.scale))


def _mark_length(mark: int, level: GaugeLevel) -> int:
    return 15 if mark % level.label_every == 0 else 10 if mark % 5 == 0 else 6


class GaugesEnv(AnswerEnv[Gauges]):
    """Read clocks, dials and tubes, and reckon with what they show.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    units = ("MINUTES", "MINUTE", "MIN")
    levels: ClassVar[Mapping[str, GaugeLevel]] = {
        "easy": GaugeLevel(2, 5, 10, 5, ("time", "value")),
        "medium": GaugeLevel(4, 1, 20, 5, ("time", "value", "difference")),
        "hard": GaugeLevel(6, 1, 30, 10, ("later", "difference", "total")),
    }

    def _number(self, answer: str) -> str:
        # A time may have its colon; minutes until a time may not, for 9:54 of them would be 594.
        return super()._number(answer.replace(":", "", 1) if self._task.asked[0] == "time" else answer)

    def _drawn(self, rng: random.Random) -> Gauges:
        level: GaugeLevel = self._level
        while True:
            kinds = [rng.choice(("clock", "dial", "tube")) for _ in range(level.instruments)]
            instruments = tuple(
                _clock(rng, name, level) if kind == "clock" else _scale(rng, kind, name, level)
                for kind, name in zip(kinds, names(rng, level.instruments), strict=True)
            )
            clocks = [one.name for one in instruments if one.kind == "clock"]
            others = [one.name for one in instruments if one.kind != "clock"]
            kind = rng.choice(level.kinds)
            among = clocks if kind in ("time", "later") else others
            count = {"time": 1, "later": 2, "value": 1, "difference": 2, "total": 3}[kind]
            if len(among) >= count:
                asked = (kind, *rng.sample(among, count))
                gauges = Gauges(level, instruments, asked)
                if gauges.answer != "0":
                    return gauges


def _clock(rng: random.Random, name: str, level: GaugeLevel) -> Instrument:
    return Instrument("clock", name, level.clock_step * rng.randrange(MINUTES // level.clock_step), 1)


def _scale(rng: random.Random, kind: str, name: str, level: GaugeLevel) -> Instrument:
    # Numbers of three digits would touch the marks of a dial.
    fitting = [scale for scale in _SCALES if kind == "tube" or scale * level.marks < 1000]
    return Instrument(kind, name, rng.randint(1, level.marks - 1), rng.choice(fitting))
