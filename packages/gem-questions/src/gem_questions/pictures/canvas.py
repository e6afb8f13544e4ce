"""A canvas for drawings whose pixels are the same on every machine.

Pillow draws rectangles, discs and letters, which it does in whole numbers. Its polygons depend on how a processor
rounds floating-point numbers, so polygons are divided into lines of pixels here, in whole numbers as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gem_questions.pictures.font import ADVANCE, BELOW, HEIGHT, WIDTH, glyphs
from gem_questions.pictures.png import encode

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["COLOURS", "PALETTE", "Canvas", "Point", "around", "colour", "text_width"]

COLOURS = {
    "white": (255, 255, 255),
    "ink": (64, 64, 64),
    "text": (0, 0, 0),
    "faint": (214, 214, 214),
    "shade": (238, 238, 238),
    "grey": (150, 150, 150),
    "orange": (230, 159, 0),
    "sky": (86, 180, 233),
    "green": (0, 158, 115),
    "yellow": (240, 228, 66),
    "blue": (0, 114, 178),
    "red": (213, 94, 0),
    "pink": (204, 121, 167),
}
"""Name → red, green and blue, in the order of every picture's palette. From "orange" on, the colours are those of Okabe
and Ito (2002), which people with any of the common kinds of colour blindness can tell apart."""

_NUMBERS = {name: number for number, name in enumerate(COLOURS)}
PALETTE = bytes(value for one in COLOURS.values() for value in one)
"""The palette of every picture: three bytes a colour."""

Point = tuple[int, int]
"""Pixels from the left and from the top."""


def colour(name: str) -> int:
    """Return the number of a colour in the palette."""
    return _NUMBERS[name]


def text_width(text: str) -> int:
    """Return the pixels that a text takes."""
    return ADVANCE * len(text) - (ADVANCE - WIDTH)


def around(centre: Point, radius: float, degrees: float) -> Point:
    """Return the point at an angle, clockwise from the top.

    The sine is rounded first, because libraries of mathematics differ in its last digit.
    """
    turn = math.radians(degrees)
    x, y = round(math.sin(turn), 9), round(math.cos(turn), 9)
    return centre[0] + math.floor(radius * x + 0.5), centre[1] - math.floor(radius * y + 0.5)


class Canvas:
    """A drawing of fixed size in the colours of :data:`COLOURS`, which are named everywhere."""

    def __init__(self, width: int, height: int, background: str = "white") -> None:
        from PIL import Image, ImageDraw

        self.width, self.height = width, height
        self._image = Image.new("L", (width, height), colour(background))
        self._pen = ImageDraw.Draw(self._image)

    def png(self) -> bytes:
        """Return the drawing as a PNG."""
        return encode(self._image.tobytes(), self.width, PALETTE)

    def rectangle(self, left: int, top: int, width: int, height: int, name: str) -> None:
        """Fill a rectangle."""
        if width > 0 and height > 0:
            self._pen.rectangle((left, top, left + width - 1, top + height - 1), fill=colour(name))

    def frame(self, left: int, top: int, width: int, height: int, name: str, thickness: int = 2) -> None:
        """Draw the border of a rectangle, inside it."""
        self._pen.rectangle((left, top, left + width - 1, top + height - 1), outline=colour(name), width=thickness)

    def disc(self, centre: Point, radius: int, name: str) -> None:
        """Fill a circle."""
        x, y = centre
        self._pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour(name))

    def ring(self, centre: Point, radius: int, name: str, thickness: int = 2) -> None:
        """Draw a circle."""
        x, y = centre
        box = (x - radius, y - radius, x + radius, y + radius)
        self._pen.ellipse(box, outline=colour(name), width=thickness)

    def line(self, start: Point, end: Point, name: str, thickness: int = 2) -> None:
        """Draw a line with flat ends."""
        (x0, y0), (x1, y1) = start, end
        before = thickness // 2
        if x0 == x1:
            self.rectangle(x0 - before, min(y0, y1), thickness, abs(y1 - y0) + 1, name)
        elif y0 == y1:
            self.rectangle(min(x0, x1), y0 - before, abs(x1 - x0) + 1, thickness, name)
        else:
            # In sixteenths of a pixel, so that the line keeps its thickness in every direction.
            length = math.isqrt((x1 - x0) ** 2 + (y1 - y0) ** 2 << 8)
            dx, dy = (128 * thickness * (x1 - x0) // length, 128 * thickness * (y1 - y0) // length)
            corners = [(x0, y0, -1), (x0, y0, 1), (x1, y1, 1), (x1, y1, -1)]
            self._fill([(16 * x + 8 + side * dy, 16 * y + 8 - side * dx) for x, y, side in corners], 16, name)

    def polygon(self, corners: Sequence[Point], name: str) -> None:
        """Fill a polygon, given the corners of pixels that it passes."""
        self._fill(corners, 1, name)

    def _fill(self, corners: Sequence[Point], unit: int, name: str) -> None:
        """Fill the pixels whose centres lie in a polygon; ``unit`` is how many steps of its corners a pixel is wide."""
        edges = [
            (a, b) if a[1] < b[1] else (b, a)
            for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)
            if a[1] != b[1]
        ]
        index = colour(name)
        top = min(y for _, y in corners) // unit
        bottom = max(y for _, y in corners) // unit
        for row in range(max(top, 0), min(bottom, self.height - 1) + 1):
            middle = unit * (2 * row + 1)  # twice the height of the centres
            crossings = []
            for (x0, y0), (x1, y1) in edges:
                if 2 * y0 <= middle < 2 * y1:
                    below = 2 * (y1 - y0)
                    # The first pixel whose centre is not left of the crossing, rounded up.
                    numerator = 2 * (x0 * below + (middle - 2 * y0) * (x1 - x0)) - unit * below
                    crossings.append(-(-numerator // (2 * unit * below)))
            crossings.sort()
            for left, right in zip(crossings[::2], crossings[1::2], strict=True):
                if left < right:
                    self._pen.line((left, row, right - 1, row), fill=index)

    def text(self, x: int, y: int, text: str, name: str = "text", align: str = "left") -> None:
        """Write a text of letters, digits, marks of ASCII, € and blanks; any other character is a question mark.

        Args:
            x: its left side, its centre or its right side, by ``align``.
            y: the centre of its capital letters.
            text: the text.
            name: the colour.
            align: ``"left"``, ``"centre"`` or ``"right"``.
        """
        width = text_width(text)
        left = x - {"left": 0, "centre": width // 2, "right": width}[align]
        self._pen.bitmap((left, y - HEIGHT // 2), _mask(text), fill=colour(name))


@lru_cache(maxsize=2048)
def _mask(text: str) -> Image.Image:
    from PIL import Image

    shapes, gap = glyphs(), bytes(ADVANCE - WIDTH)
    tall = HEIGHT + BELOW
    blank = (bytes(WIDTH),) * tall
    letters = [blank if letter == " " else shapes.get(letter, shapes["?"]) for letter in text]
    lines = (gap.join(letter[row] for letter in letters) for row in range(tall))
    return Image.frombytes("L", (text_width(text), tall), b"".join(lines).replace(b"\1", b"\xff"))
