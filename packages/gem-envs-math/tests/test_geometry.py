"""Every answer again: measured in the drawing, or computed for a solid from the labels; and the drawings themselves."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from gem_envs_math import GeometryEnv
from gem_envs_math.geometry import KINDS
from gem_envs_math.geometry.drawing import crosses, draw, lay_out

COUNT = 10_000
LEVELS = ("easy", "medium", "hard")


def value(latex: str) -> float:
    """The value of an answer: a sum of nothing but a number, a root, a fraction, and π."""
    text = re.sub(r"\\frac\{(.*)\}\{(\d+)\}", r"(\1)/\2", latex)
    text = re.sub(r"(?<=\d)\\sqrt\{(\d+)\}", r"*math.sqrt(\1)", text)
    text = re.sub(r"\\sqrt\{(\d+)\}", r"math.sqrt(\1)", text)
    text = re.sub(r"(?<=\d)\\pi", "*math.pi", text).replace("\\pi", "math.pi")
    return float(eval(text, {"__builtins__": {}}, {"math": math}))


class Drawing:
    """Ruler and protractor."""

    def __init__(self, figure: Any) -> None:
        self.at = {name: (x, y) for name, (x, y) in figure["points"].items()}

    def length(self, a: str, b: str) -> float:
        return math.dist(self.at[a], self.at[b])

    def angle(self, a: str, b: str, c: str) -> float:
        (ax, ay), (bx, by), (cx, cy) = self.at[a], self.at[b], self.at[c]
        turn = math.degrees(math.atan2(ay - by, ax - bx) - math.atan2(cy - by, cx - bx)) % 360
        return min(turn, 360 - turn)

    def area(self, path: str) -> float:
        spots = [self.at[name] for name in path]
        return abs(sum(x * v - u * y for (x, y), (u, v) in zip(spots, spots[1:] + spots[:1], strict=True))) / 2

    def perimeter(self, path: str) -> float:
        return sum(self.length(a, b) for a, b in zip(path, path[1:] + path[0], strict=True))


def measured(row: Any) -> float:
    """What the question asks for, measured in a drawing to scale."""
    drawing, text = Drawing(row["figure"]), row["problem"]
    found = re.search(r"How many degrees is angle (\w)(\w)(\w)\?", text)
    if found:
        return drawing.angle(*found.groups())
    found = re.search(r"How long is (\w)(\w)[?,]", text)
    if found:
        return drawing.length(*found.groups())
    found = re.search(r"area of the sector (\w)(\w)(\w)\?", text)
    if found:
        a, o, b = found.groups()
        return math.radians(drawing.angle(a, o, b)) * drawing.length(o, a) ** 2 / 2
    found = re.search(r"shorter arc from (\w) to (\w)\?", text)
    if found:
        a, b = found.groups()
        return math.radians(drawing.angle(a, "O", b)) * drawing.length("O", a)
    found = re.search(r"slope of the line (\w)(\w)\?", text)
    if found:
        (a, b), (c, d) = (drawing.at[name] for name in found.groups())
        return (d - b) / (c - a)
    found = re.search(r"line (\w)(\w) meet the", text)
    if found:
        (a, b), (c, d) = (drawing.at[name] for name in found.groups())
        return b + (d - b) * (0 - a) / (c - a)
    path = re.search(r"^([A-Z]{4}) is a (?:parallelogram|rhombus)", text) or re.search(
        r"of (?:triangle |quadrilateral )?([A-Z]{3,6})[?,]", text
    )
    assert path is not None, text
    return drawing.perimeter(path[1]) if "perimeter" in text else drawing.area(path[1])


def computed(row: Any) -> float:
    """What is asked for of a solid, from the labels of the sketch; by slices where there is a curve or an apex."""
    size = {a + b: float(label) for a, b, label in row["figure"]["lengths"]}
    text = row["problem"]
    slices = 2000
    tapering = sum(((i + 0.5) / slices) ** 2 for i in range(slices)) / slices
    if row["kind"] == "box":
        x, y, z = size["AB"], size["BC"], size["AE"]
        if "distance" in text:
            return math.dist((0, 0, 0), (x, y, z))
        return x * y * z if "volume" in text else 2 * x * y + 2 * y * z + 2 * z * x
    if row["kind"] == "prism":
        base = size["AB"] * size["AC"] / 2
        if "volume" in text:
            return base * size["BE"]
        return 2 * base + size["BE"] * (size["AB"] + size["AC"] + math.dist((size["AB"], 0), (0, size["AC"])))
    if row["kind"] == "pyramid":
        return size["AB"] * size["BC"] * size["SM"] * tapering
    if row["kind"] == "cylinder":
        disc = math.pi * size["OA"] ** 2
        return disc * size["AB"] if "volume" in text else 2 * disc + 2 * math.pi * size["OA"] * size["AB"]
    assert row["kind"] == "cone"
    if "volume" in text:
        return math.pi * size["OA"] ** 2 * size["OS"] * tapering
    return math.pi * size["OA"] * math.hypot(size["OA"], size["OS"])


def rows(count: float) -> Iterator[Any]:
    for level in LEVELS:
        for split in ("train", "test"):
            env: Any = GeometryEnv(level=level, split=split)
            for index in range(max(4, int(count / 6))):
                yield env.rows[index]


def test_the_answers_are_what_the_drawings_show(share: float) -> None:
    """In a drawing to scale the answer can be measured; of a solid it follows from the labels."""
    for row in rows(share * COUNT):
        sketch = row["figure"].get("scale", True) is False
        found = computed(row) if sketch else measured(row)
        assert math.isclose(found, value(row["answer"]), rel_tol=2e-6, abs_tol=1e-6), row


def test_the_labels_are_what_the_drawings_show(share: float) -> None:
    """Every length, angle and right angle that a drawing to scale names is there."""
    for row in rows(share * COUNT):
        figure = row["figure"]
        if figure.get("scale", True) is False:
            continue
        drawing = Drawing(figure)
        for a, b, label in (*figure.get("lengths", ()), *figure.get("spans", ())):
            assert math.isclose(drawing.length(a, b), float(label), abs_tol=1e-6), row
        for a, b, c, label in figure.get("angles", ()):
            assert math.isclose(drawing.angle(a, b, c), float(label.rstrip("°")), abs_tol=1e-6), row
        for a, b, c in figure.get("right", ()):
            assert math.isclose(drawing.angle(a, b, c), 90, abs_tol=1e-6), row
        for centre, radius in figure.get("circles", ()):
            on_it = [
                name for name in figure["named"] if math.isclose(drawing.length(centre, name), radius, abs_tol=1e-5)
            ]
            assert len(on_it) >= 1, row


def test_the_words_say_what_the_labels_say(share: float) -> None:
    """The text-only facts name the same numbers as the labels; on a grid, the coordinates of the points."""
    for row in rows(share * 3000):
        figure = row["figure"]
        labels = [
            label.rstrip("°")
            for *_, label in (*figure.get("lengths", ()), *figure.get("spans", ()), *figure.get("angles", ()))
        ]
        if "grid" in figure:
            labels = [str(int(n)) for name in figure["named"] for n in figure["points"][name]]
        assert sorted(re.findall(r"-?\d+", row["facts"])) == sorted(labels), row


def test_the_question_needs_the_picture() -> None:
    """The text of a question with a picture has no number of the figure but the side 1 of a square of its grid."""
    env: Any = GeometryEnv()
    for index in range(400):
        row = env.rows[index]
        assert set(re.findall(r"\d+", row["problem"])) <= {"1"}, row


def test_labels_cover_nothing(share: float) -> None:
    """No label lies on another one, on a line or outside the picture."""
    for row in rows(share * 1500):
        layout = lay_out(row["figure"])
        for place, (_, box) in enumerate(layout.labels):
            left, top, right, bottom = box
            assert min(left, top) >= 0, row
            assert right <= layout.size[0], row
            assert bottom <= layout.size[1], row
            for _, other in layout.labels[:place]:
                assert not (left < other[2] and other[0] < right and top < other[3] and other[1] < bottom), row
            assert not any(crosses(a, b, box) for a, b in layout.lines), row


def test_pictures_are_small_and_always_the_same(share: float) -> None:
    """A picture is a PNG of at most 420 × 340 points and 8 kB, the same bytes every time."""
    seen, count = set(), 0
    for row in rows(share * 120):
        png = draw(row["figure"])
        assert png == draw(row["figure"])
        assert len(png) < 8000
        image = Image.open(io.BytesIO(png))
        assert image.format == "PNG"
        assert image.size[0] <= 420
        assert image.size[1] <= 340
        seen.add(png)
        count += 1
    assert len(seen) > 0.95 * count


def test_observations_with_and_without_pictures() -> None:
    """With pictures an observation is a text and a picture in a data URL, at the end too; without, it is text."""
    env = GeometryEnv()
    observation, _ = env.reset(seed=3)
    text, picture = observation
    assert text["text"].startswith("Look at the figure.")
    assert text["text"].count("\\boxed") == 1
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert isinstance(env.step("nothing")[0], list)
    plain = GeometryEnv(pictures=False)
    observation, _ = plain.reset(seed=3)
    assert isinstance(observation, str)
    assert env.row["facts"] in observation
    assert isinstance(plain.step("nothing")[0], str)


@pytest.mark.parametrize("level", LEVELS)
def test_every_kind_comes_up(level: str) -> None:
    """Every generator of a level makes problems."""
    env: Any = GeometryEnv(level=level)
    assert {env.rows[index]["kind"] for index in range(800)} == {maker.__name__ for maker in KINDS[level]}  # type: ignore[attr-defined]
