"""What the generated shop can sell, read from ``data/goods.toml`` on first use: :func:`goods`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from gem.tables import read_table

__all__ = ["Goods", "GoodsType", "goods"]

_PLURAL, _MASS = "+", "~"


class GoodsType(NamedTuple):
    """A type of goods, such as "office chair", with what its products can be like."""

    name: str
    plural: bool
    """Whether it is a plural, as in "gel pens"."""
    mass: bool
    """Whether it is a mass, as in "green tea"."""
    lowest: float
    highest: float
    """The range of its prices in dollars."""
    department: str
    path: tuple[str, ...]
    """Its place in the category tree, from the root."""
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]


class Goods(NamedTuple):
    """Everything that the shop can sell."""

    types: Sequence[GoodsType]
    nouns: frozenset[str]
    """The words of the types' names."""

    def find_nouns(self, name: str) -> list[str]:
        """Return the words of a name that are nouns of the shop, in lower case."""
        return [word for word in name.lower().replace(",", " ").split() if word in self.nouns]


@cache
def goods() -> Goods:
    """Return what the shop can sell."""
    data: Mapping[str, Any] = read_table(__file__, "data/goods.toml")
    values = {name: tuple(_listed(line, ",")) for name, line in data["options"].items()}
    types = tuple(_type_of(group, line, values) for group in data["group"] for line in group["types"])
    return Goods(types, frozenset(word for kind in types for word in kind.name.split()))


def _type_of(group: Mapping[str, Any], line: str, values: Mapping[str, tuple[str, ...]]) -> GoodsType:
    name, lowest, highest = _listed(line, "|")
    return GoodsType(
        name.rstrip(_PLURAL + _MASS),
        name.endswith(_PLURAL),
        name.endswith(_MASS),
        float(lowest),
        float(highest),
        group["department"],
        tuple(group["path"]),
        tuple(group["attributes"]),
        {option: values[option] for option in group["options"]},
    )


def _listed(line: str, separator: str) -> list[str]:
    return [part.strip() for part in line.split(separator)]
