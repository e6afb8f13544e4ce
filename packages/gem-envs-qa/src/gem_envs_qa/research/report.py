"""Reports: the claims in them, and what they are worth against the checklist of a task.

A claim is a line ``- subject | relation | object [12, 7]`` with the ids of the articles that state it. Names and values
are compared exactly, up to case, articles and punctuation; nothing else of a report is read. The score is
``coverage³ · precision² · ½^contradictions``:

* coverage: the share of the checklist's items that are stated and supported. A claim is supported by one or two
  citations, of which one states it; a conclusion cites the article of each fact that it rests on.
* precision: the share of these among all claims. Other true facts about the things of the task are free if they are
  supported, up to a quarter of the checklist; claims about anything else, unsupported ones and repetitions are not.
* contradictions: claims that give a relation of such a thing another object than it has, and wrong conclusions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gem_envs_qa.grading import exact_match

__all__ = ["CONCLUSION", "MOST_CITED", "MOST_CLAIMS", "Checklist", "ChecklistFact", "Claim", "ReportGrade", "claims_of"]

MOST_CLAIMS = 150
"""Claims of a report that count; what follows is noise."""
MOST_CITED = 2
CONCLUSION = "conclusion"

_CLAIM = re.compile(r"(?:[-*•]\s*)?([^|]+)\|([^|]+)\|([^|\[\]]+)\[([^|\[\]]*)\]\.?")
_LONGEST_LINE = 1000


class Claim(NamedTuple):
    """A line of a report."""

    subject: str
    relation: str
    object: str
    cited: frozenset[str]


class ReportGrade(NamedTuple):
    """What a report is worth."""

    score: float
    coverage: float
    precision: float
    contradictions: int
    claims: int

    def figures(self) -> dict[str, float]:
        """Return all but the score, for ``info``."""
        return {name: value for name, value in self._asdict().items() if name != "score"}


class ChecklistFact(NamedTuple):
    """A fact that a report may state."""

    subjects: tuple[str, ...]
    """The accepted names of its subject."""
    relation: str
    objects: tuple[str, ...]
    """The accepted forms of its object."""
    documents: frozenset[str] = frozenset()
    """The ids of the articles that state it, none if any may be cited; of a conclusion, of those that it rests on."""
    item: int | None = None
    """The number of the checklist's item that it meets; None for a fact that is free."""
    needs_all: bool = False
    """Whether all of the articles must be cited, as for a conclusion, and not one."""

    def is_supported_by(self, cited: frozenset[str]) -> bool:
        """Return whether a claim with these citations is supported."""
        if self.needs_all:
            return self.documents <= cited and len(cited) <= MOST_CITED * len(self.documents)
        return len(cited) <= MOST_CITED and not (self.documents and cited.isdisjoint(self.documents))


def claims_of(report: str) -> list[Claim]:
    """Return the claims of a report, in time linear in its length."""
    found = []
    for line in report.splitlines():
        if line.count("|") != 2 or len(line) > _LONGEST_LINE:
            continue
        match = _CLAIM.fullmatch(line.strip())
        if match is None:
            continue
        subject, relation, value = (part.strip() for part in match.groups()[:3])
        if subject and relation and value:
            cited = frozenset(filter(None, map(_plain_id, match[4].split(","))))
            found.append(Claim(subject, relation.lower(), value, cited))
    return found


class Checklist:
    """What a report must state, and what it may.

    Args:
        facts: those with an ``item`` are on the checklist; several may meet one item.
    """

    def __init__(self, facts: Iterable[ChecklistFact]) -> None:
        self._facts: dict[str, list[ChecklistFact]] = {}
        items = set[int]()
        for fact in facts:
            self._facts.setdefault(fact.relation, []).append(fact)
            if fact.item is not None:
                items.add(fact.item)
        self.size = len(items)
        """The number of items."""

    def grade(self, report: str) -> ReportGrade:
        """Return what a report is worth."""
        claims = claims_of(report)
        covered = set[int]()
        seen = set[tuple[str, str, str]]()
        extra, free, contradictions = max(len(claims) - MOST_CLAIMS, 0), 0, 0
        for claim in claims[:MOST_CLAIMS]:
            verdict = self._verdict(claim)
            key = (claim.subject.lower(), claim.relation, claim.object.lower())
            if verdict == "wrong":
                contradictions += 1
            elif verdict == "noise" or verdict in covered or key in seen:
                extra += 1
            elif isinstance(verdict, int):
                covered.add(verdict)
            else:
                free += 1
            seen.add(key)
        extra += max(free - self.size // 4, 0)
        coverage = len(covered) / self.size
        precision = len(covered) / max(len(covered) + extra + contradictions, 1)
        score = coverage**3 * precision**2 * 0.5**contradictions
        return ReportGrade(score, coverage, precision, contradictions, len(claims))

    def _verdict(self, claim: Claim) -> int | str:
        """Return the item that a claim meets, or ``"free"``, ``"wrong"`` or ``"noise"``."""
        verdict = "noise"
        for fact in self._facts.get(claim.relation, ()):
            if not exact_match(claim.subject, list(fact.subjects)):
                continue
            if not exact_match(claim.object, list(fact.objects)):
                verdict = "wrong"
            elif not fact.is_supported_by(claim.cited):
                return "noise"
            else:
                return "free" if fact.item is None else fact.item
        return verdict


def _plain_id(text: str) -> str:
    """Return an id without blanks around it, and without leading zeros if it is a number."""
    text = text.strip()
    return str(int(text)) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else text
