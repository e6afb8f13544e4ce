"""Invented names, each used once, and the split that the first name of a world decides."""

from __future__ import annotations

import random
from hashlib import blake2b

__all__ = ["SPLITS", "NameMaker", "split_of"]

SPLITS = ("train", "test")

_ONSETS = (
    "b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "pr", "r", "s", "sk", "st", "t",
    "th", "tr", "v", "w", "z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ia", "oa", "ou")
_CODAS = ("", "", "", "l", "m", "n", "r", "s", "nd", "rk", "st", "x")
_TEST_SHARE = 5
"""One name in this number begins a world of the test split."""


def split_of(name: str) -> str:
    """Return the split of the worlds whose first name this is.

    The name is part of what such a world shows, so no world is in both splits.
    """
    return SPLITS[blake2b(name.encode(), digest_size=8).digest()[0] % _TEST_SHARE == 0]


class NameMaker:
    """Makes names that are no words of a language.

    Args:
        rng: the only source of randomness.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._used: set[str] = set()

    def word(self, syllables: int = 2) -> str:
        """Return a new capitalised word."""
        draw = self._random
        while True:
            word = "".join(
                _ONSETS[int(draw() * 26)] + _VOWELS[int(draw() * 10)] + _CODAS[int(draw() * 12)]
                for _ in range(syllables)
            ).capitalize()
            if word not in self._used and len(word) > 3:
                self._used.add(word)
                return word

    def person(self) -> str:
        """Return a given name and a family name, both new."""
        return f"{self.word()} {self.word()}"

    def first(self, split: str, person: bool = False) -> str:
        """Return the first name of a world of a split."""
        while True:
            name = self.person() if person else self.word()
            if split_of(name) == split:
                return name
