"""What the experiments share: levels, splits, the key that a world follows from, and the state of an episode."""

from __future__ import annotations

import random
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from gem.arguments import choice, integer
from gem.counts import counted
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, malformed
from gem_envs_lab.commands import ExperimentCommand

__all__ = ["SPLITS", "ExperimentEnv", "LevelWithTurns", "drawn_world", "split_of"]

SPLITS = ("train", "test")
_TEST_SHARE = 5
"""One world in this number is for testing."""
_KEY_BITS = 64


class LevelWithTurns(Protocol):
    """What all levels have."""

    @property
    def turns(self) -> int:
        """The turns that the instructions announce."""


class HiddenWorld(Protocol):
    """A world that was drawn from a key."""

    def structure(self) -> object:
        """Return what the task is but for invented names: its ``repr`` decides the split."""


LevelT = TypeVar("LevelT", bound=LevelWithTurns)
WorldT = TypeVar("WorldT", bound=HiddenWorld)


def split_of(world: HiddenWorld) -> str:
    """Return the split that a world belongs to, whatever its things are called."""
    return SPLITS[zlib.crc32(repr(world.structure()).encode()) % _TEST_SHARE == 0]


def drawn_world(draw: Callable[[random.Random], WorldT], key: int, split: str) -> WorldT:
    """Return the first world of a key that belongs to a split."""
    rng = random.Random(key)
    while split_of(world := draw(rng)) != split:
        pass
    return world


class ExperimentEnv(TextEnv[ExperimentCommand], ABC, Generic[LevelT, WorldT]):
    """Base class: commands in a world that follows from a key of 64 bits, and one chance to hand in a result.

    Every command costs a turn, also one that is impossible, and a text without a command. Reward: 1.0 for the right
    result, which ends the episode as a wrong one does; 0.0 for everything else.

    A subclass lists ``_key`` in ``saved``, and writes ``_draw`` and ``_start``.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: turns that the instructions announce; None: by the level.
    """

    request = "What do you do?"
    closings: ClassVar[Mapping[str, str]] = {
        **TextEnv.closings,
        "success": "That is right.",
        "failure": "The experiment has failed.",
    }
    levels: ClassVar[Mapping[str, Any]]
    """Name → level, from the easiest to the hardest."""
    _key: int
    _world: WorldT

    def __init__(self, level: str = "medium", split: str = "train", max_turns: int | None = None) -> None:
        self.level = choice("level", level, tuple(self.levels))
        self.split = choice("split", split, SPLITS)
        self._level: LevelT = self.levels[level]
        if max_turns is None:
            max_turns = self._level.turns
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    def _begin(self) -> None:
        self._key = self.rng.getrandbits(_KEY_BITS)
        self._world = drawn_world(self._draw, self._key, self.split)
        self._start()

    @abstractmethod
    def _draw(self, rng: random.Random) -> WorldT:
        """Return a world of this level."""

    @abstractmethod
    def _start(self) -> None:
        """Set the attributes that the episode changes."""

    def _malformed(self) -> MoveResult:
        return malformed("No line of your answer is a command.", 0.0, ends=False)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("_key", self._key, minimum=0, maximum=(1 << _KEY_BITS) - 1)
        self._world = drawn_world(self._draw, self._key, self.split)
        self._check()

    def _check(self) -> None:
        """Raise ArgumentError where the loaded attributes do not fit the world."""

    def _closing_words(self) -> str:
        """Return the sentences on commands with which all instructions end."""
        return (
            f"You have {counted(self.max_turns, 'turn')}, and every answer takes one. You may think first: the last "
            "line of your answer that is a command is carried out, so write nothing else into that line."
        )
