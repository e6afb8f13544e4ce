"""What a figure shows, without how it is drawn: :class:`RunFigure`, and the same numbers as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from gem_eval.cli.episode_files import no_formula

__all__ = ["FigurePoint", "FigureSeries", "RunFigure", "to_csv"]


@dataclass(frozen=True)
class FigurePoint:
    """One value with its 95 % interval."""

    x: float
    y: float
    low: float | None
    """None where the data give no interval, like ``high``."""
    high: float | None
    count: int
    """Episodes, or turns, that the value is over."""
    unknown: int = 0
    """Further ones whose outcome is unknown, and which are in no mean."""
    about: str = ""
    """The point in words, with its counts."""


@dataclass(frozen=True)
class FigureSeries:
    """The points of one name, in order of ``x``."""

    name: str
    points: tuple[FigurePoint, ...]


@dataclass(frozen=True)
class RunFigure:
    """A diagram with one or more series."""

    kind: str
    """What it shows, such as ``success-by-turns``; the same for each environment."""
    title: str
    env: str
    """The environment that its episodes are of."""
    x_label: str
    y_label: str
    caption: str
    """What a reader must know: what a point pools, what the bands are, what is left out."""
    series: tuple[FigureSeries, ...]
    is_share: bool = True
    """Whether ``y`` lies between 0 and 1 and is shown in per cent."""
    joined: bool = True
    """Whether lines join the points, with bands for intervals; otherwise each point has a bar."""
    unit: str = "episodes"
    """What points count: ``episodes`` or ``turns``."""
    diagonal: bool = False
    """Whether the line x = y is drawn."""

    @property
    def file_name(self) -> str:
        """A name for its files, without an ending: letters, digits and hyphens."""
        return f"{self.kind}-{re.sub(r'[^A-Za-z0-9]+', '-', self.env).strip('-')[:60]}".rstrip("-")


def to_csv(figures: Iterable[RunFigure]) -> str:
    """Return the points of figures as CSV, one a line; texts that a spreadsheet would run get an apostrophe."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["figure", "environment", "series", "x", "y", "low", "high", "count", "of", "unknown"])
    for figure in figures:
        for series in figure.series:
            for point in series.points:
                values = (point.x, point.y, point.low, point.high, point.count, figure.unit, point.unknown)
                lines.writerow([figure.kind, no_formula(figure.env), no_formula(series.name), *values])
    return file.getvalue()
