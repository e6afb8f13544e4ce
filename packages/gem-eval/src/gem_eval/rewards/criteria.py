"""Named criteria with a scale each, and how a judge scores an episode by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import check_names, integer, real, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.rewards.judge_answers import number_of, reason_of, value_of

__all__ = ["Criterion", "CriterionScore", "read_scores", "rubric_schema", "rubric_task", "weighted_mean"]

_LONGEST_REASON = 1000  # characters


@dataclass(frozen=True)
class Criterion:
    """One thing that a judge scores."""

    name: str
    description: str = ""
    weight: float = 1.0
    """Negative for what must not be there: its score then counts from the other end of the scale."""
    low: int = 1
    """The worst score."""
    high: int = 5
    """The best score."""

    @classmethod
    def of(cls, criterion: Any) -> Criterion:
        """Return a criterion of ``"name"``, of ``"name: description"``, or of a dict of the fields.

        Raises:
            ArgumentError, ArgumentTypeError: for anything else.
        """
        if isinstance(criterion, Criterion):
            return criterion
        if isinstance(criterion, str):
            name, _, description = criterion.partition(":")
            return cls(string("a criterion's name", name.strip()), description.strip())
        if not isinstance(criterion, Mapping):
            raise ArgumentTypeError(f"a criterion is text or a dict, got {criterion!r:.80}")
        check_names("a criterion", criterion, ("name", "description", "weight", "low", "high"))
        made = cls(
            string("a criterion's name", criterion.get("name")).strip(),
            str(criterion.get("description", "")),
            real("weight", criterion.get("weight", 1.0)),
            integer("low", criterion.get("low", 1)),
            integer("high", criterion.get("high", 5)),
        )
        if made.low >= made.high:
            raise ArgumentError(f"the criterion {made.name!r} needs low below high, got {made.low} and {made.high}")
        return made

    @classmethod
    def all_of(cls, criteria: Any) -> tuple[Criterion, ...]:
        """Return the criteria of a list; their names must differ."""
        if isinstance(criteria, (str, Mapping)) or not isinstance(criteria, Iterable):
            raise ArgumentTypeError(f"criteria must be a list, got {criteria!r:.80}")
        made = tuple(cls.of(item) for item in criteria)
        names = [_key(item.name) for item in made]
        for item in made:
            if names.count(_key(item.name)) > 1 or not _key(item.name):
                raise ArgumentError(f"the criteria need names of letters that differ, got {item.name!r} among them")
        if made and not any(item.weight for item in made):
            raise ArgumentError("at least one criterion needs a weight")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that :meth:`of` takes."""
        return dict(vars(self))

    def share(self, score: float) -> float:
        """Return a score as a share of the scale, 0.0 to 1.0, turned round for a negative weight."""
        share = (score - self.low) / (self.high - self.low)
        return 1.0 - share if self.weight < 0 else share


@dataclass(frozen=True)
class CriterionScore:
    """What a judge says about one criterion."""

    score: float
    reason: str = ""


def rubric_task(criteria: Sequence[Criterion], instructions: str = "") -> str:
    """Return the judge's task."""
    listed = "\n".join(
        f"- {item.name} ({item.low} = worst, {item.high} = best)"
        + (f": {item.description}" if item.description else "")
        if item.weight >= 0
        else f"- {item.name} ({item.low} = absent, {item.high} = fully present): {item.description}"
        for item in criteria
    )
    return (
        "You judge the record of an episode in which an agent acted in an environment. Score the agent, not the "
        f"environment, by each of these criteria:\n{listed}\n"
        "For each criterion first give the reason in one or two sentences, then the score as a number on its scale."
        + (f"\n{instructions}" if instructions else "")
    )


def rubric_schema(criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return the JSON schema of the answer."""
    return {
        "type": "object",
        "properties": {
            item.name: {
                "type": "object",
                "properties": {
                    "reason": {"type": "string"},
                    "score": {"type": "integer", "minimum": item.low, "maximum": item.high},
                },
                "required": ["reason", "score"],
                "additionalProperties": False,
            }
            for item in criteria
        },
        "required": [item.name for item in criteria],
        "additionalProperties": False,
    }


def read_scores(record: Mapping[str, Any], criteria: Sequence[Criterion]) -> dict[str, CriterionScore]:
    """Return the score of each criterion: ``{name: {"reason": …, "score": …}}``, or ``{name: score}``.

    Raises:
        MalformedAnswerError: if a criterion is missing, or a score does not lie on its scale.
    """
    return {item.name: _one(value_of(record, item.name), item) for item in criteria}


def weighted_mean(
    criteria: Sequence[Criterion], scores: Mapping[str, CriterionScore]
) -> tuple[float, dict[str, float]]:
    """Return the mean of the criteria's shares by the size of their weights, and the shares."""
    shares = {item.name: item.share(scores[item.name].score) for item in criteria}
    total = sum(abs(item.weight) for item in criteria)
    mean = sum(shares[item.name] * abs(item.weight) for item in criteria) / total
    return min(1.0, max(0.0, mean)), shares


def _one(value: Any, criterion: Criterion) -> CriterionScore:
    reason = ""
    if isinstance(value, Mapping):
        reason, value = reason_of(value), value_of(value, "score")
    name = f"the score of {criterion.name!r}"
    return CriterionScore(number_of(value, criterion.low, criterion.high, name), reason[:_LONGEST_REASON])


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
