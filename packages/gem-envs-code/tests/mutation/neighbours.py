"""Inputs near known ones: an element more or less, two exchanged, a number one larger, a piece of another input."""

from __future__ import annotations

import copy
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

__all__ = ["Neighbours"]

_LONGEST = 600
"""Characters of an input that has neighbours."""


class Neighbours:
    """Neighbours of a problem's inputs that keep what all of these have in common.

    Lengths, numbers and characters stay within those that were seen at the same place; what was sorted or different
    everywhere stays so; lists that always had one length keep one length. That is not yet what the statement allows:
    the caller asks a second solution as well.

    Args:
        inputs: the arguments of known inputs.
        count: how many neighbours to make.
        seed: of the choice.
    """

    def __init__(self, inputs: Sequence[Any], count: int, seed: str) -> None:
        self._count = count
        self._rng = random.Random(seed)
        self._short = [json.loads(text) for given in inputs if len(text := json.dumps(given)) <= _LONGEST]
        self._seen: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for given in self._short:
            for path, value in _values(given):
                self._seen[_shape(path)].append(value)
        self._rules = {shape: _Rules(values) for shape, values in self._seen.items()}
        self._equal = [
            (one, other)
            for one in range(len(self._short[0]) if self._short else 0)
            for other in range(one)
            if all(_length(given[one]) == _length(given[other]) is not None for given in self._short)
        ]

    def __iter__(self) -> Iterator[Any]:
        if not self._short:
            return
        made = 0
        for _ in range(self._count * 20):
            given = copy.deepcopy(self._rng.choice(self._short))
            for _ in range(self._rng.choice((1, 1, 2, 3))):
                self._change(given)
            if self._allowed(given):
                made += 1
                yield tuple(given)
                if made >= self._count:
                    return

    def _change(self, given: Any) -> None:
        rng = self._rng
        places = [(path, value) for path, value in _values(given) if path]
        if not places:
            return
        path, value = rng.choice(places)
        holder = given
        for step in path[:-1]:
            holder = holder[step]
        changed: Any = value
        kind = rng.randrange(5)
        if kind == 0:
            changed = copy.deepcopy(rng.choice(self._seen[_shape(path)]))
        elif isinstance(value, bool) or value is None:
            changed = rng.choice(self._seen[_shape(path)])
        elif isinstance(value, int):
            changed = rng.choice((value - 1, value + 1, -value, 0, 1, value * 2))
        elif isinstance(value, (list, str)) and len(value):
            items = list(value)
            place, other = rng.randrange(len(items)), rng.randrange(len(items))
            if kind == 1:
                del items[place]
            elif kind == 2:
                items.insert(other, copy.deepcopy(items[place]))
            elif kind == 3:
                items[place], items[other] = items[other], items[place]
            else:
                items[place] = copy.deepcopy(items[other])
            changed = items if isinstance(value, list) else "".join(items)
        holder[path[-1]] = changed

    def _allowed(self, given: Any) -> bool:
        if any(_length(given[one]) != _length(given[other]) for one, other in self._equal):
            return False
        return all(
            (rules := self._rules.get(_shape(path))) is not None and rules.allow(value)
            for path, value in _values(given)
        )


class _Rules:
    """What all values at one place have in common."""

    def __init__(self, values: list[Any]) -> None:
        self.kinds = {type(value) for value in values}
        numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        self.least, self.most = min(numbers, default=0), max(numbers, default=0)
        sized = [value for value in values if isinstance(value, (list, str, dict))]
        self.shortest, self.longest = min(map(len, sized), default=0), max(map(len, sized), default=0)
        self.characters = set("".join(value for value in values if isinstance(value, str)))
        self.trimmed = all(value == value.strip() for value in values if isinstance(value, str))
        lists = [value for value in values if isinstance(value, list)]
        self.different = bool(lists) and all(_different(value) for value in lists)
        self.ascending = bool(lists) and all(_sorted(value) for value in lists)
        self.rectangular = bool(lists) and all(_rectangular(value) for value in lists)

    def allow(self, value: Any) -> bool:
        if type(value) not in self.kinds:
            return False
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return bool(self.least <= value <= self.most)
        if isinstance(value, (list, str, dict)) and not self.shortest <= len(value) <= self.longest:
            return False
        if isinstance(value, str):
            return set(value) <= self.characters and (not self.trimmed or value == value.strip())
        if isinstance(value, list):
            return (
                (not self.different or _different(value))
                and (not self.ascending or _sorted(value))
                and (not self.rectangular or _rectangular(value))
            )
        return True


def _values(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, item in items:
        yield from _values(item, (*path, key))


def _shape(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a path with the places in inner lists left out; arguments keep theirs."""
    return path[:1] + tuple("*" if isinstance(step, int) else "key" for step in path[1:])


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, (list, str)) else None


def _different(value: list[Any]) -> bool:
    texts = [json.dumps(item) for item in value]
    return len(set(texts)) == len(texts)


def _sorted(value: list[Any]) -> bool:
    try:
        return all(one <= other for one, other in pairwise(value))
    except TypeError:
        return False


def _rectangular(value: list[Any]) -> bool:
    return all(isinstance(item, (list, str)) for item in value) and len({len(item) for item in value}) <= 1
