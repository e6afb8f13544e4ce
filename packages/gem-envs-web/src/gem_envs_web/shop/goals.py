"""The goals of the generated shop: :class:`GeneratedShop`.

A goal number is any integer of 48 bits, and a goal is a function of it. The product that a goal is made from belongs
to a family of lookalikes; every fifth family is for testing, so that training and testing share no goal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from gem_envs_web.shop.catalogue import ProductCatalogue
from gem_envs_web.shop.listing import ShopGoal, ShopProduct
from gem_envs_web.shop.wording import instruction

__all__ = ["GOAL_BITS", "SPLITS", "GeneratedShop", "price_limit"]

GOAL_BITS = 48
SPLITS = ("train", "test")
_TEST_SHARE = 5
"""One family of products in this number is for testing."""


class GeneratedShop:
    """A generated catalogue with goals of one level; an :class:`gem_envs_web.shop.listing.Assortment`.

    Args:
        catalogue: the products.
        attributes: wanted attributes of a goal.
        hidden: how many of them no search finds.
        options: wanted options, at most those of the product.
        tight_price: whether the limit is the next whole dollar; otherwise it is WebShop's,
            see :func:`price_limit`.
        split: one of :data:`SPLITS`.
    """

    def __init__(
        self,
        catalogue: ProductCatalogue,
        attributes: int,
        hidden: int,
        options: int,
        tight_price: bool,
        split: str,
    ) -> None:
        self.catalogue = catalogue
        self._attributes, self._hidden, self._options = attributes, hidden, options
        self._tight_price = tight_price
        self._for_test = split == "test"

    def nouns(self, name: str) -> Sequence[str]:
        """Return the nouns of a name among those of the shop."""
        return self.catalogue.nouns(name)

    def product(self, asin: str) -> ShopProduct:
        """Return a product."""
        return self.catalogue.product(asin)

    def search(self, query: str) -> Sequence[str]:
        """Return the numbers of the best products, at most 50."""
        return self.catalogue.search(query)

    def goal(self, number: int) -> ShopGoal:
        """Return a goal by its number.

        Raises:
            LookupError: if the number has more than 48 bits.
        """
        if not 0 <= number < 1 << GOAL_BITS:
            raise LookupError(f"the number of a goal has at most {GOAL_BITS} bits, got {number}")
        rng = random.Random(number)
        place = self._place(rng)
        kind = self.catalogue.kind(place)
        hidden = self.catalogue.hidden(place, kind)
        wanted = rng.sample(hidden, self._hidden) + rng.sample(kind.visible, self._attributes - self._hidden)
        names = rng.sample(list(kind.options), min(self._options, len(kind.options)))
        options = {name: rng.choice(kind.options[name]) for name in names}
        product = self.catalogue.product_number(place)
        limit = self._limit(rng, product)
        text = instruction(
            rng, kind.type.name, not (kind.type.plural or kind.type.mass), kind.type.plural, wanted, options, limit
        )
        # Values alone, as in WebShop's human goals: in a mapping, "rustic" would not match itself.
        values = tuple(options.values())
        return ShopGoal(
            text, product.asin, product.name, product.query, product.product_category, tuple(wanted), values, limit
        )

    def _place(self, rng: random.Random) -> int:
        """Return the number of a product of the split."""
        catalogue = self.catalogue
        families = -(-catalogue.size // catalogue.lookalikes)
        for_test = -(-families // _TEST_SHARE)
        if self._for_test:
            family = rng.randrange(for_test) * _TEST_SHARE
        else:
            full, place = divmod(rng.randrange(families - for_test), _TEST_SHARE - 1)
            family = full * _TEST_SHARE + place + 1
        first = family * catalogue.lookalikes
        return rng.randrange(first, min(first + catalogue.lookalikes, catalogue.size))

    def _limit(self, rng: random.Random, product: ShopProduct) -> float:
        if self._tight_price:
            return float(int(product.price) + 1)
        limit = price_limit(rng, product.price)
        assert limit is not None  # no product of the catalogue costs that much
        return limit


def price_limit(rng: random.Random, price: float) -> float | None:
    """Return a limit for a price as WebShop draws it: the larger of two of the next four multiples of ten dollars.

    None for a price of 980 dollars or more, which WebShop does not limit.
    """
    above = [10.0 * step for step in range(1, 100) if 10.0 * step > price][:4]
    return max(rng.sample(above, 2)) if len(above) >= 2 else None
