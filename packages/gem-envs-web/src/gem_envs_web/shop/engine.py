"""Search over products with the engine of gem-tools: :class:`ProductIndex`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gem.fork_hooks import after_fork_in_child
from gem_envs_web.shop.listing import ShopProduct

if TYPE_CHECKING:
    from gem_tools.search import LocalIndex

__all__ = ["MOST_RESULTS", "ProductIndex", "indexed_text"]

MOST_RESULTS = 50
_KEPT_QUERIES = 4096


class ProductIndex:
    """An index in memory that is made at the first search; any number of threads may use it.

    Args:
        documents: returns the number and the indexed text of each product.
    """

    def __init__(self, documents: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._documents = documents
        self._lock = threading.Lock()
        self._index: LocalIndex | None = None
        self.search = lru_cache(maxsize=_KEPT_QUERIES)(self._search)
        after_fork_in_child(self._unlock)

    def _search(self, query: str) -> Sequence[str]:
        return tuple(hit.id for hit in self._opened().search(query, MOST_RESULTS))

    def _opened(self) -> LocalIndex:
        with self._lock:
            if self._index is None:
                from gem_tools.search import Document, LocalIndex

                documents = sorted(self._documents(), key=lambda document: (len(document[0]), document[0]))
                self._index = LocalIndex.write(Document(asin, text) for asin, text in documents)
            return self._index

    def _unlock(self) -> None:
        # Another thread of the parent may have held the lock.
        self._lock = threading.Lock()


def indexed_text(product: ShopProduct) -> str:
    """Return what WebShop indexes of a product: name, description, first feature and options."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    first = product.bullets[0] if product.bullets else ""
    return f"{product.name} {product.description} {first} {options}".lower()
