"""Drawing, encoding and reading of pictures."""

from __future__ import annotations

import io
import struct
import zlib
from base64 import b64decode
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import gem
from gem_envs_visual.env import PictureEnv
from gem_envs_visual.reading import look
from gem_questions.pictures.canvas import PALETTE, Canvas, Point, around, colour
from gem_questions.pictures.font import glyphs
from gem_questions.pictures.png import SIZE_STEP, encode, picture_part

TASKS = ("Charts", "Tables", "Gauges", "Jigsaw", "OddOneOut", "Routes", "Circuits", "Northcott", "Form")
LEVELS = ("-easy", "", "-hard")

DIGESTS = {
    "Charts": "128723ee8d3413a7",
    "Tables": "29d718c89e923fff",
    "Gauges": "865169aa890cd432",
    "Jigsaw": "6eb07ced11898a59",
    "OddOneOut": "3f87ddce5cc78a4c",
    "Routes": "75be98a4e055027a",
    "Circuits": "4f73633a8cccb669",
    "Northcott": "16321b9334e2b471",
    "Form": "3cc703d3ce18ef5c",
}
"""Of the bytes of three pictures, seed 0 at each level."""


def png_of(observation: Any) -> bytes:
    """Return the file in an observation."""
    return b64decode(observation[0]["image_url"]["url"].partition(",")[2])


def chunks_of(png: bytes) -> list[tuple[bytes, bytes]]:
    """Return kind and data of each chunk."""
    chunks, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        chunks.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + length]))
        place += length + 12
    return chunks


@st.composite
def drawings(draw: Any) -> tuple[bytes, int]:
    """Lines of pixels with runs, and with pieces of the line above them."""
    width = draw(st.integers(1, 700))
    lines = [bytes(width)]
    for _ in range(draw(st.integers(1, 8))):
        line = bytearray(lines[-1])
        for _ in range(draw(st.integers(0, 6))):
            start = draw(st.integers(0, width - 1))
            count = draw(st.integers(1, 300))
            line[start : start + count] = bytes([draw(st.integers(0, 12))]) * len(line[start : start + count])
        lines.append(bytes(line))
    return b"".join(lines), width


@given(drawings())
def test_a_png_shows_the_pixels_that_were_drawn(drawing: tuple[bytes, int]) -> None:
    """Pillow, whose decoder checks the sums of the file, reads the same pixels and colours."""
    pixels, width = drawing
    image = Image.open(io.BytesIO(encode(pixels, width, PALETTE)))
    image.load()
    assert image.tobytes() == pixels
    assert bytes(image.getpalette() or ())[: len(PALETTE)] == PALETTE


def test_no_byte_is_left_to_the_compressor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of zlib choose other bytes for the same pixels, so a picture is written without it."""

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("zlib must not compress")

    for name in ("compress", "compressobj"):
        monkeypatch.setattr(zlib, name, forbidden)
    assert len(Canvas(480, 300).png()) == SIZE_STEP


@given(st.lists(st.tuples(st.integers(-5, 45), st.integers(-5, 35)), min_size=3, max_size=7))
def test_a_polygon_fills_the_pixels_whose_centres_it_holds(corners: list[Point]) -> None:
    """A pixel is filled exactly if a ray from its centre to the left crosses an odd number of sides."""
    canvas = Canvas(40, 30)
    canvas.polygon(corners, "red")
    rows = look([picture_part(canvas.png()), {"type": "text", "text": ""}])[0].rows
    sides = list(pairwise([*corners, corners[0]]))
    for y in range(30):
        height = Fraction(2 * y + 1, 2)
        crossings = [
            a[0] + (height - a[1]) * Fraction(b[0] - a[0], b[1] - a[1])
            for a, b in sides
            if min(a[1], b[1]) <= height < max(a[1], b[1])
        ]
        for x in range(40):
            inside = sum(crossing <= Fraction(2 * x + 1, 2) for crossing in crossings) % 2 == 1
            assert (rows[y][x] == colour("red")) is inside, (x, y)


def test_angles_turn_clockwise_from_the_top() -> None:
    """A quarter is to the right, a half below."""
    assert [around((50, 50), 20, turn) for turn in (0, 90, 180, 270)] == [(50, 30), (70, 50), (50, 70), (30, 50)]


def test_all_letters_differ() -> None:
    """Capitals, small letters, digits and marks have shapes of their own, and so has the euro sign."""
    assert len(set(glyphs().values())) == len(glyphs()) == 91


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=8)),
        min_size=1,
        max_size=4,
    )
)
def test_texts_are_read_where_they_are_written(texts: list[tuple[int, str]]) -> None:
    """Reading finds every text with its centre, on any ground."""
    canvas = Canvas(200, 30 * len(texts) + 20, "yellow")
    for number, (x, text) in enumerate(texts):
        canvas.text(x, 20 + 30 * number, text)
    seen = look([picture_part(canvas.png()), {"type": "text", "text": ""}])[0].texts()
    assert [(one.text, one.y) for one in seen] == [(text, 20 + 30 * number) for number, (_, text) in enumerate(texts)]
    assert [one.x for one in seen] == [x + (12 * len(text) - 2) // 2 for x, text in texts]


@pytest.mark.parametrize("task", TASKS)
def test_pictures_are_the_same_bytes_on_every_machine(task: str) -> None:
    """The digest was taken once; versions of Python, Pillow, zlib and FreeType must not change it."""
    seen = sha256()
    for level in LEVELS:
        with gem.make(f"visual:{task}-v0{level}") as env:
            seen.update(png_of(env.reset(seed=0)[0]))
    assert seen.hexdigest()[:16] == DIGESTS[task]


def check_that_files_say_nothing(task: str, level: str, seeds: int) -> None:
    """Assert that all files of a level have one size, one header, one palette, and no chunk that tells anything."""
    with gem.make(f"visual:{task}-v0{level}") as env:
        pngs = [png_of(env.reset(seed=seed)[0]) for seed in range(seeds)]
    assert {len(png) for png in pngs} == {SIZE_STEP}
    for png in pngs:
        kinds = [kind for kind, _ in chunks_of(png)]
        assert kinds == [b"IHDR", b"PLTE", b"IDAT", b"fiLl", b"IEND"]
        assert not any(chunks_of(png)[3][1])
    assert len({tuple(chunks_of(png)[:2]) for png in pngs}) == 1


@pytest.mark.parametrize("task", TASKS)
def test_a_file_says_nothing_but_its_pixels(task: str) -> None:
    """Size, header, palette and the further chunk are the same for all tasks of a level."""
    check_that_files_say_nothing(task, "-hard", 3)


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", TASKS)
def test_no_file_of_many_says_more_than_its_pixels(task: str, level: str) -> None:
    """The same holds for 50 tasks of each level."""
    check_that_files_say_nothing(task, level, 50)


@pytest.mark.parametrize("task", TASKS)
def test_the_last_observation_is_a_list_too(task: str) -> None:
    """All observations are content parts; the last one is a text without a picture."""
    with gem.make(f"visual:{task}-v0-easy") as env:
        first, _ = env.reset(seed=1)
        assert [part["type"] for part in first] == ["image_url", "text"]
        over = False
        while not over:
            last, _, terminated, truncated, _ = env.step("")
            over = terminated or truncated
        assert [part["type"] for part in last] == ["text"]
        assert isinstance(env.unwrapped, PictureEnv)
