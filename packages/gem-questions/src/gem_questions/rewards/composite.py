"""The reward ``composite``: several rewards, combined by weights, as a product, by the worst, behind gates."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from gem.arguments import choice, real
from gem.errors import ArgumentError, ArgumentTypeError
from gem_questions.rewards.make import RewardLike, make_reward
from gem_questions.rewards.reward import Reward, RewardContext, Score
from gem_questions.rewards.scoring import score_episode, score_episode_async
from gem_rollout.trajectory import Trajectory

__all__ = ["CompositeReward"]

_COMBINE = ("mean", "sum", "product", "min", "max")


class CompositeReward(Reward):
    """Combines the scores of other rewards.

    A part with a ``gate`` is scored before the others, in the given order. If its value is below the gate, the
    composite pays ``closed`` and asks no further part, which saves a judge's answers. An unreadable part makes the
    composite unreadable, unless a gate closed before it, or it is no gate and its weight is 0.

    Args:
        of: the parts: names, dicts (``{"name": "rubric", "weight": 0.3, "label": "style", "gate": 0.5, …}``) or
            rewards. Their labels must differ.
        combine: ``"mean"`` (weighted), ``"sum"`` (weighted), ``"product"`` (of the values to the power of the
            weights, which needs values from 0 up), ``"min"`` or ``"max"`` (of the values with a weight).
        closed: the value behind a closed gate.
    """

    def __init__(self, *, of: Sequence[RewardLike], combine: str = "mean", closed: float = 0.0) -> None:
        if isinstance(of, (str, Mapping)) or not isinstance(of, Iterable):
            raise ArgumentTypeError(f"of must be a list of rewards, got {of!r:.80}")
        made = [_part(item) for item in of]
        self.combine = choice("combine", combine, _COMBINE)
        self.closed = real("closed", closed)
        if not made:
            raise ArgumentError("a composite needs at least one part")
        labels = [reward.recorded_as for reward, _ in made]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ArgumentError(f"two parts of a composite have the label {twice[0]!r}; give one another 'label'")
        if any(reward.weight < 0 for reward, _ in made) or not any(reward.weight for reward, _ in made):
            raise ArgumentError("the weights of a composite must be 0 or more, and one above 0")
        self._made = made
        self._gates = [(reward, gate) for reward, gate in made if gate is not None]
        self._others = [reward for reward, gate in made if gate is None]

    @property
    def parts(self) -> list[Reward]:
        """The rewards that it combines, those with gates first."""
        return [*(reward for reward, _ in self._gates), *self._others]

    @property
    def config(self) -> dict[str, Any]:
        # With the judge that the run has given to a part.
        parts = [reward.config if gate is None else {**reward.config, "gate": gate} for reward, gate in self._made]
        return {**super().config, "of": parts}

    @property
    def asynchronous(self) -> bool:
        return any(reward.asynchronous for reward in self.parts)

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        if self.asynchronous:
            return self._score_async(trajectory)
        scores: dict[str, Score] = {}
        for reward, gate in self._gates:
            scores[reward.recorded_as] = score_episode(reward, trajectory)
            if self._closes(scores[reward.recorded_as], gate):
                return self._closed_by(reward, gate, scores)
        scores.update({reward.recorded_as: score_episode(reward, trajectory) for reward in self._others})
        return self._combined(scores)

    def begin(self, context: RewardContext) -> None:
        for reward in self.parts:
            reward.begin(context)

    async def close(self) -> None:
        for reward in self.parts:
            closing = reward.close()
            if closing is not None:
                await closing

    async def _score_async(self, trajectory: Trajectory) -> Score:
        scores: dict[str, Score] = {}
        for reward, gate in self._gates:
            scores[reward.recorded_as] = await _scored(reward, trajectory)
            if self._closes(scores[reward.recorded_as], gate):
                return self._closed_by(reward, gate, scores)
        found = await asyncio.gather(*(_scored(reward, trajectory) for reward in self._others))
        scores.update({reward.recorded_as: score for reward, score in zip(self._others, found, strict=True)})
        return self._combined(scores)

    @staticmethod
    def _closes(score: Score, gate: float) -> bool:
        return score.readable and score.value < gate

    def _closed_by(self, reward: Reward, gate: float, scores: Mapping[str, Score]) -> Score:
        why = f"{reward.recorded_as} is {scores[reward.recorded_as].value:g}, below its gate of {gate:g}"
        return Score(
            self.closed,
            {label: score.value for label, score in scores.items()},
            [why, *_reasons(scores)],
            {"closed_by": reward.recorded_as, "parts": {label: score.to_dict() for label, score in scores.items()}},
        )

    def _combined(self, scores: Mapping[str, Score]) -> Score:
        weights = {reward.recorded_as: reward.weight for reward in self.parts}
        details = {"parts": {label: score.to_dict() for label, score in scores.items()}}
        gates = {reward.recorded_as for reward, _ in self._gates}
        lost = [label for label, score in scores.items() if not score.readable and (weights[label] or label in gates)]
        if lost:
            kind = str(scores[lost[0]].metadata.get("unreadable", "unreadable"))
            reason = "; ".join(f"{label}: {' '.join(scores[label].reasons)}" for label in lost)
            return Score.unreadable(f"a part could not tell: {reason}", kind, **details)
        values = {label: scores[label].value for label, weight in weights.items() if weight}
        if self.combine == "product" and min(values.values()) < 0:
            return Score.unreadable("a product needs parts from 0 up, and one is negative", "negative", **details)
        value = _combine(self.combine, list(values.values()), [weights[label] for label in values])
        if not math.isfinite(value):
            return Score.unreadable("the combination is too large for a number", "overflow", **details)
        return Score(value, {label: score.value for label, score in scores.items()}, _reasons(scores), details)


async def _scored(reward: Reward, trajectory: Trajectory) -> Score:
    if reward.asynchronous:
        return await score_episode_async(reward, trajectory)
    return await asyncio.to_thread(score_episode, reward, trajectory)  # a grader may take its time


def _combine(how: str, values: list[float], weights: list[float]) -> float:
    if how == "min":
        return min(values)
    if how == "max":
        return max(values)
    if how == "product":
        try:
            return math.prod(math.pow(value, weight) for value, weight in zip(values, weights, strict=True))
        except OverflowError:
            return math.inf
    total = sum(value * weight for value, weight in zip(values, weights, strict=True))
    if how == "sum":
        return total
    # Rounding must not lift a mean above the largest value, or put it below the smallest.
    return min(max(total / sum(weights), min(values)), max(values)) if math.isfinite(total) else total


def _part(item: RewardLike) -> tuple[Reward, float | None]:
    if not isinstance(item, Mapping):
        return make_reward(item), None
    arguments = dict(item)
    gate = arguments.pop("gate", None)
    return make_reward(arguments), None if gate is None else real("gate", gate)


def _reasons(scores: Mapping[str, Score]) -> list[str]:
    return [f"{label}: {reason}" for label, score in scores.items() for reason in score.reasons]
