"""A policy that fills the form by what it sees."""

from __future__ import annotations

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.form import BUTTONS, CONTROL, DIALOG, NOTE, OPTION_WIDTH
from gem_envs_visual.reading import Picture, SeenText, look
from gem_questions.pictures.canvas import colour

__all__ = ["ScreenFormPolicy"]


class ScreenFormPolicy(Policy[Observation, str]):
    """Reads note and form anew each turn, and mends the first field that differs."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, _ = look(observation)
        texts = picture.texts()
        note = dict(one.text.split(" ") for one in texts if one.x > NOTE and " " in one.text)
        if asked := [one.text for one in texts if one.text.startswith("CLICK ")]:
            name = asked[0].removeprefix("CLICK ")
            top, high = DIALOG[1], DIALOG[3]
            return _click(next(one for one in texts if one.text == name and top + 40 < one.y < top + high))
        for label in (one for one in texts if one.text in note and one.x < CONTROL):
            if move := _mended(picture, label, note[label.text], [one for one in texts if one.y == label.y]):
                return move
        return _click(next(one for one in texts if one.text == "SEND" and one.y == BUTTONS))


def _mended(picture: Picture, label: SeenText, wanted: str, line: list[SeenText]) -> str:
    """Return what brings a field nearer to its wanted value; "" if it has it."""
    ink, y = colour("ink"), label.y
    if picture.at(CONTROL, y - 13) in (ink, colour("red")):
        if any(one.text == wanted and CONTROL < one.x < NOTE for one in line):
            return ""
        if picture.at(CONTROL, y - 13) == colour("red"):
            return f"\\boxed{{type {wanted}}}"
        return f"\\boxed{{click {CONTROL + 40} {y}}}"
    if picture.at(CONTROL, y - 9) == ink:
        ticked = any(picture.at(x, y) == ink for x in range(CONTROL + 4, CONTROL + 16))
        return "" if ticked == (wanted == "YES") else f"\\boxed{{click {CONTROL + 10} {y}}}"
    place = next((one.x - CONTROL) // OPTION_WIDTH for one in line if one.text == wanted and CONTROL < one.x < NOTE)
    x = CONTROL + 10 + OPTION_WIDTH * place
    return "" if picture.at(x, y) == ink else f"\\boxed{{click {x} {y}}}"


def _click(seen: SeenText) -> str:
    return f"\\boxed{{click {seen.x} {seen.y}}}"
