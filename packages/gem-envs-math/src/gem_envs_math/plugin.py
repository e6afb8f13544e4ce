"""The plugin of this package, which adds rewards to GEM by name."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_rewards"]


@hookimpl
def gem_rewards() -> Named:
    """Return the grader as a reward."""
    return {"math": "gem_envs_math.math_reward:MathReward"}
