"""The actions of DeepSearch: a search, or an answer with its evidence."""

from __future__ import annotations

import random
import re
from operator import itemgetter
from typing import NamedTuple

from gem.errors import NotSupportedError
from gem.text import extract_last_tagged_answer, spoken
from gem.tools.calls import all_tagged

__all__ = ["SearchAction", "SearchActionForm"]

_ID = re.compile(r"[0-9]{1,9}", re.ASCII)
_MOST_CITED = 50


class SearchAction(NamedTuple):
    """A search for some words, a look at further results, or an answer."""

    query: str | None
    """None for an answer, "" for further results."""
    answer: str = ""
    cited: tuple[str, ...] = ()
    """The ids of documents in ``<evidence>``, each once, in their order."""


class SearchActionForm:
    """``<search>words</search>``, ``<more/>``, or ``<answer>…</answer>`` with ``<evidence>12, 7</evidence>``.

    The tag that ends last counts. A search that is only thought or quoted is none.

    Args:
        final: the tag of the last word.
        verb: what the agent does with it.
    """

    def __init__(self, final: str = "answer", verb: str = "answer") -> None:
        self.final = final
        self.verb = verb

    def read(self, text: str, /) -> SearchAction | None:
        """Return the action; None if there is no tag, or if the one that counts is empty."""
        query, search = max(all_tagged(text, "search"), key=itemgetter(1), default=("", -1))
        more = max(spoken(text, "<more/>", lambda mark: ([mark.end()], mark.end())), default=-1)
        answered = text.rfind(f"</{self.final}>")
        if more > max(search, answered):
            return SearchAction("")
        if search > answered:
            words = query.rpartition("<search>")[2].split()
            return SearchAction(" ".join(words)) if words else None
        answer = extract_last_tagged_answer(text, self.final)
        if not answer or not answer.strip():
            return None
        evidence = extract_last_tagged_answer(text, "evidence") or ""
        cited = tuple(dict.fromkeys(str(int(number)) for number in _ID.findall(evidence[:1000])))
        return SearchAction(None, answer.strip(), cited[:_MOST_CITED])

    def sample(self, rng: random.Random, /) -> str:
        """Refuse: what can be searched for, only the environment knows.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a random search needs the words of a question; ask the environment for one")
