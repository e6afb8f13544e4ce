"""Episodes in which several versions of a policy take turns: :class:`CrossPolicy`."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from typing import Any

from gem.core import Info
from gem.errors import ArgumentError
from gem.policies import Policy

__all__ = ["CrossPolicy"]


class CrossPolicy(Policy[Any, Any]):
    """Draws the policy of each turn from a pool, such as the current weights and stale ones.

    Episodes then visit states that the current policy alone would not reach. Source: AgentRL, arXiv 2510.04206, section
    3.2 (cross-policy sampling). The draws are a function of the episode's seed and repetition.

    Args:
        policies: the pool. Each sees every reset; only the drawn one acts.
        weights: of the draws; equal by default.

    Raises:
        ArgumentError: if there is no policy, or the weights do not fit.
    """

    def __init__(self, policies: Sequence[Policy[Any, Any]], weights: Sequence[float] | None = None) -> None:
        if not policies:
            raise ArgumentError("a pool of at least one policy is needed")
        if weights is not None and (len(weights) != len(policies) or min(weights) < 0 or sum(weights) <= 0):
            raise ArgumentError(f"{len(policies)} weights ≥ 0 with a positive sum are needed, got {list(weights)}")
        self.policies = list(policies)
        self.weights = None if weights is None else list(weights)
        self._rng = random.Random(0)

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Derive the draws of an episode from its key."""
        self._rng.seed(f"policies of {seed}, repetition {repetition}")
        for policy in self.policies:
            if (seed_own := getattr(policy, "seed_episode", None)) is not None:
                seed_own(seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        """Begin an episode for every policy of the pool."""
        for policy in self.policies:
            done = policy.reset(observation, info)
            if inspect.isawaitable(done):
                await done

    async def act(self, observation: Any, info: Info) -> Any:
        """Return the action of the policy drawn for this turn."""
        policy = self._rng.choices(self.policies, self.weights)[0]
        action = policy.act(observation, info)
        return await action if inspect.isawaitable(action) else action
