"""A house and its chores: everything of an episode that no move changes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CLEAN", "COOL", "HELD", "HOT", "MIDDLE", "NOWHERE", "ON", "SLICED", "Chore", "House", "Receptacle", "Thing"]

HOT, COOL, CLEAN, SLICED, ON = 1, 2, 4, 8, 16
"""The marks that a thing can have, as bits."""

HELD, NOWHERE = -1, -2
"""The places of the thing that the agent carries, and of one out of reach; any other is the number of a receptacle."""
MIDDLE = -1
"""The spot of an agent that stands at no receptacle."""


class Receptacle(NamedTuple):
    """A place for things."""

    kind: str
    name: str
    openable: bool
    room: int
    spot: int
    """Where the agent stands to reach it. In an own house each receptacle has one of its own."""


class Thing(NamedTuple):
    """A thing, with the abilities of :mod:`gem_envs_house.catalogue`."""

    kind: str
    name: str
    abilities: frozenset[str]
    place: int
    """Where it is at the start."""
    marks: int = 0
    """Its marks at the start."""


class Chore(NamedTuple):
    """One condition of a task: things of a kind with certain marks in one receptacle, or held under a lit lamp."""

    thing: str
    receptacle: str
    """The kind of receptacle, or of lamp where ``in_light``."""
    marks: int = 0
    """The marks that each of the things must have."""
    number: int = 1
    """How many different things, all in the same receptacle."""
    in_light: bool = False


class House(NamedTuple):
    """Rooms, receptacles and things at the start of an episode."""

    rooms: tuple[str, ...]
    start: int
    """The room in whose middle the agent begins."""
    receptacles: tuple[Receptacle, ...]
    things: tuple[Thing, ...]
    accepted: frozenset[tuple[str, str]]
    """Pairs of a kind of thing and a kind of receptacle that takes it."""
    opened: frozenset[int] = frozenset()
    """The receptacles that are open at the start."""
    spot: int = MIDDLE
    """Where the agent stands at the start."""
