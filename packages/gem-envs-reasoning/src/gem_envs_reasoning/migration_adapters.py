"""The original GEM's environment of reasoning-gym; only :mod:`gem.migration` refers to this module."""

from __future__ import annotations

from gem.migration_adapters import TakesOldArguments
from gem_envs_reasoning import reasoning_gym_env

__all__ = ["ReasoningGymEnv"]


class ReasoningGymEnv(TakesOldArguments, reasoning_gym_env.ReasoningGymEnv):
    """The original's environment."""
