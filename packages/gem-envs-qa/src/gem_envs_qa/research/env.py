"""Research: reports about the world of DeepSearch, with its search engine as the only way to it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from gem.arguments import choice
from gem.counts import counted
from gem.text_env import MoveResult, failure, success
from gem_envs_qa.atlas.atlas import SPLITS
from gem_envs_qa.atlas.questions import written_forms
from gem_envs_qa.atlas.schema import RELATIONS
from gem_envs_qa.deep_search.form import SearchAction, SearchActionForm
from gem_envs_qa.deep_search.search_env import SMALLEST, WorldSearchEnv
from gem_envs_qa.research.checklist import checklist_of
from gem_envs_qa.research.report import CONCLUSION, MOST_CITED, MOST_CLAIMS, ReportGrade
from gem_envs_qa.research.tasks import GLOSSES, KINDS, LEVELS, OPENINGS, PLURALS, draw_task

__all__ = ["REPORT_CLOSINGS", "REPORT_FORM", "ResearchEnv", "claims_in_words", "report_result"]

_GOOD = 0.95
"""The score from which a report is a success."""


REPORT_FORM = SearchActionForm("report", "report")
REPORT_CLOSINGS: Mapping[str, str] = {
    **WorldSearchEnv.closings,
    "success": "The report is in.",
    "failure": "The report is in.",
}


def claims_in_words(relations: Mapping[str, str]) -> str:
    """Return what counts in a report.

    Args:
        relations: name → meaning.
    """
    glossary = "\n".join(f"{name}: {meaning}" for name, meaning in relations.items())
    return (
        "What counts in the report are its claims, one on a line of its own, with the number of the article that "
        f"states it; at most {MOST_CITED} may be cited:\n"
        "- subject | relation | object [12]\n"
        "State every fact that is asked for, once. The score is the cube of the share of these facts that you state "
        "with support, times the square of their share among all your claims, halved for each false claim: where ten "
        "are asked for, nine earn 0.73, all ten and an unsupported claim 0.83, all ten and a false one 0.41. What "
        f"repeats a claim, is about other things, or comes after {MOST_CLAIMS} claims costs as much as what has no "
        "support; more true facts about the same things, with support, cost nothing up to a quarter of those asked "
        f"for. Write names as the articles do. The relations:\n{glossary}"
    )


def report_result(grade: ReportGrade) -> MoveResult:
    """Return the result of a report."""
    message = f"Your report has {counted(grade.claims, 'claim')}."
    return (success if grade.score >= _GOOD else failure)(message, grade.score)


class ResearchEnv(WorldSearchEnv):
    """A report about a world of at least 10,000 articles; each turn is a search or the report, which ends the episode.

    Rewards: the score of the report, see :mod:`gem_envs_qa.research.report`. ``info`` of the last step has
    ``coverage``, ``precision``, ``contradictions`` and ``claims``. Prose beside the claims is not graded; a reward that
    asks a judge (``gem eval --reward rubric``) may read it.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``: more subjects, longer rows of relations, fewer articles a search.
        kind: ``"compare"``, ``"trace"``, ``"explain"``, ``"dispute"``, or ``"any"``: drawn at each reset.
        split: ``"train"`` or ``"test"``. No task is in both.
        names: ``"episode"``: the invented words of the world and the numbers of its articles change places at each
            reset; ``"world"``: everything keeps its name.
        world_seed: determines the world and all its names. Environments share a world.
        size: number of articles, 10,000 … 200,000.
        topk: articles in an answer of the search engine, 1 … 20; None: by the level (5, 5, 3).
        max_turns: turns that the instructions announce; None: by the level (100, 250, 600).
    """

    form = REPORT_FORM
    closings: ClassVar[Mapping[str, str]] = REPORT_CLOSINGS

    def __init__(
        self,
        level: str = "medium",
        kind: str = "any",
        split: str = "train",
        names: str = "episode",
        world_seed: int = 0,
        size: int = SMALLEST,
        topk: int | None = None,
        max_turns: int | None = None,
    ) -> None:
        self.level = LEVELS[choice("level", level, tuple(LEVELS))]
        self.kind = choice("kind", kind, ("any", *KINDS))
        self.split = choice("split", split, SPLITS)
        self._grade: ReportGrade | None = None
        super().__init__(
            names,
            world_seed,
            size,
            self.level.topk if topk is None else topk,
            self.level.turns if max_turns is None else max_turns,
        )

    def _open(self, key: int) -> None:
        rng = random.Random(key)
        kind = rng.choice(KINDS) if self.kind == "any" else self.kind
        while True:
            self.task = draw_task(self._world.world, kind, self.level, rng)
            if self.task.split == self.split:
                break
        self._opening = rng.choice(OPENINGS[kind])
        self._rename(key)
        self._grade = None

    def _instructions(self) -> str:
        return (
            "This task is about a world that nobody has heard of; what is known of it stands in a collection of "
            f"{self._of_world[1]:,} articles. Search them, and write a report.\n"
            f"{self._how_to_search()}"
            "<report>…</report>: your one report, which ends the episode\n"
            f"You have {counted(self.max_turns, 'turn')}, and every answer takes one. You may think first.\n\n"
            f"{claims_in_words(self._relations())}\n"
            "Every fact on the way along a row of relations is asked for. Where a thing has two names, either will do, "
            "whichever its article uses.\n\n"
            f"{self._asked()}"
        )

    def _relations(self) -> dict[str, str]:
        used = {name for path in self.task.aspects for name in path}
        used |= {name for one in self.task.statements for name in one.path}
        return {name: GLOSSES[name] for name in RELATIONS if name in used}

    def _asked(self) -> str:
        task = self.task
        kind, several = task.subjects[0].kind, len(task.subjects) > 1
        lines = [f"Task: {self._opening.format(kind=PLURALS[kind] if several else kind)}"]
        if task.statements:
            for number, one in enumerate(task.statements, 1):
                relation = RELATIONS[one.path[-1]]
                value = self._world.world.entities[one.said] if relation.leads_on else one.said
                said = self._told(written_forms(value, relation.object)[0])
                lines.append(f"{number}. {_row(one.path)} of {self._told(one.start.name)}: {said}")
            lines.append("Claim the facts of each row as they are, whether the statement holds or not.")
        else:
            names = "; ".join(self._told(one.name) for one in task.subjects)
            lines.append(f"Subjects: {names}" if several else f"Subject: {names}")
            lines.append(f"Rows, from {'each' if several else 'the'} subject: {'; '.join(map(_row, task.aspects))}")
        if task.conclusion is not None:
            word, measure, *_ = task.conclusion
            numbers = ", ".join(map(str, range(1, len(task.subjects) + 1)))
            lines.append(
                f"Conclude which subject is the {word} by {measure}, in one more claim with one article for each "
                f"subject, {len(task.subjects)} in all: - {CONCLUSION} | {word} | subject [{numbers}]"
            )
        return "\n".join(lines)

    def _graded(self, move: SearchAction) -> MoveResult:
        self._grade = checklist_of(self.task, self._world.world, self._told, self._numbered).grade(move.answer)
        return report_result(self._grade)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or report; see the class for ``info``."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self._grade is not None:
            info.update(self._grade.figures())
        return observation, reward, terminated, truncated, info

    def _random_action(self) -> str:
        rng, corpus = self.action_rng, self._world.corpus
        title = self._told(rng.choice(corpus)["title"])
        if rng.random() < 0.05:
            relation = rng.choice([*RELATIONS])
            number = rng.randrange(len(corpus))
            subject = self._told(rng.choice(self.task.subjects).name)
            return f"<report>\n- {subject} | {relation} | {title} [{number}]\n</report>"
        words = self._asked().translate(str.maketrans("", "", ".,;:?|")).split()
        query = " ".join(rng.sample(words, 2)) if rng.random() < 0.5 else title
        return f"<search>{query}</search>"


def _row(path: tuple[str, ...]) -> str:
    return " → ".join(path)
