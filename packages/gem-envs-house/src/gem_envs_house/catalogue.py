"""The kinds of rooms, receptacles and things, and what goes where.

Names and abilities are those of ALFWorld's text games (Shridhar et al., "ALFWorld: Aligning Text and Embodied
Environments for Interactive Learning", ICLR 2021): one word for a kind, and a number for each of its examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem.tables import read_table

__all__ = [
    "IN",
    "OPENABLE",
    "PLURALS",
    "ROOMS",
    "THINGS",
    "RoomKind",
    "ThingKind",
    "a",
    "fits",
    "plural",
    "preposition",
]

HEATABLE, COOLABLE, CLEANABLE, SLICEABLE = "heatable", "coolable", "cleanable", "sliceable"
PORTABLE, LAMP, BLADE = "portable", "lamp", "blade"

OPENABLE = frozenset({"cabinet", "drawer", "fridge", "laundryhamper", "microwave", "safe"})
IN = OPENABLE | {"bathtubbasin", "garbagecan", "sinkbasin"}
"""Receptacles in which things are; on all others."""

_TABLES = read_table(__file__, "catalogue.json")
_FITS: Mapping[str, Sequence[str]] = _TABLES["fits"]
"""The size of a thing → the receptacles that take it."""


class ThingKind(NamedTuple):
    """A kind of thing."""

    size: str
    """Decides which receptacles take it."""
    usual: tuple[str, ...]
    """The kinds of receptacles in which one looks for it first."""
    abilities: frozenset[str]


class RoomKind(NamedTuple):
    """A kind of room."""

    fixtures: tuple[str, ...]
    """Receptacles that every such room has."""
    extras: tuple[tuple[str, int], ...]
    """Further ones, and the most of each."""


THINGS = {
    name: ThingKind(row["size"], tuple(row["usual"]), frozenset(row["abilities"]))
    for name, row in _TABLES["things"].items()
}

ROOMS = {name: RoomKind(tuple(row["fixtures"]), tuple(row["extras"].items())) for name, row in _TABLES["rooms"].items()}

PLURALS: Mapping[str, str] = _TABLES["plurals"]
"""The plurals that take more than an s."""


def fits(thing: str, receptacle: str) -> bool:
    """Return whether things of the one kind go into, or onto, receptacles of the other."""
    return receptacle in _FITS[THINGS[thing].size]


def a(noun: str) -> str:
    """Return the noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def plural(thing: str) -> str:
    """Return the plural of a kind of thing."""
    return PLURALS.get(thing, f"{thing}s")


def preposition(receptacle: str) -> str:
    """Return "in" or "on"."""
    return "in" if receptacle in IN else "on"
