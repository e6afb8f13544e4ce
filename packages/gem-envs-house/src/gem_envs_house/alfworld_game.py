"""Reads a game of ALFWorld, a file ``game.tw-pddl``, into a house and a chore.

The file is JSON with a planning problem in ``pddl_problem``, a text grammar whose only part of interest is the sentence
of the task, ``solvable``, and the ``walkthrough`` that ALFWorld's expert found. The rules are those of the one domain
that all of ALFWorld's games share.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gem.errors import ArgumentError
from gem_envs_house.catalogue import BLADE, CLEANABLE, COOLABLE, HEATABLE, LAMP, PORTABLE, SLICEABLE
from gem_envs_house.house import CLEAN, COOL, HOT, MIDDLE, NOWHERE, ON, SLICED, Chore, House, Receptacle, Thing

__all__ = ["ALFWorldGame", "read_game"]

_ATOM = re.compile(r"\(\s*([^()=]+?)\s*\)")
_SENTENCE = re.compile(r"Your task is to: ([^\"\\]*)")
_WANTED_TYPE = re.compile(r"\(\s*(objecttype|receptacletype) \?(\w+) (\w+)type\s*\)")
_GOAL_WORDS = re.compile(
    "and|exists|not|=|objecttype|receptacletype|inreceptacle|isclean|ishot|iscool|issliced|istoggled|toggleable|holds|"
    "receptacleatlocation|atlocation|cleanable|heatable|coolable|sliceable"
)
_GOAL_MARKS = {"isclean": CLEAN, "ishot": HOT, "iscool": COOL, "issliced": SLICED}
_ABILITIES = {
    "heatable": HEATABLE,
    "coolable": COOLABLE,
    "cleanable": CLEANABLE,
    "sliceable": SLICEABLE,
    "pickupable": PORTABLE,
    "toggleable": LAMP,
}
_BLADES = ("knife", "butterknife")

Facts = dict[str, list[tuple[str, ...]]]


class ALFWorldGame(NamedTuple):
    """A game of ALFWorld."""

    house: House
    chore: Chore
    sentence: str
    solvable: bool
    walkthrough: tuple[str, ...]
    """Commands that win the game; none if the file has none."""


@lru_cache(maxsize=256)
def read_game(path: Path) -> ALFWorldGame:
    """Return the game in a file.

    Raises:
        ArgumentError: if the file is no game of ALFWorld, or has a goal that is none of its kinds of task.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        problem, grammar = content["pddl_problem"].lower(), content["grammar"]
        sentence = _SENTENCE.search(grammar)
        start, goal = problem.index("(:init"), problem.index("(:goal")
        if sentence is None:
            raise ValueError("its grammar has no sentence of the task")
        house = _house_of(_facts_of(problem[start + len("(:init") : goal]))
        chore = _chore_of(problem[goal + len("(:goal") :])
    except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise ArgumentError(f"{path} is no game of ALFWorld that can be played: {error}") from error
    walkthrough = tuple(content.get("walkthrough") or ())
    return ALFWorldGame(house, chore, sentence[1], bool(content.get("solvable")), walkthrough)


def _facts_of(text: str) -> Facts:
    facts: Facts = defaultdict(list)
    for atom in _ATOM.findall(text):
        predicate, *arguments = atom.split()
        facts[predicate].append(tuple(arguments))
    return facts


def _house_of(facts: Facts) -> House:
    receptacle_kinds = {name: _kind(kind) for name, kind in facts["receptacletype"]}
    spots = _mapping(facts["receptacleatlocation"])
    thing_kinds = {name: _kind(kind) for name, kind in facts["objecttype"]}
    names = _numbered([*spots, *thing_kinds])
    # ALFWorld lists everything in the order of these identifiers.
    ordered, numbers = sorted(spots), {name: number for number, name in enumerate(sorted(set(spots.values())))}
    openable = {name for (name,) in facts["openable"]}
    receptacles = tuple(
        Receptacle(receptacle_kinds.get(name, ""), names[name], name in openable, 0, numbers[spots[name]])
        for name in ordered
    )
    index = {name: number for number, name in enumerate(ordered)}
    place = _mapping(facts["inreceptacle"])
    able = {name: {_ABILITIES[p] for p in _ABILITIES if (name,) in facts[p]} for name in thing_kinds}
    marked = {"ishot": HOT, "iscool": COOL, "isclean": CLEAN, "issliced": SLICED, "istoggled": ON}
    things = tuple(
        Thing(
            kind,
            names[name],
            frozenset(able[name] | ({BLADE} if kind in _BLADES else set())),
            index.get(place.get(name, ""), NOWHERE),
            sum(mark for predicate, mark in marked.items() if (name,) in facts[predicate]),
        )
        for name, kind in sorted(thing_kinds.items())
    )
    return House(
        rooms=("room",),
        start=0,
        receptacles=receptacles,
        things=things,
        accepted=frozenset((_kind(thing), _kind(receptacle)) for receptacle, thing in facts["cancontain"]),
        opened=frozenset(index[name] for (name,) in facts["opened"]),
        spot=numbers.get(facts["atlocation"][0][1], MIDDLE),
    )


def _mapping(pairs: list[tuple[str, ...]]) -> dict[str, str]:
    return {pair[0]: pair[1] for pair in pairs}


def _numbered(identifiers: list[str]) -> dict[str, str]:
    """Return the names that ALFWorld's players see: the kind and a number, the last identifier of a kind being 1."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for identifier in sorted(identifiers, reverse=True):
        kind = identifier.partition("_bar_")[0]
        by_kind[f"{kind}basin" if "basin" in identifier else kind].append(identifier)
    return {name: f"{kind} {number}" for kind, names in by_kind.items() for number, name in enumerate(names, start=1)}


def _chore_of(goal: str) -> Chore:
    predicates = set(re.findall(r"\(\s*([a-z]+|=)", goal))
    if unknown := {predicate for predicate in predicates if not _GOAL_WORDS.fullmatch(predicate)}:
        raise ValueError(f"its goal uses {', '.join(sorted(unknown))}")
    types = {(what, variable): kind for what, variable, kind in _WANTED_TYPE.findall(goal)}
    lamp = types.pop(("objecttype", "ot"), None)
    things = [kind for (what, _), kind in types.items() if what == "objecttype"]
    receptacles = [kind for (what, _), kind in types.items() if what == "receptacletype"]
    marks = sum(mark for predicate, mark in _GOAL_MARKS.items() if predicate in predicates)
    if lamp is not None and len(things) == 1 and not receptacles:
        return Chore(things[0], lamp, marks, in_light=True)
    if len(set(things)) != 1 or len(things) > 2 or len(receptacles) != 1:
        raise ValueError("its goal is none of ALFWorld's kinds of task")
    return Chore(things[0], receptacles[0], marks, len(things))


def _kind(type_name: str) -> str:
    return type_name.removesuffix("type")
