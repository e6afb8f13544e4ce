"""Rubric items for reports, which a program proposes from the samples of a task and checks: :class:`ResearchRubrics`.

Nothing here knows what is true: a claim is supported if an article that the agent saw, and cites, says its object and
its subject. Positive items are claims of better reports, negative ones the ways to fill a report without research.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from gem_envs_qa.grading import normalised
from gem_envs_qa.research.env import REPORT_FORM
from gem_envs_qa.research.report import CONCLUSION, MOST_CITED, MOST_CLAIMS, Claim, claims_of
from gem_questions.rewards.answers import final_text, observation_text
from gem_questions.rewards.rubric_buffer import RubricItem

if TYPE_CHECKING:
    from gem.trajectory import Trajectory

__all__ = ["ResearchRubrics"]

_ARTICLE = re.compile(r"^\[([^\[\]\n]{1,64})\] (.+)$", re.MULTILINE)
_LONGEST_RUN = 12
"""Words in a row that are the article's and not the report's."""
_MOST_PROPOSED = 20
_TOLERATED = 0.1
"""Claims of which a program cannot say what they have to do with an article or the task: they use a second name."""
_LONGEST_REPORT = 40_000  # characters
_ClaimKey = tuple[str, str, str]


class _ReadReport(NamedTuple):
    """What a program sees of a sample."""

    task: str
    """The first observation."""
    text: str
    """The report."""
    claims: list[Claim]
    articles: Mapping[str, str]
    """The number of each article that the agent saw → its line."""

    def supports(self, claim: Claim) -> bool:
        """Return whether an article that was seen, one of at most two cited, has the claim's subject and object.

        A conclusion is about the articles that it cites, however many.
        """
        cited = [normalised(self.articles.get(number, "")) for number in claim.cited]
        concludes = claim.subject.lower() == CONCLUSION
        return (concludes or len(cited) <= MOST_CITED) and any(
            normalised(claim.object) in article and (concludes or normalised(claim.subject) in article)
            for article in cited
        )


class ResearchRubrics:
    """A :class:`gem_questions.rewards.rubric_buffer.RubricProgram` for ``research:*``.

    A positive item is a supported claim whose reports earned more than those without it. A negative item is the share
    of a report's claims that are unsupported, cite what the agent never saw, contradict or repeat another, hang
    together with nothing of the task, or go beyond the number of the best report and a quarter; or the share of its
    words that are copied from articles.
    """

    def propose(self, samples: Sequence[tuple[Trajectory, float]]) -> list[RubricItem]:
        reports = [(_read(trajectory), own) for trajectory, own in samples]
        stated = [{_key(claim): claim for claim in report.claims if report.supports(claim)} for report, _ in reports]
        gains: dict[_ClaimKey, tuple[float, Claim]] = {}
        for key, claim in {key: claim for claims in stated for key, claim in claims.items()}.items():
            having = [own for claims, (_, own) in zip(stated, reports, strict=True) if key in claims]
            lacking = [own for claims, (_, own) in zip(stated, reports, strict=True) if key not in claims]
            if lacking and fmean(having) > fmean(lacking):
                gains[key] = fmean(having) - fmean(lacking), claim
        best = sorted(gains, key=lambda key: (-gains[key][0], key))[:_MOST_PROPOSED]
        items = [_claim_item(gains[key][1]) for key in best]
        for name, (description, measure) in _GAMING.items():
            if len({measure(report) for report, _ in reports}) > 1:
                items.append(RubricItem(name, description, positive=False, check={"measure": name}))
        best_paid = max(own for _, own in reports)
        fewest = min(len(report.claims) for report, own in reports if own == best_paid)
        most = fewest * 5 // 4
        if any(len(report.claims) > most for report, _ in reports):
            description = f"Does the report have more than {most} claims, where the best one has {fewest}?"
            items.append(RubricItem("padded", description, positive=False, check={"most": most}))
        return items

    def share(self, item: RubricItem, sample: Trajectory) -> float:
        report, check = _read(sample), item.check or {}
        if "measure" in check:
            return _GAMING[check["measure"]][1](report)
        if "most" in check:
            return _share_of(report, max(0, len(report.claims) - check["most"]))
        wanted = tuple(check["claim"])
        return float(any(_key(claim) == wanted and report.supports(claim) for claim in report.claims))


def _claim_item(claim: Claim) -> RubricItem:
    told = f"{claim.subject} | {claim.relation} | {claim.object}"
    return RubricItem(told, f"Does the report state and support: {told}?", check={"claim": list(_key(claim))})


def _read(trajectory: Trajectory) -> _ReadReport:
    action = REPORT_FORM.read(final_text(trajectory))
    text = action.answer[:_LONGEST_REPORT] if action is not None and action.query is None else ""
    turns = trajectory.transitions
    articles: dict[str, str] = {}
    for turn in turns:
        articles.update(_ARTICLE.findall(observation_text(turn.observation)))
    task = observation_text(turns[0].observation) if turns else ""
    return _ReadReport(task, text, claims_of(text)[:MOST_CLAIMS], articles)


def _key(claim: Claim) -> _ClaimKey:
    return normalised(claim.subject), claim.relation, normalised(claim.object)


def _share_of(report: _ReadReport, count: int) -> float:
    return count / len(report.claims) if report.claims else 0.0


def _beyond_tolerance(share: float) -> float:
    return max(0.0, share - _TOLERATED) / (1.0 - _TOLERATED)


def _unsupported(report: _ReadReport) -> float:
    return _beyond_tolerance(_share_of(report, sum(not report.supports(claim) for claim in report.claims)))


def _unseen(report: _ReadReport) -> float:
    return _share_of(report, sum(not claim.cited <= report.articles.keys() for claim in report.claims))


def _contradicting(report: _ReadReport) -> float:
    objects: dict[tuple[str, str], set[str]] = {}
    for subject, relation, value in map(_key, report.claims):
        objects.setdefault((subject, relation), set()).add(value)
    return _share_of(report, sum(len(objects[_key(claim)[:2]]) > 1 for claim in report.claims))


def _repeating(report: _ReadReport) -> float:
    return _share_of(report, sum(times - 1 for times in Counter(map(_key, report.claims)).values()))


def _unconnected(report: _ReadReport) -> float:
    """Return the share of claims about what neither the task nor the object of another claim names."""
    task = f" {normalised(report.task)} "
    objects = Counter(_key(claim)[2] for claim in report.claims)
    loose = 0
    for claim in report.claims:
        subject, _, value = _key(claim)
        named = f" {subject} " in task or objects[subject] > (value == subject) or subject == CONCLUSION
        loose += not named
    return _beyond_tolerance(_share_of(report, loose))


def _copied(report: _ReadReport) -> float:
    """Return the share of words that stand in runs of an article's words."""
    words = report.text.split()
    runs = {run for article in report.articles.values() for run in _runs(article.split())}
    inside = set[int]()
    for start, run in enumerate(_runs(words)):
        if run in runs:
            inside.update(range(start, start + _LONGEST_RUN))
    return len(inside) / len(words) if words else 0.0


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + _LONGEST_RUN]) for start in range(len(words) - _LONGEST_RUN + 1)]


_GAMING: Mapping[str, tuple[str, Callable[[_ReadReport], float]]] = {
    "unsupported": ("Does the report claim what its cited articles do not say?", _unsupported),
    "unseen": ("Does the report cite articles that the agent never saw?", _unseen),
    "contradicting": ("Does the report give one thing two values?", _contradicting),
    "repeating": ("Does the report claim the same twice?", _repeating),
    "unconnected": ("Does the report claim things that the task does not lead to?", _unconnected),
    "copied": ("Is the report copied from articles?", _copied),
}
"""Name → what it means, and the share of a report that has it."""
