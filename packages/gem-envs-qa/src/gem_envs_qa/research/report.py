"""Reports: the claims in them, and what they are worth against the checklist of a task.

A claim is a line ``- subject | relation | object [12, 7]`` with the numbers of the articles that state it. Names and
values are compared exactly, up to case, articles and punctuation; nothing else of a report is read. The score is
``coverage³ · precision² · ½^contradictions``:

* coverage: the share of the checklist's items that are stated and supported. A claim is supported by one or two
  citations, of which one states it; a conclusion cites the article of each fact that it rests on.
* precision: the share of these among all claims. Other true facts about the entities of the task are free, up to a
  quarter of the checklist; claims about anything else, unsupported ones and repetitions are not.
* contradictions: claims that give a relation of such an entity another object than it has, and wrong conclusions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gem_envs_qa.atlas.questions import written_forms
from gem_envs_qa.atlas.schema import RELATIONS
from gem_envs_qa.atlas.world import AtlasWorld
from gem_envs_qa.grading import exact_match
from gem_envs_qa.research.tasks import ReportFact, ResearchTask

__all__ = ["CONCLUSION", "MOST_CITED", "MOST_CLAIMS", "Claim", "ReportGrade", "claims_of", "grade_report"]

MOST_CLAIMS = 150
"""Claims of a report that count; what follows is noise."""
MOST_CITED = 2
CONCLUSION = "conclusion"

_CLAIM = re.compile(r"(?:[-*•]\s*)?([^|]+)\|([^|]+)\|([^|\[\]]+)\[([0-9, ]*)\]\.?", re.ASCII)
_PAIRED = ("spouse", "twin")


class Claim(NamedTuple):
    """A line of a report."""

    subject: str
    relation: str
    object: str
    cited: frozenset[int]


class ReportGrade(NamedTuple):
    """What a report is worth."""

    score: float
    coverage: float
    precision: float
    contradictions: int
    claims: int


def claims_of(report: str) -> list[Claim]:
    """Return the claims of a report, in time linear in its length."""
    found = []
    for line in report.splitlines():
        if line.count("|") != 2 or len(line) > 1000:
            continue
        match = _CLAIM.fullmatch(line.strip())
        if match is None:
            continue
        subject, relation, value = (part.strip() for part in match.groups()[:3])
        if subject and relation and value:
            cited = frozenset(int(number) for number in re.findall(r"[0-9]{1,9}", match[4]))
            found.append(Claim(subject, relation.lower(), value, cited))
    return found


def grade_report(
    report: str, task: ResearchTask, world: AtlasWorld, told: Callable[[str], str] = lambda text: text
) -> ReportGrade:
    """Return what a report is worth.

    Args:
        report: its text.
        task: what it is about.
        world: of the task.
        told: gives a text of the world the names that the agent knows.
    """
    checklist = _Checklist(task, world, told)
    claims = claims_of(report)
    covered: set[ReportFact | str] = set()
    seen: set[tuple[str, str, str]] = set()
    extra, free, contradictions = max(len(claims) - MOST_CLAIMS, 0), 0, 0
    for claim in claims[:MOST_CLAIMS]:
        verdict = checklist.verdict(claim)
        key = (claim.subject.lower(), claim.relation, claim.object.lower())
        if verdict == "wrong":
            contradictions += 1
        elif verdict == "other" or verdict == "unsupported" or verdict in covered or key in seen:
            extra += 1
        elif verdict == "free":
            free += 1
        else:
            covered.add(verdict)
        seen.add(key)
    extra += max(free - len(task.must) // 4, 0)
    coverage = len(covered) / checklist.size
    precision = len(covered) / max(len(covered) + extra + contradictions, 1)
    score = coverage**3 * precision**2 * 0.5**contradictions
    return ReportGrade(score, coverage, precision, contradictions, len(claims))


class _Checklist:
    """The facts of a task by the names that a report gives them."""

    def __init__(self, task: ResearchTask, world: AtlasWorld, told: Callable[[str], str]) -> None:
        self._task = task
        self._must: Mapping[tuple[int, str], ReportFact] = {
            key: fact for fact in task.must for key in ((fact.subject, fact.relation), *_reversed(fact))
        }
        self._world, self._told = world, told
        self._names = {number: self._forms(number, "entity") for number in task.met}
        self.size = len(task.must) + (task.conclusion is not None)

    def _forms(self, value: object, kind: str) -> list[str]:
        if kind == "entity":
            assert isinstance(value, int)
            value = self._world.entities[value]
        return [self._told(form) for form in written_forms(value, kind)]  # type: ignore[arg-type]  # by its kind

    def verdict(self, claim: Claim) -> ReportFact | str:
        """Return the fact of the checklist that a claim states and supports, or another word on it."""
        if claim.subject.lower() == CONCLUSION:
            return self._conclusion(claim)
        relation = RELATIONS.get(claim.relation)
        if relation is None:
            return "other"
        about = [number for number, names in self._names.items() if exact_match(claim.subject, names)]
        verdict: ReportFact | str = "other"
        for number in about:
            value = self._world.entities[number].facts.get(claim.relation)
            if value is None:
                continue
            if not exact_match(claim.object, self._forms(value, "entity" if relation.leads_on else relation.object)):
                verdict = "wrong"
                continue
            fact = self._must.get((number, claim.relation))
            if fact is None:
                return "free"
            return fact if len(claim.cited) <= MOST_CITED and fact.document in claim.cited else "unsupported"
        return verdict

    def _conclusion(self, claim: Claim) -> str:
        conclusion = self._task.conclusion
        if conclusion is None or claim.relation != conclusion.word:
            return "other"
        if not exact_match(claim.object, self._forms(conclusion.entity, "entity")):
            return "wrong"
        most = MOST_CITED * len(conclusion.documents)
        return CONCLUSION if conclusion.documents <= claim.cited and len(claim.cited) <= most else "unsupported"


def _reversed(fact: ReportFact) -> list[tuple[int, str]]:
    return [(fact.value, fact.relation)] if fact.relation in _PAIRED else []
