"""Inputs near known ones: an element more or less, two exchanged, a number one larger, a piece of another input."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

__all__ = ["Neighbours"]

_LONGEST = 600
"""Characters of an input that has neighbours."""
_PIECE = re.compile(r"[^\W\d_]+|\d+|.", re.DOTALL)


class Neighbours:
    """Neighbours of a problem's inputs that keep what all of these have in common.

    Lengths, numbers and characters stay within those that were seen at the same place, also the numbers within a text;
    what was sorted, different, without a cycle or in separate pairs everywhere stays so; lists that always had one
    length or the same elements keep them; and no three neighbouring pieces of a text (words, numbers, signs) are new.
    That is not yet what the statement allows: the caller asks a second solution as well, and what is found is read.

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
        self.pieces = (
            set().union(*map(_pieces, texts)) if (texts := [v for v in values if isinstance(v, str)]) else set()
        )
        self.numbers: dict[tuple[str, int], tuple[int, int]] = {}
        for text in texts:
            for place, number in _numbers(text):
                low, high = self.numbers.get(place, (number, number))
                self.numbers[place] = min(low, number), max(high, number)
        tables = [value for value in values if isinstance(value, dict)]
        self.acyclic = bool(tables) and all(map(_acyclic, tables))
        self.trimmed = all(value == value.strip() for value in values if isinstance(value, str))
        lists = [value for value in values if isinstance(value, list)]
        self.different = bool(lists) and all(_different(value) for value in lists)
        self.ascending = bool(lists) and all(_sorted(value) for value in lists)
        self.rectangular = bool(lists) and all(_rectangular(value) for value in lists)
        self.same = any(map(_nested, lists)) and all(map(_same_elements, lists))
        self.separate = any(map(_nested, lists)) and all(map(_separate_pairs, lists))
        self.ordered = bool(lists) and all(
            len(value) == 2 and _sorted(value) and value[0] != value[1] for value in lists
        )

    def allow(self, value: Any) -> bool:
        if type(value) not in self.kinds:
            return False
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return bool(self.least <= value <= self.most)
        if isinstance(value, (list, str, dict)) and not self.shortest <= len(value) <= self.longest:
            return False
        if isinstance(value, str):
            return (
                set(value) <= self.characters
                and (not self.trimmed or value == value.strip())
                and _pieces(value) <= self.pieces
                and all(
                    (span := self.numbers.get(place)) is not None and span[0] <= number <= span[1]
                    for place, number in _numbers(value)
                )
            )
        if isinstance(value, dict):
            return not self.acyclic or _acyclic(value)
        if isinstance(value, list):
            return (
                (not self.different or _different(value))
                and (not self.ascending or _sorted(value))
                and (not self.rectangular or _rectangular(value))
                and (not self.same or _same_elements(value))
                and (not self.separate or _separate_pairs(value))
                and (not self.ordered or (len(value) == 2 and _sorted(value) and value[0] != value[1]))
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


def _pieces(text: str) -> set[tuple[str, ...]]:
    """Return the triples of neighbouring pieces of a text; the beginning and the end are pieces."""
    kinds = [
        "word" if piece[0].isalpha() else "number" if piece[0].isdigit() else piece for piece in _PIECE.findall(text)
    ]
    whole = ["begin", *kinds, "end"]
    return set(zip(whole, whole[1:], whole[2:], strict=False)) or {("begin", "end", "")}


def _numbers(text: str) -> list[tuple[tuple[str, int], int]]:
    """Return the numbers of a text that is short, each with its place among the numbers of texts of its form."""
    found = re.findall(r"\d+", text)
    if len(found) > 6:
        return []
    form = re.sub(r"[^\W\d]+", "a", re.sub(r"\d+", "9", text)) if len(found) > 1 else ""
    return [((form, place), int(number)) for place, number in enumerate(found)]


def _acyclic(table: dict[str, Any]) -> bool:
    """Return whether no key leads to itself over the lists of its values."""

    def leads(key: str, path: tuple[str, ...]) -> bool:
        following = table.get(key)
        return key in path or any(
            leads(one, (*path, key))
            for one in (following if isinstance(following, list) else ())
            if isinstance(one, str)
        )

    return len(table) <= 40 and not any(leads(key, ()) for key in table)


def _nested(value: list[Any]) -> bool:
    return len(value) > 1 and all(isinstance(item, list) for item in value)


def _same_elements(value: list[Any]) -> bool:
    return not _nested(value) or len({json.dumps(sorted(map(str, item))) for item in value}) == 1


def _separate_pairs(value: list[Any]) -> bool:
    """Return whether pairs follow each other without a common point; lists of anything else do."""
    try:
        return not _nested(value) or all(one[1] <= other[0] for one, other in pairwise(value))
    except (TypeError, IndexError):
        return False
