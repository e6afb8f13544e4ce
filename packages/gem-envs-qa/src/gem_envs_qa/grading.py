r"""Exact match and F1 of short answers, as SQuAD defines them for prose; numbers, signs and options by what they are.

Rajpurkar, Zhang, Lopyrev and Liang, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016,
section 6.1: both texts are put in lower case and lose punctuation, the words *a*, *an* and *the*, and surplus blanks;
then they match exactly, or share a number of words. Of several right answers, the best fit counts.

That normalisation (:func:`normalised`) is for prose. It makes ``-5`` and ``5``, ``1.5`` and ``15``, ``C#`` and ``C++``,
``Vitamin A`` and ``Vitamin`` the same. So here

* punctuation that belongs to a number stays, and numbers have one spelling (``1,000.50`` is ``1000.5``);
* the signs ``+ # * ^ = < > | \ ~`` stay;
* an article is an article only before another word.

If nothing is left of a right answer (``"?"``), the original texts are compared, except for case and surrounding
blanks. An empty answer is right where there is none (:data:`gem_questions.schemas.UNANSWERABLE`), and nowhere else.

A right answer that is a single letter, or has options (:class:`gem_questions.schemas.ChoiceGold`), is an option:
:func:`gem_questions.schemas.chosen_option` reads which one an answer means.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from gem_envs_qa.instructions import follows
from gem_questions.schemas import UNANSWERABLE, ChoiceGold, InstructionGold, chosen_option

__all__ = ["exact_match", "f1", "golds_of", "is_too_long", "normalised", "scores", "words_of"]

_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_LONGEST = 10_000
"""Maximum number of characters of a short answer; a longer one is wrong unless a right answer has a similar length."""
_FEW_WORDS = 8
"""Up to this number of words a search is faster than counting."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

_MEANT = re.compile(r"[\d+#*^=<>|\\~]")
"""What makes a word more than prose: a digit, or a sign that no sentence has as punctuation."""
_EMPHASIS = ("**", "__", "*", "_", "`")
_NUMBER = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d+))?(!*)", re.ASCII)
_BEFORE_NUMBER = re.compile(r"(?:[+#~$€£¥≈]|\B[\"'(\[{])+(?=[-.]?\d)")
_OUTER = "\"'()[]{}.,;:?"
_SPLITTING = re.compile(r"[,;()\[\]{}]+")
_OF_NO_NUMBER = re.compile(r"(?<!\d)[-./:](?!\d)|(?<=[^\W\d])[-.:]|[-.:](?=[^\W\d])|[\"'_`?@&$%€£¥]")
"""Punctuation that means nothing in a word with a digit or a sign: between letters, or between a letter and a digit."""


def normalised(text: str) -> str:
    """Return SQuAD's normal form: the words of a text in lower case, without punctuation and articles."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def words_of(text: str) -> list[str]:
    """Return the words that are compared; see the module's description."""
    bare = text.lower()
    # Most answers are plain words, for which this is cheaper than a search for punctuation.
    if bare.isascii() and bare.replace(" ", "").isalnum():
        words = bare.split()
    else:
        words = [word for token in _plain(bare).split() for word in _of_token(token)]
    if _ARTICLES.isdisjoint(words):
        return words
    return [word for place, word in enumerate(words) if word not in _ARTICLES or place == len(words) - 1]


def golds_of(gold: Any) -> list[str]:
    """Return the right answers in a value of a data set: a text, a number, or a list of these."""
    if isinstance(gold, str):
        return [gold]
    if isinstance(gold, list) and set(map(type, gold)) == {str}:
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
    """Return the results of :func:`exact_match` and :func:`f1`.

    An option is chosen or not, so its F1 is 1.0 or 0.0. Of instructions, all must be followed for an exact match, and
    the F1 is the share that is.
    """
    if type(golds) is not list:  # nearly always it is
        if isinstance(golds, InstructionGold):
            followed = follows(answer, golds)
            return all(followed), sum(followed) / len(followed)
        if isinstance(golds, ChoiceGold):
            right = chosen_option(answer, golds.options) == golds.letter
            return right, float(right)
    said, best = words_of(answer), 0.0
    for gold in golds:
        if len(gold) == 1 and gold.isalpha() and gold.isascii():
            if chosen_option(answer, {gold.upper(): ""}) is not None:
                return True, 1.0
            continue
        meant = _words_of_gold(gold)
        if (said == meant and (said or _same_text(answer, gold))) or (gold == UNANSWERABLE and not answer.strip()):
            return True, 1.0
        if said and meant and gold != UNANSWERABLE:
            best = max(best, _f1(said, meant))
    return False, best


def _plain(text: str) -> str:
    """Return a text with one kind of minus, and without marks of emphasis around it."""
    text = text.replace("\u2212", "-").strip()
    for mark in _EMPHASIS:
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)]
    return text


def _of_token(token: str) -> list[str]:
    if _MEANT.search(token) is None:
        bare = token.translate(_NO_PUNCTUATION)
        return [bare] if bare else []
    number = _number_of(token)
    if number is not None:
        return [number]
    # "f(2)" and "3,4" are several words.
    parts = (_OF_NO_NUMBER.sub("", part) for part in _SPLITTING.split(token.strip(_OUTER)))
    return [_number_of(part) or part for part in parts if part]


def _number_of(token: str) -> str | None:
    """Return the one spelling of a number; None if the word is none."""
    bare = _BEFORE_NUMBER.sub("", token).rstrip(_OUTER).rstrip("%€£$")
    match = _NUMBER.fullmatch(bare)
    if match is None or not (match[2] or match[3]):
        return None
    decimals = (match[3] or "").rstrip("0")
    whole = match[2].replace(",", "") or "0"
    return f"{match[1]}{whole}{'.' if decimals else ''}{decimals}{match[4]}"


@lru_cache(maxsize=4096)
def _words_of_gold(gold: str) -> list[str]:
    return words_of(gold)


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
