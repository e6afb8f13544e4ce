"""The order of questions."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from gem.arguments import integer
from gem.errors import ArgumentError, DatasetError, StateError
from gem_questions.permutation import Permutation
from gem_questions.stream import RowStream
from gem_questions.tables import Rows

__all__ = ["IndexedOrder", "Order", "StreamedOrder", "order_of"]

_WORD = (1 << 64) - 1
# Any odd number of 64 bits without a pattern: keys of one run's epochs and buffers must not meet those of another.
_STRIDE = 0x632BE59BD9B4E019
_SECOND_STRIDE = 0xD1342543DE82EF95


class Order(ABC):
    """An order of a set's rows, epoch after epoch. It is a function of ``key``, which is None until :meth:`begin`."""

    key: int | None = None
    epoch = 0

    @abstractmethod
    def begin(self, key: int, seed: int | None) -> None:
        """Start over with a key of 64 bits and its seed."""

    @abstractmethod
    def next(self) -> tuple[int | None, Mapping[str, Any]]:
        """Return the next row and its index in the set; None for the index where rows have none."""

    @abstractmethod
    def at(self, index: int | None) -> tuple[int | None, Mapping[str, Any]]:
        """Return the row at an index without moving; None stands for the last row of ``next``."""

    @abstractmethod
    def random(self, rng: random.Random) -> Mapping[str, Any]:
        """Return a random row without moving."""

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the position as JSON values."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Move to a position of ``get_state``; an ordinary error changes nothing."""


def order_of(rows: Rows | RowStream, shuffle: bool) -> Order:
    """Return an order of the rows of a set."""
    return StreamedOrder(rows, shuffle) if isinstance(rows, RowStream) else IndexedOrder(rows, shuffle)


class IndexedOrder(Order):
    """An order of rows with an index.

    Args:
        rows: the set.
        shuffle: every epoch has a permutation of its own. Otherwise the rows keep their order, from
            ``seed % len(rows)`` on.
    """

    def __init__(self, rows: Rows, shuffle: bool) -> None:
        self._rows = rows
        self._shuffle = shuffle
        self._size = len(rows)
        if not self._size:
            raise DatasetError("the data set has no rows")
        self._position = 0
        self._permutation: Permutation | None = None

    def begin(self, key: int, seed: int | None) -> None:
        self.key, self.epoch, self._permutation = key, 0, None
        self._position = 0 if self._shuffle or seed is None else seed % self._size

    def next(self) -> tuple[int, Mapping[str, Any]]:
        if self._position >= self._size:
            self.epoch, self._position, self._permutation = self.epoch + 1, 0, None
        index = self._position
        if self._shuffle:
            if self._permutation is None:
                assert self.key is not None
                self._permutation = Permutation(self._size, self.key + self.epoch * _STRIDE & _WORD)
            index = self._permutation[index]
        row = self._rows[index]
        self._position += 1  # only now, so that an unreadable row is not skipped in silence
        return index, row

    def at(self, index: int | None) -> tuple[int, Mapping[str, Any]]:
        checked = integer("index", index, minimum=0, maximum=self._size - 1)
        return checked, self._rows[checked]

    def random(self, rng: random.Random) -> Mapping[str, Any]:
        return self._rows[rng.randrange(self._size)]

    def get_state(self) -> dict[str, Any]:
        return {"key": self.key, "epoch": self.epoch, "position": self._position}

    def set_state(self, state: Mapping[str, Any]) -> None:
        key, epoch = _key(state), integer("epoch", state["epoch"], minimum=0)
        position = integer("position", state["position"], minimum=0, maximum=self._size)
        self.key, self.epoch, self._position, self._permutation = key, epoch, position, None


class StreamedOrder(Order):
    """An order of a stream, buffer by buffer. Without shuffling it always begins with the first row."""

    def __init__(self, stream: RowStream, shuffle: bool) -> None:
        self._stream = stream
        self._shuffle = shuffle
        self._begin_epoch(0)

    def _begin_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self._go_to(0, 0, 0)

    def _go_to(self, buffer: int, shard: int, place: int) -> None:
        """Move to the first row of a buffer, at a place of the epoch's ``shard``-th shard."""
        self._number, self._start = buffer, (shard, place)
        self._after = self._start
        self._buffer: list[Mapping[str, Any]] = []
        self._taken = 0
        self._reader: Iterator[tuple[Mapping[str, Any], int, int]] | None = None

    def begin(self, key: int, seed: int | None) -> None:
        self.key = key
        self._begin_epoch(0)

    def next(self) -> tuple[None, Mapping[str, Any]]:
        if self._taken >= len(self._buffer):
            if self._buffer:
                self._number, self._start = self._number + 1, self._after
            self._fill()
            if not self._buffer:
                self._begin_epoch(self.epoch + 1)
                self._fill()
            if not self._buffer:
                raise DatasetError("the data set has no rows")
        self._taken += 1
        return self.at(None)

    def _fill(self) -> None:
        """Read the buffer that begins at ``_start``."""
        assert self.key is not None
        if self._reader is None:
            order = list(range(len(self._stream.shards)))
            if self._shuffle:
                shards = Permutation(len(order), self.key + self.epoch * _STRIDE & _WORD)
                order = [shards[number] for number in order]
            self._reader = self._stream.read(order, *self._start)
        self._buffer, self._taken = [], 0
        for row, shard, place in self._reader:
            self._buffer.append(row)
            self._after = shard, place
            if len(self._buffer) == self._stream.buffer:
                break
        if self._buffer and self._shuffle:
            key = self.key + self.epoch * _STRIDE + (self._number + 1) * _SECOND_STRIDE & _WORD
            self._permutation = Permutation(len(self._buffer), key)

    def at(self, index: int | None) -> tuple[None, Mapping[str, Any]]:
        if index is not None:
            raise ArgumentError("a data set that is streamed has no index; open it without streaming")
        place = self._taken - 1
        return None, self._buffer[self._permutation[place] if self._shuffle else place]

    def random(self, rng: random.Random) -> Mapping[str, Any]:
        return rng.choice(self._buffer)

    def get_state(self) -> dict[str, Any]:
        shard, place = self._start
        where = {"buffer": self._number, "shard": shard, "place": place, "taken": self._taken}
        return {"key": self.key, "epoch": self.epoch, **where}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Move to a position of ``get_state``; reads one buffer again, and nothing before it."""
        before = dict(self.__dict__)
        try:
            self.key = _key(state)
            self.epoch = integer("epoch", state["epoch"], minimum=0)
            numbers = [integer(name, state[name], minimum=0) for name in ("buffer", "shard", "place")]
            taken = integer("taken", state["taken"], minimum=0, maximum=self._stream.buffer)
            self._go_to(*numbers)
            if taken:
                if self.key is None:
                    raise StateError("rows were taken, and the order never began")
                self._fill()
                if taken > len(self._buffer):
                    raise StateError(f"taken is {taken}, and there are {len(self._buffer)} rows")
                self._taken = taken
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise


def _key(state: Mapping[str, Any]) -> int | None:
    return None if state["key"] is None else integer("key", state["key"], minimum=0, maximum=_WORD)
