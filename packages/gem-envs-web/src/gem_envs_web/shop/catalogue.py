"""The generated catalogue: :class:`ProductCatalogue`, one for each world of a process.

Product number n is a function of the world and of n alone, and is made when it is first looked at. Products come in
families of lookalikes: the same kind of thing with the same options, the same attributes in name, first feature and
description, and so the same words in the search index. They differ in the attributes that only the other features
state, and in price.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gem.fork_hooks import after_fork_in_child
from gem_envs_web.shop import prose
from gem_envs_web.shop.engine import ProductIndex, indexed_text
from gem_envs_web.shop.goods import GoodsType, goods
from gem_envs_web.shop.listing import CATEGORY_SEPARATOR, ShopProduct

__all__ = ["HIDDEN", "LARGEST", "SMALLEST", "VISIBLE", "ProductCatalogue", "ProductKind", "catalogue_of"]

SMALLEST, LARGEST = 100, 100_000
VISIBLE, HIDDEN = 3, 3
"""Attributes of a product that the search engine sees, and those in further features."""
_FEWEST_VALUES, _MOST_VALUES = 3, 5
_HIGHEST_PRICE = 979.0
"""Dollars; :func:`gem_envs_web.shop.goals.price_limit` has a limit for every price up to this."""
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CODES = len(_LETTERS) ** 8
_STEP = 1_234_567_891_237
"""Coprime to the number of codes, so that numbers of products map to different codes."""
_BACK: int = pow(_STEP, -1, _CODES)


class ProductKind(NamedTuple):
    """What the products of a family have in common."""

    type: GoodsType
    visible: tuple[str, ...]
    """The attributes in the name, in the first feature, and in the description."""
    options: dict[str, tuple[str, ...]]
    price: float


class ProductCatalogue:
    """The products of a generated shop and the engine that finds them.

    Use :func:`catalogue_of`, which makes each once.

    Args:
        world_seed: determines all products.
        size: number of products.
        lookalikes: number of products in a family.
    """

    def __init__(self, world_seed: int, size: int, lookalikes: int) -> None:
        self.world_seed, self.size, self.lookalikes = world_seed, size, lookalikes
        self.product_number = lru_cache(maxsize=8192)(self._made)
        self._index = ProductIndex(self._documents)

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return catalogue_of, (self.world_seed, self.size, self.lookalikes)

    def nouns(self, name: str) -> list[str]:
        """Return the nouns of a name; see :class:`gem_envs_web.shop.listing.Assortment`."""
        return goods().find_nouns(name)

    def product(self, asin: str) -> ShopProduct:
        """Return the product with a number of ten characters, as the pages show it."""
        return self.product_number(self._number_of(asin))

    def search(self, query: str) -> Sequence[str]:
        """Return the numbers of the best products, at most 50."""
        return self._index.search(query)

    def kind(self, number: int) -> ProductKind:
        """Return what a product has in common with its family."""
        rng = self._rng(b"family", number // self.lookalikes)
        kind = rng.choice(goods().types)
        options = {}
        for name, values in kind.options.items():
            count = rng.randint(min(_FEWEST_VALUES, len(values)), min(_MOST_VALUES, len(values)))
            options[name] = tuple(values[place] for place in sorted(rng.sample(range(len(values)), count)))
        price = kind.lowest + (kind.highest - kind.lowest) * rng.random() ** 2
        return ProductKind(kind, tuple(rng.sample(kind.attributes, VISIBLE)), options, price)

    def hidden(self, number: int, kind: ProductKind) -> tuple[str, ...]:
        """Return the attributes of a product of a kind that no search finds."""
        others = [attribute for attribute in kind.type.attributes if attribute not in kind.visible]
        return tuple(self._rng(b"hidden", number).sample(others, HIDDEN))

    def asin(self, number: int) -> str:
        """Return the number on the product's page: ``B0`` and eight letters or digits."""
        code = (number * _STEP + self.world_seed) % _CODES
        letters = []
        for _ in range(8):
            code, place = divmod(code, len(_LETTERS))
            letters.append(_LETTERS[place])
        return "B0" + "".join(letters)

    def _number_of(self, asin: str) -> int:
        if len(asin) != 10 or not asin.startswith("B0") or not {*asin} <= {*_LETTERS}:
            raise LookupError(f"there is no product {asin!r}")
        code = sum(_LETTERS.index(letter) * len(_LETTERS) ** place for place, letter in enumerate(asin[2:]))
        number: int = (code - self.world_seed) * _BACK % _CODES
        if number >= self.size:
            raise LookupError(f"there is no product {asin!r}")
        return number

    def _made(self, number: int) -> ShopProduct:
        kind = self.kind(number)
        hidden = self.hidden(number, kind)
        rng = self._rng(b"product", number)
        maker = prose.brand(rng)
        goods_type, visible = kind.type, kind.visible
        own = (*visible, *hidden)
        missing = [attribute for attribute in goods_type.attributes if attribute not in own]
        reviews = prose.reviews(rng, goods_type, missing)
        price = round(min(kind.price * rng.uniform(0.85, 1.15), _HIGHEST_PRICE), 2)
        return ShopProduct(
            asin=self.asin(number),
            name=prose.title(rng, goods_type, maker, visible[0]),
            query=goods_type.name,
            category=goods_type.department,
            product_category=f" {CATEGORY_SEPARATOR} ".join((*goods_type.path, prose.titled(goods_type.name))),
            price=price,
            price_text=f"${price:.2f}",
            options=kind.options,
            attributes=own,
            bullets=prose.bullets(rng, goods_type, (visible[1], *hidden)),
            description=prose.description(rng, goods_type, maker, visible[2]),
            reviews=reviews,
            rating=f"{sum(review.score for review in reviews) / len(reviews):.1f}",
        )

    def _documents(self) -> Iterator[tuple[str, str]]:
        for number in range(self.size):
            product = self._made(number)
            yield product.asin, indexed_text(product)

    def _rng(self, what: bytes, number: int) -> random.Random:
        return random.Random((number << 72) + (self.world_seed << 8) + what[0])


def catalogue_of(world_seed: int = 0, size: int = 1000, lookalikes: int = 1) -> ProductCatalogue:
    """Return the catalogue of a world; the same object each time while it is among the few latest."""
    with _lock:
        return _kept(world_seed, size, lookalikes)


@lru_cache(maxsize=4)
def _kept(world_seed: int, size: int, lookalikes: int) -> ProductCatalogue:
    return ProductCatalogue(world_seed, size, lookalikes)


_lock = threading.Lock()


@after_fork_in_child
def _unlock() -> None:
    # Another thread of the parent may have held the lock.
    global _lock
    _lock = threading.Lock()
