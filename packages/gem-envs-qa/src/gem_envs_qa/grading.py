"""Exact match and F1 of short answers, as SQuAD defines them.

Rajpurkar, Zhang, Lopyrev and Liang, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016,
section 6.1: both texts are put in lower case and lose punctuation, the words *a*, *an* and *the*, and surplus blanks;
then they match exactly, or share so many words. Of several right answers, the one that fits best counts.

Where that leaves nothing of a right answer (``"A"``, ``"The The"``, ``"?"``), the texts are compared as they are, but
for case and surrounding blanks. An answer without any text is never right.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import Any

__all__ = ["exact_match", "f1", "golds_of", "normalised"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Return what of an answer counts: its words in lower case, without punctuation and articles."""
    return " ".join(_words(text))


def golds_of(gold: Any) -> list[str]:
    """Return the right answers that a value of a data set stands for: a text, a number, or any number of those."""
    if isinstance(gold, str):
        return [gold]
    if isinstance(gold, Iterable) and not isinstance(gold, (bytes, dict)):
        return [text for item in gold for text in golds_of(item)]
    return [] if gold is None else [str(gold)]


def exact_match(answer: str, golds: Iterable[str]) -> bool:
    """Whether an answer is one of the right ones."""
    said = normalised(answer)
    return any(_matches(answer, said, gold) for gold in golds)


def f1(answer: str, golds: Iterable[str]) -> float:
    """Return the harmonic mean of precision and recall of the answer's words, for the gold that fits best."""
    words = _words(answer)
    return max((_f1(answer, words, gold) for gold in golds), default=0.0)


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def _matches(answer: str, said: str, gold: str) -> bool:
    meant = normalised(gold)
    if meant:
        return said == meant
    bare = gold.strip().casefold()
    return bool(bare) and answer.strip().casefold() == bare


def _f1(answer: str, words: list[str], gold: str) -> float:
    meant = _words(gold)
    if not meant:
        return float(_matches(answer, "", gold))
    shared = sum((Counter(words) & Counter(meant)).values())
    return 2.0 * shared / (len(words) + len(meant))
