"""Rewards by name or by specification: :func:`make_reward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import real, string
from gem.discovery.official import REWARDS
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError
from gem.plugins import lookup
from gem_questions.rewards.reward import Reward

__all__ = ["RewardLike", "make_reward"]

RewardLike = str | Mapping[str, Any] | Reward
"""A name, a specification, or a reward itself."""


def make_reward(reward: RewardLike, /, **kwargs: Any) -> Reward:
    """Return a reward.

    Args:
        reward: the name that an installed package gives it (``"exact"``), ``"module:Class"``, or a dict of the name
            and the arguments: ``{"name": "exact", "answer": "42", "weight": 0.5, "label": "answer"}``. A reward
            stands for itself.
        **kwargs: further arguments, which override those of the dict.

    Raises:
        MissingPluginError: if nothing installed has that name; the message has the install line.
        EntryPointError: if ``"module:Class"`` cannot be loaded.
        ArgumentTypeError, ArgumentError: if it is no reward, or an argument is wrong.
    """
    if isinstance(reward, Reward):
        if kwargs:
            raise ArgumentError(f"a reward that is already made takes no arguments, got {', '.join(kwargs)}")
        return reward
    if isinstance(reward, str):
        given: dict[str, Any] = {"name": reward, **kwargs}
    elif isinstance(reward, Mapping):
        given = {**reward, **kwargs}
    else:
        raise ArgumentTypeError(f"a reward is a name, a dict with a name, or a gem.rewards.Reward, got {reward!r:.80}")
    if "name" not in given:
        raise ArgumentError(f"a reward needs a name, got the keys {', '.join(map(str, given)) or 'none'}")
    name = string("name", given.pop("name"))
    label, weight = given.pop("label", None), given.pop("weight", None)
    maker = load(name) if ":" in name else lookup("gem_rewards", name, "reward", REWARDS)
    if not all(isinstance(key, str) for key in given):
        raise ArgumentTypeError(f"the arguments of the reward {name!r} must have names, got {list(given)!r:.80}")
    try:
        made = maker(**given)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(f"the reward {name!r}: {error}") from error
    if not isinstance(made, Reward):
        raise ArgumentTypeError(f"{name!r} made an object of type {type(made).__name__}, not a gem.rewards.Reward")
    made.name = name
    if label is not None:
        made.label = string("label", label)
    if weight is not None:
        made.weight = real("weight", weight)
    return made
