"""Names that exist nowhere: a generator of words with a sound of their own.

Each country has a language: some onsets, vowels and codas out of those below, and endings for its towns. A word is a
row of syllables of one language. Names are made of words; no word stands for two entities, so that no name contains
another.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Language", "NameGenerator"]

_ONSETS = (
    "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z",
    "br", "dr", "fl", "gr", "kr", "pl", "sk", "st", "tr", "th", "sh", "vr", "kl", "zh", "qu",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ai", "ei", "ia", "io", "oa", "ou", "ua")
_CODAS = ("", "", "", "l", "m", "n", "r", "s", "nd", "rk", "th", "lm", "rn", "st", "x")
_TOWN_ENDINGS = ("brod", "by", "dal", "feld", "gar", "hold", "mar", "mund", "oss", "pol", "rith", "stad", "tun", "vik")

_TITLE_FIRST = (
    "Amber", "Ashen", "Bitter", "Borrowed", "Bronze", "Burning", "Copper", "Crooked", "Distant", "Drowned", "Eleventh",
    "Empty", "Feathered", "Fifth", "Forgotten", "Frozen", "Gilded", "Glass", "Hidden", "Hollow", "Honest", "Inner",
    "Iron", "Ivory", "Last", "Little", "Lonely", "Lost", "Marble", "Midnight", "Narrow", "Ninth", "Northern", "Old",
    "Painted", "Pale", "Patient", "Quiet", "Restless", "Salt", "Scarlet", "Second", "Secret", "Seventh", "Silver",
    "Sleeping", "Southern", "Stolen", "Sunken", "Third", "Unwritten", "Velvet", "Wandering", "Western", "White", "Wild",
)  # fmt: skip
_TITLE_SECOND = (
    "Anchor", "Bells", "Bridge", "Candle", "Cartographer", "Clock", "Compass", "Corridor", "Crown", "Daughter", "Door",
    "Echo", "Feast", "Ferry", "Garden", "Gate", "Harbour", "Harvest", "Heron", "Hour", "Hunter", "Island", "Key",
    "Labyrinth", "Lamp", "Lantern", "Ledger", "Letter", "Lighthouse", "Meadow", "Mirror", "Mountain", "Oath", "Orchard",
    "Parade", "Pilgrim", "Procession", "Promise", "Quarry", "River", "Road", "Room", "Sailor", "Shadow", "Shepherd",
    "Shore", "Sparrow", "Staircase", "Stranger", "Tide", "Tower", "Traveller", "Valley", "Vineyard", "Voyage", "Well",
    "Winter", "Witness",
)  # fmt: skip


class Language(NamedTuple):
    """The sounds of a country."""

    onsets: Sequence[str]
    vowels: Sequence[str]
    codas: Sequence[str]
    town_endings: Sequence[str]
    given_names: Sequence[str]
    family_names: Sequence[str]
    towns: list[str]
    """The words that were made for towns so far."""
    words: list[str]
    """All other words that were made so far but for given and family names."""


class NameGenerator:
    """Makes names, each of them once.

    Args:
        rng: the only source of randomness.
        people: the approximate number of people to name, which sets the number of given names and families.
        languages: how many there are.
        reserved: words that are no names, in lower case.
    """

    def __init__(self, rng: random.Random, people: int, languages: int, reserved: Iterable[str] = ()) -> None:
        self._rng = rng
        self._used = set(reserved)
        # So few that many people share a name, and so many that the pairs are never short.
        share = 12 + int((6 * people / languages) ** 0.5)
        self.languages = [self._language(share) for _ in range(languages)]

    def person(self, language: Language) -> str:
        """Return a given name and a family name."""
        choice = self._rng.choice
        while True:
            name = f"{choice(language.given_names)} {choice(language.family_names)}"
            if name not in self._used:
                self._used.add(name)
                return name

    def town(self, language: Language) -> str:
        """Return a word that ends like a town."""
        language.towns.append(self._unused(language, 1, self._rng.choice(language.town_endings)))
        return language.towns[-1]

    def word(self, language: Language) -> str:
        """Return a word of two or three syllables."""
        language.words.append(self._unused(language, 2, ""))
        return language.words[-1]

    def title(self, language: Language) -> str:
        """Return a title for a work of art."""
        choice = self._rng.choice
        for _ in range(4):
            title = f"The {choice(_TITLE_FIRST)} {choice(_TITLE_SECOND)}"
            if title not in self._used:
                self._used.add(title)
                return title
        return f"The {choice(_TITLE_SECOND)} of {self.word(language)}"

    def _language(self, share: int) -> Language:
        sample = self._rng.sample
        onsets, vowels = sample(_ONSETS, 14), sample(_VOWELS, 5)
        sounds = Language(onsets, vowels, sample(_CODAS, 7), sample(_TOWN_ENDINGS, 4), (), (), [], [])
        given = [self._unused(sounds, 1, self._rng.choice(vowels)) for _ in range(share)]
        return sounds._replace(given_names=given, family_names=[self._unused(sounds, 2, "") for _ in range(share)])

    def _unused(self, language: Language, syllables: int, ending: str) -> str:
        choice, used = self._rng.choice, self._used
        onsets, vowels, codas = language.onsets, language.vowels, language.codas
        tries = 0
        while True:
            # Where the short words of a language are all taken, longer ones come.
            count = syllables + (tries > 3) + (tries > 12) + (tries > 40)
            word = "".join([choice(onsets) + choice(vowels) + choice(codas) for _ in range(count)]) + ending
            tries += 1
            if word not in used and len(word) > 3:
                used.add(word)
                return word.capitalize()
