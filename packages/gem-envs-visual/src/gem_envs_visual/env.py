r"""What the tasks share: an observation of a picture and a text, levels, splits, and answers in a box."""

from __future__ import annotations

import json
import random
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from gem.action_forms import ActionForm, BoxedText, LenientForm
from gem.arguments import choice
from gem.core import Info, Observation
from gem.numbered_tasks import NumberedTaskEnv
from gem.phases import EpisodePhase
from gem.state_fields import StateFields
from gem.text_env import MoveResult, MoveT, malformed
from gem_questions.pictures.canvas import Canvas
from gem_questions.pictures.png import picture_part

__all__ = ["SPLITS", "AnswerEnv", "PictureEnv", "PictureQuestion", "split_of"]

SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One task in this number is for testing."""
_WHOLE_NUMBER = re.compile(r"\+?0*(\d{1,9})", re.ASCII)
_WRITTEN_NUMBER = re.compile(r"\+?0*(\d{1,3}(?:,\d{3}){1,2}|\d{1,9})(?:\.0{0,9})?", re.ASCII)
"""A whole number, also with commas between its thousands or as a decimal number without a fraction."""


class PictureTask(Protocol):
    """A task that was drawn from its number."""

    def structure(self) -> object:
        """Return what the task is but for names, as values that JSON has: its text decides the split."""


class PictureQuestion(PictureTask, Protocol):
    """A task that one answer ends."""

    @property
    def question(self) -> str:
        """What is asked, with an example of an answer."""

    @property
    def answer(self) -> str:
        """The right answer: a number, or words in capitals, with one blank between them."""

    def guess(self, rng: random.Random) -> str:
        """Return a possible answer, chosen without the picture."""

    def picture(self) -> Canvas:
        """Return the drawing."""


TaskT = TypeVar("TaskT", bound=PictureTask)
QuestionT = TypeVar("QuestionT", bound=PictureQuestion)


def split_of(task: PictureTask) -> str:
    """Return the split that a task belongs to, whatever its things are called."""
    return SPLITS[zlib.crc32(json.dumps(task.structure()).encode()) % _TEST_SHARE == 0]


class PictureEnv(NumberedTaskEnv[MoveT], ABC, Generic[MoveT, TaskT]):
    """Base class: each observation but the last is a picture and a text, the last one a text, all as content parts.

    The text names what is asked for; everything that decides the answer is in the picture.

    A subclass lists ``task`` and the attributes that moves change in ``saved``, sets the latter in ``_start``, and
    writes ``_drawn``, ``_picture``, ``_instructions`` and ``_play``.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``. No task is in both.
        max_turns: turns that the instructions announce; None: by the level.
    """

    levels: ClassVar[Mapping[str, Any]]
    """Name → level, from the easiest to the hardest; where ``max_turns`` may be None, they have ``turns``."""
    _task: TaskT

    def __init__(self, level: str, split: str, max_turns: int | None) -> None:
        self.level = choice("level", level, tuple(self.levels))
        self.split = choice("split", split, SPLITS)
        self._level = self.levels[level]
        super().__init__(self._level.turns if max_turns is None else max_turns)

    def reset(  # type: ignore[override]  # content parts in place of a text
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin a new task; see :meth:`gem.TextEnv.reset`. The option ``task`` chooses it by its number."""
        text, info = super().reset(seed, options)
        return self._parts(text), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:  # type: ignore[override]
        """Play the move in ``action``; see :meth:`gem.TextEnv.step`."""
        text, reward, terminated, truncated, info = super().step(action)
        return self._parts(text), reward, terminated, truncated, info

    def _parts(self, text: str) -> Observation:
        told = {"type": "text", "text": text}
        return [told] if self._phase is EpisodePhase.OVER else [picture_part(self._picture().png()), told]

    @abstractmethod
    def _drawn(self, rng: random.Random) -> TaskT:
        """Return a task of this level."""

    @abstractmethod
    def _picture(self) -> Canvas:
        """Return the drawing of the situation."""

    def _start(self) -> None:
        """Set the attributes that moves change."""

    def _begin(self, task: int | None = None) -> None:
        super()._begin(task)
        self._task = self._numbered()
        self._start()

    def _numbered(self) -> TaskT:
        """Return the first task of the number's own generator that belongs to the split."""
        rng = random.Random(self.task)
        while split_of(task := self._drawn(rng)) != self.split:
            pass
        return task

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._task = self._numbered()


class AnswerEnv(PictureEnv[str, QuestionT], ABC):
    r"""Base class of questions: one answer in the last ``\boxed{…}``, 1.0 if it is right, 0.0 for anything else.

    A subclass writes ``levels`` and ``_drawn``. Capitals and small letters count alike, and commas as blanks. A number
    may have commas between its thousands, ``.0``, dollar signs around it, and one of ``units`` behind it.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``. No task is in both.
    """

    form: ActionForm[str] = LenientForm(BoxedText(), free_text=True)
    saved = StateFields(task=int)
    request = ""
    units: ClassVar[tuple[str, ...]] = ()
    """What may stand behind a number because the question names it: in capitals, the longer ones first."""

    def __init__(self, level: str = "medium", split: str = "train") -> None:
        super().__init__(level, split, max_turns=1)

    def _instructions(self) -> str:
        return self._task.question

    def _picture(self) -> Canvas:
        return self._task.picture()

    def _play(self, move: str) -> MoveResult:
        answer = self._task.answer
        given = self._number(move) if answer.isdecimal() else _normal(move)
        return self._answered(given == answer)

    def _number(self, answer: str) -> str:
        """Return the number of an answer as a task has it; empty if the answer is no number."""
        text = answer.upper().strip("$ ")
        unit = next((unit for unit in self.units if text.endswith(unit)), "")
        match = _WRITTEN_NUMBER.fullmatch(text.removesuffix(unit).rstrip("\\,~ "))
        return "" if match is None else str(int(match[1].replace(",", "")))

    def _malformed(self) -> MoveResult:
        return malformed("There is no answer in a box.", 0.0)

    def _random_action(self) -> str:
        return f"\\boxed{{{self._task.guess(self.action_rng)}}}"


def _normal(answer: str) -> str:
    """Return an answer in the form in which a task has it."""
    words = answer.upper().replace(",", " ").split()
    return " ".join(match[1] if (match := _WHOLE_NUMBER.fullmatch(word)) else word for word in words)
