"""Self-play: past versions of the policy, and who plays which agent of an episode."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.multiagent import MultiAgentEnv
from gem.policies import Act, Policy
from gem_rl.training.recipe import OpponentDraw
from gem_rollout.trajectory import Trajectory

__all__ = ["OpponentPool", "PastVersion", "SeatedPolicy", "agents_in_turn", "views"]


@dataclass(frozen=True)
class PastVersion:
    """The weights as they were after an update."""

    update: int
    weights: Mapping[str, Tensor]


class OpponentPool:
    """The past versions that play against the current one; the newest take the places of the oldest.

    Args:
        size: how many there are at most.
        every: updates between two that are kept.
        draw: ``"uniform"``, or ``"recent"``: the oldest with weight 1, the next with 2, and so on.
    """

    def __init__(self, size: int, every: int, draw: OpponentDraw) -> None:
        self.size = size
        self.every = every
        self.draw_by = draw
        self.versions: list[PastVersion] = []
        """From the oldest to the newest."""

    def offer(self, update: int, copied: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep the weights after this update, 0 for those before the first, if they are due."""
        if self.size and update % self.every == 0:
            self.versions = [*self.versions, PastVersion(update, copied())][-self.size :]

    def drawn(self, env: str, seed: int) -> int | None:
        """Return the place of the opponent in an environment and seed, the same for all of a group; None if empty."""
        if not self.versions:
            return None
        weights = range(1, len(self.versions) + 1) if self.draw_by == "recent" else None
        chance = random.Random(f"opponent of {env}, seed {seed}")
        return chance.choices(range(len(self.versions)), weights)[0]


class SeatedPolicy(Policy[Any, Any]):
    """One agent's place in an environment, which another policy may take in each episode.

    Args:
        choose: returns the policy for an episode, by its seed.
    """

    def __init__(self, choose: Callable[[int], Any]) -> None:
        self._choose = choose
        self._policy: Any = None

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Have the policy of the episode sit down."""
        self._policy = self._choose(seed)
        self._policy.seed_episode(seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        done = self._policy.reset(observation, info)
        if done is not None:
            await done

    async def act(self, observation: Any, info: Info) -> Act:
        act: Act = await self._policy.act(observation, info)
        return act


def agents_in_turn(spec: EnvSpec) -> tuple[str, ...]:
    """Return the agents of an environment that act in turn; none if it has a single one.

    Raises:
        ArgumentError: if several act at once, or agents come and go.
    """
    with gem.make(spec) as env:
        inner: Env[Any, Any] = env.unwrapped
        if not isinstance(inner, MultiAgentEnv):
            return ()
        env.reset(seed=0)
        agents, active = tuple(inner.possible_agents), inner.active_agents
    if len(active) != 1 or len(agents) < 2:
        raise ArgumentError(
            f"{spec.id} has the agents {', '.join(agents)}, of which {', '.join(active) or 'none'} begin; to be "
            "trained in, an environment has one agent, or at least two that act in turn"
        )
    return agents


def views(episodes: Sequence[Trajectory], chosen: Callable[[Trajectory], Sequence[str]]) -> list[Trajectory]:
    """Return the episodes as these of their agents lived them; one of a single agent as it is.

    An agent that had no turn, since the other's first one ended the game, has no part in it.
    """
    found: list[Trajectory] = []
    for episode in episodes:
        acted = episode.agents
        found += [episode.for_agent(one) for one in chosen(episode) if one in acted] if acted else [episode]
    return found
