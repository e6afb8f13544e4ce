"""A policy that reads clocks and gauges from their pixels."""

from __future__ import annotations

import re

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.gauges import (
    BEGIN,
    CELL,
    FOOT,
    HOUR_HAND,
    MINUTE_HAND,
    POINTER,
    RADIUS,
    SWEEP,
    TUBE,
    Gauges,
    GaugesEnv,
    Instrument,
)
from gem_envs_visual.reading import Picture, SeenText, look
from gem_questions.pictures.canvas import Point, around, colour

__all__ = ["GaugesPolicy"]

_HALF_DEGREES = range(720)


class GaugesPolicy(Policy[Observation, str]):
    """Measures the angles of hands and pointers and the heights of columns."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, text = look(observation)
        texts = picture.texts()
        named = [one for one in texts if one.text.isalpha()]
        instruments = tuple(_read(picture, name, texts) for name in named)
        level = GaugesEnv.levels["easy"]  # which the answer does not depend on
        return f"\\boxed{{{Gauges(level, instruments, _asked(text)).answer}}}"


def _asked(text: str) -> tuple[str, ...]:
    question = text.partition("?")[0]
    words = re.findall(r"\b[A-Z]{3}\b", question)
    kinds = {"What time": "time", "How many minutes": "later", "How far": "difference", "together": "total"}
    return next((kind for phrase, kind in kinds.items() if phrase in question), "value"), *words


def _read(picture: Picture, name: SeenText, texts: list[SeenText]) -> Instrument:
    middle = (name.x, name.y - 88)
    wide, high = CELL
    near = [one for one in texts if abs(one.x - middle[0]) < wide // 2 and abs(one.y - middle[1]) < high // 2]
    numbers = sorted((one for one in near if one.text.isdecimal()), key=lambda one: int(one.text))
    if picture.at(*around(middle, RADIUS - 1, 0)) != colour("ink"):
        low, high_one = numbers[0], numbers[-1]
        bottom = middle[1] + FOOT
        top = min(y for y in range(bottom - TUBE, bottom + 9) if picture.at(middle[0], y) == colour("red"))
        return Instrument("tube", name.text, round(int(high_one.text) * (low.y - top) / (low.y - high_one.y)), 1)
    if [one.text for one in numbers] == ["12"]:
        minute = round(_angle(picture, middle, MINUTE_HAND - 2, "red") / 6) % 60
        hour = _angle(picture, middle, HOUR_HAND - 3, "blue", minute * 6)
        return Instrument("clock", name.text, (round((hour - minute / 2) / 30) * 60 + minute) % 720, 1)
    turned = (_angle(picture, middle, POINTER[1] - 3, "red") - BEGIN) % 360
    marks = sum(
        picture.at(*around(middle, RADIUS - 4, BEGIN + half / 2)) == colour("ink")
        and picture.at(*around(middle, RADIUS - 4, BEGIN + (half - 1) / 2)) != colour("ink")
        for half in range(-8, 2 * SWEEP + 8)
    )
    scale = int(numbers[-1].text) // (marks - 1)
    return Instrument("dial", name.text, round(turned * (marks - 1) / SWEEP), scale)


def _angle(picture: Picture, middle: Point, radius: int, name: str, other: float | None = None) -> float:
    """Return the angle of the hand of a colour; where it lies under the other hand, the angle of that."""
    seen = [half for half in _HALF_DEGREES if picture.at(*around(middle, radius, half / 2)) == colour(name)]
    if not seen:
        assert other is not None
        return other
    if seen[-1] - seen[0] > len(_HALF_DEGREES) / 2:  # on both sides of the top
        seen = [half - len(_HALF_DEGREES) if half > len(_HALF_DEGREES) / 2 else half for half in seen]
    return (seen[0] + seen[-1]) / 4 % 360
