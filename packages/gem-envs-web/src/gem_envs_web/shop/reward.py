"""WebShop's reward of a purchase (Yao et al., "WebShop", 2022, section 3 and ``web_agent_site/engine/goal.py``).

The reward is ``r_type · (attributes + options + price) / (|attributes| + |options| + 1)``: the goal's attributes and
options that the purchase matches, 1 if the price is within the limit, and a factor for the kind of product. Quirks of
the published code that scores depend on are kept, and named at their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from gem_envs_web.shop.colors import BASIC_COLORS, basic_color
from gem_envs_web.shop.listing import CATEGORY_SEPARATOR, NounTagger, ShopGoal, ShopProduct

__all__ = ["PurchaseReward", "alike", "matched_attributes", "matched_options", "purchase_reward", "type_reward"]

_ALIKE = 85
_LATIN: dict[int, None] = dict.fromkeys(range(128, 256))
"""Characters that thefuzz, WebShop's library, drops before a comparison."""


class PurchaseReward(NamedTuple):
    """The reward of a purchase and its parts."""

    total: float
    r_type: float
    """1.0, 0.5, 0.1 or 0.0."""
    attributes: int
    """Matched attributes of the goal."""
    options: int
    """Matched options of the goal."""
    price: bool
    """Whether the price is within the limit."""


def purchase_reward(
    product: ShopProduct, goal: ShopGoal, chosen: Mapping[str, str], nouns: NounTagger
) -> PurchaseReward:
    """Return the reward of buying a product with the chosen options."""
    attributes = matched_attributes(product, goal.attributes)
    options = matched_options(tuple(chosen.values()), goal.options)
    price = product.price <= goal.price_upper
    r_type = type_reward(product, goal, nouns)
    parts = len(goal.attributes) + len(goal.options) + 1
    return PurchaseReward(r_type * ((attributes + options + price) / parts), r_type, attributes, options, price)


def type_reward(product: ShopProduct, goal: ShopGoal, nouns: NounTagger) -> float:
    """Return the factor for the kind of product: 1.0, 0.5, 0.1 or 0.0.

    The overlap of the names is the number of different nouns in both, by the number of nouns in the goal's name with
    repetitions; 0.2 for a name without nouns. An overlap of 0 makes the factor 0, even for the product sought.
    """
    wanted = nouns(goal.name)
    overlap = len({*wanted} & {*nouns(product.name)}) / len(wanted) if wanted else 0.2
    if overlap == 0:
        return 0.0
    if overlap < 0.1:
        return 0.1
    shared = {part.strip() for part in product.product_category.split(CATEGORY_SEPARATOR)} & {
        part.strip() for part in goal.product_category.split(CATEGORY_SEPARATOR)
    }
    return 1.0 if product.query == goal.query or len(shared) >= 2 or overlap > 0.2 else 0.5


def matched_attributes(product: ShopProduct, wanted: Sequence[str]) -> int:
    """Return how many wanted attributes are like one of the product's, or stand in its name, bullets or description.

    The texts are in lower case, and the attribute as the goal has it.
    """
    texts = product.name.lower(), " ".join(product.bullets).lower(), product.description.lower()
    return sum(
        any(alike(own, attribute) for own in product.attributes) or any(attribute in text for text in texts)
        for attribute in wanted
    )


def matched_options(chosen: Sequence[str], wanted: Mapping[str, str] | Sequence[str]) -> int:
    """Return how many wanted options are like one of the chosen values, both reduced to their basic colours.

    In a mapping of options the published code compares the text of a pair of name and value, and reduces it only where
    the name or the value is itself a basic colour. So the words of the name count as well, a bought "sky blue" passes
    for a wanted "navy blue", and a bought "rustic" does not match itself, because only it is reduced to "rust".
    """
    values = [basic_color(value) for value in chosen]
    sought = [_pair(*item) for item in wanted.items()] if isinstance(wanted, Mapping) else map(basic_color, wanted)
    return sum(any(alike(value, option) for value in values) for option in sought)


def alike(left: str, right: str) -> bool:
    """Return whether thefuzz's ``token_set_ratio``, which is rounded to an integer, is above 85."""
    return round(token_set_ratio(_processed(left), _processed(right))) > _ALIKE


def _processed(text: str) -> str:
    return default_process(text.translate(_LATIN))


def _pair(name: str, value: str) -> str:
    return next((color for color in BASIC_COLORS if color in (name, value)), str((name, value)))
