"""A form in a window, to be filled with a pointer and a keyboard as a note beside it says."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from gem.action_forms import BoxedPattern, LenientForm
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, malformed, success
from gem_envs_visual.env import PictureEnv
from gem_envs_visual.names import name_like, names
from gem_questions.pictures.canvas import Canvas, Point

__all__ = [
    "BUTTONS",
    "CONTROL",
    "DIALOG",
    "NOTE",
    "OPTION_WIDTH",
    "ScreenField",
    "ScreenFormEnv",
    "ScreenFormTask",
]

WIDTH, HEIGHT = 480, 400
WINDOW = 312
"""Pixels from the left to the note."""
NOTE = 326
"""Pixels from the left to the texts of the note."""
CONTROL = 92
"""Pixels from the left to the controls."""
OPTION_WIDTH = 70
"""Pixels from one option to the next."""
_TOP, _BOX, _LINE = 60, (200, 26), 36
BUTTONS = 372
"""Pixels from the top to the centres of the buttons."""
_BUTTON = (84, 28)
DIALOG = (60, 130, 220, 96)
"""Left, top, width and height of a dialog."""
_LONGEST = 14


class ScreenFormLevel(NamedTuple):
    """What a form of a level has."""

    texts: int
    choices: int
    ticks: int
    filled: bool
    """Whether it begins with other values than those of the note."""
    dialog: bool
    """Whether a dialog comes up over it."""
    turns: int


class ScreenField(NamedTuple):
    """A field of the form."""

    kind: str
    """``"text"``, ``"choice"`` or ``"tick"``."""
    label: str
    options: tuple[str, ...]
    """The names of a choice."""
    wanted: str
    """A text, the name of an option, or ``"YES"`` or ``"NO"``."""
    first: str
    """The value at the beginning; "" for none."""


@dataclass(frozen=True)
class ScreenFormTask:
    """A form and a note."""

    fields: tuple[ScreenField, ...]
    note: tuple[int, ...]
    """The order in which the note has the fields."""
    buttons: tuple[str, ...]
    dialog: tuple[str, ...]
    """What closes the dialog, and the names of its buttons."""
    spread: int
    """Pixels from one field to the next."""
    comes: int
    """The turn after which the dialog comes up."""

    def structure(self) -> object:
        """Return the form without names."""
        fields = [(one.kind, _without_names(one, one.wanted), _without_names(one, one.first)) for one in self.fields]
        return fields, self.note, self.buttons, self.dialog[1:2] == self.dialog[:1], self.spread, self.comes

    def field_y(self, number: int) -> int:
        """Return the height of the middle of a field, in pixels."""
        return _TOP + self.spread * number


class ScreenFormEnv(PictureEnv[re.Match[str], ScreenFormTask]):
    r"""Fill a form with ``\boxed{click 120 84}`` and ``\boxed{type MAP}``.

    A click goes to a pixel of the picture; what is typed replaces the content of the field with the cursor. Rewards:
    1.0 for sending the form as the note says, 0.0 for anything else. An action without a move costs a turn.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``. No form is in both.
        max_turns: turns that the instructions announce; None: by the level.
    """

    levels: ClassVar[Mapping[str, ScreenFormLevel]] = {
        "easy": ScreenFormLevel(1, 1, 1, False, False, 10),
        "medium": ScreenFormLevel(2, 2, 2, False, False, 16),
        "hard": ScreenFormLevel(3, 3, 2, True, True, 24),
    }
    form = LenientForm(BoxedPattern(rf"(?:click (\d{{1,4}}) (\d{{1,4}})|type ([a-z0-9]{{1,{_LONGEST}}}))"))
    saved = StateFields(task=int, values=tuple[str, ...], cursor=int, dialog=bool)
    request = "What do you do?"
    closings: ClassVar[dict[str, str]] = {
        **PictureEnv.closings,
        "success": "The form arrives as the note says.",
        "failure": "The form was sent, and it is not as the note says.",
    }

    def __init__(self, level: str = "medium", split: str = "train", max_turns: int | None = None) -> None:
        super().__init__(level, split, max_turns)

    def _drawn(self, rng: random.Random) -> ScreenFormTask:
        level: ScreenFormLevel = self._level
        kinds = ["text"] * level.texts + ["choice"] * level.choices + ["tick"] * level.ticks
        rng.shuffle(kinds)
        labels = names(rng, len(kinds))
        fields = tuple(_drawn_field(rng, kind, label, level) for kind, label in zip(kinds, labels, strict=True))
        note = tuple(rng.sample(range(len(fields)), len(fields)))
        buttons = tuple(rng.sample(("SEND", "CLEAR"), 2))
        dialog: tuple[str, ...] = ()
        if level.dialog:
            pair = names(rng, 2)
            dialog = (rng.choice(pair), *pair)
        spread = rng.randint(34, 36) if len(fields) > 6 else rng.randint(36, 48)
        return ScreenFormTask(fields, note, buttons, dialog, spread, rng.randint(1, 6))

    def _start(self) -> None:
        self.values = tuple(one.first for one in self._task.fields)
        self.cursor, self.dialog = -1, False

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        fields = self._task.fields
        if len(self.values) != len(fields) or not -1 <= self.cursor < len(fields):
            raise ArgumentError(
                f"values and cursor must fit the {len(fields)} fields, got {self.values}, {self.cursor}"
            )

    def _instructions(self) -> str:
        return (
            f"The picture shows a screen of {WIDTH} by {HEIGHT} pixels: a form, and on its right a note. Fill the "
            "form as the note says, and send it; the note has the fields in another order. YES stands for a tick in "
            "a square, NO for none. You have a pointer and a keyboard: \\boxed{click 120 84} clicks 120 pixels "
            "from the left and 84 from the top, \\boxed{type MAP} writes MAP into the field with the cursor, in "
            f"place of what it holds. One click or text a turn; you have {self.max_turns} turns, and can send once."
        )

    def _picture(self) -> Canvas:
        canvas = Canvas(WIDTH, HEIGHT, "shade")
        task = self._task
        canvas.rectangle(8, 8, WINDOW - 14, HEIGHT - 16, "white")
        canvas.frame(8, 8, WINDOW - 14, HEIGHT - 16, "ink")
        canvas.rectangle(8, 8, WINDOW - 14, 26, "sky")
        for number, (one, value) in enumerate(zip(task.fields, self.values, strict=True)):
            self._draw_field(canvas, number, one, value)
        for number, name in enumerate(task.buttons):
            _draw_button(canvas, (90 + 130 * number, BUTTONS), name)
        canvas.rectangle(WINDOW, 8, WIDTH - WINDOW - 8, HEIGHT - 16, "yellow")
        canvas.text(NOTE, 28, "NOTE")
        for line, number in enumerate(task.note):
            one = task.fields[number]
            canvas.text(NOTE, _TOP + _LINE * line, f"{one.label} {one.wanted}")
        if self.dialog:
            left, top, wide, high = DIALOG
            canvas.rectangle(left, top, wide, high, "faint")
            canvas.frame(left, top, wide, high, "ink", 3)
            canvas.text(left + wide // 2, top + 24, f"CLICK {task.dialog[0]}", align="centre")
            for number, name in enumerate(task.dialog[1:]):
                _draw_button(canvas, _dialog_button(number), name)
        return canvas

    def _draw_field(self, canvas: Canvas, number: int, one: ScreenField, value: str) -> None:
        y = self._task.field_y(number)
        canvas.text(24, y, one.label)
        if one.kind == "text":
            wide, high = _BOX
            canvas.rectangle(CONTROL, y - high // 2, wide, high, "white")
            canvas.frame(CONTROL, y - high // 2, wide, high, "red" if number == self.cursor else "ink")
            if value:
                canvas.text(CONTROL + 8, y, value)
            if number == self.cursor:
                canvas.rectangle(CONTROL + 8 + 12 * len(value), y - 8, 2, 16, "red")
        elif one.kind == "tick":
            canvas.frame(CONTROL, y - 10, 20, 20, "ink")
            if value == "YES":
                canvas.line((CONTROL + 4, y), (CONTROL + 9, y + 6), "ink", 3)
                canvas.line((CONTROL + 8, y + 6), (CONTROL + 16, y - 6), "ink", 3)
        else:
            for place, name in enumerate(one.options):
                x = CONTROL + 10 + OPTION_WIDTH * place
                canvas.ring((x, y), 9, "ink")
                if value == name:
                    canvas.disc((x, y), 5, "ink")
                canvas.text(x + 14, y, name)

    def _play(self, move: re.Match[str]) -> MoveResult:
        if move[3] is not None:
            return self._typed(move[3].upper())
        x, y = int(move[1]), int(move[2])
        if x >= WIDTH or y >= HEIGHT:
            return illegal(f"There is no pixel {x} {y}: the screen has {WIDTH} by {HEIGHT}.")
        button = self._clicked(x, y)
        if button == "SEND":
            right = all(value == one.wanted for value, one in zip(self.values, self._task.fields, strict=True))
            return success("You click.") if right else failure("You click.")
        self._interrupt()
        return legal("You click.")

    def _typed(self, text: str) -> MoveResult:
        if self.cursor >= 0 and not self.dialog:
            self._set(self.cursor, text)
        self._interrupt()
        return legal("You type.")

    def _interrupt(self) -> None:
        """Bring the dialog up if its turn has come."""
        if self._task.dialog and self._turn == self._task.comes:
            self.dialog = True

    def _clicked(self, x: int, y: int) -> str:
        """Carry out a click; return the name of the button that it met."""
        task = self._task
        if self.dialog:
            met = [name for number, name in enumerate(task.dialog[1:]) if _meets(_dialog_button(number), x, y)]
            if met == [task.dialog[0]]:
                self.dialog = False
            return ""
        for number, name in enumerate(task.buttons):
            if _meets((90 + 130 * number, BUTTONS), x, y):
                if name == "CLEAR":
                    self.values, self.cursor = ("",) * len(self.values), -1
                    for place, one in enumerate(task.fields):
                        if one.kind == "tick":
                            self._set(place, "NO")
                return name
        for number, one in enumerate(task.fields):
            if (part := _control_at(one, x, y - task.field_y(number))) is None:
                continue
            if one.kind == "text":
                self.cursor = number
            else:
                toggled = "NO" if self.values[number] == "YES" else "YES"
                self._set(number, toggled if one.kind == "tick" else one.options[part])
        return ""

    def _set(self, number: int, value: str) -> None:
        self.values = (*self.values[:number], value, *self.values[number + 1 :])

    def _malformed(self) -> MoveResult:
        return malformed("There is no click or text in a box.", 0.0, ends=False)

    def _random_action(self) -> str:
        rng = self.action_rng
        if rng.random() < 0.3:
            return f"\\boxed{{type {name_like(rng)}}}"
        return f"\\boxed{{click {rng.randrange(WINDOW)} {rng.randrange(HEIGHT)}}}"


def _control_at(one: ScreenField, x: int, below: int) -> int | None:
    """Return which part of a field lies at a pixel, given its distance below the middle; None for none."""
    if one.kind == "text":
        return 0 if 0 <= x - CONTROL < _BOX[0] and abs(below) <= _BOX[1] // 2 else None
    if one.kind == "tick":
        return 0 if 0 <= x - CONTROL < 20 and abs(below) <= 10 else None
    place, across = divmod(x - CONTROL, OPTION_WIDTH)
    return place if 0 <= place < len(one.options) and across < OPTION_WIDTH - 8 and abs(below) <= 10 else None


def _without_names(one: ScreenField, value: str) -> object:
    """Return the place of an option, whether there is a tick, or whether a text is there at all."""
    if one.kind == "choice":
        return one.options.index(value) if value else None
    return value == "YES" if one.kind == "tick" else value != ""


def _drawn_field(rng: random.Random, kind: str, label: str, level: ScreenFormLevel) -> ScreenField:
    if kind == "tick":
        wanted = rng.choice(("YES", "NO"))
        return ScreenField(kind, label, (), wanted, rng.choice(("YES", "NO")) if level.filled else "NO")
    if kind == "choice":
        options = tuple(names(rng, 3))
        wanted, other = rng.sample(options, 2)
        return ScreenField(kind, label, options, wanted, other if level.filled else "")
    wanted, other = (name_like(rng) + name_like(rng) for _ in range(2))
    return ScreenField(kind, label, (), wanted, other if level.filled else "")


def _draw_button(canvas: Canvas, centre: Point, name: str) -> None:
    wide, high = _BUTTON
    left, top = centre[0] - wide // 2, centre[1] - high // 2
    canvas.rectangle(left, top, wide, high, "shade")
    canvas.frame(left, top, wide, high, "ink")
    canvas.text(*centre, name, align="centre")


def _dialog_button(number: int) -> Point:
    left, top, _, _ = DIALOG
    return left + 58 + 104 * number, top + 66


def _meets(centre: Point, x: int, y: int) -> bool:
    return abs(x - centre[0]) <= _BUTTON[0] // 2 and abs(y - centre[1]) <= _BUTTON[1] // 2
