"""A policy that reads charts from their pixels."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.charts import CENTRE, RADIUS, SERIES_COLOURS, TOP, Chart, ChartsEnv
from gem_envs_visual.reading import Picture, SeenText, look
from gem_questions.pictures.canvas import around, colour

__all__ = ["ChartsPolicy"]

_SHADES = {colour(name): name for name in SERIES_COLOURS}


class ChartsPolicy(Policy[Observation, str]):
    """Measures bars, points and slices, and works the answer out from the names and numbers in the picture."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, text = look(observation)
        texts = picture.texts()
        read = _pie if any(one.text.startswith("MARK IS") for one in texts) else _axes
        categories, series, values, scale = read(picture, texts)
        level = ChartsEnv.levels["easy"]  # which the answer does not depend on
        chart = Chart("pie", level, scale, categories, series, values, 0, _asked(text))
        return f"\\boxed{{{chart.answer}}}"


def _asked(text: str) -> tuple[str, ...]:
    """Return what a question is about, in the order of its words."""
    words = re.findall(r"\b[A-Z]{3}\b", text.partition("?")[0])
    if "furthest apart" in text:
        return "gap", *words
    if "together" in text:
        return "total", *words
    if "differ" in text:
        return "difference", *words
    if rank := re.search(rf"Where is {words[0]} (.+)\?", text):
        return "rank", words[0], rank[1]
    return "value", *words


_Read = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, ...], ...], int]


def _axes(picture: Picture, texts: list[SeenText]) -> _Read:
    """Return categories, series, and values as whole numbers, read by the scale on the left."""
    highest, *_, lowest = (one for one in texts if one.text.isdecimal())
    series = [one for one in texts if one.y < TOP - 10 and not one.text.isdecimal()]
    categories = [one for one in texts if one.y > lowest.y + 10]
    room = (categories[1].x - categories[0].x) // 2
    table = []
    for name in series:
        shade = picture.at(name.x - 30, name.y)
        row = []
        for category in categories:
            at = range(category.x - room + 4, category.x + room - 4)
            line_chart = picture.at(category.x, lowest.y - 3) not in _SHADES and not any(
                picture.at(x, lowest.y - 3) in _SHADES for x in at
            )
            if line_chart:
                top = _marker(picture, category.x, shade, lowest.y)
            else:
                top = min(y for y in range(TOP, lowest.y) for x in at if picture.at(x, y) == shade)
            row.append(round(int(highest.text) * (lowest.y - top) / (lowest.y - highest.y)))
        table.append(tuple(row))
    return tuple(one.text for one in categories), tuple(one.text for one in series), tuple(table), 1


def _marker(picture: Picture, x: int, shade: int, lowest: int) -> int:
    """Return the height of the disc of a colour around a column of pixels."""

    def share(y: int) -> int:
        around_it = [(dx, dy) for dx in range(-5, 6) for dy in range(-5, 6) if dx * dx + dy * dy <= 25]
        return sum(picture.at(x + dx, y + dy) == shade for dx, dy in around_it)

    return max(range(TOP - 1, lowest + 1), key=share)


def _pie(picture: Picture, texts: list[SeenText]) -> _Read:
    """Return slices, each with the marks that it spans, and what a mark stands for."""
    title, *legend, scale = texts
    seen = Counter(picture.at(*around(CENTRE, RADIUS * 0.8, turn + 0.5)) for turn in range(360))
    shares = [seen[picture.at(one.x - 34, one.y)] for one in legend]
    rim = [picture.at(*around(CENTRE, RADIUS + 8, turn / 2)) == colour("ink") for turn in range(-9, 711)]
    marks = sum(now and not before for before, now in pairwise(rim))
    values = tuple(round(share * marks / 360) for share in shares)
    return tuple(one.text for one in legend), (title.text,), (values,), int(scale.text.split()[-1])
