"""How well a reward agrees with labels: :func:`calibrate`."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem.arguments import real
from gem.errors import ArgumentError
from gem.text import action_text
from gem_questions.rewards import Reward, Score, score_episode_async
from gem_questions.rewards.answers import final_text
from gem_rollout.trajectory import EpisodeKey, Trajectory

__all__ = ["Calibration", "LabelledScore", "calibrate", "calibration", "labelled_score", "read_labels"]

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_TRUE = frozenset(("true", "yes", "y", "pass", "good", "correct", "win"))
_FALSE = frozenset(("false", "no", "n", "fail", "bad", "wrong", "loss"))


@dataclass(frozen=True)
class LabelledScore:
    """A score of an episode beside the label that it should have."""

    key: EpisodeKey
    label: float
    """From 0 (bad) to 1 (good)."""
    score: Score
    length: int = 0
    """Characters that the agent wrote."""
    text: str = ""
    """The agent's last text, for people who look at a disagreement."""


@dataclass
class Calibration:
    """The agreement of a reward with labels. Scores and labels count as positive from the threshold up."""

    labelled: int
    """Episodes with a label and a readable score, on which all figures stand."""
    unreadable: int
    """Labelled episodes for which the reward could not tell."""
    threshold: float
    true_positive: int
    false_positive: int
    """Episodes that the reward passes and the label does not."""
    false_negative: int
    true_negative: int
    agreement: float | None
    """Share of episodes on which both agree; None without episodes, like the next ones where they are undefined."""
    kappa: float | None
    """Cohen's kappa: agreement beyond chance; 0 is chance, 1 is perfect. None if either never varies."""
    kappa_interval: tuple[float, float] | None
    """Its 95 % interval, by Cohen's large-sample standard error (1960)."""
    bias: float | None
    """Mean of score − label: above 0, the reward is too generous."""
    correlation: float | None
    """Spearman's rank correlation of scores and labels."""
    length_bias: float | None
    """Spearman's rank correlation of score − label with the length of the agent's text: above 0, the reward favours
    long episodes beyond what the labels do."""
    position_bias: float | None
    """For pairwise rewards: mean value of an episode shown first minus that of the same one shown second."""
    disagreements: list[LabelledScore] = field(default_factory=list)
    """Where reward and label differ, the largest differences first."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        record = {name: value for name, value in vars(self).items() if name != "disagreements"}
        record["disagreements"] = [
            {**item.key._asdict(), "label": item.label, "score": item.score.to_dict(), "length": item.length}
            for item in self.disagreements
        ]
        return record


async def calibrate(
    reward: Reward, labelled: Iterable[tuple[Trajectory, float | bool]], *, threshold: float = 0.5
) -> Calibration:
    """Score labelled episodes, and compare.

    Args:
        reward: the reward, which the caller closes.
        labelled: episodes with their labels, from 0 to 1.
        threshold: from where on scores and labels are positive.

    Raises:
        ArgumentError: if a label does not lie between 0 and 1.
    """
    scores = []
    for trajectory, label in labelled:
        score = await score_episode_async(reward, trajectory)
        scores.append(labelled_score(trajectory, real("label", float(label), minimum=0.0, maximum=1.0), score))
    return calibration(scores, threshold=threshold)


def labelled_score(trajectory: Trajectory, label: float, score: Score) -> LabelledScore:
    """Return the score of an episode beside its label."""
    length = sum(len(action_text(transition.action) or "") for transition in trajectory.transitions)
    return LabelledScore(trajectory.key, label, score, length, final_text(trajectory))


def calibration(scores: Sequence[LabelledScore], *, threshold: float = 0.5) -> Calibration:
    """Return the agreement of scores with labels."""
    real("threshold", threshold)
    known = [item for item in scores if item.score.readable]
    given = [item.score.value >= threshold for item in known]
    wanted = [item.label >= threshold for item in known]
    counts = {(g, w): sum(pair == (g, w) for pair in zip(given, wanted, strict=True)) for g in (0, 1) for w in (0, 1)}
    errors = [item.score.value - item.label for item in known]
    n = len(known)
    agreement = (counts[1, 1] + counts[0, 0]) / n if n else None
    kappa, interval = _kappa(counts[1, 1], counts[1, 0], counts[0, 1], counts[0, 0])
    differ = [item for item, g, w in zip(known, given, wanted, strict=True) if g != w]
    positions = [
        item.score.parts["shown_first"] - item.score.parts["shown_second"]
        for item in known
        if {"shown_first", "shown_second"} <= item.score.parts.keys()
    ]
    return Calibration(
        labelled=n,
        unreadable=len(scores) - n,
        threshold=threshold,
        true_positive=counts[1, 1],
        false_positive=counts[1, 0],
        false_negative=counts[0, 1],
        true_negative=counts[0, 0],
        agreement=agreement,
        kappa=kappa,
        kappa_interval=interval,
        bias=math.fsum(errors) / n if n else None,
        correlation=_rank_correlation([item.score.value for item in known], [item.label for item in known]),
        length_bias=_rank_correlation(errors, [float(item.length) for item in known]),
        position_bias=math.fsum(positions) / len(positions) if positions else None,
        disagreements=sorted(differ, key=lambda item: (-abs(item.score.value - item.label), item.key)),
    )


def read_labels(path: str | os.PathLike[str]) -> dict[tuple[str | None, int, int], float]:
    """Return the labels of a file: (environment or None, seed, repetition) → 0.0 to 1.0.

    JSON lines with ``seed`` and ``label``, and where they are needed ``env`` and ``repetition``; or a CSV file with
    these columns. A label is a number from 0 to 1, true or false, or a word such as ``pass`` and ``fail``.

    Raises:
        ArgumentError: if the file cannot be read or a line is wrong; the message names the line.
    """
    place = Path(path)
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            rows: list[Any]
            if place.suffix.casefold() == ".csv":
                rows = list(csv.DictReader(file))
            else:
                rows = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError, csv.Error) as error:
        raise ArgumentError(f"{place} cannot be read as labels: {error}") from error
    labels: dict[tuple[str | None, int, int], float] = {}
    for number, row in enumerate(rows, start=1):
        try:
            key = (row.get("env") or None, int(row["seed"]), int(row.get("repetition") or 0))
            labels[key] = _label(row["label"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"{place}, label {number}: needs 'seed' and 'label' ({error!r:.100})") from error
    if not labels:
        raise ArgumentError(f"{place} holds no labels")
    return labels


def _label(value: Any) -> float:
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in _TRUE or word in _FALSE:
            return float(word in _TRUE)
        value = float(word)
    return real("label", float(value) if isinstance(value, bool) else value, minimum=0.0, maximum=1.0)


def _kappa(
    both: int, only_reward: int, only_label: int, neither: int
) -> tuple[float | None, tuple[float, float] | None]:
    n = both + only_reward + only_label + neither
    if not n:
        return None, None
    observed = (both + neither) / n
    expected = ((both + only_reward) * (both + only_label) + (neither + only_reward) * (neither + only_label)) / n**2
    if expected >= 1.0:
        return None, None
    kappa = (observed - expected) / (1.0 - expected)
    error = math.sqrt(observed * (1.0 - observed) / n) / (1.0 - expected)
    return kappa, (max(-1.0, kappa - _Z * error), min(1.0, kappa + _Z * error))


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation with ties at their mean rank; None if either never varies."""
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    x, y = _ranks(one), _ranks(other)
    mean = (len(x) + 1) / 2
    covariance = math.fsum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    spread = math.sqrt(math.fsum((a - mean) ** 2 for a in x) * math.fsum((b - mean) ** 2 for b in y))
    return min(1.0, max(-1.0, covariance / spread))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for position in order[begin:end]:
            ranks[position] = (begin + end + 1) / 2
        begin = end
    return ranks
