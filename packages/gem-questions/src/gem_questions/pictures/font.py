"""The letters of the pictures: those of ASCII, its digits and marks, and €, of five by seven dots at twice that size.

What g, j, p, q and y have below the line takes two dots more.

An own font, because the pixels of an outline font depend on the version of FreeType.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["ADVANCE", "BELOW", "HEIGHT", "WIDTH", "glyphs"]

SCALE = 2
"""Pixels of a dot's side."""
WIDTH, HEIGHT = 5 * SCALE, 7 * SCALE
"""Pixels of a letter, without what it has below the line."""
BELOW = 2 * SCALE
"""Pixels below the line."""
ADVANCE = 6 * SCALE
"""Pixels from the left side of a letter to that of the next."""


@cache
def glyphs() -> dict[str, tuple[bytes, ...]]:
    """Return for each letter its lines of pixels, one byte a pixel: 1 for ink, 0 for none."""
    strips = Path(__file__).with_name("font.txt").read_text("utf-8").split("\n\n")
    found = {}
    for strip in strips:
        letters, *lines = strip.split()
        rows = [lines[start : start + len(letters)] for start in range(0, len(lines), len(letters))]
        for letter, dots in zip(letters, zip(*rows, strict=True), strict=True):
            wide = [bytes(dot == "#" for dot in row for _ in range(SCALE)) for row in dots]
            shape = [line for line in wide for _ in range(SCALE)]
            found[letter] = (*shape, *[bytes(WIDTH)] * (HEIGHT + BELOW - len(shape)))
    return found
