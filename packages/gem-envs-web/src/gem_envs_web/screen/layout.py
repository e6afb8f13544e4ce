"""Where the things of a page lie on a screen, and the picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import TextWrapper
from typing import Literal, NamedTuple

from gem_questions.pictures.canvas import Canvas, text_width
from gem_questions.pictures.font import ADVANCE

__all__ = ["HEIGHT", "STEP", "WIDTH", "PlacedThing", "ScreenThing", "drawn", "met", "placed"]

WIDTH, HEIGHT = 640, 480
"""Pixels of the screen."""
STEP = 400
"""Pixels that a turn of the wheel moves the page by."""
_MARGIN, _BAR = 16, 14
"""Pixels at the left, and of the bar at the right that shows where on the page the screen is."""
_LINE, _PAD, _GAP = 20, 8, 10
"""Pixels of a line of text, within a frame above and below it, and between things."""
_CURSOR = 2

ThingKind = Literal["heading", "text", "link", "button", "field", "box", "option"]


class ScreenThing(NamedTuple):
    """Something on a page."""

    kind: ThingKind
    text: str
    """What is written there; of a field, what it holds."""
    action: str = ""
    """The action on the site that a click carries out; "" for none."""
    field: str = ""
    """The name of the field into which a click puts the cursor."""
    on: bool = False
    """Whether a box is checked, or an option chosen."""


class PlacedThing(NamedTuple):
    """A thing and its rectangle on the page, in pixels from the left and from the top of the page."""

    thing: ScreenThing
    left: int
    top: int
    width: int
    height: int
    lines: tuple[str, ...]

    @property
    def centre(self) -> tuple[int, int]:
        """The middle of the rectangle."""
        return self.left + self.width // 2, self.top + self.height // 2


def placed(things: Sequence[ScreenThing]) -> list[PlacedThing]:
    """Return the things of a page one below the other, options and buttons side by side where they fit."""
    found: list[PlacedThing] = []
    wide = WIDTH - 2 * _MARGIN - _BAR
    left = top = below = _MARGIN
    beside = ""
    for thing in things:
        framed = thing.kind in ("button", "field", "option", "box")
        room = wide - 2 * _PAD if framed else wide
        mark = 2 * ADVANCE if thing.kind in ("option", "box") else 0
        lines = _broken(thing.text, (room - mark) // ADVANCE)
        width = wide if thing.kind == "field" else max(map(text_width, lines)) + mark + (2 * _PAD if framed else 0)
        height = _LINE * len(lines) + (2 * _PAD if framed else 0)
        if thing.kind != beside or thing.kind not in ("button", "option") or left + width > _MARGIN + wide:
            left, top = _MARGIN, below
        found.append(PlacedThing(thing, left, top, width, height, lines))
        left += width + _GAP
        below = max(below, top + height + _GAP)
        beside = thing.kind
    return found


def length(things: Sequence[PlacedThing]) -> int:
    """Return the pixels from the top of a page to its end."""
    return max((one.top + one.height for one in things), default=0) + _MARGIN


def met(things: Sequence[PlacedThing], x: int, y: int) -> ScreenThing | None:
    """Return the thing at a pixel of the page; None where there is none."""
    for one in things:
        if one.left <= x < one.left + one.width and one.top <= y < one.top + one.height:
            return one.thing
    return None


def drawn(things: Sequence[PlacedThing], scroll: int, cursor: str) -> Canvas:
    """Return the part of a page that the screen shows.

    Args:
        things: the page.
        scroll: pixels of the page above the screen.
        cursor: the name of the field with the cursor; "" for none.
    """
    canvas = Canvas(WIDTH, HEIGHT)
    for one in things:
        top = one.top - scroll
        if top < HEIGHT and top + one.height > 0:
            _draw(canvas, one, top, bool(cursor) and one.thing.field == cursor)
    whole = max(length(things), HEIGHT)
    canvas.rectangle(WIDTH - _BAR, 0, _BAR, HEIGHT, "shade")
    canvas.rectangle(WIDTH - _BAR, scroll * HEIGHT // whole, _BAR, max(HEIGHT * HEIGHT // whole, 8), "grey")
    return canvas


def _draw(canvas: Canvas, one: PlacedThing, top: int, has_cursor: bool) -> None:
    kind, left = one.thing.kind, one.left
    if kind == "heading":
        canvas.rectangle(left, top, one.width, one.height, "faint")
    if kind in ("button", "field", "option"):
        canvas.rectangle(left, top, one.width, one.height, "white" if kind == "field" else "shade")
        edge = "red" if has_cursor else "blue" if kind == "option" and one.thing.on else "ink"
        canvas.frame(left, top, one.width, one.height, edge)
    inner = 0 if kind in ("heading", "text", "link") else _PAD
    x, y = left + inner, top + inner + _LINE // 2
    if kind in ("option", "box"):
        canvas.frame(x, y - 7, 14, 14, "ink")
        if one.thing.on:
            canvas.rectangle(x + 4, y - 3, 6, 6, "ink")
        x += 2 * ADVANCE
    for line in one.lines:
        if line:
            canvas.text(x, y, line, "blue" if kind == "link" else "text")
        y += _LINE
    if has_cursor:
        canvas.rectangle(x + ADVANCE * len(one.lines[-1]) + 1, y - _LINE - 8, _CURSOR, 16, "red")


def _broken(text: str, most: int) -> tuple[str, ...]:
    """Return a text as lines of at most ``most`` characters, broken at blanks where there are any."""
    wrapper = TextWrapper(most, break_on_hyphens=False)
    return tuple(line for paragraph in text.split("\n") for line in wrapper.wrap(paragraph) or [""])
