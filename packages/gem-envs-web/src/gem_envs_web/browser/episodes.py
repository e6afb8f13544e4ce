"""The episode of a text environment as one that a server can serve: :func:`served_episode`."""

from __future__ import annotations

from typing import Any

from gem.core import Env
from gem.errors import ArgumentError
from gem_envs_web.shop.shopping import ShoppingEnv
from gem_envs_web.shop.site import ShopSession
from gem_envs_web.sites.loopback import ServedEpisode
from gem_envs_web.sites.markup import SiteEpisode
from gem_envs_web.sites.site_env import SiteEnv

__all__ = ["served_episode", "task_in_words"]


def served_episode(env: Env[Any, Any]) -> ServedEpisode:
    """Return the episode of a shop, a form or a forum after its reset, for an :class:`EpisodeServer`.

    Raises:
        ArgumentError: if the environment is none of these.
    """
    world = env.unwrapped
    if isinstance(world, SiteEnv):
        return SiteEpisode(world.site)
    if isinstance(world, ShoppingEnv):
        return ShopSession(world.shop, world.wish, world.show_attributes, world.nouns)
    raise ArgumentError(f"only shops, forms and forums are served as pages, not {type(world).__name__}")


def task_in_words(env: Env[Any, Any]) -> str:
    """Return the task of such an episode, without the actions of the text environment."""
    world = env.unwrapped
    if isinstance(world, SiteEnv):
        return world.brief()
    if isinstance(world, ShoppingEnv):
        return (
            "Buy a product that fits the instruction: the right kind of product, with every attribute and option that "
            "is asked for, at a price within the limit. Choose options before you buy. The first purchase counts.\n\n"
            f"Instruction: {world.wish.instruction}"
        )
    raise ArgumentError(f"only shops, forms and forums are served as pages, not {type(world).__name__}")
