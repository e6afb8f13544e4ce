"""Charts to read: bars, lines and pies, with names and scales that stand in the picture alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.names import name_like, names
from gem_questions.pictures.canvas import Canvas, around, text_width

__all__ = ["CENTRE", "RADIUS", "SERIES_COLOURS", "TOP", "Chart", "ChartsEnv"]

WIDTH, HEIGHT = 480, 340
LEFT, TOP, RIGHT, BOTTOM = 76, 50, 470, 302
"""The sides of the field in which bars and lines are drawn, in pixels."""
CENTRE, RADIUS = (180, 190), 120
"""Of a pie, in pixels."""
SERIES_COLOURS = ("blue", "orange", "green", "red", "sky", "pink", "yellow")
_SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 50)
_ORDINALS = ("highest", "second highest", "third highest", "fourth highest")


class ChartLevel(NamedTuple):
    """How full the charts of a level are."""

    categories: int
    series: int
    steps: int
    """Values that the axis has room for."""
    line_every: int
    label_every: int
    """Steps from one line, and from one number, to the next on the axis."""
    slices: int
    pie_steps: int
    pie_turned: bool
    """Whether the first slice begins anywhere, not at the top."""
    kinds: tuple[str, ...]
    pie_kinds: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """A chart, and a question about it."""

    kind: str
    """``"bars"``, ``"lines"`` or ``"pie"``."""
    level: ChartLevel
    scale: int
    """What one step of the axis, or from mark to mark on the rim of a pie, stands for."""
    categories: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    """For each series the value of each category, in steps; a pie has one series."""
    turned: int
    """Steps of the rim by which a pie is turned."""
    asked: tuple[str, ...]
    """The kind of the question, and the series, categories and rank that it is about."""

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        return self._asked_and_answered()[0]

    @property
    def answer(self) -> str:
        """A number or a name; empty if it is not clear."""
        return self._asked_and_answered()[1]

    def _asked_and_answered(self) -> tuple[str, str]:
        kind, *about = self.asked
        table = {
            series: dict(zip(self.categories, values, strict=True))
            for series, values in zip(self.series, self.values, strict=True)
        }
        row = table[about[0]]
        number, name = (
            "Put the number in \\boxed{}, such as \\boxed{40}.",
            "Put the name of that category in \\boxed{}, such as \\boxed{KAP}.",
        )
        if self.kind == "pie":
            number = f"MARK IS tells how much goes from one mark of the pie to the next. {number}"
        if kind == "value":
            return f"How much is {about[0]} at {about[1]}? {number}", str(self.scale * row[about[1]])
        if kind == "rank":
            order = sorted(row, key=row.__getitem__, reverse=True)
            return f"Where is {about[0]} {about[1]}? {name}", order[_ORDINALS.index(about[1])]
        if kind == "difference":
            apart = abs(row[about[1]] - row[about[2]])
            text = f"By how much does {about[0]} differ between {about[1]} and {about[2]}?"
            return f"{text} {number}", str(self.scale * apart)
        if kind == "total":
            text = f"How much is {about[0]} at {about[1]}, {about[2]} and {about[3]} together?"
            return f"{text} {number}", str(self.scale * sum(row[one] for one in about[1:]))
        other = table[about[1]]
        gaps = sorted(((abs(row[one] - other[one]), one) for one in row), reverse=True)
        clear = gaps[0][0] > gaps[1][0]
        return f"Where do {about[0]} and {about[1]} lie furthest apart? {name}", gaps[0][1] if clear else ""

    def structure(self) -> object:
        """Return the chart and the kind of question without names."""
        about = [
            *(self.series.index(name) for name in self.asked if name in self.series),
            *(self.categories.index(name) for name in self.asked if name in self.categories),
        ]
        return self.kind, self.scale, self.values, self.turned, self.asked[0], about

    def guess(self, rng: random.Random) -> str:
        """Return a name or a number, whichever is asked for."""
        return str(rng.choice(_SCALES) * rng.randint(1, 10)) if self.answer.isdecimal() else name_like(rng)

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        if self.kind == "pie":
            self._draw_pie(canvas)
        else:
            self._draw_axes(canvas)
            (self._draw_bars if self.kind == "bars" else self._draw_lines)(canvas)
        return canvas

    def _draw_axes(self, canvas: Canvas) -> None:
        level = self.level
        unit = (BOTTOM - TOP) // level.steps
        for step in range(0, level.steps + 1, level.line_every):
            canvas.line((LEFT, BOTTOM - unit * step), (RIGHT, BOTTOM - unit * step), "faint", 1)
        for step in range(0, level.steps + 1, level.label_every):
            y = BOTTOM - unit * step
            canvas.line((LEFT - 5, y), (LEFT, y), "ink", 2)
            canvas.text(LEFT - 10, y, str(step * self.scale), align="right")
        canvas.line((LEFT, TOP), (LEFT, BOTTOM), "ink", 2)
        canvas.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "ink", 2)
        for number, name in enumerate(self.categories):
            canvas.text(self._middle(number), BOTTOM + 20, name, align="centre")
        x = LEFT
        for name, shade in zip(self.series, SERIES_COLOURS, strict=False):
            canvas.rectangle(x, 17, 14, 14, shade)
            canvas.text(x + 22, 24, name)
            x += 22 + text_width(name) + 30

    def _middle(self, number: int) -> int:
        room = (RIGHT - LEFT) // len(self.categories)
        return LEFT + room * number + room // 2

    def _draw_bars(self, canvas: Canvas) -> None:
        unit = (BOTTOM - TOP) // self.level.steps
        wide = 34 // len(self.series) if len(self.series) > 1 else 30
        for number, (values, shade) in enumerate(zip(self.values, SERIES_COLOURS, strict=False)):
            for category, value in enumerate(values):
                left = self._middle(category) - wide * len(self.series) // 2 + wide * number
                canvas.rectangle(left, BOTTOM - unit * value, wide - 1, unit * value - 1, shade)

    def _draw_lines(self, canvas: Canvas) -> None:
        unit = (BOTTOM - TOP) // self.level.steps
        for values, shade in zip(self.values, SERIES_COLOURS, strict=False):
            points = [(self._middle(number), BOTTOM - unit * value) for number, value in enumerate(values)]
            for start, end in pairwise(points):
                canvas.line(start, end, shade, 3)
        for values, shade in zip(self.values, SERIES_COLOURS, strict=False):
            for number, value in enumerate(values):
                canvas.disc((self._middle(number), BOTTOM - unit * value), 5, shade)

    def _draw_pie(self, canvas: Canvas) -> None:
        unit = 360 / self.level.pie_steps
        begin = self.turned
        for name, value, shade in zip(self.categories, self.values[0], SERIES_COLOURS, strict=False):
            turns = [unit * (begin + value * part / 32) for part in range(33)]
            canvas.polygon([CENTRE, *(around(CENTRE, RADIUS, turn) for turn in turns)], shade)
            y = 90 + 40 * self.categories.index(name)
            canvas.rectangle(350, y - 9, 18, 18, shade)
            canvas.text(378, y, name)
            begin += value
        begin = self.turned
        for value in self.values[0]:
            canvas.line(CENTRE, around(CENTRE, RADIUS, unit * begin), "white", 2)
            begin += value
        for step in range(self.level.pie_steps):
            long = 11 if step % 5 == 0 else 6
            canvas.line(
                around(CENTRE, RADIUS + 5, unit * step), around(CENTRE, RADIUS + 5 + long, unit * step), "ink", 2
            )
        canvas.text(CENTRE[0], 24, self.series[0], align="centre")
        canvas.text(350, 310, f"MARK IS {self.scale}")


class ChartsEnv(AnswerEnv[Chart]):
    """Read a value, a rank, a difference or a sum off a bar chart, a line chart or a pie.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    levels: ClassVar[Mapping[str, ChartLevel]] = {
        "easy": ChartLevel(4, 1, 9, 1, 1, 4, 10, False, ("value", "rank"), ("value", "rank")),
        "medium": ChartLevel(
            5, 2, 12, 1, 2, 5, 20, False, ("value", "rank", "difference", "gap"), ("rank", "difference")
        ),
        "hard": ChartLevel(
            6, 3, 18, 2, 4, 5, 20, True, ("rank", "difference", "total", "gap"), ("difference", "total")
        ),
    }

    def _drawn(self, rng: random.Random) -> Chart:
        level: ChartLevel = self._level
        kind = rng.choice(("bars", "bars", "lines", "lines", "pie"))
        while True:
            count = level.slices if kind == "pie" else level.categories
            of_series = 1 if kind == "pie" else level.series
            found = names(rng, count + of_series)
            categories, series = tuple(found[:count]), tuple(found[count:])
            if kind == "pie":
                values: tuple[tuple[int, ...], ...] = (_parts(rng, level.pie_steps, count),)
            else:
                values = tuple(tuple(rng.sample(range(1, level.steps + 1), count)) for _ in series)
            if any(len(set(column)) < len(column) for column in zip(*values, strict=True)):
                continue  # one line would hide another
            scale = rng.choice(_SCALES)
            turned = rng.randrange(level.pie_steps) if kind == "pie" and level.pie_turned else 0
            asked = _asked(rng, rng.choice(level.pie_kinds if kind == "pie" else level.kinds), categories, series)
            chart = Chart(kind, level, scale, categories, series, values, turned, asked)
            if chart.answer:
                return chart


def _parts(rng: random.Random, total: int, count: int) -> tuple[int, ...]:
    """Return different positive numbers with a given sum."""
    while True:
        cuts = [0, *sorted(rng.sample(range(1, total), count - 1)), total]
        parts = tuple(right - left for left, right in pairwise(cuts))
        if len(set(parts)) == count:
            return parts


def _asked(rng: random.Random, kind: str, categories: tuple[str, ...], series: tuple[str, ...]) -> tuple[str, ...]:
    one = rng.choice(series)
    if kind == "rank":
        return kind, one, rng.choice(_ORDINALS[: len(categories) - 1])
    if kind == "gap":
        return kind, *rng.sample(series, 2)
    return kind, one, *rng.sample(categories, {"value": 1, "difference": 2, "total": 3}[kind])
