"""Reading a picture back from its pixels: for policies that see the picture and nothing else."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from gem.core import Observation
from gem_questions.pictures.canvas import colour
from gem_questions.pictures.font import ADVANCE, HEIGHT, WIDTH, glyphs

__all__ = ["Picture", "SeenText", "look"]


class SeenText(NamedTuple):
    """A text in a picture."""

    x: int
    """Its centre, in pixels from the left."""
    y: int
    """Its centre, in pixels from the top."""
    text: str


class Picture(NamedTuple):
    """The pixels of a picture."""

    rows: tuple[bytes, ...]
    """For each line of pixels the numbers of their colours in the palette."""

    def at(self, x: int, y: int) -> int:
        """Return the number of a pixel's colour."""
        return self.rows[y][x]

    def texts(self) -> list[SeenText]:
        """Return all texts in the colour of text, from the top down and from left to right."""
        ink = colour("text")
        only = bytes(number == ink for number in range(256))
        rows = [bytearray(row.translate(only)) for row in self.rows]
        letters: list[tuple[int, int, str]] = []
        for y in range(len(rows) - HEIGHT + 1):
            for place in re.finditer(b"\1", bytes(rows[y])):
                if not rows[y][place.start()]:
                    continue  # part of a letter that was just read
                for x in range(place.start(), place.start() - WIDTH, -2):
                    if x < 0:
                        break
                    seen = b"".join(row[x : x + WIDTH] for row in rows[y : y + HEIGHT])
                    if letter := _by_pixels().get(seen):
                        letters.append((y, x, letter))
                        for row in rows[y : y + HEIGHT]:
                            row[x : x + WIDTH] = bytes(WIDTH)
                        break
        return _joined(sorted(letters))


def _joined(letters: list[tuple[int, int, str]]) -> list[SeenText]:
    texts: list[SeenText] = []
    start = 0
    for number in range(1, len(letters) + 1):
        y, x, _ = letters[number - 1]
        following = letters[number] if number < len(letters) else None
        if following and following[0] == y and following[1] - x in (ADVANCE, 2 * ADVANCE):
            continue
        line = letters[start:number]
        text = line[0][2] + "".join(
            (" " if right[1] - left[1] > ADVANCE else "") + right[2] for left, right in pairwise(line)
        )
        texts.append(SeenText((line[0][1] + x + WIDTH) // 2, y + HEIGHT // 2, text))
        start = number
    return texts


@cache
def _by_pixels() -> dict[bytes, str]:
    return {b"".join(lines[:HEIGHT]): letter for letter, lines in glyphs().items()}


def look(observation: Observation) -> tuple[Picture, str]:
    """Return the picture of an observation, and its text.

    Raises:
        ValueError: if it has no picture, or none in the form that this package draws.
    """
    from PIL import Image

    if not isinstance(observation, list) or len(observation) != 2:
        raise ValueError("the observation must be a picture and a text")
    shown, told = observation
    image = Image.open(io.BytesIO(b64decode(shown["image_url"]["url"].partition(",")[2])))
    if image.mode != "P":
        raise ValueError(f"the picture must have a palette, got mode {image.mode}")
    pixels = image.tobytes()
    rows = tuple(pixels[start : start + image.width] for start in range(0, len(pixels), image.width))
    return Picture(rows), str(told["text"])
