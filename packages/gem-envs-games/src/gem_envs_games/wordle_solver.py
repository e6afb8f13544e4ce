"""The meaning of Wordle's marks, and the best guess after them.

If the hidden word is one of a list, this is the guess that minimises the expected number of words. If it can be any
string of letters, it is a string that fits all marks so far, except that places with a known letter try new letters
as long as some letters are unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

__all__ = ["feedback", "next_guess"]

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COMPARISONS = 60_000
"""Maximum number of pairs of a guess and a possible word compared for one move: about 50 ms."""

History = tuple[tuple[str, str], ...]
"""Guesses with their marks, as :func:`feedback` returns them."""


def feedback(guess: str, secret: str) -> str:
    """Return a mark for each letter of ``guess``, which is as long as ``secret``, as on the board: ``"G X Y"``.

    G: right letter, right place. Of the others, from left to right: Y for each further occurrence of the letter among
    the places of ``secret`` that are not G, then X.
    """
    marks = ["X"] * len(secret)
    left = secret
    misplaced = []
    for place, letter in enumerate(guess):
        if letter in secret:
            if secret[place] == letter:
                marks[place] = "G"
                left = left.replace(letter, "", 1)
            else:
                misplaced.append(place)
    for place in misplaced:
        if guess[place] in left:
            marks[place] = "Y"
            left = left.replace(guess[place], "", 1)
    return " ".join(marks)


def next_guess(history: History, length: int, words: tuple[str, ...]) -> str:
    """Return a guess of ``length`` letters in view of ``history``; ``words`` are the possible words, if known."""
    possible = [word for word in words if all(feedback(guess, word) == marks for guess, marks in history)]
    if not possible:
        return _letter_search(history, length)
    if len(possible) <= 2:
        return possible[0]
    if not history:
        return _opening(words)
    return _best_split(words, possible)


@lru_cache(maxsize=16)
def _opening(words: tuple[str, ...]) -> str:
    return _best_split(words, words)


def _best_split(guesses: Sequence[str], possible: Sequence[str]) -> str:
    """Return the guess that minimises the expected number of possible words, preferring a possible word."""
    members = set(possible)
    step = 1 + len(guesses) * len(possible) // _COMPARISONS

    def remaining(guess: str) -> tuple[int, bool]:
        sizes = Counter(feedback(guess, word) for word in possible)
        return sum(size * size for size in sizes.values()), guess not in members

    return min((*possible[::step], *guesses[::step]), key=remaining)


def _letter_search(history: History, length: int) -> str:
    fixed, banned, least, exact = _knowledge(history, length)
    tried = {letter for guess, _ in history for letter in guess}
    missing = list((least - Counter(letter for letter in fixed if letter)).elements())
    # Letters that fit in the fewest places come first: the search then rarely backtracks.
    missing.sort(key=lambda letter: (-sum(letter in places for places in banned), letter))
    for places in _placements(missing, fixed, banned):
        string = _fill(places, banned, exact, tried)
        if string is not None:
            break
    else:
        raise ValueError(f"no string fits the marks {history!r}")
    if least.total() < length:
        new = [letter for letter in _ALPHABET if letter not in tried and letter not in string]
        for place, letter in enumerate(fixed):
            if letter and new:
                string[place] = new.pop()
    return "".join(string)


def _knowledge(history: History, length: int) -> tuple[list[str], list[set[str]], Counter[str], set[str]]:
    """Sum up the marks.

    Returns:
        The letter known at each place or ``""``, the letters that each place cannot have, the least number of
        occurrences of each letter, and the letters for which this number is exact.
    """
    fixed, banned = [""] * length, [set[str]() for _ in range(length)]
    least: Counter[str] = Counter()
    exact: set[str] = set()
    for guess, marks in history:
        for place, (letter, mark) in enumerate(zip(guess, marks.split(), strict=True)):
            if mark == "G":
                fixed[place] = letter
            else:
                banned[place].add(letter)
            if mark == "X":
                exact.add(letter)
        least |= Counter(letter for letter, mark in zip(guess, marks.split(), strict=True) if mark != "X")
    return fixed, banned, least, exact


def _placements(missing: Sequence[str], places: list[str], banned: Sequence[set[str]]) -> Iterator[list[str]]:
    """Yield every way to put each of the ``missing`` letters at one of ``places`` that is free and not banned."""
    if not missing:
        yield places
        return
    letter, rest = missing[0], missing[1:]
    for place, there in enumerate(places):
        if not there and letter not in banned[place]:
            yield from _placements(rest, [*places[:place], letter, *places[place + 1 :]], banned)


def _fill(places: Sequence[str], banned: Sequence[set[str]], exact: set[str], tried: set[str]) -> list[str] | None:
    """Fill the free places with letters that may occur there, new ones if possible; None if a place has none."""
    string = list(places)
    for place, there in enumerate(places):
        if not there:
            allowed = [letter for letter in _ALPHABET if letter not in exact and letter not in banned[place]]
            if not allowed:
                return None
            string[place] = min(allowed, key=lambda letter: (letter in tried, letter in string))
    return string
