"""Reports about a corpus of the user's: :class:`CorpusResearchEnv`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gem.arguments import integer
from gem.counts import counted
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MoveResult
from gem_envs_qa.deep_search.form import SearchAction
from gem_envs_qa.deep_search.search_env import SearchTaskEnv
from gem_envs_qa.research.env import REPORT_CLOSINGS, REPORT_FORM, claims_in_words, report_result
from gem_envs_qa.research.report import Checklist, ChecklistFact, ReportGrade
from gem_questions.rows import open_rows

if TYPE_CHECKING:
    from gem_tools.search import LocalIndex

__all__ = ["CorpusResearchEnv", "checklist_of_row"]


class CorpusResearchEnv(SearchTaskEnv):
    """Reports about the articles of a corpus, graded as in :class:`gem_envs_qa.research.env.ResearchEnv`.

    A task is a row::

        {"question": "How did the two shipyards come about?",
         "relations": {"founder": "who founded a shipyard"},
         "facts": [{"subject": ["Elder Yard", "the Elder"], "relation": "founder", "object": "Ada Holm",
                    "documents": ["a17"]}],
         "free": [{"subject": "Elder Yard", "relation": "founder", "object": "Tom Holm"}]}

    ``facts`` is the checklist, and ``free`` are facts that a report may state besides. A claim about the subject and
    the relation of one of them with another object contradicts it. ``info`` of the last step is as there.

    Args:
        corpus: a file of JSON lines or a list of documents, each with ``id`` and ``contents``, as for a search engine.
        tasks: the rows: a file, a folder, or a list, as for question sets.
        topk: articles in an answer of the search engine, 1 … 20.
        max_turns: turns that the instructions announce.
    """

    form = REPORT_FORM
    saved = SearchTaskEnv.saved | StateFields(row=int)
    closings: ClassVar[Mapping[str, str]] = REPORT_CLOSINGS
    row: int
    """The place of the task among the rows."""

    def __init__(self, corpus: Any, tasks: Any, topk: int = 5, max_turns: int = 250) -> None:
        from gem_tools.search import local_index

        self._rows = open_rows(tasks)
        if not len(self._rows):
            raise ArgumentError("tasks has no rows; each is a dict with question, relations and facts")
        self._index = local_index(corpus)
        self._grade: ReportGrade | None = None
        super().__init__(topk, max_turns)

    @property
    def _engine(self) -> LocalIndex:
        return self._index

    def _begin(self) -> None:
        super()._begin()
        self._open(self.rng.randrange(len(self._rows)))

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._open(integer("row", self.row, minimum=0, maximum=len(self._rows) - 1))

    def _open(self, row: int) -> None:
        self.row, self._grade = row, None
        self._task: Mapping[str, Any] = self._rows[row]
        self._checklist = checklist_of_row(self._task, row)

    def _instructions(self) -> str:
        relations = self._task["relations"]
        return (
            "Write a report on what the articles of a collection say.\n"
            f"{self._how_to_search()}"
            "<report>…</report>: your one report, which ends the episode\n"
            f"You have {counted(self.max_turns, 'turn')}, and every answer takes one. You may think first.\n\n"
            f"{claims_in_words({str(name).lower(): str(gloss) for name, gloss in relations.items()})}\n\n"
            f"Task: {self._task['question']}"
        )

    def _graded(self, move: SearchAction) -> MoveResult:
        self._grade = self._checklist.grade(move.answer)
        return report_result(self._grade)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or report; see the class for ``info``."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self._grade is not None:
            info.update(self._grade.figures())
        return observation, reward, terminated, truncated, info

    def _random_action(self) -> str:
        words = [word for word in str(self._task["question"]).translate(_NO_MARKS).split() if word]
        return f"<search>{self.action_rng.choice(words or ['nothing'])}</search>"


_NO_MARKS = str.maketrans("", "", "<>.,;:?|[]")


def checklist_of_row(row: Mapping[str, Any], number: int = 0) -> Checklist:
    """Return the checklist of a row.

    Raises:
        ArgumentError: if the row is no task; the message says which row, and what it lacks.
    """
    relations = row.get("relations")
    if not row.get("question") or not isinstance(relations, Mapping) or not row.get("facts"):
        raise ArgumentError(f"row {number} of tasks needs question, relations (name → meaning) and facts")
    facts = []
    for key in ("facts", "free"):
        for item, fact in enumerate(row.get(key) or ()):
            facts.append(_fact(fact, item if key == "facts" else None, f"row {number} of tasks, {key}[{item}]"))
            if facts[-1].relation not in {str(name).lower() for name in relations}:
                raise ArgumentError(f"row {number} of tasks, {key}[{item}]: relations has no {fact['relation']!r}")
    return Checklist(facts)


def _fact(fact: Any, item: int | None, where: str) -> ChecklistFact:
    wanted = ("subject", "relation", "object", *(() if item is None else ("documents",)))
    if not isinstance(fact, Mapping) or any(not fact.get(name) for name in wanted):
        raise ArgumentError(f"{where} needs {', '.join(wanted)}, got {fact!r:.80}")
    return ChecklistFact(
        tuple(_texts(fact["subject"])),
        str(fact["relation"]).lower(),
        tuple(_texts(fact["object"])),
        frozenset(_texts(fact.get("documents") or ())),
        item,
    )


def _texts(value: Any) -> Iterator[str]:
    yield from map(str, value if isinstance(value, Sequence) and not isinstance(value, str) else [value])
