r"""FrozenLake: cross a slippery lake without falling into a hole.

The rules are those of Gymnasium's FrozenLake with RAGEN's maps: each cell is frozen with probability ``p``, start and
goal are two random cells, and only maps with a way are taken. A move goes as meant with probability ``success_rate``
and otherwise, in equal parts, to one of the two sides; a move over the edge goes nowhere. RAGEN derives the seed of a
rejected map from the hash of a text, so its maps change with ``PYTHONHASHSEED``; here they follow from the seed alone.

Reward: 1.0 at the goal, 0.0 for anything else. The reference policy plays the exact optimum for the turns that are
left (:mod:`gem_envs_grid.frozen_lake_optimum`); :attr:`FrozenLakeEnv.optimum` is its value on the map in play.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from gem.action_forms import BoxedChoice
from gem.arguments import integer, real
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, failure, legal, success
from gem_envs_grid.frozen_lake_optimum import DIRECTIONS, frozen_lake_optimum, neighbours
from gem_envs_grid.grid_game import GridGame, probability_from_words, probability_in_words
from gem_envs_grid.splits import in_split, split_name

__all__ = ["FrozenLakeEnv", "FrozenLakePolicy", "draw_lake", "way_length"]

_MOST_DRAWS = 100_000
_SHOWN = {"S": "_", "F": "_", "H": "O", "G": "G"}


class FrozenLakeEnv(GridGame[str]):
    r"""Move with ``\boxed{left}``, ``\boxed{down}``, ``\boxed{right}`` or ``\boxed{up}``.

    Args:
        size: rows and columns of the lake, 2 … 16.
        p: probability that a cell is frozen, 0.5 … 1.
        success_rate: probability that a move goes as meant, 0 … 1; 1/3 as in Gymnasium, 1.0 for ice that is not
            slippery.
        min_distance: least number of moves from start to goal around the holes; 1 as in RAGEN.
        max_turns: moves that the instructions announce.
        split: ``"train"`` or ``"test"``. No map is in both.
        format_penalty: points that an unreadable action costs, 0 … 1; RAGEN takes 0.1.

    Raises:
        ArgumentError: also from ``reset``, if no map of a hundred thousand has the least distance.
    """

    form = BoxedChoice(*DIRECTIONS)
    saved = StateFields(lake=tuple[str, ...], position=int)
    closings: ClassVar[Mapping[str, str]] = {
        **GridGame.closings,
        "failure": "You have fallen into a hole.",
    }

    def __init__(
        self,
        size: int = 4,
        p: float = 0.8,
        success_rate: float = 1 / 3,
        min_distance: int = 1,
        max_turns: int = 10,
        split: str = "train",
        format_penalty: float = 0.0,
    ) -> None:
        self.size = integer("size", size, minimum=2, maximum=16)
        self.p = real("p", p, minimum=0.5, maximum=1.0)
        self.success_rate = real("success_rate", success_rate, minimum=0.0, maximum=1.0)
        self.min_distance = integer("min_distance", min_distance, minimum=1, maximum=2 * (self.size - 1))
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.split = split_name(split)
        self._set_format_penalty(format_penalty)
        # Thresholds of a random number in [0, 1): as meant below the first, to one side below the second.
        self._meant = self.success_rate
        self._one_side = self.success_rate + (1 - self.success_rate) / 2

    @property
    def optimum(self) -> float:
        """The probability to reach the goal of the map in play from its start, with the best strategy."""
        values, _ = frozen_lake_optimum(self.lake, self.success_rate, self.max_turns)
        return values[-1]["".join(self.lake).index("S")]

    def _begin(self) -> None:
        for _ in range(_MOST_DRAWS):
            lake = draw_lake(self.rng, self.size, self.p)
            if in_split("/".join(lake), self.split) and way_length(lake) >= self.min_distance:
                break
        else:
            raise ArgumentError(
                f"no lake of size {self.size} with p = {self.p} has a way of {self.min_distance} moves or more; lower "
                "min_distance"
            )
        self.lake = lake
        self.position = "".join(lake).index("S")
        self._follow()

    def _follow(self) -> None:
        self._cells = "".join(self.lake)
        self._table = _neighbours(self.size)
        self._without_agent = "\n".join("".join(_SHOWN[symbol] for symbol in row) for row in self.lake)

    def _instructions(self) -> str:
        rate = self.success_rate
        if rate == 1.0:
            ice = "The ice is not slippery: a move goes where you mean it to."
        else:
            ice = (
                f"The ice is slippery: a move goes where you mean it to with probability {probability_in_words(rate)}, "
                "and otherwise, equally likely, to one of the two sides at right angles."
            )
        return (
            f"You are crossing a frozen lake of {self.size} rows and {self.size} columns. Reach the goal within "
            f"{counted(self.max_turns, 'move')}, and do not fall into a hole. Each turn you move to the next cell "
            f"left, down, right or up; a move over the edge goes nowhere. {ice}\n"
            "'P' is you, '_' ice, 'O' a hole, 'G' the goal; 'X' is you in a hole, '√' you at the goal.\n"
            "Put the direction in \\boxed{}, for example \\boxed{left}."
        )

    def _board(self) -> str:
        position = self.position
        place = position + position // self.size  # each row ends with a line break
        shown = self._without_agent
        symbol = {"H": "X", "G": "√"}.get(self._cells[position], "P")
        return f"{shown[:place]}{symbol}{shown[place + 1 :]}"

    def _play(self, move: str) -> MoveResult:
        direction = DIRECTIONS.index(move)
        chance = self.rng.random()
        if chance < self._meant:
            went = direction
        else:
            went = (direction - 1) % 4 if chance < self._one_side else (direction + 1) % 4
        before, self.position = self.position, self._table[self.position][went]
        if self.position == before:
            message = f"You meant to move {move}; you are where you were."
        elif went == direction:
            message = f"You have moved {move}."
        else:
            message = f"You meant to move {move}, and slipped {DIRECTIONS[went]}."
        found = self._cells[self.position]
        if found == "G":
            return success(message)
        return failure(message) if found == "H" else legal(message)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        cells = "".join(self.lake)
        if [len(row) for row in self.lake] != [self.size] * self.size or not set(cells) <= set("SFHG"):
            raise ArgumentError(f"lake must have {self.size} rows of {self.size} letters S, F, H, G, got {self.lake}")
        if cells.count("S") != 1 or cells.count("G") != 1:
            raise ArgumentError(f"lake must have one start and one goal, got {self.lake}")
        integer("position", self.position, minimum=0, maximum=len(cells) - 1)
        self._follow()


class FrozenLakePolicy(Policy[str, str]):
    """Plays the strategy with the highest probability to reach the goal within the turns that are left."""

    _TURNS = re.compile(r"within (\d+) moves")
    _ROW = re.compile(r"^[P_OGX√]+$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._TURNS.search(observation)
        assert match is not None, observation
        self._turns = int(match[1])
        _, slippery, chance = observation.partition("with probability ")
        rate = probability_from_words(chance) if slippery else 1.0
        rows = self._ROW.findall(observation)
        lake = [row.translate(str.maketrans("P_O", "SFH")) for row in rows]
        _, self._best = frozen_lake_optimum(lake, rate, self._turns)

    def act(self, observation: str, info: Info) -> str:
        position = "".join(self._ROW.findall(observation)).index("P")
        direction = DIRECTIONS[self._best[self._turns][position]]
        self._turns -= 1
        return f"\\boxed{{{direction}}}"


def draw_lake(rng: random.Random, size: int, p: float) -> tuple[str, ...]:
    """Return the rows of a random lake; whether it has a way from ``S`` to ``G`` is for the caller to see."""
    cells = ["F" if rng.random() < p else "H" for _ in range(size * size)]
    start, goal = rng.sample(range(size * size), 2)
    cells[start], cells[goal] = "S", "G"
    text = "".join(cells)
    return tuple(text[row : row + size] for row in range(0, size * size, size))


def way_length(lake: tuple[str, ...]) -> int:
    """Return the number of moves of the shortest way from ``S`` to ``G`` around the holes; 0 if there is none."""
    cells = "".join(lake)
    table = _neighbours(len(lake))
    start, goal = cells.index("S"), cells.index("G")
    seen, edge, length = {start}, [start], 0
    while edge:
        length += 1
        reached = {near for cell in edge for near in table[cell] if near not in seen and cells[near] != "H"}
        if goal in reached:
            return length
        seen |= reached
        edge = list(reached)
    return 0


@lru_cache(maxsize=16)
def _neighbours(size: int) -> list[tuple[int, ...]]:
    return neighbours(size, size)
