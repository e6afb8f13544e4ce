"""The reward ``exact``: the answer is the right text, after normalization."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable
from typing import Any

from gem.arguments import choice
from gem.errors import ArgumentTypeError
from gem_questions.rewards import AnswerReward, Score

__all__ = ["ExactReward"]

_NORMALIZE = ("strip", "case", "space", "punctuation", "articles", "unicode")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)


class ExactReward(AnswerReward):
    """1.0 for the right answer, 0.0 for any other.

    Args:
        answer: as in :class:`gem_questions.rewards.AnswerReward`, like the next two.
        answer_from: where the right answer of an episode is.
        extract: which part of the text is the answer.
        normalize: what does not count: ``"case"``, ``"space"`` (runs of blanks are one blank), ``"punctuation"``,
            ``"articles"`` (English), ``"unicode"`` (forms that NFKC unites); blanks at the ends (``"strip"``) never
            count.
    """

    def __init__(
        self,
        *,
        answer: Any = None,
        answer_from: str | None = None,
        extract: str = "auto",
        normalize: Iterable[str] = ("case", "space"),
    ) -> None:
        super().__init__(answer=answer, answer_from=answer_from, extract=extract)
        if isinstance(normalize, str):
            normalize = normalize.split(",") if normalize else ()
        self._normalize = frozenset(choice("normalize", item, _NORMALIZE) for item in normalize)

    def grade(self, said: str, gold: Any) -> Score:
        golds = gold if isinstance(gold, (list, tuple)) else [gold]
        if any(isinstance(item, (dict, list, tuple)) for item in golds):
            raise ArgumentTypeError(f"exact compares text or a list of texts, and the right answer is {gold!r:.80}")
        wanted = {self._normal(str(item)) for item in golds if item is not None}
        right = self._normal(said) in wanted
        return Score(float(right), reasons=[f"the answer {said!r:.200} is {'right' if right else 'not right'}"])

    def _normal(self, text: str) -> str:
        if "unicode" in self._normalize:
            text = unicodedata.normalize("NFKC", text)
        if "case" in self._normalize:
            text = text.casefold()
        if "punctuation" in self._normalize:
            text = text.translate(_NO_PUNCTUATION)
        if "articles" in self._normalize:
            text = _ARTICLES.sub(" ", text)
        if "space" in self._normalize or "articles" in self._normalize:
            text = " ".join(text.split())
        return text.strip()
