"""The reference policy of Research, which follows every row of relations and claims each fact that it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gem_envs_qa.deep_search.policy import FactSearcher
from gem_envs_qa.deep_search.reader import AtlasReasoning, Wish, size
from gem_envs_qa.research.report import CONCLUSION

__all__ = ["ResearchPolicy"]


class ResearchPolicy(FactSearcher):
    """Claims what it has read, with the article that told it.

    Args:
        searches: turns after which it reports what it has; None: once it has everything.
    """

    def __init__(self, searches: int | None = None) -> None:
        self.searches = searches

    def _reasoning_of(self, observation: str) -> AtlasReasoning:
        self._claims: dict[str, None] = {}
        self._turns = 0
        return self._report(observation.partition("\nTask: ")[2])

    def _report(self, task: str) -> AtlasReasoning:
        measured: dict[str, tuple[tuple[int, ...], str]] = {}
        conclude = re.search(r"^Conclude which subject is the (\w+) by (\w+),", task, re.MULTILINE)
        for subject, row in _rows(task):
            name = subject
            for relation in row:
                value = yield "fact", relation, name
                if value is None:
                    break
                known = self._reader.canonical(name) or name
                self._claims[f"- {known} | {relation} | {value} [{self._cited[-1]}]"] = None
                if conclude is not None and (name, relation) == (subject, conclude[2]):
                    measured[subject] = size(value), self._cited[-1]
                name = value
        if conclude is not None and measured:
            pick = max if conclude[1] in ("latest", "largest") else min
            best = pick(measured, key=lambda one: measured[one][0])
            articles = ", ".join(article for _, article in measured.values())
            self._claims[f"- {CONCLUSION} | {conclude[1]} | {best} [{articles}]"] = None
        return ""

    def _unknown(self, wish: Wish) -> bool:
        return True

    def act(self, observation: str, info: dict[str, object]) -> str:
        """Return the next search, or the report."""
        action = super().act(observation, info)
        if self.searches is not None and self._turns >= self.searches:
            return self._last_word()
        self._turns += 1
        return action

    def _last_word(self) -> str:
        claims = "\n".join(self._claims)
        return f"<report>\n{claims}\n</report>"


def _rows(task: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each subject of a task with a row of relations to follow from it."""
    for row, subject in re.findall(r"^\d+\. (.+?) of (.+?): .+$", task, re.MULTILINE):
        yield subject, row.split(" → ")
    subjects = re.findall(r"^Subjects?: (.+)$", task, re.MULTILINE)
    rows = re.findall(r"^Rows, from (?:each|the) subject: (.+)$", task, re.MULTILINE)
    for subject in subjects[0].split("; ") if subjects else ():
        for row in rows[0].split("; "):
            yield subject, row.split(" → ")
