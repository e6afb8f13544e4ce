"""The words of a query, what counts as each of them, and how much each of them tells."""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import log

from gem_hub_client.lexicon import Meaning, meanings
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import tokenize
from gem_hub_client.word_index import Alternative, WordIndex

__all__ = ["MOST_TEXT", "MOST_TYPED", "MOST_WORDS", "STOP_WORDS", "QueryTerm", "query_terms", "understand"]

MOST_WORDS = 8
"""The number of telling words of a query that count."""
MOST_TYPED = 24
MOST_TEXT = 300
"""The number of characters of a query that count."""

STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from has have how i in into is it its me my of on or our so than that "  # noqa: SIM905
    "the their them then there these they this to was we were what when where which who whose why will with you "
    "your".split()
)
_WEAK = frozenset(
    "agent agents benchmark benchmarks env environment environments envs llm llms rl task tasks".split()  # noqa: SIM905
)
"""Words that tell little on a hub of environments for agents, however rare they are."""
_OF_WEAK = 0.2

SAME_STEM, TAG, SYNONYM, BEGINNING, SHORT_BEGINNING, CORRECTION = 0.9, 1.0, 0.6, 0.6, 0.3, 0.8
"""What a fit counts that is not the word itself; a correction's is divided by 1 + its edits."""
_MOST_WORDS_OF_A_STEM = 8
_MOST_PHRASES = 24


class QueryTerm:
    """A word of the query and what counts as it: itself for 1, anything else for less."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.weight = 1.0
        """How much it tells beside the other words: at most 1."""
        self.fits: dict[str, float] = {}
        """Other word → what it counts."""
        self.phrases: list[tuple[tuple[str, ...], ...]] = []
        """Synonyms of several words: for each place the words that may stand there."""
        self.corrections: list[str] = []

    def fit(self, candidates: Set[str]) -> float:
        """Return how well the words of a field fit: from 0 to 1."""
        if self.word in candidates:
            return 1.0
        best = max((self.fits[word] for word in self.fits.keys() & candidates), default=0.0)
        if best < SYNONYM and any(
            all(any(word in candidates for word in words) for words in phrase) for phrase in self.phrases
        ):
            best = SYNONYM
        if best < BEGINNING and any(candidate.startswith(self.word) for candidate in candidates):
            best = max(best, BEGINNING if len(self.word) > 2 else SHORT_BEGINNING)
        return best

    @property
    def alternatives(self) -> list[Alternative]:
        """The word and all that counts as it, for the index."""
        return [self.word, *self.fits, *self.phrases]

    def correct(self, found: Sequence[tuple[str, int]]) -> None:
        """Take words of the catalogue for this one: (word, edits)."""
        self.corrections = [word for word, _ in found]
        self.fits.update({word: CORRECTION / (1 + edits) for word, edits in found})

    def _add(self, word: str, fit: float) -> None:
        if word != self.word:
            self.fits[word] = max(fit, self.fits.get(word, 0.0))


def query_terms(text: str) -> list[QueryTerm]:
    """Return the telling words of a query; all of them if none tells anything."""
    return [QueryTerm(word) for word in _telling(_typed(text))]


def understand(terms: Sequence[QueryTerm], text: str, index: WordIndex) -> None:
    """Give each term the words of the catalogue that have its stem or its meaning, and its weight."""
    by_word = {term.word: term for term in terms}
    typed = _typed(text)
    # A phrase may stand there with its small words or without those between: "capture the flag", "deduce a code".
    readings = dict.fromkeys((tuple(typed), tuple(_telling(typed))))
    meant = [
        (meaning, [by_word[word] for word in reading[start:end] if word in by_word])
        for reading in readings
        for start, end, meaning in meanings(reading)
    ]
    roots = {stem(term.word) for term in terms}
    roots.update(word for meaning, _ in meant for phrase in meaning.phrases[:_MOST_PHRASES] for word in phrase)
    words = {root: found[:_MOST_WORDS_OF_A_STEM] for root, found in index.words_of(roots).items()}
    for term in terms:
        for word in words.get(stem(term.word), ()):
            term._add(word, SAME_STEM)
    rarity = {term.word: _rarity(term, index) for term in terms}
    for meaning, covered in meant:
        for term in covered:
            _extend(term, meaning, words, index)
            if not rarity[term.word]:
                rarity[term.word] = log(1 + index.packages / (1 + max(map(index.count, term.fits), default=0)))
    most = max([value for value in rarity.values() if value] or [1.0])
    for term in terms:
        # A word that nobody has tells as much as the rarest.
        term.weight = (rarity[term.word] or most) / most * (_OF_WEAK if term.word in _WEAK else 1.0)


def _typed(text: str) -> list[str]:
    return list(dict.fromkeys(tokenize(text[:MOST_TEXT])))[:MOST_TYPED]


def _telling(typed: list[str]) -> list[str]:
    return ([word for word in typed if word not in STOP_WORDS] or typed)[:MOST_WORDS]


def _rarity(term: QueryTerm, index: WordIndex) -> float:
    """Return how much a word tells by the number of packages that have it or its stem; 0 if none has."""
    packages = sum(index.count(word) for word in {term.word, *term.fits})
    return log(1 + index.packages / (1 + packages)) if packages else 0.0


def _extend(term: QueryTerm, meaning: Meaning, words: dict[str, list[str]], index: WordIndex) -> None:
    if meaning.token and index.count(meaning.token):
        term._add(meaning.token, TAG)
    for phrase in meaning.phrases[:_MOST_PHRASES]:
        places = tuple(tuple(words.get(root, ())) for root in phrase)
        if not all(places):
            continue
        if len(places) > 1:
            term.phrases.append(places)
        else:
            for word in places[0]:
                term._add(word, SYNONYM)
