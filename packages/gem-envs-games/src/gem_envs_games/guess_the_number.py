"""GuessTheNumber: find a hidden number by guessing, with higher/lower hints.

Rewards: 1.0 for the number. If the announced turns run out, a last guess within the range that was not made
before earns ``1 - |guess - number| / (highest - lowest)``; the original also paid for repeated guesses and
for guesses after the end.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError, StateError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, read_number

__all__ = ["GuessTheNumberEnv", "GuessTheNumberPolicy"]

_LIMIT = 10**9


class GuessTheNumberEnv(Game[re.Match[str]]):
    r"""Guess a number from ``min_number`` to ``max_number`` with ``\boxed{number}``.

    Args:
        min_number: lowest number that can be hidden, 0 … 10⁹.
        max_number: highest number that can be hidden, more than ``min_number``.
        max_turns: guesses that the instructions announce. ``"random"``: enough for the drawn range.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.

    Both numbers ``"random"``: drawn at every reset, the lowest from 1 … 10, the span from 5 … 50.
    """

    form = BoxedPattern(r"(\d+)")
    _last_legal: int | None
    """The last guess, if it was new and in the range; set by every move."""

    def __init__(
        self,
        min_number: int | Literal["random"] | None = 1,
        max_number: int | Literal["random"] | None = 20,
        max_turns: int | Literal["random"] | None = 10,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("min_number", "max_number"), (min_number, max_number))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        if not self._drawn:
            low = integer("min_number", min_number, minimum=0, maximum=_LIMIT)
            high = integer("max_number", max_number, minimum=0, maximum=_LIMIT)
            if high <= low:
                raise ArgumentError(f"max_number must be more than min_number={low}, got {high}")
            self._set_range(low, high)

    def _set_range(self, low: int, high: int) -> None:
        self.min_number, self.max_number, self._size = low, high, high - low + 1
        if self._turns_drawn:
            self.max_turns = _enough_turns(high - low)
        self.request = f"Enter your guess from {low} to {high}."
        # Written once, not at every reset, because the range rarely changes.
        self._rules = (
            f"You are playing Guess The Number. I have chosen a whole number from {low} to {high}. Find it within "
            f"{counted(self.max_turns, 'turn')}; after each guess I say whether the number is higher or lower.\n"
            f"Put your guess in \\boxed{{}}, for example \\boxed{{{low}}}."
        )

    def _begin(self) -> None:
        rng = self.rng
        if self._drawn:
            low = rng.randint(1, 10)
            self._set_range(low, low + rng.randint(5, 50))
        # Cheaper than randint, and for ranges of up to 10⁹ indistinguishable from uniform.
        self._number = self.min_number + int(rng.random() * self._size)
        self._guessed: set[int] = set()

    def _instructions(self) -> str:
        return self._rules

    def _play(self, move: re.Match[str]) -> MoveResult:
        guess = read_number(move[1])
        self._last_legal = None
        if guess in self._guessed:
            return illegal(f"You have guessed {guess} before.")
        number = self._number
        if guess == number:
            return success(f"{guess} is the number.")
        if not self.min_number <= guess <= self.max_number:
            return illegal(f"That is outside the range from {self.min_number} to {self.max_number}.")
        self._guessed.add(guess)
        self._last_legal = guess
        return legal(f"The number is {'higher' if guess < number else 'lower'} than {guess}.")

    def _last_turn_reward(self, reward: float) -> float:
        if self._last_legal is None:
            return 0.0
        return 1.0 - abs(self._last_legal - self._number) / (self.max_number - self.min_number)

    def _random_move(self) -> str:
        return str(self.action_rng.randint(self.min_number, self.max_number))

    def _save(self) -> dict[str, Any]:
        return {
            "range": [self.min_number, self.max_number],
            "max_turns": self.max_turns,
            "number": self._number,
            "guessed": sorted(self._guessed),
        }

    def _load(self, episode: dict[str, Any]) -> None:
        low, high = episode["range"]
        self._set_range(
            integer("lowest", low, minimum=0, maximum=_LIMIT),
            integer("highest", high, minimum=low + 1, maximum=_LIMIT),
        )
        if episode["max_turns"] != self.max_turns:
            raise StateError(f"max_turns is {self.max_turns}, not {episode['max_turns']}")
        self._number = integer("number", episode["number"], minimum=low, maximum=high)
        self._guessed = {integer("guess", guess) for guess in episode["guessed"]}


class GuessTheNumberPolicy(Policy[str, str]):
    """Binary search: needs at most ⌈log₂(n + 1)⌉ guesses for n numbers."""

    _RANGE = re.compile(r"whole number from (\d+) to (\d+)")
    _HINT = re.compile(r"The number is (higher|lower) than (\d+)")

    def reset(self, observation: str, info: Info) -> None:
        match = self._RANGE.search(observation)
        assert match is not None, observation
        self._low, self._high = int(match[1]), int(match[2])

    def act(self, observation: str, info: Info) -> str:
        hint = self._HINT.search(observation)
        if hint is not None:
            if hint[1] == "higher":
                self._low = int(hint[2]) + 1
            else:
                self._high = int(hint[2]) - 1
        return f"\\boxed{{{(self._low + self._high) // 2}}}"


def _enough_turns(span: int) -> int:
    # ⌈√span⌉ + 1 as in the original; integer arithmetic, for spans of any size.
    from math import isqrt

    return isqrt(span - 1) + 2
