"""Tables to read: rows and columns of numbers, whose names stand in the picture alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.names import name_like, names
from gem_envs_visual.reading import look
from gem_questions.pictures.canvas import Canvas

__all__ = ["NumberTable", "TablesEnv", "TablesPolicy"]

WIDTH, HEIGHT = 480, 340
LEFT, TOP, COLUMN, ROW = 10, 10, 78, 28
_RANKS = ("lowest", "second lowest", "third lowest", "highest", "second highest", "third highest")
_NUMBER = "Put the number in \\boxed{}, such as \\boxed{57}."
_NAME = "Put the name of its row in \\boxed{}, such as \\boxed{KAP}."
_LOWEST, _HIGHEST = 10, 99
"""Values of a cell."""


class TableLevel(NamedTuple):
    """How full the tables of a level are."""

    rows: int
    columns: int
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class NumberTable:
    """A table, and a question about it."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    asked: tuple[str, ...]
    """The kind of the question, and the rows, columns and words that fill it."""

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        kind, *about = self.asked
        if kind == "cell":
            return f"Which number is in row {about[0]}, column {about[1]}? {_NUMBER}"
        if kind == "rank":
            return f"Which row has the {about[1]} number in column {about[0]}? {_NAME}"
        if kind == "difference":
            return f"How far apart are the numbers of rows {about[1]} and {about[2]} in column {about[0]}? {_NUMBER}"
        if kind == "filtered":
            return (
                f"Among the rows whose {about[0]} is greater than their {about[1]}, which has the {about[3]} number in "
                f"column {about[2]}? {_NAME}"
            )
        return f"What is the sum of column {about[0]} over the rows whose {about[1]} is below {about[2]}? {_NUMBER}"

    @property
    def answer(self) -> str:
        """The answer; empty if it is not clear."""
        kind, *about = self.asked

        def number(row: str, column: str) -> int:
            return self.cells[self.rows.index(row)][self.columns.index(column)]

        if kind == "cell":
            return str(number(*about))
        if kind == "difference":
            return str(abs(number(about[1], about[0]) - number(about[2], about[0])))
        if kind == "sum":
            chosen = [row for row in self.rows if number(row, about[1]) < int(about[2])]
            return str(sum(number(row, about[0]) for row in chosen)) if len(chosen) >= 2 else ""
        column, rank, among = about[0], about[1], self.rows
        if kind == "filtered":
            column, rank = about[2], about[3]
            among = tuple(row for row in self.rows if number(row, about[0]) > number(row, about[1]))
        return _ranked(among, [number(row, column) for row in among], rank)

    def structure(self) -> object:
        """Return the numbers and what is asked, by places."""
        places = {name: number for axis in (self.rows, self.columns) for number, name in enumerate(axis)}
        return self.cells, [places.get(word, word) for word in self.asked]

    def guess(self, rng: random.Random) -> str:
        """Return a name or a number, whichever is asked for."""
        return str(rng.randint(_LOWEST, _HIGHEST)) if self.answer.isdecimal() else name_like(rng)

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        wide, high = COLUMN * (len(self.columns) + 1), ROW * (len(self.rows) + 1)
        canvas.rectangle(LEFT, TOP, wide, ROW, "shade")
        canvas.rectangle(LEFT, TOP, COLUMN, high, "shade")
        for number in range(len(self.rows) + 2):
            canvas.line((LEFT, TOP + ROW * number), (LEFT + wide, TOP + ROW * number), "grey", 1)
        for number in range(len(self.columns) + 2):
            canvas.line((LEFT + COLUMN * number, TOP), (LEFT + COLUMN * number, TOP + high), "grey", 1)
        lines = [("", *self.columns)] + [
            (name, *map(str, cells)) for name, cells in zip(self.rows, self.cells, strict=True)
        ]
        for row, line in enumerate(lines):
            for column, text in enumerate(line):
                if text:
                    x, y = LEFT + COLUMN * column + COLUMN // 2, TOP + ROW * row + ROW // 2
                    canvas.text(x, y, text, align="centre")
        return canvas


def _ranked(rows: Sequence[str], numbers: Sequence[int], rank: str) -> str:
    """Return the row with the number of a rank, or an empty text if there are too few rows or equal numbers."""
    order = [row for _, row in sorted(zip(numbers, rows, strict=True), reverse=rank.endswith("highest"))]
    place = _RANKS.index(rank) % 3
    return order[place] if place < len(order) and len(order) > 2 and len(set(numbers)) == len(numbers) else ""


class TablesEnv(AnswerEnv[NumberTable]):
    """Look up, compare, filter and add the numbers of a table.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    levels: ClassVar[Mapping[str, TableLevel]] = {
        "easy": TableLevel(4, 3, ("cell", "rank")),
        "medium": TableLevel(7, 4, ("cell", "rank", "difference", "filtered")),
        "hard": TableLevel(10, 5, ("difference", "rank", "filtered", "filtered", "sum")),
    }

    def _drawn(self, rng: random.Random) -> NumberTable:
        level: TableLevel = self._level
        while True:
            found = names(rng, level.rows + level.columns)
            rows, columns = tuple(found[: level.rows]), tuple(found[level.rows :])
            drawn = [rng.sample(range(_LOWEST, _HIGHEST + 1), level.rows) for _ in columns]
            asked = _asked(rng, rng.choice(level.kinds), rows, columns)
            table = NumberTable(rows, columns, tuple(zip(*drawn, strict=True)), asked)
            if table.answer:
                return table


def _asked(rng: random.Random, kind: str, rows: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
    if kind == "cell":
        return kind, rng.choice(rows), rng.choice(columns)
    if kind == "rank":
        return kind, rng.choice(columns), rng.choice(_RANKS)
    if kind == "difference":
        return kind, rng.choice(columns), *rng.sample(rows, 2)
    if kind == "filtered":
        return kind, *rng.sample(columns, 3), rng.choice(("lowest", "highest"))
    return kind, *rng.sample(columns, 2), str(10 * rng.randint(3, 7))


class TablesPolicy(Policy[Observation, str]):
    """Reads the whole table from the pixels, and works the answer out."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, text = look(observation)
        texts = picture.texts()
        columns = tuple(one.text for one in texts if one.y == texts[0].y)
        lines = [[one.text for one in texts if one.y == name.y] for name in texts[len(columns) :] if name.x < COLUMN]
        rows = tuple(line[0] for line in lines)
        cells = tuple(tuple(map(int, line[1:])) for line in lines)
        return f"\\boxed{{{NumberTable(rows, columns, cells, _heard(text, rows, columns)).answer}}}"


def _heard(text: str, rows: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a question asks."""
    question = text.partition("?")[0]
    words = [word for word in question.replace(",", " ").split() if word in (*rows, *columns)]
    rank = next((rank for rank in sorted(_RANKS, key=len, reverse=True) if f"the {rank} " in question), "")
    if "Among" in question:
        return "filtered", *words, rank
    if "sum" in question:
        return "sum", *words, question.split()[-1]
    if "How far" in question:
        return "difference", words[2], words[0], words[1]
    return ("rank", words[0], rank) if rank else ("cell", *words)
