"""Laying out the words of a crossword.

Words cross where possible. Two words touch only where they cross: no letter stands beside, before or after a word
to which it does not belong. A word that crosses no other stands by itself, one free line away from the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

__all__ = ["Place", "lay_out"]

Place = tuple[int, int, bool]
"""Row and column of a word's first letter, counted from 0, and whether it runs down."""

# A cell is numbered row * _DOWN + column, so that a step across adds 1 and a step down adds _DOWN.
_ACROSS, _DOWN = 1, 4096
_ORIGIN = 2048 * _DOWN + 2048


def lay_out(rng: Random, words: Sequence[str]) -> list[Place]:
    """Return a place for each word, so that the first row and the first column are in use.

    The words are all different, have two letters or more each, and at most 2,000 together.
    """
    letters: dict[int, str] = {}  # by cell
    starts: dict[str, tuple[int, int]] = {}  # first cell and step of each placed word
    waiting = list(words)
    word, (start, step) = waiting[0], (_ORIGIN, _ACROSS if rng.random() < 0.5 else _DOWN)
    while True:
        letters.update(zip(range(start, start + len(word) * step, step), word))  # noqa: B905  # of equal length by construction
        starts[word] = start, step
        waiting.remove(word)
        if not waiting:
            break
        for word in waiting:
            crossing = _crossing(rng, word, letters)
            if crossing is not None:
                start, step = crossing
                break
        else:
            word = waiting[0]
            start, step = _aside(rng, word, starts)
    placed = [starts[word] for word in words]
    top, left = min(placed)[0] // _DOWN, min([start % _DOWN for start, _ in placed])
    return [(start // _DOWN - top, start % _DOWN - left, step == _DOWN) for start, step in placed]


def _crossing(rng: Random, word: str, letters: Mapping[int, str]) -> tuple[int, int] | None:
    """Draw a first cell and a step at which the word crosses others and touches nothing else; None if none."""
    choices = []
    for cell, letter in letters.items():
        if letter in word:  # rare, and quick to detect
            place = word.find(letter)
            while place >= 0:
                choices.append((cell, place))
                place = word.find(letter, place + 1)
    while choices:
        cell, place = choices.pop(int(rng.random() * len(choices)))
        # A word that has this cell has one beside it as well, in its own direction.
        step = _DOWN if cell + _ACROSS in letters or cell - _ACROSS in letters else _ACROSS
        if _fits(word, cell - place * step, step, letters):
            return cell - place * step, step
    return None


def _fits(word: str, start: int, step: int, letters: Mapping[int, str]) -> bool:
    if start - step in letters or start + len(word) * step in letters:
        return False
    beside = _ACROSS + _DOWN - step
    cell = start
    for letter in word:
        if cell not in letters:
            if cell - beside in letters or cell + beside in letters:
                return False
        elif letters[cell] != letter or cell - step in letters or cell + step in letters:
            return False
        cell += step
    return True


def _aside(rng: Random, word: str, starts: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return a first cell and a step, one free line below or to the right of everything."""
    firsts = [start for start, _ in starts.values()]
    lasts = [start + (len(placed) - 1) * step for placed, (start, step) in starts.items()]
    top, left = min(firsts) // _DOWN, min([cell % _DOWN for cell in firsts])
    bottom, right = max(lasts) // _DOWN, max([cell % _DOWN for cell in lasts])
    down = bottom - top > right - left
    slack = (bottom - top if down else right - left) + 1 - len(word)
    shift = int(rng.random() * (slack + 1)) if slack > 0 else 0
    return ((top + shift) * _DOWN + right + 2, _DOWN) if down else ((bottom + 2) * _DOWN + left + shift, _ACROSS)
