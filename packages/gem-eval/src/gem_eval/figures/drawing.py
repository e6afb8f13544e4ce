"""Figures as SVG, drawn once for the page and for papers.

The page makes elements of :func:`drawn` and gives their classes its own colours, light or dark; :func:`to_svg` writes
the same elements as a file that needs nothing beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from gem_cli.terminal_text import printable
from gem_eval.figures.figure import FigurePoint, FigureSeries, RunFigure
from gem_eval.figures.ticks import ticks

__all__ = ["drawn", "print_style", "to_svg"]

Node = tuple[str, dict[str, str], list[Any]]
"""Tag, attributes, and children, which are nodes or text."""

_WIDTH, _PLOT_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 520.0, 250.0, 56.0, 14.0, 12.0, 44.0  # pixels
_LEGEND_LINE = 18.0
_COLOURS = ("#0b6b66", "#8a5300", "#7a4fa3", "#a3261c", "#2b5fa8", "#5c6b1e")
"""Of series, each with a contrast of at least 4.5 to white; further ones begin again with another dash."""
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LONGEST_NAME = 70

_STYLE = """
text { font: 12px "DejaVu Sans", "Liberation Sans", Arial, Helvetica, sans-serif; fill: #333 }
.axis { stroke: #555 } .grid { stroke: #ddd } .diagonal { stroke: #999; stroke-dasharray: 4 3 }
.line { fill: none; stroke-width: 1.8 } .band { opacity: .16 } .bar { stroke-width: 1.4 }
"""


def drawn(figure: RunFigure) -> Node:
    """Return the figure as a tree of SVG elements."""
    shown = [series for series in figure.series if series.points]
    height = _PLOT_HEIGHT + _LEGEND_LINE * len(shown) + (4 if shown else 0)
    plot = _Plot(figure, shown)
    children: list[Any] = list(plot.axes())
    for number, each in enumerate(shown):
        children += plot.series(number, each)
        children += _legend(number, each, figure.unit, _PLOT_HEIGHT + _LEGEND_LINE * number)
    name = _text(f"{figure.title}, {figure.env}")
    attributes = {"class": "figure", "viewBox": f"0 0 {_WIDTH:g} {height:g}", "role": "img", "aria-label": name}
    return ("svg", attributes, children)


def print_style() -> str:
    """Return the style sheet of a figure in the colours of print."""
    return _STYLE + "".join(
        f".s{number} .line, .s{number} .bar {{ stroke: {colour} }}\n"
        f".s{number} .dot, .s{number} .band {{ fill: {colour} }}\n"
        for number, colour in enumerate(_COLOURS)
    )


def to_svg(figure: RunFigure, *, alone: bool = True) -> str:
    """Return the figure as an SVG file, in the colours of print.

    Args:
        figure: what to draw.
        alone: whether the file has the style sheet, or the page that it becomes a part of.
    """
    tag, attributes, children = drawn(figure)
    _, _, width, height = attributes["viewBox"].split()
    root = Xml.Element(tag, {**attributes, "xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height})
    if alone:
        Xml.SubElement(root, "style").text = print_style()
    Xml.SubElement(root, "rect", {"width": width, "height": height, "fill": "#fff"})
    for child in children:
        _append(root, child)
    return Xml.tostring(root, encoding="unicode") + "\n"


def _append(parent: Xml.Element, node: Node) -> None:
    tag, attributes, children = node
    # What a pointer shows on the page is no part of a picture.
    element = Xml.SubElement(parent, tag, {name: value for name, value in attributes.items() if name != "data-tip"})
    for child in children:
        if isinstance(child, str):
            element.text = child
        else:
            _append(element, child)


class _Plot:
    """Places values of a figure."""

    def __init__(self, figure: RunFigure, shown: Sequence[FigureSeries]) -> None:
        self._figure = figure
        points = [point for series in shown for point in series.points]
        xs = [point.x for point in points] or [0.0, 1.0]
        ys = [end for point in points for end in (point.y, point.low, point.high) if end is not None] or [0.0, 1.0]
        self._x = _spread(min(xs), max(xs))
        self._y = (0.0, 1.0) if figure.is_share else _spread(min(0.0, *ys), max(ys))

    def axes(self) -> Iterator[Node]:
        """Yield grid, axes, ticks and labels."""
        figure, bottom, right = self._figure, _PLOT_HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for value in ticks(*self._y):
            y = self._at_y(value)
            yield _line("grid", _LEFT, y, right, y)
            yield _label(f"{100 * value:g} %" if figure.is_share else f"{value:g}", _LEFT - 6, y + 4, "end")
        for value in ticks(*self._x):
            yield _label(f"{value:g}", self._at_x(value), bottom + 16, "middle")
        if figure.diagonal:
            low, high = max(0.0, self._x[0]), min(1.0, self._x[1])
            yield _line("diagonal", self._at_x(low), self._at_y(low), self._at_x(high), self._at_y(high))
        yield _line("axis", _LEFT, bottom, right, bottom)
        yield _label(figure.x_label, (_LEFT + right) / 2, bottom + 36, "middle")
        turned = {"transform": f"rotate(-90 14 {(_TOP + bottom) / 2:g})", "class": "y-label"}
        yield _label(figure.y_label, 14, (_TOP + bottom) / 2, "middle", turned)

    def series(self, number: int, series: FigureSeries) -> Iterator[Node]:
        """Yield the marks of a series: band and line, or bars, and a dot for each point."""
        marks: list[Any] = []
        if self._figure.joined:
            for run in _with_interval(series.points):
                edge = [(point.x, point.high or 0.0) for point in run]
                edge += [(point.x, point.low or 0.0) for point in reversed(run)]
                marks.append(("polygon", {"class": "band", "points": self._path(edge)}, []))
            path = self._path([(point.x, point.y) for point in series.points])
            marks.append(("polyline", {"class": "line", "points": path, **_dash(number)}, []))
        else:
            for point in series.points:
                if point.low is not None and point.high is not None:
                    x = self._at_x(point.x)
                    marks.append(_line("bar", x, self._at_y(point.low), x, self._at_y(point.high)))
        for point in series.points:
            place = {"cx": f"{self._at_x(point.x):.1f}", "cy": f"{self._at_y(point.y):.1f}", "r": "3"}
            tip = _text(f"{series.name}: {point.about}", 400)
            marks.append(("circle", {"class": "dot", "data-tip": tip, **place}, []))
        yield ("g", {"class": f"s{number % len(_COLOURS)}"}, marks)

    def _path(self, places: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{self._at_x(x):.1f},{self._at_y(y):.1f}" for x, y in places)

    def _at_x(self, value: float) -> float:
        low, high = self._x
        return _LEFT + 8 + (value - low) / (high - low) * (_WIDTH - _RIGHT - _LEFT - 16)

    def _at_y(self, value: float) -> float:
        low, high = self._y
        return _PLOT_HEIGHT - _BOTTOM - (value - low) / (high - low) * (_PLOT_HEIGHT - _BOTTOM - _TOP)


def _with_interval(points: Sequence[FigurePoint]) -> Iterator[list[FigurePoint]]:
    """Yield the stretches of points that have intervals."""
    stretch: list[FigurePoint] = []
    for point in points:
        if point.low is not None and point.high is not None:
            stretch.append(point)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _spread(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _legend(number: int, series: FigureSeries, unit: str, y: float) -> Iterator[Node]:
    middle = y + 8
    marks: list[Any] = [
        _line("line", _LEFT, middle, _LEFT + 24, middle, _dash(number)),
        ("circle", {"class": "dot", "cx": f"{_LEFT + 12:g}", "cy": f"{middle:g}", "r": "3"}, []),
    ]
    yield ("g", {"class": f"s{number % len(_COLOURS)}"}, marks)
    total, unknown = (sum(getattr(point, name) for point in series.points) for name in ("count", "unknown"))
    about = f"{total:,} {unit}" + (f" + {unknown:,} unknown" if unknown else "")
    yield _label(f"{_text(series.name, _LONGEST_NAME)}  ({about})", _LEFT + 32, middle + 4, "start")


def _dash(number: int) -> dict[str, str]:
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    return {"stroke-dasharray": dash} if dash else {}


def _line(name: str, x1: float, y1: float, x2: float, y2: float, more: dict[str, str] | None = None) -> Node:
    places = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return ("line", {"class": name, **{end: f"{place:.1f}" for end, place in places.items()}, **(more or {})}, [])


def _label(text: str, x: float, y: float, anchor: str, more: dict[str, str] | None = None) -> Node:
    return ("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, **(more or {})}, [_text(text, 120)])


def _text(text: str, longest: int = 120) -> str:
    """Return a text that any reader of XML takes, on one line."""
    line = printable(" ".join(text.encode("utf-8", "replace").decode().split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
