"""The kinds of rooms, receptacles and things, and what goes where.

Names and abilities are those of ALFWorld's text games (Shridhar et al., "ALFWorld: Aligning Text and Embodied
Environments for Interactive Learning", ICLR 2021): one word for a kind, and a number for each of its examples.
"""

from __future__ import annotations

from typing import NamedTuple

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

_TABLES = ("countertop", "desk", "diningtable", "sidetable", "coffeetable", "shelf", "dresser", "tvstand", "cart")
_SEATS = ("armchair", "bed", "ottoman", "sofa")
_FITS = {
    "food": (*_TABLES, "fridge", "microwave", "sinkbasin", "garbagecan"),
    "dish": (*_TABLES, "cabinet", "fridge", "microwave", "sinkbasin"),
    "cookware": (*_TABLES, "cabinet", "fridge", "stoveburner", "sinkbasin"),
    "cutlery": (*_TABLES, "cabinet", "drawer", "sinkbasin"),
    "small": (*_TABLES, *_SEATS, "cabinet", "drawer", "safe", "garbagecan"),
    "flat": (*_TABLES, *_SEATS, "cabinet", "drawer"),
    "cushion": _SEATS,
    "toiletry": (*_TABLES, "cabinet", "drawer", "bathtubbasin", "garbagecan", "sinkbasin", "toilet"),
    "linen": (*_TABLES, "bathtubbasin", "bed", "cabinet", "drawer", "laundryhamper", "sinkbasin", "towelholder"),
    "lamp": ("desk", "dresser", "sidetable", "shelf", "coffeetable", "tvstand"),
}


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


def _kind(size: str, usual: str, abilities: str = "") -> ThingKind:
    return ThingKind(size, tuple(usual.split()), frozenset(abilities.split()) | {PORTABLE})


_FOOD = f"{HEATABLE} {COOLABLE} {CLEANABLE} {SLICEABLE}"
_DISH = f"{HEATABLE} {COOLABLE} {CLEANABLE}"
_COOKWARE = f"{COOLABLE} {CLEANABLE}"

THINGS = {
    "apple": _kind("food", "countertop diningtable fridge", _FOOD),
    "bread": _kind("food", "countertop diningtable", f"{HEATABLE} {COOLABLE} {SLICEABLE}"),
    "egg": _kind("food", "fridge countertop", _DISH),
    "lettuce": _kind("food", "fridge countertop sinkbasin", f"{COOLABLE} {CLEANABLE} {SLICEABLE}"),
    "potato": _kind("food", "countertop sinkbasin fridge", _FOOD),
    "tomato": _kind("food", "fridge countertop diningtable", _FOOD),
    "bowl": _kind("dish", "cabinet countertop shelf diningtable", _COOKWARE),
    "cup": _kind("dish", "cabinet sinkbasin countertop shelf", _DISH),
    "mug": _kind("dish", "cabinet countertop desk shelf", _DISH),
    "plate": _kind("dish", "cabinet diningtable shelf countertop", _DISH),
    "kettle": _kind("cookware", "stoveburner countertop cabinet", CLEANABLE),
    "pan": _kind("cookware", "stoveburner cabinet", _COOKWARE),
    "pot": _kind("cookware", "stoveburner cabinet", _COOKWARE),
    "butterknife": _kind("cutlery", "drawer countertop diningtable", f"{CLEANABLE} {BLADE}"),
    "fork": _kind("cutlery", "drawer diningtable sinkbasin", CLEANABLE),
    "knife": _kind("cutlery", "drawer countertop", f"{CLEANABLE} {BLADE}"),
    "ladle": _kind("cutlery", "drawer countertop", CLEANABLE),
    "spatula": _kind("cutlery", "drawer countertop sinkbasin", CLEANABLE),
    "spoon": _kind("cutlery", "drawer diningtable sinkbasin", CLEANABLE),
    "dishsponge": _kind("toiletry", "sinkbasin countertop drawer", CLEANABLE),
    "peppershaker": _kind("small", "countertop diningtable cabinet drawer"),
    "saltshaker": _kind("small", "countertop diningtable cabinet drawer"),
    "alarmclock": _kind("small", "sidetable desk dresser shelf"),
    "cd": _kind("small", "desk drawer shelf safe"),
    "cellphone": _kind("small", "desk bed sidetable sofa drawer"),
    "creditcard": _kind("small", "desk sidetable coffeetable drawer"),
    "keychain": _kind("small", "sidetable coffeetable drawer safe"),
    "pen": _kind("small", "desk drawer sidetable shelf"),
    "pencil": _kind("small", "desk drawer sidetable shelf"),
    "remotecontrol": _kind("small", "tvstand coffeetable sofa armchair"),
    "statue": _kind("small", "coffeetable shelf tvstand dresser"),
    "vase": _kind("small", "coffeetable shelf sidetable diningtable"),
    "watch": _kind("small", "sidetable coffeetable drawer safe dresser"),
    "book": _kind("flat", "desk bed shelf sofa"),
    "laptop": _kind("flat", "desk bed sofa coffeetable"),
    "newspaper": _kind("flat", "sofa coffeetable armchair"),
    "pillow": _kind("cushion", "bed sofa armchair"),
    "candle": _kind("toiletry", "toilet countertop shelf bathtubbasin"),
    "soapbar": _kind("toiletry", "sinkbasin bathtubbasin countertop", CLEANABLE),
    "soapbottle": _kind("toiletry", "sinkbasin countertop toilet cabinet"),
    "spraybottle": _kind("toiletry", "cabinet countertop toilet"),
    "tissuebox": _kind("toiletry", "toilet countertop sidetable coffeetable"),
    "toiletpaper": _kind("toiletry", "toilet cabinet drawer"),
    "cloth": _kind("linen", "sinkbasin bathtubbasin laundryhamper drawer", CLEANABLE),
    "towel": _kind("linen", "towelholder bathtubbasin laundryhamper"),
    "desklamp": ThingKind("lamp", ("desk", "sidetable", "dresser"), frozenset({LAMP})),
    "tablelamp": ThingKind("lamp", ("sidetable", "coffeetable", "dresser"), frozenset({LAMP})),
}

ROOMS = {
    "kitchen": RoomKind(
        ("fridge", "microwave", "sinkbasin", "countertop"),
        (
            ("cabinet", 6), ("countertop", 2), ("diningtable", 1), ("drawer", 5), ("garbagecan", 1), ("shelf", 3),
            ("sidetable", 1), ("stoveburner", 4),
        ),
    ),
    "livingroom": RoomKind(
        ("sofa", "coffeetable", "sidetable"),
        (
            ("armchair", 2), ("cabinet", 4), ("desk", 1), ("diningtable", 1), ("drawer", 5), ("garbagecan", 1),
            ("ottoman", 1), ("safe", 1), ("shelf", 3), ("sidetable", 2), ("tvstand", 1),
        ),
    ),
    "bedroom": RoomKind(
        ("bed", "sidetable", "desk"),
        (
            ("armchair", 1), ("cabinet", 3), ("desk", 1), ("drawer", 6), ("dresser", 2), ("garbagecan", 1),
            ("laundryhamper", 1), ("safe", 1), ("shelf", 4), ("sidetable", 1),
        ),
    ),
    "bathroom": RoomKind(
        ("sinkbasin", "toilet", "countertop"),
        (
            ("bathtubbasin", 1), ("cabinet", 6), ("cart", 1), ("drawer", 5), ("garbagecan", 1), ("laundryhamper", 1),
            ("shelf", 3), ("towelholder", 2),
        ),
    ),
    "study": RoomKind(
        ("desk", "shelf", "armchair"),
        (
            ("cabinet", 4), ("desk", 1), ("drawer", 6), ("garbagecan", 1), ("safe", 1), ("shelf", 4), ("sidetable", 2),
            ("sofa", 1),
        ),
    ),
}  # fmt: skip

PLURALS = {
    "butterknife": "butterknives",
    "knife": "knives",
    "potato": "potatoes",
    "tissuebox": "tissueboxes",
    "tomato": "tomatoes",
    "watch": "watches",
}
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
