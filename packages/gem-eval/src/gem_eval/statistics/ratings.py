"""Ratings of policies that met in games: :func:`rate_policies`, after Bradley and Terry, with intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from gem.arguments import integer, real
from gem_eval.statistics.estimates import CONFIDENCE, FEW, Estimate, Floats, estimate_mean
from gem_eval.statistics.student_t import t_quantile

if TYPE_CHECKING:
    from gem_rollout.trajectory import Trajectory

__all__ = ["PlayedGame", "PolicyRating", "RatingTable", "games_of", "rate_policies", "strengths"]

ELO_MEAN, ELO_SCALE = 1500.0, 400.0 / math.log(10.0)
"""Elo's scale: 400 points are odds of ten to one."""

_ITERATIONS = 10_000
_PRECISION = 1e-10
_ROUGH = 1e-4
"""Of the resampled strengths: a fiftieth of a point of Elo."""


@dataclass(frozen=True)
class PlayedGame:
    """One game of several policies."""

    group: Any
    """What the games of one task share, such as environment and seed."""
    returns: Mapping[str, tuple[str, float]]
    """Seat → the policy's name and its sum of rewards."""


@dataclass(frozen=True)
class PolicyRating:
    """One policy among those that it met."""

    name: str
    rating: float
    """On Elo's scale, with mean 1500 over the policies."""
    low: float
    high: float
    """The interval of the rating."""
    games: int
    ahead: int
    """Other policies of the same game that earned less, over all games; those who earned more are ``behind``."""
    tied: int
    behind: int
    mean_return: Estimate | None
    """Of its seats; None without games."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        mean = None if self.mean_return is None else self.mean_return.to_dict()
        return {**vars(self), "mean_return": mean}


@dataclass
class RatingTable:
    """The ratings of all policies, the highest first."""

    ratings: list[PolicyRating] = field(default_factory=list)
    games: int = 0
    groups: int = 0
    left_out: int = 0
    """Episodes without seats, or that failed."""
    one_sided: bool = False
    """Whether the intervals allow for one more group with the results turned round."""
    seats: dict[str, float] = field(default_factory=dict)
    """Seat → the share of the other seats of its games that earned less, half of the ties included: 0.5 for each where
    no seat is better than another."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**vars(self), "ratings": [one.to_dict() for one in self.ratings]}


def games_of(episodes: Iterable[Trajectory]) -> tuple[list[PlayedGame], int]:
    """Return the games among recorded episodes of a :class:`gem_rollout.Seating`, and the number of other episodes."""
    games, left_out = [], 0
    for episode in episodes:
        seats, returns = episode.metadata.get("seats"), episode.metadata.get("returns")
        if episode.failure is not None or not seats or not returns:
            left_out += 1
            continue
        label, seed, _ = episode.key
        games.append(PlayedGame((label, seed), {seat: (name, float(returns[seat])) for seat, name in seats.items()}))
    return games, left_out


def rate_policies(
    games: Sequence[PlayedGame],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = 1000,
    prior: float = 0.5,
    left_out: int = 0,
) -> RatingTable:
    """Return how strong the policies are, by who earned more in each game.

    A game of several counts as a game of each two in it: who earned more has won, equal returns are half a win each;
    two seats of one policy say nothing. The model is that of :func:`strengths`. Its intervals are expanded percentiles
    of a bootstrap over groups, since the games of one seed, and the pairs of one game, depend on each other. Where a
    policy has hardly ever won or lost, the draws are from one more group, with the results of all turned round, since
    a record without a loss would resample to itself. Policies that never met, not even by way of others, are compared
    by the prior alone.

    Args:
        games: of one environment, or of several with the same policies.
        confidence: of the intervals.
        resamples: drawn sets of groups; the draws have a fixed seed.
        prior: as in :func:`strengths`.
        left_out: for the table.

    Raises:
        ArgumentError: for a number out of range.
    """
    real("confidence", confidence, minimum=0.5, maximum=0.9999)
    integer("resamples", resamples, minimum=100)
    names = sorted({name for game in games for name, _ in game.returns.values()})
    place = {name: number for number, name in enumerate(names)}
    by_group: dict[Any, Floats] = {}
    returns: dict[str, dict[Any, list[float]]] = {name: {} for name in names}
    counts = {name: [0, 0, 0, 0] for name in names}  # games, ahead, tied, behind
    seats: dict[str, list[float]] = {}
    for game in games:
        wins = by_group.setdefault(game.group, np.zeros((len(names), len(names))))
        for name, value in game.returns.values():
            returns[name].setdefault(game.group, []).append(value)
        for name in {name for name, _ in game.returns.values()}:
            counts[name][0] += 1
        for (seat, (one, earned)), (other_seat, (other, theirs)) in combinations(game.returns.items(), 2):
            value = 0.5 if earned == theirs else float(earned > theirs)
            seats.setdefault(seat, []).append(value)
            seats.setdefault(other_seat, []).append(1.0 - value)
            if one != other:
                wins[place[one], place[other]] += value
                wins[place[other], place[one]] += 1.0 - value
                counts[one][int(3 - 2 * value)] += 1
                counts[other][int(1 + 2 * value)] += 1
    if not names:
        return RatingTable(left_out=left_out)
    groups = np.stack(list(by_group.values()))
    total = groups.sum(axis=0)
    one_sided = _is_one_sided(total, len(groups))
    if one_sided:
        groups = np.concatenate([groups, total.T[None] / len(groups)])
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(groups), [1.0 / len(groups)] * len(groups), size=resamples)
    resampled = _fitted(np.tensordot(drawn, groups, axes=1), prior, _ROUGH)
    (fitted,) = _fitted(total[None], prior, _PRECISION)
    elo = {}
    for name, number in place.items():
        tail = 100 * _expanded_tail(len(returns[name]), confidence)
        ends = np.percentile(resampled[:, number], [tail, 100 - tail])
        elo[name] = [ELO_MEAN + ELO_SCALE * float(value) for value in (fitted[number], *ends)]
    ratings = [
        PolicyRating(
            name,
            rating=elo[name][0],
            low=min(elo[name]),
            high=max(elo[name]),
            games=counts[name][0],
            ahead=counts[name][1],
            tied=counts[name][2],
            behind=counts[name][3],
            mean_return=estimate_mean(returns[name], confidence),
        )
        for name in names
    ]
    return RatingTable(
        sorted(ratings, key=lambda one: -one.rating),
        len(games),
        len(by_group),
        left_out,
        one_sided,
        {seat: math.fsum(values) / len(values) for seat, values in seats.items()},
    )


def _expanded_tail(groups: int, confidence: float) -> float:
    """Return the share of resamples below an interval.

    Percentiles alone are too narrow for few groups; these are Student's t in place of the normal distribution, and the
    sample's standard deviation: Hesterberg, "What Teachers Should Know About the Bootstrap" (2015), section 5.3.
    """
    if groups < 2:
        return 0.0
    t = t_quantile((1 + confidence) / 2, groups - 1)
    return NormalDist().cdf(-math.sqrt(groups / (groups - 1)) * t)


def _is_one_sided(wins: Floats, groups: int) -> bool:
    """Return whether a policy has won or lost so seldom that resampling would miss what else may happen."""
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    played = won + lost
    rare = np.minimum(won, lost)[played > 0] / played[played > 0]
    return bool((rare * groups < FEW).any())


def strengths(wins: Mapping[tuple[str, str], float], prior: float = 0.5) -> dict[str, float]:
    """Return the strength of each player: one beats another with probability 1 / (1 + exp(other − one)).

    The model of Bradley and Terry, "Rank Analysis of Incomplete Block Designs" (1952). A tie is half a win. Strengths
    have mean 0.

    Args:
        wins: (winner, loser) → the number of wins.
        prior: wins and losses of each player against one of strength 0, which keep the strengths finite where one has
            won or lost every match.
    """
    names = list(dict.fromkeys(name for pair in wins for name in pair))
    if not names:
        return {}
    matrix = np.zeros((1, len(names), len(names)))
    for (winner, loser), count in wins.items():
        matrix[0, names.index(winner), names.index(loser)] += count
    return dict(zip(names, map(float, _fitted(matrix, prior, _PRECISION)[0]), strict=True))


def _fitted(wins: Floats, prior: float, precision: float) -> Floats:
    """Return log strengths, samples × players, by the MM algorithm of Hunter (2004), "MM Algorithms for Generalized
    Bradley-Terry Models".

    Args:
        wins: samples × players × players.
        prior: as in :func:`strengths`.
        precision: change of a log strength below which the algorithm stops.
    """
    real("prior", prior, minimum=1e-9)
    won = wins.sum(axis=2) + prior
    games = wins + wins.transpose(0, 2, 1)
    strength = np.ones_like(won)
    for _ in range(_ITERATIONS):
        rivals = (games / (strength[:, :, None] + strength[:, None, :])).sum(axis=2)
        new = won / (2.0 * prior / (strength + 1.0) + rivals)
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < precision:
            break
    logs = np.log(strength)
    centred: Floats = logs - logs.mean(axis=1, keepdims=True)
    return centred
