"""The reference policy of DeepSearch, which searches for what it does not know and reads what comes."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from gem.core import Info
from gem.policies import Policy
from gem.tables import read_table
from gem_envs_qa.deep_search.question_reader import answer_by_steps
from gem_envs_qa.deep_search.reader import AtlasReasoning, Wish
from gem_envs_qa.deep_search.sentence_reader import SearchReader

__all__ = ["DeepSearchPolicy", "FactSearcher"]

_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)
_PAGES = 12
_ARTICLE = re.compile(r"^\[(\d+)\] (.+?): (.+)$", re.MULTILINE)


_LINK_WORDS: Mapping[str, str] = read_table(__file__, "policy.json")["link_words"]
"""What else stands in an article that states a relation."""


class FactSearcher(Policy[str, str]):
    """Finds out fact by fact what a reasoning wants to know, with a search for each fact that nothing read so far has.

    It notes the article that told each fact. A subclass writes ``_reasoning_of``, ``_unknown`` and ``_last_word``.
    """

    @abstractmethod
    def _reasoning_of(self, observation: str) -> AtlasReasoning:
        """Return the reasoning about the task of the first observation."""

    @abstractmethod
    def _last_word(self) -> str:
        """Return the action with which the episode ends, once the reasoning has ended."""

    def _unknown(self, wish: Wish) -> bool:
        """Return whether the reasoning goes on without a fact that cannot be found; otherwise it ends."""
        return False

    def reset(self, observation: str, info: Info) -> None:
        self._reader = SearchReader()
        self._searched: set[str] = set()
        self._queries: list[str] = []
        self._pages = 0
        """Further pages of the last query that are worth a turn."""
        self._read: dict[str, SearchReader] = {}
        """The number of each article → a reader of it alone, who knows all names."""
        self._cited: list[str] = []
        """Of each fact the article that told it."""
        self._answer = ""
        self._reasoning = self._reasoning_of(observation)
        self._wish = self._next(None)

    def act(self, observation: str, info: Info) -> str:
        """Return the next search, or the last word."""
        for number, title, text in _ARTICLE.findall(observation):
            if number not in self._read:
                self._reader.read(title, text)
                alone = self._read[number] = SearchReader()
                alone.aliases, alone.names = self._reader.aliases, self._reader.names
                alone.read(title, text)
        while self._wish is not None:
            told = self._reader.know(self._wish)
            if told is None:
                self._queries += [query for query in self._ideas(self._wish) if query not in self._searched]
                if self._pages and "The search engine shows" in observation:
                    self._pages -= 1
                    return "<more/>"
                if self._queries:
                    query = self._queries.pop(0)
                    self._searched.add(query)
                    names = self._reader.called(self._wish[-1])
                    # A name that was searched alone for an earlier fact is not searched again: its words go on instead.
                    self._pages = _PAGES if query in names or self._searched.issuperset(names) else 0
                    return f"<search>{query}</search>"
                if not self._unknown(self._wish):
                    self._wish, self._answer = None, "unknown"
                    break
            else:
                self._cite(self._wish)
            self._wish = self._next(told)
            self._queries, self._pages = [], 0
        return self._last_word()

    def _next(self, told: Any) -> Wish | None:
        try:
            return self._reasoning.send(told)
        except StopIteration as done:
            self._answer = self._reader.canonical(done.value) or done.value
            return None

    def _cite(self, wish: Wish) -> None:
        """Note the article without which the fact would not be known."""
        for number, alone in self._read.items():
            if alone.know(wish) is not None:
                self._cited.append(number)
                return

    def _ideas(self, wish: Wish) -> list[str]:
        """Return what to search for: each name with the words of the fact, then the name alone, through many pages."""
        names = self._reader.called(wish[-1])
        words = _LINK_WORDS.get(wish[1], wish[1])
        ideas = [*(f"{name} {words}" for name in names), *names]
        return [idea for idea in ideas if idea not in self._queries]


class DeepSearchPolicy(FactSearcher):
    """Works the question out, and cites the article that told each fact."""

    def _reasoning_of(self, observation: str) -> AtlasReasoning:
        question = _QUESTION.search(observation)
        assert question is not None, observation
        return answer_by_steps(question[1])

    def _last_word(self) -> str:
        if self._answer == "unknown":
            return "<answer>unknown</answer>"
        evidence = ", ".join(dict.fromkeys(self._cited))
        return f"<answer>{self._answer}</answer>\n<evidence>{evidence}</evidence>"
