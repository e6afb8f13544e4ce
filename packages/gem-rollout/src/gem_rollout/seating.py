"""Who plays which seat of an episode with several agents: :class:`Seating`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gem.arguments import integer, nearest
from gem.core import Env, Info
from gem.errors import ArgumentError, NotSupportedError
from gem.policies import Policy, make_policy
from gem_rollout.trajectory import Trajectory

__all__ = ["Seating", "evaluated_part", "evaluated_return", "make_agent_policy", "seat_of"]


def seat_of(agents: Sequence[str], seed: int, repetition: int = 0, *, player: int = 0) -> str:
    """Return which agent a player is: the next one with each seed, and with each repetition of a seed.

    Args:
        agents: the seats, in the order of the environment.
        seed: of the episode.
        repetition: of the seed.
        player: its place in the line-up before any seat has changed.
    """
    return agents[(player + seed + repetition) % len(agents)]


class Seating:
    """Policies by name, who change seats from episode to episode.

    In place of ``make_policy`` in :class:`gem_rollout.RolloutEngine` and :func:`gem_rollout.rollout`. The seed of an
    episode decides who plays, and seed and repetition who has which seat: in as many repetitions of a seed as the
    environment has agents, each of its players has each seat once. Of several seeds in a row the seats change as well,
    so that with one repetition, too, the first seat favours nobody.

    The record's ``metadata`` has ``seats`` (agent → name), ``returns`` (agent → sum of rewards) and, if there is one,
    ``evaluated``, the agent that the evaluated policy was.

    Args:
        pool: name → what makes a policy, called with environment and agent, as ``make_policy`` is.
        evaluated: a name of the pool. It has one seat in every episode, and the others are drawn from the rest of the
            pool, without repetition as long as there are enough; None: all are drawn.

    Raises:
        ArgumentError: for an empty pool, and a name that is not in it.
    """

    def __init__(self, pool: Mapping[str, Callable[..., Any]], evaluated: str | None = None) -> None:
        if not pool:
            raise ArgumentError("the pool of a seating needs at least one policy")
        if evaluated is not None and evaluated not in pool:
            hint = nearest(str(evaluated), pool)
            advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(pool)}"
            raise ArgumentError(f"the pool has no policy {evaluated!r}; {advice}")
        self.pool = dict(pool)
        self.evaluated = evaluated

    def line_up(self, agents: Sequence[str], seed: int, repetition: int = 0) -> dict[str, str]:
        """Return the name of the policy in each seat.

        Args:
            agents: the seats, in the order of the environment.
            seed: of the episode.
            repetition: of the seed.
        """
        integer("repetition", repetition, minimum=0)
        rng = random.Random(f"line-up of {seed}")
        names = [] if self.evaluated is None else [self.evaluated]
        others = [name for name in self.pool if name != self.evaluated] or list(self.pool)
        while len(names) < len(agents):
            names += rng.sample(others, min(len(others), len(agents) - len(names)))
        seated = {seat_of(agents, seed, repetition, player=player): name for player, name in enumerate(names)}
        return {agent: seated[agent] for agent in agents}


def evaluated_part(trajectory: Trajectory) -> Trajectory:
    """Return an episode as the evaluated policy of a :class:`Seating` lived it; the episode itself if there is none.

    A policy that never acted, because another ended the episode before, has no turns, and what its last info would
    have said stands in the info of its reset.
    """
    agent = trajectory.metadata.get("evaluated")
    if not isinstance(agent, str):
        return trajectory
    if agent in trajectory.agents:
        return trajectory.for_agent(agent)
    told = trajectory.metadata.get("before_acting", {}).get(agent, {}).get("info", {})
    return replace(trajectory, transitions=[], reset_info={**trajectory.reset_info.get(agent, {}), **told})


def evaluated_return(trajectory: Trajectory) -> float:
    """Return the sum of rewards of the evaluated policy; of all agents if there is none."""
    agent = trajectory.metadata.get("evaluated")
    returns = trajectory.metadata.get("returns")
    if isinstance(agent, str) and isinstance(returns, Mapping) and agent in returns:
        return float(returns[agent])
    return trajectory.episode_return


class _OneSeat(Policy[Any, Any]):
    """One agent, by a policy that acts for all agents at once, and sees the observations of this one alone."""

    def __init__(self, policy: Policy[Any, Any], agent: str) -> None:
        self.policy = policy
        self.agent = agent

    def reset(self, observation: Any, info: Info) -> None:
        self.policy.reset({self.agent: observation}, {self.agent: info})

    def act(self, observation: Any, info: Info) -> Any:
        """Return the agent's action.

        Raises:
            NotSupportedError: if the policy has none.
        """
        actions = self.policy.act({self.agent: observation}, {self.agent: info})
        if self.agent not in actions:
            raise NotSupportedError(
                f"{type(self.policy).__name__} gives no action for {self.agent!r} where it sees this agent's alone"
            )
        return actions[self.agent]


def make_agent_policy(name: str, env: Env[Any, Any], agent: str | None = None) -> Policy[Any, Any]:
    """Return a policy as :func:`gem.make_policy` does; the reference policy also for one agent of several.

    Args:
        name: as in ``gem.make_policy``.
        env: the environment.
        agent: the agent that the policy acts for, where the environment has several.

    Raises:
        ArgumentError, NotSupportedError, EntryPointError: as ``gem.make_policy``.
    """
    if name == "reference" and agent is not None:
        return _OneSeat(make_policy(name, env), agent)
    return make_policy(name, env, agent)
