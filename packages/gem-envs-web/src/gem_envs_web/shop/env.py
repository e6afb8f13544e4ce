"""The shop with a generated catalogue: :class:`ShopEnv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gem.arguments import boolean, choice, integer
from gem_envs_web.shop.catalogue import HIDDEN, LARGEST, SMALLEST, VISIBLE, catalogue_of
from gem_envs_web.shop.goals import GOAL_BITS, SPLITS, GeneratedShop
from gem_envs_web.shop.shopping import ShoppingEnv

__all__ = ["ShopEnv"]

_MOST_OPTIONS = 3
_MOST_LOOKALIKES = 10


class ShopEnv(ShoppingEnv):
    """Shopping in a generated shop; a goal is a number of 48 bits.

    Args:
        products: number of products of the generated catalogue, 100 to 100,000.
        lookalikes: number of products in a family whose members no search can tell apart, 1 to 10.
        attributes: wanted attributes, 1 to 6.
        hidden: how many of them only the features of a product state, at most 3; at most 3 are not hidden.
        options: wanted options, 0 to 3.
        tight_price: whether the price limit is the next whole dollar above the price.
        split: ``"train"`` or ``"test"``; no goal and no product behind a goal is in both.
        world_seed: determines the catalogue.
        observation: as for :class:`gem_envs_web.shop.shopping.ShoppingEnv`.
        show_attributes: as there.
        noun_tagger: as there; None for the words of the names of all kinds of goods.
        max_turns: turns that the instructions announce.
    """

    def __init__(
        self,
        products: int = 3000,
        lookalikes: int = 3,
        attributes: int = 2,
        hidden: int = 1,
        options: int = 2,
        tight_price: bool = False,
        split: str = "train",
        world_seed: int = 0,
        observation: str = "text",
        show_attributes: bool = False,
        noun_tagger: str | Callable[[str], Any] | None = None,
        max_turns: int = 25,
    ) -> None:
        integer("products", products, minimum=SMALLEST, maximum=LARGEST)
        integer("lookalikes", lookalikes, minimum=1, maximum=_MOST_LOOKALIKES)
        integer("attributes", attributes, minimum=1, maximum=VISIBLE + HIDDEN)
        integer("hidden", hidden, minimum=max(0, attributes - VISIBLE), maximum=min(HIDDEN, attributes))
        integer("options", options, minimum=0, maximum=_MOST_OPTIONS)
        integer("world_seed", world_seed, minimum=0, maximum=(1 << 64) - 1)
        shop = GeneratedShop(
            catalogue_of(world_seed, products, lookalikes),
            attributes,
            hidden,
            options,
            boolean("tight_price", tight_price),
            choice("split", split, SPLITS),
        )
        super().__init__(shop, range(1 << GOAL_BITS), observation, show_attributes, noun_tagger, max_turns)
