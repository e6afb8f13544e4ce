"""The episodes that an engine plays: lists, groups of one seed, and endless mixtures of environments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gem.arguments import integer, nearest
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError
from gem.registry import spec as find_spec
from gem_rollout.trajectory import EpisodeKey

__all__ = ["EpisodePlan", "EpisodeRequest", "FairOrder", "Mixture", "mixture", "plan_episodes"]

EnvIds = str | EnvSpec | Sequence[str | EnvSpec] | Mapping[str, str | EnvSpec]
"""One environment, several, or several by label: one id may occur under two labels with different arguments."""


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode to play: the environment, and the key that makes it this episode and no other."""

    spec: EnvSpec
    key: EpisodeKey


EpisodePlan = Iterable[EpisodeRequest]
"""What an engine plays, in this order; it may be endless, and is read only as episodes can start."""


def plan_episodes(env_ids: EnvIds, episodes: int, group: int = 1, seed: int = 0) -> list[EpisodeRequest]:
    """Return the requests for a number of episodes of each environment, which take turns.

    Args:
        env_ids: one environment, several, or several by label.
        episodes: episodes of each environment in all.
        group: episodes of one seed; the last group is smaller where ``episodes`` is no multiple.
        seed: seed of the first group of each environment; each later group adds one.

    Raises:
        ArgumentError, ArgumentTypeError: for a number out of range, no environment, or one that is named twice.
            Errors of ``gem.spec`` are passed on.
    """
    specs = labelled(env_ids)
    integer("episodes", episodes, minimum=1)
    integer("group", group, minimum=1)
    integer("seed", seed, minimum=0)
    return [
        EpisodeRequest(spec, EpisodeKey(label, seed + number // group, number % group))
        for number in range(episodes)
        for label, spec in specs.items()
    ]


class Mixture:
    """An endless plan that draws environments in proportion to weights, group by group.

    After any number of groups each environment has had its share to within one group. Every environment has seeds of
    its own, counted from ``seed``. Iterating again goes on where the last iteration stopped.

    Args:
        specs: the environments by label.
        weights: by label.
        group: episodes of one seed.
        seed: seed of the first group of each environment.
    """

    def __init__(self, specs: Mapping[str, EnvSpec], weights: Mapping[str, float], group: int, seed: int) -> None:
        self.specs = dict(specs)
        self._group = integer("group", group, minimum=1)
        self._seeds = dict.fromkeys(self.specs, integer("seed", seed, minimum=0))
        self._credit = dict.fromkeys(self.specs, 0.0)
        self._rest: Iterator[EpisodeRequest] = iter(())
        self.weights = weights

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights by label; assign a mapping with all or some of them, also while the plan is running.

        Raises:
            ArgumentError: for an unknown label, a weight that is negative or not finite, or no positive weight.
        """
        return dict(self._weights)

    @weights.setter
    def weights(self, weights: Mapping[str, float]) -> None:
        changed = {**getattr(self, "_weights", dict.fromkeys(self.specs, 0.0))}
        for label, weight in weights.items():
            if label not in self.specs:
                hint = nearest(str(label), self.specs)
                advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(self.specs)}"
                raise ArgumentError(f"the mixture has no environment {label!r}; {advice}")
            if isinstance(weight, bool) or not isinstance(weight, (int, float)):
                raise ArgumentTypeError(f"the weight of {label!r} must be a number, got {type(weight).__name__}")
            if not 0.0 <= weight < math.inf:
                raise ArgumentError(f"the weight of {label!r} must be finite and not negative, got {weight!r}")
            changed[label] = float(weight)
        if not any(changed.values()):
            raise ArgumentError("a mixture needs an environment with a positive weight")
        self._weights = changed

    def __iter__(self) -> Iterator[EpisodeRequest]:
        return self

    def __next__(self) -> EpisodeRequest:
        request = next(self._rest, None)
        if request is None:
            self._rest = self._next_group()
            request = next(self._rest)
        return request

    def _next_group(self) -> Iterator[EpisodeRequest]:
        # Smooth weighted round-robin, as in nginx: no environment is ever a whole group ahead of or behind its share.
        total = sum(self._weights.values())
        for label, weight in self._weights.items():
            if weight:
                self._credit[label] += weight / total
        chosen = max((label for label, weight in self._weights.items() if weight), key=self._credit.__getitem__)
        self._credit[chosen] -= 1.0
        seed = self._seeds[chosen]
        self._seeds[chosen] += 1
        spec = self.specs[chosen]
        return (EpisodeRequest(spec, EpisodeKey(chosen, seed, number)) for number in range(self._group))


def mixture(
    weights: Mapping[str, float], *, group: int = 1, seed: int = 0, specs: Mapping[str, str | EnvSpec] | None = None
) -> Mixture:
    """Return an endless plan that mixes environments.

    Args:
        weights: the weight of each environment, by id, or by label where ``specs`` is given.
        group: episodes of one seed.
        seed: seed of the first group of each environment; each later group of it adds one.
        specs: the environments by label; the labels of ``weights`` are ids unless given.

    Raises:
        ArgumentError, ArgumentTypeError: see :attr:`Mixture.weights`. Errors of ``gem.spec`` are passed on.
    """
    if not isinstance(weights, Mapping):
        raise ArgumentTypeError(f"weights must be a dict from id to weight, got {type(weights).__name__}")
    found = labelled(list(weights) if specs is None else specs)
    if specs is None:
        weights = dict(zip(found, weights.values(), strict=True))
    return Mixture(found, weights, group, seed)


class FairOrder:
    """The order in which a list is played: its environments share the engine evenly.

    Each next request is of the environment with the fewest running episodes, so that a slow environment takes no more
    than its share while others have episodes left. The requests of one environment stay in order.
    """

    def __init__(self, requests: Sequence[EpisodeRequest]) -> None:
        self._waiting: dict[str, deque[EpisodeRequest]] = {}
        for request in requests:
            self._waiting.setdefault(request.key.env, deque()).append(request)
        self._started = dict.fromkeys(self._waiting, 0)

    def next(self, running: Mapping[str, int]) -> EpisodeRequest | None:
        """Return the next request, None after the last one.

        Args:
            running: the number of running episodes of each environment, by label; 0 where it is missing.
        """
        if not self._waiting:
            return None
        label = min(self._waiting, key=lambda label: (running.get(label, 0), self._started[label]))
        request = self._waiting[label].popleft()
        self._started[label] += 1
        if not self._waiting[label]:
            del self._waiting[label]
        return request


def labelled(env_ids: EnvIds) -> dict[str, EnvSpec]:
    """Return specs by label; the label is the id unless given.

    Raises:
        ArgumentError: for no environment, or one that is named twice without labels.
    """
    if isinstance(env_ids, Mapping):
        specs = {label: item if isinstance(item, EnvSpec) else find_spec(item) for label, item in env_ids.items()}
    else:
        wanted = [env_ids] if isinstance(env_ids, (str, EnvSpec)) else list(env_ids)
        found = [item if isinstance(item, EnvSpec) else find_spec(item) for item in wanted]
        specs = {spec.id: spec for spec in found}
        if len(specs) < len(found):
            raise ArgumentError(
                "an environment is named twice; to play one id with different arguments, pass a dict from label to spec"
            )
    if not specs:
        raise ArgumentError("env_ids must name at least one environment")
    return specs
