"""A generated problem, and the function that makes the rows of a set of a million."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from gem.arguments import choice, integer

__all__ = ["LEVELS", "MIXED", "SIZE", "SPLITS", "Kinds", "MathProblem", "Rejected", "row_maker", "side"]

LEVELS = ("easy", "medium", "hard")
MIXED = "mixed"
"""Draws the level of each problem."""

SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One in this number of all possible problems belongs to the split "test"."""

SIZE = 1_000_000
_PATIENCE = 10_000
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")


class Rejected(Exception):  # noqa: N818  # not an error: the draw is repeated
    """The drawn numbers make no sensible problem; the next draw may."""


@dataclass(frozen=True)
class MathProblem:
    r"""One problem.

    Args:
        kind: the name of its generator.
        question: the question, without the format of the answer.
        answer: the content of the box, as LaTeX.
        plain: the answer must be a number, not an expression that still has to be computed.
        hidden: the answer must not stand in the question as a number.
        figure: the drawing as JSON values; see :mod:`gem_envs_math.geometry.figure`.
        facts: the figure in words, for agents without pictures.
        values: what the answer follows from, as JSON values, where the text can say it in many ways.
        noise: a number in the text that does not matter.
    """

    kind: str
    question: str
    answer: str
    plain: bool = True
    hidden: bool = True
    figure: Mapping[str, Any] | None = None
    facts: str = ""
    values: Mapping[str, Any] | None = None
    noise: str = ""


Maker = Callable[[random.Random], MathProblem]
Kinds = Mapping[str, Sequence[Maker]]
"""Level → the generators of its problems."""


def side(problem: MathProblem) -> str:
    """Return the split of a problem: a function of its kind and its numbers.

    So the splits have no problem in common, not even under other names.
    """
    if problem.values is not None:
        key = f"{problem.kind} {json.dumps(problem.values, sort_keys=True)}"
        return SPLITS[crc32(key.encode()) % _TEST_SHARE == 0]
    text = problem.question if problem.figure is None else problem.facts + problem.question
    key = " ".join([problem.kind, *_NUMBER.findall(text)])
    return SPLITS[crc32(key.encode()) % _TEST_SHARE == 0]


def row_maker(name: str, kinds: Kinds, level: str, split: str) -> Callable[[random.Random, int], dict[str, Any]]:
    """Return the function with which :class:`gem_questions.GeneratedRows` makes rows.

    Raises:
        ArgumentError: for a level or split that does not exist.
    """
    choice("level", level, (*LEVELS, MIXED))
    choice("split", split, SPLITS)

    def make(rng: random.Random, index: int) -> dict[str, Any]:
        integer("index", index, minimum=0)
        drawn = rng.choice(LEVELS) if level == MIXED else level
        problem = _drawn(rng, kinds[drawn], split)
        row = {
            "id": f"{name}/{split}/{level}/{index}",
            "problem": problem.question,
            "answer": problem.answer,
            "kind": problem.kind,
            "level": drawn,
            "plain": problem.plain,
        }
        if problem.values is not None:
            row["values"] = problem.values
        if problem.figure is not None:
            row["figure"] = problem.figure
            row["facts"] = problem.facts
        return row

    return make


def _drawn(rng: random.Random, makers: Sequence[Maker], split: str) -> MathProblem:
    while True:
        # Drawing again with the same generator keeps all generators equally likely, however often they reject.
        maker = rng.choice(makers)
        for _ in range(_PATIENCE):
            try:
                problem = maker(rng)
            except Rejected:
                continue
            if side(problem) == split and not _gives_itself_away(problem):
                return problem


def _gives_itself_away(problem: MathProblem) -> bool:
    if not problem.hidden:
        return False
    answer = problem.answer.replace(",", "")
    text = (problem.facts + " " + problem.question).replace(",", "")
    return answer.lstrip("-") in _NUMBER.findall(text) or (answer.isalpha() and answer in text)
