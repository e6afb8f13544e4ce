"""New names for a world at each episode, so that no fact of one episode can be remembered in another.

The invented words of a world change places: given names with given names of the same language, family names, towns and
other words likewise. So do the numbers of the articles, which would tell an agent which entity it meets again. The
search engine keeps its one index over the articles as they were written. A query is translated into the world's own
names before the search, and the articles that are found are translated back. The translation exchanges whole terms of
the index, so the ranking is that of an index over the renamed articles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from math import gcd

from gem_envs_qa.atlas.names import Language

__all__ = ["EpisodeNames", "NameVocabulary", "pieces_of"]

_WORD = re.compile(r"[A-Za-z]+")
_CAPITALIZED = re.compile(r"\b([A-Z][a-z]{3,})\b")
"""What can be an invented word."""


def pieces_of(text: str) -> tuple[str, ...]:
    """Return the pieces of a text: in turns one without names, and a word that can be a name."""
    return tuple(_CAPITALIZED.split(text))


class NameVocabulary:
    """The invented words of a world in groups; within its group a word can change places with any other.

    A word keeps its place if the index cannot tell it from another word of the articles: they have the same stem.

    Args:
        languages: the languages of the world.
        texts: all articles.
        terms: returns the terms of a text in the index.
    """

    def __init__(
        self, languages: Iterable[Language], texts: Iterable[str], terms: Callable[[str], Sequence[str]]
    ) -> None:
        kinds = [
            kind
            for language in languages
            for kind in (language.given_names, language.family_names, language.towns, language.words)
        ]
        term_of = {word: tuple(terms(word)) for kind in kinds for word in kind}
        others = {word for text in texts for word in set(_WORD.findall(text)) if word not in term_of}
        taken = Counter(term_of.values())
        taken.update({(term,) for word in others for term in terms(word)})
        alone = {word for word, found in term_of.items() if len(found) == 1 and taken[found] == 1}
        self.groups: list[tuple[str, ...]] = [tuple(word for word in kind if word in alone) for kind in kinds]
        """The words that change places."""
        self.places: dict[str, tuple[int, int]] = {
            word: (number, place) for number, group in enumerate(self.groups) for place, word in enumerate(group)
        }
        """Word → the number of its group, and its place there."""
        self.term_of = {word: term_of[word][0] for word in self.places}
        self.word_of: dict[str, str] = {term: word for word, term in self.term_of.items()}


class EpisodeNames:
    """A pseudo-random renaming, a function of its key.

    Args:
        vocabulary: the words of the world.
        key: any non-negative int.
    """

    def __init__(self, vocabulary: NameVocabulary, key: int) -> None:
        self._vocabulary, self._key = vocabulary, key
        self._moves: dict[int, tuple[int, int]] = {}
        self._renamed = _Renamed(self)

    def told(self, text: str) -> str:
        """Return a text of the world with the names of the episode."""
        return self.joined(pieces_of(text))

    def joined(self, pieces: Sequence[str]) -> str:
        """Return the text with these pieces (:func:`pieces_of`) with the names of the episode."""
        told = list(pieces)
        told[1::2] = map(self._renamed.__getitem__, pieces[1::2])
        return "".join(told)

    def terms_of_the_world(self, terms: Sequence[str]) -> list[str]:
        """Return the terms of a query in the names of the world."""
        words, places = self._vocabulary.word_of, self._vocabulary.places
        return [self._original(*places[words[term]]) if term in words else term for term in terms]

    def name(self, word: str) -> str:
        """Return what an invented word is called in the episode, any other word as it is."""
        if word not in self._vocabulary.places:
            return word
        number, place = self._vocabulary.places[word]
        group = self._vocabulary.groups[number]
        stride, offset = self._move(number)
        return group[(stride * place + offset) % len(group)]

    def number(self, article: str, count: int) -> str:
        """Return the number that an article of ``count`` ones has in the episode."""
        stride, offset = self._stride_and_offset(len(self._vocabulary.groups), count)
        return str((stride * int(article) + offset) % count)

    def _original(self, number: int, place: int) -> str:
        group = self._vocabulary.groups[number]
        stride, offset = self._move(number)
        return self._vocabulary.term_of[group[(place - offset) * pow(stride, -1, len(group)) % len(group)]]

    def _move(self, number: int) -> tuple[int, int]:
        """Return stride and offset of the places in a group."""
        return self._stride_and_offset(number, len(self._vocabulary.groups[number]))

    def _stride_and_offset(self, number: int, size: int) -> tuple[int, int]:
        found = self._moves.get(number)
        if found is None:
            digest = blake2b(b"%x:%d" % (self._key, number), digest_size=16).digest()
            stride = 1 + int.from_bytes(digest[:8], "big") % size
            while gcd(stride, size) > 1:
                stride += 1
            found = self._moves[number] = stride, int.from_bytes(digest[8:], "big") % size
        return found


class _Renamed(dict[str, str]):
    """Words with their names, kept for the next time."""

    def __init__(self, names: EpisodeNames) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, word: str) -> str:
        self[word] = name = self._names.name(word)
        return name
