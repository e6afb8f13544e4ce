r"""A row of numbers to sort by swaps of neighbours: dense rewards, initial states that differ, answers that teach.

Made for experiments on credit: each swap is worth something at once, a whole episode has many of them, and a small
model can read the row in a dozen tokens. The answer to a swap says whether it brought two numbers into order, so a
model that predicts random play's observations has already learnt to compare.
"""

from __future__ import annotations

import gem
from gem.action_forms import BoxedNumber
from gem.arguments import integer
from gem.state_fields import StateFields
from gem.text_env import MoveResult, legal, success

__all__ = ["SortingEnv"]


class SortingEnv(gem.TextEnv[int]):
    r"""Sort a random row of the numbers from 1 to ``size``; ``\boxed{2}`` swaps its second and third number.

    A swap earns the share of the row's initial inversions that it removes, and loses as much where it adds one, so the
    rewards of a won episode sum to 1. The least number of turns is the number of inversions, on average
    size · (size − 1) / 4.

    Args:
        size: numbers in the row.
        max_turns: turns of an episode.
    """

    saved = StateFields(_row=list[int], _inversions=int)
    request = "Which pair?"

    def __init__(self, size: int = 5, max_turns: int = 15) -> None:
        super().__init__(max_turns=max_turns)
        self.size = integer("size", size, minimum=2, maximum=9)
        self.form = BoxedNumber(1, self.size - 1)

    def _begin(self) -> None:
        self._row = list(range(1, self.size + 1))
        while not (inversions := self._count()):  # a sorted row is no task
            self.rng.shuffle(self._row)
        self._inversions = inversions

    def _count(self) -> int:
        return sum(before > after for place, before in enumerate(self._row) for after in self._row[place + 1 :])

    def _instructions(self) -> str:
        return f"Sort the row in {self.max_turns} turns. \\boxed{{1}} swaps the first pair."

    def _board(self) -> str:
        return " ".join(map(str, self._row))

    def _play(self, place: int) -> MoveResult:
        first, second = self._row[place - 1 : place + 1]
        self._row[place - 1 : place + 1] = [second, first]
        earned = (1 if first > second else -1) / self._inversions
        if not self._count():
            return success("Sorted.", earned)
        return legal("Better." if first > second else "Worse.", earned)
