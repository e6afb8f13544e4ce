r"""Nim: the players take objects from heaps; who takes the last one wins.

The reference policy follows Bouton, "Nim, a game with a complete mathematical theory", Annals of Mathematics 3 (1901).
"""

from __future__ import annotations

import re
from functools import reduce
from operator import xor

from gem.action_forms import BoxedNumbers
from gem.arguments import integer
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGamePolicy
from gem_envs_games.duels.two_players import PLAYERS, TwoPlayerEnv

__all__ = ["NimEnv", "NimPolicy"]


class NimEnv(TwoPlayerEnv[tuple[int, ...]]):
    r"""Take objects from one heap with ``\boxed{heap number}``. Rewards: 1.0 for the winner, -1.0 for the other.

    Args:
        heaps: number of heaps, 1 … 20.
        most: largest heap at the start, 1 … 99; sizes are drawn.
    """

    saved = TwoPlayerEnv.common | StateFields(heaps=list[int])

    def __init__(self, heaps: int = 3, most: int = 7) -> None:
        super().__init__()
        self.number = integer("heaps", heaps, minimum=1, maximum=20)
        self.most = integer("most", most, minimum=1, maximum=99)
        self.form = BoxedNumbers((1, self.number), (1, self.most))
        self.max_turns = self.number * self.most

    def _deal(self) -> None:
        self.heaps = [self.rng.randint(1, self.most) for _ in range(self.number)]

    def _rules(self, player: str) -> str:
        return (
            "Two players in turn take any number of objects from one heap; who takes the last object of all wins and "
            "scores 1, and the other loses 1. Write the number of the heap and how many you take, for example "
            "\\boxed{1 2} for two from heap 1."
        )

    def _situation(self, player: str) -> str:
        return "\n".join(f"Heap {number}: {size}" for number, size in enumerate(self.heaps, 1))

    def _moves(self) -> list[str]:
        return [f"{number} {taken}" for number, size in enumerate(self.heaps, 1) for taken in range(1, size + 1)]

    def _move(self, player: str, move: tuple[int, ...]) -> dict[str, float] | str | None:
        number, taken = move
        if taken > self.heaps[number - 1]:
            return f"heap {number} does not have so many objects: {self.heaps[number - 1]}."
        self.heaps[number - 1] -= taken
        self.event = f"The {player} player took {taken} from heap {number}."
        if any(self.heaps):
            return None
        self.event += f" The {player} player wins."
        return {one: 1.0 if one == player else -1.0 for one in PLAYERS}

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("number of heaps", len(self.heaps), minimum=self.number, maximum=self.number)
        for size in self.heaps:
            integer("heap", size, minimum=0, maximum=self.most)


class NimPolicy(SeatedGamePolicy):
    """Leaves heaps whose sizes have the exclusive or 0, if it can."""

    def answer(self, observation: str) -> str:
        """Return a winning move, or, where there is none, one that leaves the game long."""
        heaps = [int(size) for size in re.findall(r"^Heap \d+: (\d+)$", observation, re.MULTILINE)]
        total = reduce(xor, heaps)
        for number, size in enumerate(heaps, 1):
            if total and size ^ total < size:
                return f"\\boxed{{{number} {size - (size ^ total)}}}"
        return f"\\boxed{{{next(number for number, size in enumerate(heaps, 1) if size)} 1}}"
