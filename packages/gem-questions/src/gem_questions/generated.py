"""Rows that are generated on demand."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from gem.arguments import integer
from gem.errors import ArgumentTypeError

__all__ = ["GeneratedRows"]


class GeneratedRows:
    """A set of questions of any size that is generated, not stored.

    Args:
        make: ``make(rng, index)`` returns the row at an index. It must draw from ``rng`` alone; every row has a
            generator of its own, so a row is a function of ``seed`` and index alone.
        size: number of rows.
        seed: determines the set.
    """

    def __init__(self, make: Callable[[random.Random, int], Mapping[str, Any]], size: int, *, seed: int = 0) -> None:
        if not callable(make):
            raise ArgumentTypeError(f"make must be a function of a generator and an index, got {make!r:.80}")
        self._make = make
        self._size = integer("size", size, minimum=1, maximum=1 << 62)
        self._seed = integer("seed", seed, minimum=0)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Mapping[str, Any]:
        if not -self._size <= index < self._size:
            raise IndexError(f"there are {self._size} rows, and none at {index}")
        index %= self._size
        digest = blake2b(b"%x:%x" % (self._seed, index), digest_size=8).digest()
        return self._make(random.Random(int.from_bytes(digest, "little")), index)

    def __repr__(self) -> str:
        return f"GeneratedRows({getattr(self._make, '__qualname__', self._make)}, {self._size}, seed={self._seed:#x})"
