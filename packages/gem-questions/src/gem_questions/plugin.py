"""What this package adds to GEM: a wrapper, a reward and a command."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_rewards", "gem_wrappers"]


@hookimpl
def gem_wrappers() -> Named:
    """Return the wrapper that pays rewards by name."""
    return {"transform_reward": "gem_questions.rewards.transform:TransformReward"}


@hookimpl
def gem_rewards() -> Named:
    """Return the reward that combines others."""
    return {"composite": "gem_questions.rewards.composite:CompositeReward"}


@hookimpl
def gem_commands() -> Named:
    """Return the commands."""
    return {"data": "gem_questions.cli.data:data_command"}
