"""Draws houses and their chores.

Every drawn task can be done: what it needs is there, and nothing that it names lies at its destination already.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from gem_envs_house.catalogue import (
    BLADE,
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    LAMP,
    OPENABLE,
    PORTABLE,
    ROOMS,
    SLICEABLE,
    THINGS,
    fits,
)
from gem_envs_house.house import CLEAN, COOL, HOT, SLICED, Chore, House, Receptacle, Thing
from gem_envs_house.phrasing import task_sentence

__all__ = ["ALFWORLD_KINDS", "KINDS", "LEVELS", "SPLITS", "HouseholdTask", "Level", "draw_task", "split_of"]

SPLITS = ("train", "valid_seen", "valid_unseen")
"""The splits of ALFWorld: further tasks in houses of the training split, and tasks in houses that are not in it."""
_HELD_OUT = 5
"""One house in this number is for ``valid_unseen``, and one task in this number of the others for ``valid_seen``."""


class Level(NamedTuple):
    """A level of difficulty."""

    rooms: int
    receptacles: tuple[int, int]
    """The fewest and the most in each room."""
    things: tuple[int, int]
    """The fewest and the most in the house."""
    unusual: float
    """The share of things that are not where one looks for them first."""
    turns: int
    """Turns for one chore; ``TURNS_PER_CHORE`` for each further one."""


LEVELS = {
    "easy": Level(1, (6, 8), (7, 10), 0.0, 25),
    "medium": Level(1, (13, 16), (16, 22), 0.25, 50),
    "hard": Level(3, (9, 11), (36, 44), 0.5, 75),
}
TURNS_PER_CHORE = 15

_MARKS = {
    "place": (0,),
    "light": (0,),
    "two": (0,),
    "clean": (CLEAN,),
    "heat": (HOT,),
    "cool": (COOL,),
    "slice": (SLICED, SLICED | CLEAN, SLICED | HOT, SLICED | COOL),
    "both": (CLEAN | HOT, CLEAN | COOL),
}
ALFWORLD_KINDS = ("place", "light", "clean", "heat", "cool", "two")
"""ALFWorld's six kinds of task."""
KINDS = tuple(_MARKS)
_NEEDED = ((HOT, HEATABLE, "microwave"), (COOL, COOLABLE, "fridge"), (CLEAN, CLEANABLE, "sinkbasin"))
_SUITABLE_ROOMS = {
    "light": ("bedroom", "livingroom", "study"),
    "clean": ("kitchen", "bathroom"),
    **dict.fromkeys(("heat", "cool", "slice", "both"), ("kitchen",)),
}
"""The rooms that allow a kind of chore; any where none are named."""
_LAMPS = tuple(name for name, kind in THINGS.items() if LAMP in kind.abilities)
_BLADES = tuple(name for name, kind in THINGS.items() if BLADE in kind.abilities)
_EXTRAS = {name: tuple(kind for kind, most in room.extras for _ in range(most)) for name, room in ROOMS.items()}
_ACCEPTED = frozenset(
    (thing, receptacle)
    for thing in THINGS
    for receptacle in {kind for room in ROOMS.values() for kind in (*room.fixtures, *dict(room.extras))}
    if fits(thing, receptacle)
)
_MOST_OF_A_KIND = 3
_ATTEMPTS = 50
_ROOM_NAMES = tuple(ROOMS)


class HouseholdTask(NamedTuple):
    """A house, its chores, and the sentence that states them."""

    house: House
    chores: tuple[Chore, ...]
    sentence: str


def draw_task(key: int, level: Level, kinds: Sequence[str], chores: int, split: str) -> HouseholdTask:
    """Return the task that a key stands for.

    Args:
        key: any int of at least 0.
        level: size of the house.
        kinds: the kinds of chores to draw from.
        chores: the number of chores.
        split: one of ``SPLITS``.
    """
    rng = random.Random(key)
    while True:
        drawn = _draw(rng, level, kinds, chores, split == "valid_unseen")
        if drawn is not None and split_of(*drawn) == split:
            return HouseholdTask(*drawn, task_sentence(rng, drawn[1]))


def split_of(house: House, chores: tuple[Chore, ...]) -> str:
    """Return the split to which a task belongs, which follows from its content alone."""
    if _is_held_out((house.rooms, house.receptacles)):
        return "valid_unseen"
    return (
        "valid_seen"
        if _is_held_out((house.receptacles, [thing[:2] + thing[3:] for thing in house.things], chores))
        else "train"
    )


def _is_held_out(content: object) -> bool:
    return zlib.crc32(repr(content).encode()) % _HELD_OUT == 0


def _draw(
    rng: random.Random, level: Level, kinds: Sequence[str], count: int, unseen: bool
) -> tuple[House, tuple[Chore, ...]] | None:
    wanted = [rng.choice(kinds) for _ in range(count)]
    if wanted.count("light") > 1:
        return None  # one thing at a time is held
    for _ in range(_ATTEMPTS):
        rooms = tuple(rng.sample(_ROOM_NAMES, level.rooms))
        if not all(any(room in rooms for room in _SUITABLE_ROOMS.get(kind, rooms)) for kind in wanted):
            continue
        receptacles = _draw_receptacles(rng, level, rooms)
        if _is_held_out((rooms, receptacles)) is unseen:
            chores = _draw_chores(rng, wanted, receptacles)
            if chores is not None:
                break
    else:
        return None
    things = _draw_things(rng, level, receptacles, chores)
    return House(rooms, rng.randrange(len(rooms)), receptacles, things, _ACCEPTED), chores


def _draw_receptacles(rng: random.Random, level: Level, rooms: Sequence[str]) -> tuple[Receptacle, ...]:
    numbers: dict[str, int] = {}
    receptacles: list[Receptacle] = []
    for room, name in enumerate(rooms):
        fixtures = ROOMS[name].fixtures
        extras = rng.sample(_EXTRAS[name], rng.randint(*level.receptacles) - len(fixtures))
        for kind in sorted((*fixtures, *extras)):
            numbers[kind] = number = numbers.get(kind, 0) + 1
            receptacles.append(Receptacle(kind, f"{kind} {number}", kind in OPENABLE, room, len(receptacles)))
    return tuple(receptacles)


def _draw_chores(
    rng: random.Random, kinds: Sequence[str], receptacles: Sequence[Receptacle]
) -> tuple[Chore, ...] | None:
    """Return a chore of each kind, about different things; None if these receptacles do not allow it."""
    present = sorted({receptacle.kind for receptacle in receptacles})
    chores: list[Chore] = []
    for kind in kinds:
        marks, in_light = rng.choice(_MARKS[kind]), kind == "light"
        used = {chore.thing for chore in chores}
        pairs = [pair for pair in _pairs(marks, in_light, present) if pair[0] not in used]
        if not pairs:
            return None
        # First the thing, then the place: otherwise the things that fit in many places would come most often.
        thing = rng.choice(sorted({pair[0] for pair in pairs}))
        receptacle = rng.choice([place for other, place in pairs if other == thing])
        chores.append(Chore(thing, receptacle, marks, 2 if kind == "two" else 1, in_light))
    return tuple(chores)


def _pairs(marks: int, in_light: bool, present: Sequence[str]) -> list[tuple[str, str]]:
    if any(marks & mark and tool not in present for mark, _, tool in _NEEDED):
        return []
    if marks & SLICED and not any(fits(blade, kind) for blade in _BLADES for kind in present):
        return []
    pairs = []
    for name in _usual_things(present):
        abilities = THINGS[name].abilities
        if PORTABLE not in abilities or any(marks & mark and able not in abilities for mark, able, _ in _NEEDED):
            continue
        if marks & SLICED and SLICEABLE not in abilities:
            continue
        places = [kind for kind in present if (name, kind) in _ACCEPTED]
        if in_light:
            pairs += [(name, lamp) for lamp in _LAMPS if any((lamp, kind) in _ACCEPTED for kind in present)]
        elif len(places) > 1:
            pairs += [(name, place) for place in places]
    return pairs


def _usual_things(present: Sequence[str]) -> list[str]:
    return [name for name, kind in THINGS.items() if any(place in present for place in kind.usual)]


def _draw_things(
    rng: random.Random, level: Level, receptacles: Sequence[Receptacle], chores: Sequence[Chore]
) -> tuple[Thing, ...]:
    kinds = [chore.thing for chore in chores for _ in range(chore.number)]
    kinds += [chore.receptacle for chore in chores if chore.in_light]
    if any(chore.marks & SLICED for chore in chores):
        kinds.append(rng.choice([blade for blade in _BLADES if any(fits(blade, one.kind) for one in receptacles)]))
    clutter = _usual_things(sorted({receptacle.kind for receptacle in receptacles}))
    size = max(len(kinds), rng.randint(*level.things))
    while len(kinds) < size:
        kind = rng.choice(clutter)
        if kinds.count(kind) < _MOST_OF_A_KIND:
            kinds.append(kind)
    destinations = {(chore.thing, chore.receptacle) for chore in chores}
    numbers: dict[str, int] = {}
    things = []
    for kind in sorted(kinds):
        numbers[kind] = number = numbers.get(kind, 0) + 1
        place = _draw_place(rng, kind, level.unusual, receptacles, destinations)
        things.append(Thing(kind, f"{kind} {number}", THINGS[kind].abilities, place))
    return tuple(things)


def _draw_place(
    rng: random.Random,
    kind: str,
    unusual: float,
    receptacles: Sequence[Receptacle],
    destinations: set[tuple[str, str]],
) -> int:
    places = [
        number
        for number, receptacle in enumerate(receptacles)
        if (kind, receptacle.kind) in _ACCEPTED and (kind, receptacle.kind) not in destinations
    ]
    usual = [number for number in places if receptacles[number].kind in THINGS[kind].usual]
    others = [number for number in places if receptacles[number].kind not in THINGS[kind].usual]
    preferred, second = (others, usual) if rng.random() < unusual else (usual, others)
    return rng.choice(preferred or second)
