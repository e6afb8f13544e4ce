"""The estimators once more, from their formulas: exact fractions, one turn at a time, no arrays.

An episode is a dict with ``rewards`` (a list of Fraction), ``group``, ``task``, ``terminated`` and ``valid``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

Episode = dict[str, Any]


def square_root(value: Fraction) -> Fraction:
    """Return the square root to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def deviation(values: Sequence[Fraction], ddof: int = 0) -> Fraction:
    center = mean(values)
    return square_root(sum(((value - center) ** 2 for value in values), Fraction(0)) / (len(values) - ddof))


def returns(episode: Episode, gamma: Fraction) -> list[Fraction]:
    rewards = episode["rewards"]
    return [
        sum((gamma ** (later - turn) * rewards[later] for later in range(turn, len(rewards))), Fraction(0))
        for turn in range(len(rewards))
    ]


def total(episode: Episode) -> Fraction:
    return sum(episode["rewards"], Fraction(0))


def by_turn(episodes: Sequence[Episode], value: Callable[[Episode, int], Fraction]) -> list[float]:
    """Return a value for each turn; 0 for turns of invalid episodes."""
    return [
        float(value(episode, turn)) if episode["valid"] else 0.0
        for episode in episodes
        for turn in range(len(episode["rewards"]))
    ]


def rebn(episodes: Sequence[Episode], gamma: Fraction, epsilon: Fraction) -> list[float]:
    everything = [value for episode in episodes if episode["valid"] for value in returns(episode, gamma)]

    def value(episode: Episode, turn: int) -> Fraction:
        if len(set(everything)) == 1:
            return Fraction(0)
        return (returns(episode, gamma)[turn] - mean(everything)) / (deviation(everything) + epsilon)

    return by_turn(episodes, value)


def group_of(episodes: Sequence[Episode], episode: Episode, key: str = "group") -> list[Episode]:
    return [other for other in episodes if other[key] == episode[key] and other["valid"]]


def grpo(episodes: Sequence[Episode], epsilon: Fraction, *, scaled: bool = True, ddof: int = 0) -> list[float]:
    def value(episode: Episode, turn: int) -> Fraction:
        totals = [total(other) for other in group_of(episodes, episode)]
        if len(set(totals)) == 1:
            return Fraction(0)
        centered = total(episode) - mean(totals)
        return centered / (deviation(totals, ddof) + epsilon) if scaled else centered

    return by_turn(episodes, value)


def rloo(episodes: Sequence[Episode]) -> list[float]:
    def value(episode: Episode, turn: int) -> Fraction:
        others = [total(other) for other in group_of(episodes, episode) if other is not episode]
        return total(episode) - mean(others) if others else Fraction(0)

    return by_turn(episodes, value)


def erpo(episodes: Sequence[Episode], epsilon: Fraction) -> list[float]:
    def value(episode: Episode, turn: int) -> Fraction:
        of_task = [total(other) for other in group_of(episodes, episode, "task")]
        if len(set(of_task)) == 1:
            return Fraction(0)
        of_group = [total(other) for other in group_of(episodes, episode)]
        return (total(episode) - mean(of_group)) / (deviation(of_task) + epsilon)

    return by_turn(episodes, value)


def gae(
    episodes: Sequence[Episode],
    values: Sequence[Sequence[Fraction]],
    final_values: Sequence[Fraction],
    gamma: Fraction,
    lam: Fraction,
) -> list[float]:
    found: list[float] = []
    for episode, before, final in zip(episodes, values, final_values, strict=True):
        rewards = episode["rewards"]
        states = [*before, Fraction(0) if episode["terminated"] else final]
        deltas = [rewards[turn] + gamma * states[turn + 1] - states[turn] for turn in range(len(rewards))]
        for turn in range(len(rewards)):
            advantage = sum(
                ((gamma * lam) ** (later - turn) * deltas[later] for later in range(turn, len(rewards))), Fraction(0)
            )
            found.append(float(advantage) if episode["valid"] else 0.0)
    return found


def gigpo(
    episodes: Sequence[Episode], states: Sequence[Sequence[int]], gamma: Fraction, weight: Fraction, epsilon: Fraction
) -> list[float]:
    whole = grpo(episodes, epsilon)
    steps: list[float] = []
    for episode, seen in zip(episodes, states, strict=True):
        for turn in range(len(episode["rewards"])):
            same = [
                returns(other, gamma)[place]
                for other, others_seen in zip(episodes, states, strict=True)
                if other["group"] == episode["group"] and other["valid"]
                for place in range(len(other["rewards"]))
                if others_seen[place] == seen[turn]
            ]
            if not episode["valid"] or len(set(same)) == 1:
                steps.append(0.0)
            else:
                own = returns(episode, gamma)[turn]
                steps.append(float((own - mean(same)) / (deviation(same) + epsilon)))
    return [first + float(weight) * second for first, second in zip(whole, steps, strict=True)]
