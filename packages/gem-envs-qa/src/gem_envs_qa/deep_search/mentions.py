"""Which articles have all the words of a name: :class:`ArticleMentions`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ArticleMentions"]

_WORD = re.compile(r"[\w,]*\w")


class ArticleMentions:
    """The words of articles, with the articles that have them.

    Args:
        corpus: articles with ``contents``.
    """

    def __init__(self, corpus: Sequence[Mapping[str, str]]) -> None:
        self._articles: dict[str, set[int]] = {}
        for number, document in enumerate(corpus):
            for word in set(_WORD.findall(document["contents"].lower())):
                self._articles.setdefault(word, set()).add(number)

    def of(self, names: Iterable[str]) -> set[int]:
        """Return the places of all articles with the words of one of the names, in any order."""
        found: set[int] = set()
        for name in names:
            words = sorted((self._articles.get(word, set()) for word in _WORD.findall(name.lower())), key=len)
            if words:
                found |= set.intersection(*words)
        return found
