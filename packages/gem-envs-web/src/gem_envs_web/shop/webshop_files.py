"""WebShop's own product files as an assortment: :class:`WebShopFiles`.

The files are those of WebShop's ``setup.sh``: ``items_shuffle.json`` (products), ``items_ins_v2.json`` (attributes and
synthetic instructions), ``items_human_ins.json`` (instructions that people wrote); or their versions with 1,000
products. Products, options, prices and goals are read as the original reads them, and the goals come in the order of
its fixed shuffle. Two things of the original depend on generators that it never seeds: the price of a product with a
range of prices, and the price limits. Here both follow from ``seed``.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError
from gem.fork_hooks import after_fork_in_child
from gem_envs_web.shop.engine import ProductIndex, indexed_text
from gem_envs_web.shop.goals import price_limit
from gem_envs_web.shop.listing import ShopGoal, ShopProduct

__all__ = ["WebShopFiles", "open_files"]

_SHUFFLE = 233
_LONGEST_ASIN = 10
_NO_PRICE, _NO_LIMIT = 100.0, 1_000_000.0


class WebShopFiles:
    """The products of WebShop's files and their goals.

    Use :func:`open_files`, which reads each once.

    Args:
        product_file: a list of products.
        attribute_file: asin → attributes and synthetic instruction.
        instruction_file: asin → instructions of people; None for the synthetic goals.
        limit: number of products to take from the beginning of the file; None for all.
        seed: of the prices and price limits that the original draws.

    Raises:
        ArgumentError: if a file cannot be read or has another form; the message names it.
    """

    def __init__(
        self, product_file: str, attribute_file: str, instruction_file: str | None, limit: int | None, seed: int
    ) -> None:
        self._source = (product_file, attribute_file, instruction_file, limit, seed)
        rows = _read(product_file, list)
        attributes = _read(attribute_file, dict)
        instructions = {} if instruction_file is None else _read(instruction_file, dict)
        rng = random.Random(seed)
        self._products: dict[str, ShopProduct] = {}
        for row in rows if limit is None else rows[:limit]:
            try:
                asin = row["asin"]
                if asin == "nan" or len(asin) > _LONGEST_ASIN or asin in self._products:
                    continue
                self._products[asin] = _product(row, attributes.get(asin, {}), rng)
            except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
                raise ArgumentError(
                    f"{product_file}: not a product of WebShop: {_said(error)}, in {row!r:.200}"
                ) from error
        self._nouns = frozenset(word for product in self._products.values() for word in product.query.split())
        self._goals: list[ShopGoal] = []
        for product in self._products.values():
            try:
                if instruction_file is None:
                    self._goals += _synthetic_goals(product, attributes.get(product.asin, {}), rng)
                else:
                    self._goals += _human_goals(product, instructions.get(product.asin, ()), rng)
            except (KeyError, TypeError, AttributeError) as error:
                file = attribute_file if instruction_file is None else instruction_file
                raise ArgumentError(
                    f"{file}: not the instructions of WebShop at {product.asin}: {_said(error)}"
                ) from error
        random.Random(_SHUFFLE).shuffle(self._goals)
        if not self._goals:
            raise ArgumentError(f"{product_file} has no product with an instruction")
        self._index = ProductIndex(self._documents)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_files, self._source

    @property
    def goal_count(self) -> int:
        """The number of goals; they are numbered from 0, as in the original."""
        return len(self._goals)

    def nouns(self, name: str) -> Sequence[str]:
        """Return the words of a name that occur in the query of any product, in lower case.

        The original asks spaCy's tagger instead.
        """
        return [word for word in re.findall(r"\w+", name.lower()) if word in self._nouns]

    def product(self, asin: str) -> ShopProduct:
        """Return a product."""
        return self._products[asin]

    def search(self, query: str) -> Sequence[str]:
        """Return the numbers of the best products, at most 50."""
        return self._index.search(query)

    def goal(self, number: int) -> ShopGoal:
        """Return a goal by its number in the original's order."""
        if not 0 <= number < len(self._goals):
            raise LookupError(f"there is no goal {number}")
        return self._goals[number]

    def _documents(self) -> Iterator[tuple[str, str]]:
        for asin, product in self._products.items():
            yield asin, indexed_text(product)


def open_files(
    product_file: str, attribute_file: str, instruction_file: str | None, limit: int | None, seed: int
) -> WebShopFiles:
    """Return the assortment of these files; the same object each time while it is among the two latest."""
    with _lock:
        return _kept(product_file, attribute_file, instruction_file, limit, seed)


_kept = lru_cache(maxsize=2)(WebShopFiles)
_lock = threading.Lock()


@after_fork_in_child
def _unlock() -> None:
    # Another thread of the parent may have held the lock.
    global _lock
    _lock = threading.Lock()


def _read(path: str, kind: type) -> Any:
    try:
        with Path(path).open(encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ArgumentError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, kind):
        raise ArgumentError(f"{path} must hold a JSON {'array' if kind is list else 'object'}")
    return found


def _product(row: Mapping[str, Any], known: Mapping[str, Any], rng: random.Random) -> ShopProduct:
    bullets = row["small_description"]
    price, price_text = _price(row.get("pricing"), rng)
    images = row.get("images") or ("",)
    return ShopProduct(
        asin=row["asin"],
        name=row["name"],
        query=row["query"].lower().strip(),
        category=row["category"],
        product_category=row["product_category"],
        price=price,
        price_text=price_text,
        options={
            name.lower(): [value["value"].strip().replace("/", " | ").lower() for value in values]
            for name, values in (row["customization_options"] or {}).items()
            if values is not None
        },
        attributes=known.get("attributes", ["DUMMY_ATTR"]),
        bullets=[str(bullet) for bullet in bullets] if isinstance(bullets, list) else [str(bullets or "")],
        description=row["full_description"] or "",
        reviews=(),
        rating="N.A.",
        image=images[0] or "",
    )


def _price(pricing: str | None, rng: random.Random) -> tuple[float, str]:
    """Return a price in dollars and its text; the lower and upper price of a range are separated by dollar signs."""
    prices = [float(re.sub(r"[^\d.]", "", part)) for part in (pricing or "").split("$")[1:]]
    if not prices:
        return _NO_PRICE, f"${_NO_PRICE}"
    if len(prices) == 1:
        return prices[0], f"${prices[0]}"
    return rng.uniform(prices[0], prices[1]), f"${prices[0]} to ${prices[1]}"


def _synthetic_goals(product: ShopProduct, known: Mapping[str, Any], rng: random.Random) -> Iterator[ShopGoal]:
    instruction = known.get("instruction")
    if instruction is None:
        return
    limit, limit_text = _limit(product.price, rng)
    names = sorted(product.options)
    for values in itertools.product(*(product.options[name] for name in names)):
        options = dict(zip(names, values, strict=True))
        wanted = ", and ".join(f"{name}: {value}" for name, value in options.items())
        text = f"{instruction}{f' with {wanted}' if wanted else ''}{limit_text}"
        yield _goal(product, text, known["instruction_attributes"], options, limit)


def _human_goals(product: ShopProduct, written: Sequence[Any], rng: random.Random) -> Iterator[ShopGoal]:
    for one in written:
        if one["instruction_attributes"]:
            limit, limit_text = _limit(product.price, rng)
            text = one["instruction"].strip(".") + limit_text
            yield _goal(product, text, one["instruction_attributes"], one["instruction_options"], limit)


def _limit(price: float, rng: random.Random) -> tuple[float, str]:
    limit = price_limit(rng, price)
    return (_NO_LIMIT, "") if limit is None else (limit, f", and price lower than {limit:.2f} dollars")


def _goal(product: ShopProduct, text: str, attributes: Sequence[str], options: Any, limit: float) -> ShopGoal:
    return ShopGoal(
        text, product.asin, product.name, product.query, product.product_category, attributes, options, limit
    )


def _said(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
