"""What a shop sells and what a customer wants: :class:`ShopProduct`, :class:`ShopGoal` and :class:`Assortment`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

__all__ = ["CATEGORY_SEPARATOR", "Assortment", "NounTagger", "ProductReview", "ShopGoal", "ShopProduct"]

CATEGORY_SEPARATOR = "›"

NounTagger = Callable[[str], Sequence[str]]
"""Returns the nouns of a product's name in lower case, in their order, repetitions included."""


class ProductReview(NamedTuple):
    """What a customer wrote."""

    title: str
    score: int
    """Stars, 1 to 5."""
    body: str


class ShopProduct(NamedTuple):
    """A product with the fields that WebShop's pages show and its reward reads."""

    asin: str
    name: str
    query: str
    """The words by which the product was found; in the generated shop, the type of goods."""
    category: str
    product_category: str
    """The path through the category tree, its parts separated by ``›``."""
    price: float
    """Dollars."""
    price_text: str
    options: Mapping[str, Sequence[str]]
    attributes: Sequence[str]
    bullets: Sequence[str]
    description: str
    reviews: Sequence[ProductReview]
    rating: str
    image: str = ""
    """The address of a picture, or "" for none."""


class ShopGoal(NamedTuple):
    """What a customer wants to buy."""

    instruction: str
    asin: str
    name: str
    query: str
    product_category: str
    attributes: Sequence[str]
    options: Mapping[str, str] | Sequence[str]
    """A mapping in WebShop's synthetic goals, values alone in its human goals and ours; the reward tells them apart."""
    price_upper: float
    """Dollars, above 0."""


class Assortment(Protocol):
    """Products with a search engine, and goals; environments of a process share one."""

    def nouns(self, name: str) -> Sequence[str]:
        """Return the nouns of a name for the reward, unless the environment brings another tagger."""

    def product(self, asin: str) -> ShopProduct:
        """Return a product.

        Raises:
            LookupError: if no product has that number.
        """

    def search(self, query: str) -> Sequence[str]:
        """Return the numbers of the best products for a query, at most 50."""

    def goal(self, number: int) -> ShopGoal:
        """Return a goal by its number.

        Raises:
            LookupError: if there is no such goal.
        """
