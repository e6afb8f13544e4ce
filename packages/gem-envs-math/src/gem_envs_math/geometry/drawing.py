"""Drawing a figure as a small PNG.

The bytes are a function of the figure and of the installed Pillow, without files, system fonts or
random numbers. Labels cover neither each other nor a line.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

__all__ = ["Box", "FigureLayout", "draw", "lay_out"]

WIDTH, HEIGHT = 420, 340
"""Maximum side of the picture, in pixels."""

_MARGIN = 47.0
_ROOM = 2
"""Factor by which everything is drawn larger and then reduced, which makes the lines smooth."""

_FONT = 15
_SPAN = 24.0
"""Pixels between a side and its dimension line."""

_INK, _FAINT, _SHADE, _PAPER = 20, 205, 222, 255
_GREYS = 16
_NEAREST_GREY = bytes(round(value * (_GREYS - 1) / 255) for value in range(256))
_GREY_PALETTE = bytes(grey * 255 // (_GREYS - 1) for grey in range(_GREYS) for _ in "RGB")

Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


@dataclass
class FigureLayout:
    """The places of all parts, in pixels, y downwards."""

    size: tuple[int, int]
    spots: dict[str, Spot]
    unit: float
    lines: list[tuple[Spot, Spot]] = field(default_factory=list)
    labels: list[tuple[str, Box]] = field(default_factory=list)
    measures: list[tuple[Spot, Spot]] = field(default_factory=list)
    """Dimension lines and their ends."""
    arcs: list[tuple[Spot, float, float, float]] = field(default_factory=list)
    """Centre, radius, and the angles from and to in degrees, clockwise from the right."""


def draw(figure: Mapping[str, Any]) -> bytes:
    """Return the picture of a figure as a PNG."""
    from PIL import Image, ImageDraw

    layout = lay_out(figure)
    width, height = layout.size
    image = Image.new("L", (width * _ROOM, height * _ROOM), _PAPER)
    pen = ImageDraw.Draw(image)
    _draw_shapes(pen, figure, layout)
    font = _font(_FONT * _ROOM)
    for text, box in layout.labels:
        pen.text((box[0] * _ROOM, box[1] * _ROOM), text, fill=_INK, font=font, anchor="lt")
    greys = image.resize((width, height), Image.Resampling.BOX).tobytes().translate(_NEAREST_GREY)
    small = Image.frombytes("P", (width, height), greys)
    small.putpalette(_GREY_PALETTE)
    buffer = io.BytesIO()
    small.save(buffer, "PNG")
    return buffer.getvalue()


def _draw_shapes(pen: ImageDraw.ImageDraw, figure: Mapping[str, Any], layout: FigureLayout) -> None:
    spots = {name: (x * _ROOM, y * _ROOM) for name, (x, y) in layout.spots.items()}
    wide = 2 * _ROOM
    for path in figure.get("shaded", ()):
        pen.polygon([spots[name] for name in path], fill=_SHADE)
    if "grid" in figure:
        _draw_grid(pen, figure["grid"], layout)
    for centre, radius in figure.get("circles", ()):
        pen.ellipse(_around(spots[centre], radius * layout.unit * _ROOM), outline=_INK, width=wide)
    for centre, half_wide, half_high in figure.get("ellipses", ()):
        box = _around(spots[centre], half_wide * layout.unit * _ROOM, half_high * layout.unit * _ROOM)
        pen.arc(box, 0, 180, fill=_INK, width=wide)
        for start in range(180, 360, 12):
            pen.arc(box, start, start + 6, fill=_INK, width=_ROOM)
    for a, b in figure.get("segments", ()):
        pen.line([spots[a], spots[b]], fill=_INK, width=wide)
    for a, b in figure.get("dashed", ()):
        _dash(pen, spots[a], spots[b])
    for a, b in layout.measures:
        pen.line([(value[0] * _ROOM, value[1] * _ROOM) for value in (a, b)], fill=_INK, width=_ROOM)
    for centre, radius, begin, end in layout.arcs:
        pen.arc(_around((centre[0] * _ROOM, centre[1] * _ROOM), radius * _ROOM), begin, end, fill=_INK, width=_ROOM)
    for arm, vertex, other in figure.get("right", ()):
        corner, step = spots[vertex], 11.0 * _ROOM
        (ax, ay), (bx, by) = _direction(corner, spots[arm]), _direction(corner, spots[other])
        x, y = corner
        square = [
            (x + step * ax, y + step * ay),
            (x + step * (ax + bx), y + step * (ay + by)),
            (x + step * bx, y + step * by),
        ]
        pen.line(square, fill=_INK, width=_ROOM)
    for name in figure["named"]:
        pen.ellipse(_around(spots[name], 2.5 * _ROOM), fill=_INK)


def _draw_grid(pen: ImageDraw.ImageDraw, grid: list[int], layout: FigureLayout) -> None:
    low_x, low_y, high_x, high_y = grid
    x0, y0 = layout.spots["_origin"]

    def spot(x: float, y: float) -> Spot:
        return (x0 + x * layout.unit) * _ROOM, (y0 - y * layout.unit) * _ROOM

    for x in range(low_x, high_x + 1):
        pen.line([spot(x, low_y), spot(x, high_y)], fill=_INK if x == 0 else _FAINT, width=_ROOM)
    for y in range(low_y, high_y + 1):
        pen.line([spot(low_x, y), spot(high_x, y)], fill=_INK if y == 0 else _FAINT, width=_ROOM)


def _dash(pen: ImageDraw.ImageDraw, a: Spot, b: Spot) -> None:
    length = math.dist(a, b)
    pieces = max(1, round(length / (12 * _ROOM)))
    for piece in range(pieces):
        begin, end = piece / pieces, (piece + 0.55) / pieces
        pen.line(
            [(a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share) for share in (begin, end)],
            fill=_INK,
            width=_ROOM,
        )


def _around(spot: Spot, wide: float, high: float | None = None) -> Box:
    high = wide if high is None else high
    return spot[0] - wide, spot[1] - high, spot[0] + wide, spot[1] + high


def _direction(a: Spot, b: Spot) -> Spot:
    length = math.dist(a, b) or 1.0
    return (b[0] - a[0]) / length, (b[1] - a[1]) / length


@lru_cache(maxsize=4)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


@lru_cache(maxsize=4096)
def _text_size(text: str) -> Spot:
    left, top, right, bottom = _font(_FONT * _ROOM).getbbox(text, anchor="lt")
    return (right - left) / _ROOM, (bottom - top) / _ROOM


def lay_out(figure: Mapping[str, Any]) -> FigureLayout:
    """Scale the figure into the picture and find a place for every label."""
    points = {name: (float(x), float(y)) for name, (x, y) in figure["points"].items()}
    extent = list(points.values())
    for centre, radius in figure.get("circles", ()):
        (x, y) = points[centre]
        extent += [(x - radius, y - radius), (x + radius, y + radius)]
    for centre, wide, high in figure.get("ellipses", ()):
        (x, y) = points[centre]
        extent += [(x - wide, y - high), (x + wide, y + high)]
    if "grid" in figure:
        low_x, low_y, high_x, high_y = figure["grid"]
        extent += [(low_x, low_y), (high_x, high_y)]
    left, right = min(x for x, _ in extent), max(x for x, _ in extent)
    bottom, top = min(y for _, y in extent), max(y for _, y in extent)
    unit = min((WIDTH - 2 * _MARGIN) / max(right - left, 1e-9), (HEIGHT - 2 * _MARGIN) / max(top - bottom, 1e-9))
    size = (
        math.ceil((right - left) * unit + 2 * _MARGIN - 1e-6),
        math.ceil((top - bottom) * unit + 2 * _MARGIN - 1e-6),
    )
    spots = {name: (_MARGIN + (x - left) * unit, _MARGIN + (top - y) * unit) for name, (x, y) in points.items()}
    spots["_origin"] = (_MARGIN - left * unit, _MARGIN + top * unit)
    layout = FigureLayout(size, spots, unit)
    for a, b in (*figure.get("segments", ()), *figure.get("dashed", ())):
        layout.lines.append((spots[a], spots[b]))
    for centre, radius in figure.get("circles", ()):
        layout.lines += _polygonal(spots[centre], radius * unit, radius * unit)
    for centre, wide, high in figure.get("ellipses", ()):
        layout.lines += _polygonal(spots[centre], wide * unit, high * unit)
    _place_labels(figure, layout)
    return layout


def _polygonal(centre: Spot, wide: float, high: float) -> list[tuple[Spot, Spot]]:
    turns = [math.radians(15 * step) for step in range(25)]
    rim = [(centre[0] + wide * math.cos(turn), centre[1] + high * math.sin(turn)) for turn in turns]
    return list(pairwise(rim))


def _place_labels(figure: Mapping[str, Any], layout: FigureLayout) -> None:
    spots = layout.spots
    seen = [spots[name] for name in figure["points"]]
    middle = (sum(x for x, _ in seen) / len(seen), sum(y for _, y in seen) / len(seen))
    if "grid" in figure:
        _label_axes(figure["grid"], layout)
    for a, b, label in figure.get("spans", ()):
        _place_span(layout, spots[a], spots[b], middle, label)
    for arm, vertex, other, label in figure.get("angles", ()):
        _place_angle(layout, spots[arm], spots[vertex], spots[other], label)
    for a, b, label in figure.get("lengths", ()):
        (ax, ay), (bx, by) = spots[a], spots[b]
        dx, dy = _direction((ax, ay), (bx, by))
        outward = _outward((ax, ay), (bx, by), middle)
        wide, high = _text_size(label)
        reach = (abs(dy) * wide + abs(dx) * high) / 2 + 5
        candidates = [
            (ax + (bx - ax) * share - dy * side * reach * far, ay + (by - ay) * share + dx * side * reach * far)
            for far in (1.0, 1.35)
            for share in (0.5, 0.42, 0.58, 0.34, 0.66, 0.25, 0.75)
            for side in (outward, -outward)
        ]
        _place(layout, label, candidates)
    for name in figure["named"]:
        x, y = spots[name]
        away = math.atan2(y - middle[1], x - middle[0])
        candidates = [
            (x + far * math.cos(away + turn), y + far * math.sin(away + turn))
            for far in (14.0, 18.0, 23.0)
            for turn in (0.0, 0.5, -0.5, 1.0, -1.0, 1.6, -1.6, 2.3, -2.3, math.pi)
        ]
        _place(layout, name, candidates)


def _outward(a: Spot, b: Spot, middle: Spot) -> float:
    """Return the side of a segment that faces away from the middle of the figure."""
    dx, dy = _direction(a, b)
    return 1.0 if -dy * ((a[0] + b[0]) / 2 - middle[0]) + dx * ((a[1] + b[1]) / 2 - middle[1]) >= 0 else -1.0


def _place_span(layout: FigureLayout, a: Spot, b: Spot, middle: Spot, label: str) -> None:
    dx, dy = _direction(a, b)
    side = _outward(a, b, middle)

    def beside(spot: Spot, far: float) -> Spot:
        return spot[0] - dy * side * far, spot[1] + dx * side * far

    lines = [
        (beside(a, _SPAN), beside(b, _SPAN)),
        *((beside(end, _SPAN - 4), beside(end, _SPAN + 4)) for end in (a, b)),
    ]
    layout.measures += lines
    layout.lines += lines
    wide, high = _text_size(label)
    far = _SPAN + (abs(dy) * wide + abs(dx) * high) / 2 + 4
    centre = beside(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), far)
    _place(layout, label, [centre])


def _label_axes(grid: list[int], layout: FigureLayout) -> None:
    low_x, low_y, high_x, high_y = grid
    x0, y0 = layout.spots["_origin"]
    bottom, left = y0 - low_y * layout.unit, x0 + low_x * layout.unit
    for x in range(low_x, high_x + 1):
        if x % 2 == 0:
            _put(layout, str(x), (x0 + x * layout.unit, bottom + 13))
    for y in range(low_y, high_y + 1):
        if y % 2 == 0:
            _put(layout, str(y), (left - 14, y0 - y * layout.unit))


def _place_angle(layout: FigureLayout, arm: Spot, vertex: Spot, other: Spot, label: str) -> None:
    first = math.atan2(arm[1] - vertex[1], arm[0] - vertex[0])
    turn = (math.atan2(other[1] - vertex[1], other[0] - vertex[0]) - first) % (2 * math.pi)
    if turn > math.pi:
        first, turn = first + turn, 2 * math.pi - turn
    shorter = min(math.dist(vertex, arm), math.dist(vertex, other))
    radius = min(26.0 if turn > 0.6 else 36.0, 0.45 * shorter)
    layout.arcs.append((vertex, radius, math.degrees(first), math.degrees(first + turn)))
    wide, high = _text_size(label)
    halfway = first + turn / 2
    reach = (abs(math.cos(halfway)) * wide + abs(math.sin(halfway)) * high) / 2
    candidates = [
        (vertex[0] + far * math.cos(halfway + sway), vertex[1] + far * math.sin(halfway + sway))
        for step in range(12)
        for far in (radius + reach + 4 + 6 * step,)
        for sway in (0.0, turn / 8, -turn / 8)
    ]
    # A narrow angle has its label outside, on the other side of the vertex.
    candidates += [
        (vertex[0] - far * math.cos(halfway + sway), vertex[1] - far * math.sin(halfway + sway))
        for far in (reach + 10, reach + 20)
        for sway in (0.0, 0.6, -0.6)
    ]
    _place(layout, label, candidates)


def _put(layout: FigureLayout, text: str, centre: Spot) -> None:
    layout.labels.append((text, _box(text, centre)))


def _box(text: str, centre: Spot) -> Box:
    wide, high = _text_size(text)
    return centre[0] - wide / 2, centre[1] - high / 2, centre[0] + wide / 2, centre[1] + high / 2


def _place(layout: FigureLayout, text: str, candidates: list[Spot]) -> None:
    """Put a label at the first candidate that covers nothing, or else at the one that covers least."""
    best, least = candidates[0], math.inf
    for order, spot in enumerate(candidates):
        cost = _covered(layout, _box(text, spot))
        if cost == 0:
            best = spot
            break
        if cost + order * 0.01 < least:
            best, least = spot, cost + order * 0.01
    _put(layout, text, best)


def _covered(layout: FigureLayout, box: Box) -> float:
    left, top, right, bottom = box
    width, height = layout.size
    cost = 0.0
    if left < 2 or top < 2 or right > width - 2 or bottom > height - 2:
        cost += 20
    for _, other in layout.labels:
        if left < other[2] + 3 and other[0] < right + 3 and top < other[3] + 3 and other[1] < bottom + 3:
            cost += 10
    for a, b in layout.lines:
        if crosses(a, b, (left - 2, top - 2, right + 2, bottom + 2)):
            cost += 3
    for centre, radius, begin, end in layout.arcs:
        for step in range(9):
            turn = math.radians(begin + (end - begin) * step / 8)
            x, y = centre[0] + radius * math.cos(turn), centre[1] + radius * math.sin(turn)
            if left - 1 < x < right + 1 and top - 1 < y < bottom + 1:
                cost += 1
                break
    return cost


def crosses(a: Spot, b: Spot, box: Box) -> bool:
    """Return whether a segment enters a box (Liang and Barsky, 1984)."""
    low, high = 0.0, 1.0
    for start, delta, least, most in ((a[0], b[0] - a[0], box[0], box[2]), (a[1], b[1] - a[1], box[1], box[3])):
        if delta == 0:
            if not least <= start <= most:
                return False
            continue
        first, last = sorted(((least - start) / delta, (most - start) / delta))
        low, high = max(low, first), min(high, last)
        if low > high:
            return False
    return True
