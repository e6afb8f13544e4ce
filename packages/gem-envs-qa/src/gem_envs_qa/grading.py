"""Exact match and F1 of short answers, as SQuAD defines them.

Rajpurkar, Zhang, Lopyrev and Liang, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016,
section 6.1: both texts are put in lower case and lose punctuation, the words *a*, *an* and *the*, and surplus blanks;
then they match exactly, or share a number of words. Of several right answers, the best fit counts.

If that leaves nothing of a right answer (``"A"``, ``"The The"``, ``"?"``), the original texts are compared, except
for case and surrounding blanks. An empty answer is never right.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["exact_match", "f1", "golds_of", "is_too_long", "normalised", "scores"]

_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_LONGEST = 10_000
"""Maximum number of characters of a short answer; a longer one is wrong unless a right answer has a similar length."""
_FEW_WORDS = 8
"""Up to this number of words a search is faster than counting."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Return the normal form of an answer: its words in lower case, without punctuation and articles."""
    return " ".join(_words(text))


def golds_of(gold: Any) -> list[str]:
    """Return the right answers in a value of a data set: a text, a number, or a list of these."""
    if isinstance(gold, str):
        return [gold]
    if type(gold) is list and set(map(type, gold)) == {str}:
        return gold
    if isinstance(gold, Iterable) and not isinstance(gold, (bytes, dict)):
        return [text for item in gold for text in golds_of(item)]
    return [] if gold is None else [str(gold)]


def is_too_long(answer: str, golds: Iterable[str]) -> bool:
    """Return whether an answer is too long to be compared, and so wrong."""
    return len(answer) > _LONGEST and len(answer) > 2 * max(map(len, golds), default=0)


def exact_match(answer: str, golds: Iterable[str]) -> bool:
    """Return whether an answer matches one of the right ones."""
    return scores(answer, golds)[0]


def f1(answer: str, golds: Iterable[str]) -> float:
    """Return the harmonic mean of precision and recall of the answer's words, for the best-fitting gold answer."""
    return scores(answer, golds)[1]


def scores(answer: str, golds: Iterable[str]) -> tuple[bool, float]:
    """Return the results of :func:`exact_match` and :func:`f1`."""
    said, best = _words(answer), 0.0
    for gold in golds:
        meant = _words_of_gold(gold)
        if said == meant and (said or _same_text(answer, gold)):
            return True, 1.0
        if said and meant:
            best = max(best, _f1(said, meant))
    return False, best


def _words(text: str) -> list[str]:
    bare = text.lower()
    # Most answers are plain words, for which this is cheaper than a search for punctuation.
    if not (bare.isascii() and bare.replace(" ", "").isalnum()):
        bare = bare.translate(_NO_PUNCTUATION)
        if not (bare.isascii() and bare.isprintable()):
            return _ARTICLE.sub(" ", bare).split()
    # Only letters, digits and blanks are left, so that an article is a word.
    words = bare.split()
    return words if _ARTICLES.isdisjoint(words) else [word for word in words if word not in _ARTICLES]


@lru_cache(maxsize=4096)
def _words_of_gold(gold: str) -> list[str]:
    return _words(gold)


def _same_text(answer: str, gold: str) -> bool:
    bare = gold.strip().casefold()
    return bool(bare) and answer.strip().casefold() == bare


def _f1(said: list[str], meant: list[str]) -> float:
    if len(meant) <= _FEW_WORDS:
        left = meant.copy()
        for word in said:
            if word in left:
                left.remove(word)
        shared = len(meant) - len(left)
    else:
        shared = sum((Counter(said) & Counter(meant)).values())
    return 2.0 * shared / (len(said) + len(meant))
