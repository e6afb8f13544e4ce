"""Mastermind's answers, and guesses that agree with all answers so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations, product
from math import perm
from operator import eq
from random import Random

__all__ = ["Code", "History", "next_guess", "pegs"]

Code = tuple[int, ...]

History = Sequence[tuple[Code, tuple[int, int]]]
"""Guesses in their order, each with its black and white pegs."""

_MOST_LISTED = 5_000
_CANDIDATES = 60
_CODES_PER_CANDIDATE = 150
_SEARCH_WORK = 200_000  # comparisons with a guess; about 100 ms


def pegs(guess: Sequence[object], code: Sequence[object]) -> tuple[int, int]:
    """Return the black and the white pegs of a guess that is as long as the code."""
    unmatched = [*code]
    for number in guess:
        if number in unmatched:
            unmatched.remove(number)
    black = sum(map(eq, guess, code))
    return black, len(code) - len(unmatched) - black


def next_guess(history: History, length: int, numbers: int, repeats: bool) -> Code:
    """Return a new guess, one that can be the code if the search finds any.

    If the codes are few enough to list, it is the member of a sample of the possible codes that splits another sample
    into the smallest groups. Otherwise it is the first code that a bounded search finds.
    """
    if (numbers**length if repeats else perm(numbers, length)) > _MOST_LISTED:
        return _search(history, length, numbers, repeats)
    every = range(1, numbers + 1)
    codes = product(every, repeat=length) if repeats else permutations(every, length)
    left = [code for code in codes if all(pegs(guess, code) == answer for guess, answer in history)]
    return min(_sample(left, _CANDIDATES), key=lambda guess: _crowding(guess, _sample(left, _CODES_PER_CANDIDATE)))


def _sample(codes: Sequence[Code], size: int) -> Sequence[Code]:
    return codes if len(codes) <= size else Random(0).sample(codes, size)


def _crowding(guess: Code, codes: Sequence[Code]) -> int:
    """Return the sum of the squared sizes of the groups of codes with the same answer."""
    groups = Counter([pegs(guess, code) for code in codes])
    return sum(size * size for size in groups.values())


def _search(history: History, length: int, numbers: int, repeats: bool) -> Code:
    rng = Random(len(history))
    found = _Search(history, length, rng.sample(range(1, numbers + 1), numbers), repeats).run()
    made = {guess for guess, _ in history}
    while found is None or found in made:
        found = tuple(rng.choices(range(1, numbers + 1), k=length))
    return found


class _Search:
    """Depth-first search for a code that agrees with the history, place by place."""

    def __init__(self, history: History, length: int, numbers: Sequence[int], repeats: bool) -> None:
        self._length, self._numbers, self._repeats = length, numbers, repeats
        self._guesses = [(guess, Counter(guess), black, black + white) for guess, (black, white) in history]
        self._work = _SEARCH_WORK

    def run(self) -> Code | None:
        """Return the code, or None if there is none or the search gave up."""
        return self._extend((), Counter(), [(0, 0)] * len(self._guesses))

    def _extend(self, prefix: Code, used: Counter[int], matched: Sequence[tuple[int, int]]) -> Code | None:
        """Find the rest of a code.

        Args:
            prefix: the code's first numbers.
            used: number of occurrences of each number in them.
            matched: their contribution to each guess's answer: black pegs, and all pegs.
        """
        place, to_come = len(prefix), self._length - len(prefix) - 1
        if to_come < 0:
            return prefix
        # Every place begins with another number, so that the first codes found are not all alike.
        first = place % len(self._numbers)
        for number in (*self._numbers[first:], *self._numbers[:first]):
            if used[number] and not self._repeats:
                continue
            self._work -= 1 + len(self._guesses)
            if self._work < 0:
                return None
            extended = []
            for (guess, counts, black, total), (black_now, total_now) in zip(self._guesses, matched, strict=True):
                black_now += guess[place] == number
                total_now += used[number] < counts[number]
                if not (black_now <= black <= black_now + to_come and total_now <= total <= total_now + to_come):
                    break
                extended.append((black_now, total_now))
            else:
                code = self._extend((*prefix, number), used + Counter((number,)), extended)
                if code is not None:
                    return code
        return None
