r"""Mastermind: find a code of numbers; each guess is answered with black and white pegs.

Rewards: each black peg above the best guess so far pays ``1 / code_length``, and the code itself pays the rest, so
that a won game totals 1.0. A guess may repeat a number even if the code does not.

In the original the last observation alone did not show the earlier guesses; here every observation lists them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, read_number, share
from gem_envs_games.mastermind_solver import next_guess, pegs

__all__ = ["MastermindEnv", "MastermindPolicy"]

_LONGEST = 100
_MOST_NUMBERS = 1000
_DRAWN_SETTINGS = ((2, 4), (4, 6), (4, 8))
_TURNS = {(2, 4): 10, (2, 6): 10, (4, 6): 20, (4, 8): 30}  # as in the original


class MastermindEnv(Game[re.Match[str]]):
    r"""Guess a code with ``\boxed{number number …}``.

    Args:
        code_length: numbers in the code, 1 … 100.
        num_numbers: the code is made of the numbers 1 … ``num_numbers``, which is 2 … 1000.
        max_turns: guesses that the instructions announce. ``"random"``: enough for the other two.
        duplicate_numbers: the code may hold a number more than once. Otherwise ``code_length`` is at most
            ``num_numbers``.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.

    ``code_length`` and ``num_numbers`` both ``"random"``: drawn at every reset, 2 numbers of 4, 4 of 6 or 4 of 8.
    """

    # One run of ASCII digits and blanks, so that a match needs linear time; the first and the last are digits.
    form = BoxedPattern(r"(\d[\d\s]*)(?<=\d)", re.ASCII)
    request = "Enter your next guess."

    def __init__(
        self,
        code_length: int | Literal["random"] | None = 4,
        num_numbers: int | Literal["random"] | None = 6,
        max_turns: int | Literal["random"] | None = 20,
        duplicate_numbers: bool = False,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("code_length", "num_numbers"), (code_length, num_numbers))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        self.duplicate_numbers = boolean("duplicate_numbers", duplicate_numbers)
        if not self._drawn:
            length = integer("code_length", code_length, minimum=1, maximum=_LONGEST)
            self._set_size(length, integer("num_numbers", num_numbers, minimum=2, maximum=_MOST_NUMBERS))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _set_size(self, length: int, numbers: int) -> None:
        if length > numbers and not self.duplicate_numbers:
            raise ArgumentError(
                f"code_length must be at most num_numbers={numbers} unless duplicate_numbers is True, got {length}"
            )
        self.code_length, self.num_numbers = length, numbers
        self._numbers = _numbers_to(numbers)
        self._valid = frozenset(self._numbers)

    def _begin(self) -> None:
        rng = self.rng
        if self._drawn:
            self._set_size(*rng.choice(_DRAWN_SETTINGS))
        if self._turns_drawn:
            self.max_turns = _enough_turns(self.code_length, self.num_numbers)
        self._hide(_draw_code(rng, self.code_length, self._numbers, self.duplicate_numbers))

    def _hide(self, code: list[str]) -> None:
        self._code = code
        self._guesses: dict[str, None] = {}  # in the order made
        self._rows = ""
        self._best = 0  # black pegs

    def _instructions(self) -> str:
        return _rules(self.code_length, self.num_numbers, self.max_turns, self.duplicate_numbers)

    def _board(self) -> str:
        return self._rows

    def _play(self, move: re.Match[str]) -> MoveResult:
        length, valid = self.code_length, self._valid
        guess = move[1].split(None, length)
        if len(guess) != length:
            return illegal(f"A guess is {length} numbers.")
        if not valid.issuperset(guess):
            guess = [str(read_number(digits)) for digits in guess]  # drops leading zeros
            if not valid.issuperset(guess):
                return illegal(f"A guess is made of numbers from 1 to {self.num_numbers}.")
        shown = " ".join(guess)
        if shown in self._guesses:
            return illegal(f"You have guessed {shown} before.")
        black, before = self._mark(shown, guess), self._best
        if black == length:
            return success(f"{shown} is the code.", 1.0 - share(before, length))
        if black <= before:
            return legal(f"{shown} is not the code.")
        self._best = black
        return legal(f"{shown} is not the code.", share(black, length) - share(before, length))

    def _mark(self, shown: str, guess: list[str]) -> int:
        """Add a new guess to the board; return its black pegs."""
        black, white = pegs(guess, self._code)
        self._guesses[shown] = None
        row = f"{shown}: {black} black, {white} white"
        self._rows = f"{self._rows}\n{row}" if self._rows else row
        return black

    def _random_move(self) -> str:
        return " ".join(_draw_code(self.action_rng, self.code_length, self._numbers, self.duplicate_numbers))

    def _save(self) -> dict[str, Any]:
        return {
            "num_numbers": self.num_numbers,
            "max_turns": self.max_turns,
            "code": [int(number) for number in self._code],
            "guesses": list(self._guesses),
        }

    def _load(self, episode: dict[str, Any]) -> None:
        numbers = integer("num_numbers", episode["num_numbers"], minimum=2, maximum=_MOST_NUMBERS)
        code = [integer("number", number, minimum=1, maximum=numbers) for number in episode["code"]]
        self._set_size(integer("code_length", len(code), minimum=1, maximum=_LONGEST), numbers)
        if len(set(code)) < len(code) and not self.duplicate_numbers:
            raise ValueError("the code repeats a number")
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self._hide([str(number) for number in code])
        for shown in episode["guesses"]:
            guess = shown.split(" ")
            possible = len(guess) == len(code) and self._valid.issuperset(guess)
            if not possible or shown in self._guesses or self._best == len(code):
                raise ValueError(f"not a guess that could have been made: {shown!r}")
            self._best = max(self._best, self._mark(shown, guess))


class MastermindPolicy(Policy[str, str]):
    """Guesses, among the codes that agree with every answer, the one that splits the others most evenly."""

    _CODE = re.compile(r"code of (\d+) numbers, each from 1 to (\d+)\. A number (may|does not)")
    _ROW = re.compile(r"^([\d ]+): (\d+) black, (\d+) white$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._CODE.search(observation)
        assert match is not None, observation
        self._length, self._numbers, self._repeats = int(match[1]), int(match[2]), match[3] == "may"

    def act(self, observation: str, info: Info) -> str:
        history = tuple(
            (tuple(map(int, row[1].split())), (int(row[2]), int(row[3]))) for row in self._ROW.finditer(observation)
        )
        guess = next_guess(history, self._length, self._numbers, self._repeats)
        return f"\\boxed{{{' '.join(map(str, guess))}}}"


def _enough_turns(length: int, numbers: int) -> int:
    return _TURNS.get((length, numbers), length * numbers)


@lru_cache
def _numbers_to(last: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, last + 1)))


def _draw_code(rng: Random, length: int, numbers: Sequence[str], repeats: bool) -> list[str]:
    if repeats:
        return rng.choices(numbers, k=length)
    # Four times as fast as rng.sample.
    pool = [*numbers]
    return [pool.pop(int(rng.random() * left)) for left in range(len(pool), len(pool) - length, -1)]


@lru_cache(maxsize=32)
def _rules(length: int, numbers: int, max_turns: int, repeats: bool) -> str:
    example = " ".join(str(place % numbers + 1) for place in range(length))
    return (
        f"You are playing Mastermind. I have chosen a code of {length} numbers, each from 1 to {numbers}. "
        f"A number {'may' if repeats else 'does not'} occur more than once in the code. "
        f"Find it within {counted(max_turns, 'turn')}.\n"
        "I answer each guess with a black peg for every number that is in the right place, and with a white peg for "
        "every other number of the guess that occurs in the code in another place; each number of the code earns at "
        "most one peg.\n"
        f"A guess is {length} numbers in their order, separated by spaces, that you have not guessed before. "
        f"Put it in \\boxed{{}}, for example \\boxed{{{example}}}."
    )
