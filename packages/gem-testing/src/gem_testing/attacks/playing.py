"""Plays the episodes of an attack: a strategy against an environment, seed by seed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.registry import make
from gem_testing.episodes import acted_by_each, has_ended, rewards_of
from gem_testing.messages import shorten

__all__ = ["Chooser", "Played", "Player", "Returns", "Strategy", "always"]

Chooser = Callable[[Any, Any], Any]
"""``(observation, info) -> action``: one agent's, which all agents take, or a dict of those of all agents."""

Strategy = Callable[[Env[Any, Any], int], Chooser]
"""``(env, seed) -> chooser``: begins an episode that has just been reset."""

MOST_STEPS = 300
"""Steps after which an episode is stopped; it counts with what it has paid so far."""

_FAULTS = ("error", "user_fault", "grader_fault")
"""The keys of info that say that an episode tells nothing about the agent; see :mod:`gem.core`."""


@dataclass(frozen=True)
class Played:
    """One episode of an attack."""

    seed: int
    total: float
    actions: tuple[Any, ...]
    unknown: bool = False
    """Whether a fault of the grader, the simulated user or the environment spoiled it."""
    broke: str = ""
    """How the environment broke its contract: it raised, or paid no finite number."""


@dataclass
class Returns:
    """The episodes of one strategy."""

    known: list[float] = field(default_factory=list)
    unknown: int = 0
    broke: str = ""
    """Of the first episode in which the environment broke its contract, with the seed."""

    def add(self, played: Played) -> None:
        if played.broke:
            self.broke = self.broke or f"seed {played.seed}: {played.broke}"
        elif played.unknown:
            self.unknown += 1
        else:
            self.known.append(played.total)

    @property
    def mean(self) -> float:
        """The mean of the known returns; minus infinity without any."""
        return math.fsum(self.known) / len(self.known) if self.known else -math.inf


class Player:
    """Plays episodes on one instance, which is made anew after it raised.

    Args:
        spec: the environment.
    """

    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec
        self._env: Env[Any, Any] | None = None

    @property
    def env(self) -> Env[Any, Any]:
        """The instance."""
        if self._env is None:
            self._env = make(self._spec)
        return self._env

    def close(self) -> None:
        """Close the instance; a later episode makes another."""
        if self._env is not None:
            with suppress(Exception):  # contract.close reports it
                self._env.close()
            self._env = None

    def play(self, strategy: Strategy, seed: int, most_steps: int = MOST_STEPS, deadline: float = math.inf) -> Played:
        """Play one episode.

        An exception of the strategy, such as of a reference policy that finds its actions unanswered, ends the episode
        with what it has paid.
        """
        env = self.env
        observation, info = env.reset(seed=seed)
        actions: list[Any] = []
        total, ended, unknown = 0.0, False, False
        try:
            choose = strategy(env, seed)
        except Exception:
            return Played(seed, 0.0, ())
        while not ended and len(actions) < most_steps and (not actions or time.perf_counter() < deadline):
            try:
                action = choose(observation, info)
            except Exception:
                break
            actions.append(action)
            try:
                observation, reward, terminated, truncated, info = env.step(_as_taken(env, action))
                paid = rewards_of(reward)
                ended = has_ended(env, terminated, truncated)
            except (Exception, SystemExit) as error:
                self.close()
                said = f"{type(error).__name__}: {error}"
                return Played(seed, total, tuple(actions), broke=f"step {len(actions)} raised {shorten(said)[1:-1]}")
            if not math.isfinite(paid):
                return Played(seed, total, tuple(actions), broke=f"step {len(actions)} paid {paid}")
            total += paid
            unknown = unknown or (isinstance(info, dict) and any(info.get(key) for key in _FAULTS))
        return Played(seed, total, tuple(actions), unknown)

    def play_all(
        self, strategy: Strategy, seeds: Iterable[int], deadline: float, most_steps: int = MOST_STEPS
    ) -> Returns:
        """Play an episode for each seed, at least one, until the deadline, a time of ``perf_counter``."""
        returns = Returns()
        for seed in seeds:
            returns.add(self.play(strategy, seed, most_steps, deadline + 1.0))
            if returns.broke or time.perf_counter() > deadline:
                break
        return returns


def always(action: Any) -> Strategy:
    """Return the strategy by which every agent gives the same action in every turn."""
    return lambda _env, _seed: lambda _observation, _info: action


def _as_taken(env: Env[Any, Any], action: Any) -> Any:
    """Return an action as the step takes it: with several agents, a dict of theirs."""
    agents = getattr(env.unwrapped, "active_agents", None)
    if agents is not None and isinstance(action, dict) and action and action.keys() <= set(agents):
        return action
    return acted_by_each(env, action)
