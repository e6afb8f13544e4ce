"""A small package with tests of its own, as a source archive."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["FILES", "NAME", "write_archive"]

NAME = "shelfmark-1.2"
FILES = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: shelfmark\nVersion: 1.2\n",
    "pyproject.toml": (
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "shelfmark"\nversion = "1.2"\n'
        '[tool.setuptools]\npackages = ["shelfmark"]\n'
    ),
    "shelfmark/__init__.py": '''"""Shelf marks."""

from shelfmark.marks import Mark, parse, sort_marks
from shelfmark.shelves import fill, free_places
''',
    "shelfmark/marks.py": '''"""Marks of books: a subject, a number, an optional volume."""

import re

_FORM = re.compile(r"([A-Z]+) (\\d+)(?:-(\\d+))?")


class Mark:
    """A mark."""

    def __init__(self, subject, number, volume=0):
        self.subject, self.number, self.volume = subject, number, volume

    def key(self):
        """What marks are sorted by."""
        return self.subject, self.number, self.volume

    def follows(self, other):
        """Whether this volume comes right after another one."""
        if self.subject != other.subject or self.number != other.number:
            return False
        return self.volume - other.volume == 1


def parse(text):
    """Return a mark from its text, such as ``QA 76-2``."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"no mark: {text!r}")
    subject, number, volume = found.groups()
    if volume is None:
        return Mark(subject, int(number))
    return Mark(subject, int(number), int(volume))


def sort_marks(texts, reverse=False):
    """Return marks in the order of the shelf."""
    marks = [parse(text) for text in texts]
    marks.sort(key=Mark.key, reverse=reverse)
    return marks
''',
    "shelfmark/shelves.py": '''"""Shelves with places."""

from shelfmark.marks import sort_marks


def free_places(widths, length):
    """Return how much of a shelf is free, at least 0."""
    used = 0
    for width in widths:
        if width <= 0:
            raise ValueError("a book has a width")
        used += width
    if used >= length:
        return 0
    return length - used


def fill(books, length):
    """Return the shelves that books fill in the order of their marks, each a list of marks.

    ``books`` maps the text of a mark to a width.
    """
    shelves, current, left = [], [], length
    for mark in sort_marks(books):
        text = next(each for each in books if sort_marks([each])[0].key() == mark.key())
        width = books[text]
        if width > left and current:
            shelves.append(current)
            current, left = [], length
        current.append(text)
        left -= width
    if current:
        shelves.append(current)
    return shelves
''',
    "tests/test_marks.py": """import unittest

import pytest

from shelfmark import Mark, parse, sort_marks


@pytest.mark.parametrize(("text", "key"), [("QA 76", ("QA", 76, 0)), ("QA 76-2", ("QA", 76, 2))])
def test_parse(text, key):
    assert parse(text).key() == key


def test_parse_refuses():
    with pytest.raises(ValueError, match="no mark"):
        parse("76 QA")


def test_sort():
    assert [mark.number for mark in sort_marks(["B 2", "B 10", "A 3"])] == [3, 2, 10]


def test_sort_backwards():
    assert [mark.number for mark in sort_marks(["B 2", "B 10", "A 3"], reverse=True)] == [10, 2, 3]


class TestFollows(unittest.TestCase):
    def test_next_volume(self):
        self.assertTrue(parse("A 1-2").follows(parse("A 1-1")))

    def test_other_number(self):
        self.assertFalse(parse("A 2-2").follows(parse("A 1-1")))

    def test_itself(self):
        self.assertFalse(Mark("A", 1).follows(Mark("A", 1)))
""",
    "tests/test_shelves.py": """import pytest

from shelfmark import fill, free_places


def test_free_places():
    assert free_places([3, 4], 10) == 3


def test_full_shelf():
    assert free_places([5, 5], 10) == 0


def test_overfull_shelf():
    assert free_places([5, 6], 10) == 0


def test_width():
    with pytest.raises(ValueError):
        free_places([0], 10)


def test_fill():
    assert fill({"B 1": 4, "A 2": 4, "A 1": 4}, 8) == [["A 1", "A 2"], ["B 1"]]


def test_fill_exactly():
    assert fill({"A 1": 8, "A 2": 8}, 8) == [["A 1"], ["A 2"]]


def test_a_wide_book_has_a_shelf_of_its_own():
    assert fill({"A 1": 9, "A 2": 1}, 8) == [["A 1"], ["A 2"]]
""",
}


def write_archive(folder: Path, files: Mapping[str, str] = FILES, name: str = NAME) -> Path:
    """Write a source archive, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for inside, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"{name}/{inside}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path
