"""Overlap of two sets of texts in n-grams of words: :class:`NgramIndex`.

The rule is that of Brown et al., "Language Models are Few-Shot Learners" (2020), appendix C: a text of the evaluation
set overlaps if one of its n-grams of words occurs in the other set. N is the fifth percentile of the lengths of the
evaluation set's texts in words, at least 8 and at most 13. Words are compared in lower case, without
punctuation. A text with fewer words than N is compared whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["FEWEST", "MOST", "NgramIndex"]

FEWEST, MOST = 8, 13
"""Bounds of N, in words."""

_WORD = re.compile(r"\w+")


class NgramIndex:
    """The n-grams of an evaluation set, to look up the texts of another set in.

    Args:
        texts: the evaluation set's texts, in order.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        words = [_words(text) for text in texts]
        self.size = len(words)
        """Number of texts."""
        lengths = sorted(map(len, words))
        self.n = max(FEWEST, min(MOST, lengths[len(lengths) // 20])) if lengths else MOST
        """Length of the n-grams, in words."""
        self._holders: dict[tuple[str, ...], list[int]] = {}
        for number, found in enumerate(words):
            if found:
                length = min(self.n, len(found))
                # A short text is compared whole: its one n-gram must be the whole of the other text as well.
                for gram in {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}:
                    self._holders.setdefault(gram, []).append(number)

    def overlapping(self, text: str) -> set[int]:
        """Return the indices of the evaluation set's texts that share an n-gram with a text."""
        words = _words(text)
        found: set[int] = set()
        if len(words) < self.n:
            return set(self._holders.get(tuple(words), ()))
        for at in range(len(words) - self.n + 1):
            holders = self._holders.get(tuple(words[at : at + self.n]))
            if holders:
                found.update(holders)
        return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
