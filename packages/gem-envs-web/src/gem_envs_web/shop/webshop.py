"""The shop over WebShop's own product files: :class:`WebShopEnv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gem.arguments import choice, integer, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_web.shop.shopping import ShoppingEnv
from gem_envs_web.shop.webshop_files import open_files

__all__ = ["WEBSHOP_SPLITS", "WebShopEnv"]

WEBSHOP_SPLITS = ("train", "dev", "test")
_FOR_TEST, _FOR_DEV = 500, 1500
"""Goals 0 to 499 are for testing, and up to 1,499 for development, as in WebShop's baselines."""


class WebShopEnv(ShoppingEnv):
    """Shopping in WebShop's shop; a goal is a number in the order of the original.

    Args:
        product_file: the path of ``items_shuffle.json`` or ``items_shuffle_1000.json``.
        attribute_file: the path of ``items_ins_v2.json`` or ``items_ins_v2_1000.json``.
        instruction_file: the path of ``items_human_ins.json``, for the goals of people; None for the synthetic goals.
        products: number of products to take from the beginning of the file; None for all.
        split: ``"test"``, goals 0 to 499; ``"dev"``, 500 to 1,499; ``"train"``, all others. Of at most 1,500 goals the
            first tenth is for testing and the second for development.
        goal_range: the first goal and the one after the last, instead of a split: ``[0, 200]`` for the test of
            AgentBench, ``[1000, 12000]`` for its training.
        price_seed: of the prices and limits that the original draws without a seed.
        observation: as for :class:`gem_envs_web.shop.shopping.ShoppingEnv`.
        show_attributes: as there.
        noun_tagger: as there; None for the words of all products' queries. Published scores need spaCy's tagger.
        max_turns: turns that the instructions announce.

    Raises:
        ArgumentError: if a file cannot be read or has another form, or if there are no such goals.
    """

    def __init__(
        self,
        product_file: str | None = None,
        attribute_file: str | None = None,
        instruction_file: str | None = None,
        products: int | None = None,
        split: str = "train",
        goal_range: Sequence[int] | None = None,
        price_seed: int = 0,
        observation: str = "text",
        show_attributes: bool = False,
        noun_tagger: str | Callable[[str], Any] | None = None,
        max_turns: int = 20,
    ) -> None:
        product_path, attribute_path = _path("product_file", product_file), _path("attribute_file", attribute_file)
        human = None if instruction_file is None else string("instruction_file", instruction_file)
        if products is not None:
            integer("products", products, minimum=1)
        choice("split", split, WEBSHOP_SPLITS)
        integer("price_seed", price_seed, minimum=0)
        files = open_files(product_path, attribute_path, human, products, price_seed)
        count = files.goal_count
        goals = _split(split, count) if goal_range is None else _checked_range(goal_range, count)
        if not goals:
            raise ArgumentError(f"the split {split!r} of {count} goals is empty; use goal_range=[0, {count}]")
        super().__init__(files, goals, observation, show_attributes, noun_tagger, max_turns)


def _path(name: str, path: str | None) -> str:
    if path is None:
        raise ArgumentError(f"{name} must be the path of WebShop's file, which its setup.sh downloads")
    return string(name, path)


def _split(split: str, count: int) -> range:
    first, second = (_FOR_TEST, _FOR_DEV) if count > _FOR_DEV else (-(-count // 10), -(-count // 5))
    return {"test": range(first), "dev": range(first, second), "train": range(second, count)}[split]


def _checked_range(given: object, count: int) -> range:
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise ArgumentTypeError(f"goal_range must be the first goal and the one after the last, got {given!r:.80}")
    start = integer("goal_range[0]", given[0], minimum=0, maximum=count - 1)
    return range(start, integer("goal_range[1]", given[1], minimum=start + 1, maximum=count))
