"""The reference policy of Household, which reads observations alone and has no hidden knowledge.

It searches where such things are usually kept, then wherever they fit; it remembers what it saw, and works through the
chores in the order in which their steps have to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gem.core import Info
from gem.policies import Policy
from gem_envs_house.catalogue import BLADE, LAMP, OPENABLE, ROOMS, THINGS, fits, plural
from gem_envs_house.house import CLEAN, COOL, HOT, SLICED, Chore

__all__ = ["HouseholdPolicy", "read_chores"]

_WORDS = re.compile("[a-z]+")
_THINGS = {name: name for name in THINGS} | {plural(name): name for name in THINGS}
_RECEPTACLES = {kind for room in ROOMS.values() for kind in (*room.fixtures, *dict(room.extras))}
_MARKS = {"clean": CLEAN, "hot": HOT, "heat": HOT, "cool": COOL, "sliced": SLICED, "slice": SLICED}
_TOOLS = ((CLEAN, "clean", "sinkbasin"), (HOT, "heat", "microwave"), (COOL, "cool", "fridge"))
_NAMED = re.compile(r"\ban? ([a-z]+ \d+)")
_ROOM = re.compile(r"in the middle of (?:an?|the) ([a-z]+)\. Looking quickly around you, you see ([^.]*)\.")
_OTHER_ROOMS = re.compile(r"From here you can go to ([^.]*)\.")
_CONTENTS = re.compile(r"(?:[IO]n the ([a-z]+ \d+)|The ([a-z]+ \d+) is open\. In it), you see ([^.]*)\.")
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed\.")
_BLADES = tuple(name for name, kind in THINGS.items() if BLADE in kind.abilities)


def read_chores(observation: str) -> list[Chore]:
    """Return the chores that the first observation of an episode states."""
    task = observation[observation.index("Your task is to") :]
    first, *lines = task.splitlines()
    return [_read_chore(line) for line in (lines if first.endswith(":") else [first]) if _WORDS.search(line)]


def _read_chore(line: str) -> Chore:
    words = _WORDS.findall(line)
    lamp = next((word for word in words if word in THINGS and LAMP in THINGS[word].abilities), None)
    thing = next(_THINGS[word] for word in words if word in _THINGS and word != lamp)
    marks = 0
    for word in words:
        marks |= _MARKS.get(word, 0)
    if lamp is not None:
        return Chore(thing, lamp, marks, in_light=True)
    receptacle = next(word for word in reversed(words) if word in _RECEPTACLES)
    return Chore(thing, receptacle, marks, 2 if "two" in words else 1)


def _kind(name: str) -> str:
    return name.partition(" ")[0]


class HouseholdPolicy(Policy[str, str]):
    """Searches with common sense, and does one chore after the other."""

    def reset(self, observation: str, info: Info) -> None:
        # The knife may have to lie in place afterwards, and what is looked at in the light stays in the hand.
        self._chores = sorted(read_chores(observation), key=lambda chore: (chore.in_light, not chore.marks & SLICED))
        self._room_of: dict[str, str] = {}
        self._unvisited: list[str] = []
        self._room = ""
        self._here: str | None = None
        self._known: set[str] = set()
        self._open: set[str] = set()
        self._place: dict[str, str] = {}
        self._marks: dict[str, int] = {}
        self._lit: set[str] = set()
        self._held: str | None = None
        self._target: dict[int, str] = {}
        self._last = ("look", "", "")

    def act(self, observation: str, info: Info) -> str:
        self._observe(observation)
        self._last = self._next()
        verb, first, second = self._last
        if verb == "go to" or not second:
            return f"{verb} {first}".rstrip()
        return f"{verb} {first} {'from' if verb == 'take' else 'to' if verb == 'move' else 'with'} {second}"

    def _observe(self, observation: str) -> None:
        verb, first, second = self._last
        if "Nothing happens." not in observation:
            if verb == "go to":
                self._here = first if first in self._room_of else None
            elif verb == "open":
                self._open.add(first)
            elif verb == "take":
                self._held = first
                self._place.pop(first, None)
            elif verb == "move":
                self._held, self._place[first] = None, second
            elif verb == "use":
                self._lit.add(first)
            elif verb == "slice":
                self._marks[first] = self._marks.get(first, 0) | SLICED
            elif verb in ("clean", "heat", "cool"):
                mark = _MARKS[verb]
                removed = HOT if verb == "cool" else COOL if verb == "heat" else 0
                self._marks[first] = (self._marks.get(first, 0) | mark) & ~removed
        if room := _ROOM.search(observation):
            self._room = room[1]
            for name in _NAMED.findall(room[2]):
                self._room_of[name] = self._room
            if self._room in self._unvisited:
                self._unvisited.remove(self._room)
            if others := _OTHER_ROOMS.search(observation):
                visited = set(self._room_of.values())
                names = [name for name in _WORDS.findall(others[1]) if name in ROOMS]
                self._unvisited = [name for name in names if name not in visited]
        for on, inside, listed in _CONTENTS.findall(observation):
            receptacle = on or inside
            self._known.add(receptacle)
            for name in _NAMED.findall(listed):
                self._place[name] = receptacle

    def _next(self) -> tuple[str, str, str]:
        for number, chore in enumerate(self._chores):
            command = self._pursue(number, chore)
            if command is not None:
                return command
        return "look", "", ""

    def _pursue(self, number: int, chore: Chore) -> tuple[str, str, str] | None:
        """Return the next command for a chore; None if it is done."""
        target = self._target.get(number)
        placed = {name for name, place in self._place.items() if place == target and self._suits(name, chore)}
        if not chore.in_light and len(placed) >= chore.number:
            return None
        held = self._held
        if held is not None and _kind(held) == chore.thing:
            if chore.marks & SLICED and not self._sliced(held):
                return self._put_down(held)  # it has to lie somewhere to be sliced
            return self._prepare(number, chore, held)
        thing = self._found((chore.thing,), placed)
        if thing is None:
            return self._search((chore.thing,))
        if chore.marks & SLICED and not self._sliced(thing):
            if held is not None and _kind(held) in _BLADES:
                return self._reach(self._place[thing]) or ("slice", thing, held)
            if held is not None:
                return self._put_down(held)
            blade = self._found(_BLADES)
            return self._search(_BLADES) if blade is None else self._fetch(blade)
        return self._put_down(held) if held is not None else self._fetch(thing)

    def _suits(self, name: str, chore: Chore) -> bool:
        return _kind(name) == chore.thing and self._marks.get(name, 0) & chore.marks == chore.marks

    def _sliced(self, name: str) -> bool:
        return bool(self._marks.get(name, 0) & SLICED)

    def _prepare(self, number: int, chore: Chore, held: str) -> tuple[str, str, str]:
        """Return the next command for a thing in hand."""
        for mark, verb, kind in _TOOLS:
            if chore.marks & mark and not self._marks.get(held, 0) & mark:
                tool = self._nearest(kind)
                return self._search(()) if tool is None else self._walk(tool) or (verb, held, tool)
        if chore.in_light:
            lamp = self._found((chore.receptacle,))
            if lamp is None:
                return self._search((chore.receptacle,))
            return self._walk(self._place[lamp]) or ("use", lamp, "")
        target = self._target.get(number) or self._nearest(chore.receptacle)
        if target is None:
            return self._search(())
        self._target[number] = target
        return self._reach(target) or ("move", held, target)

    def _fetch(self, thing: str) -> tuple[str, str, str]:
        place = self._place[thing]
        return self._reach(place) or ("take", thing, place)

    def _put_down(self, held: str) -> tuple[str, str, str]:
        """Return the next command to get a hand free, without a walk where that is possible."""
        places = [name for name in self._room_of if fits(_kind(held), _kind(name))]
        place = min(places, key=lambda name: (name != self._here, *self._way(name)), default=None)
        return self._search(()) if place is None else self._reach(place) or ("move", held, place)

    def _found(self, kinds: Iterable[str], but: Iterable[str] = ()) -> str | None:
        """Return a thing of one of the kinds whose place is known, the nearest."""
        names = [name for name in self._place if _kind(name) in kinds and name not in but]
        return min(names, key=lambda name: (not self._sliced(name), *self._way(self._place[name])), default=None)

    def _nearest(self, kind: str) -> str | None:
        return min((name for name in self._room_of if _kind(name) == kind), key=self._way, default=None)

    def _way(self, receptacle: str) -> tuple[bool, bool, bool]:
        closed = _kind(receptacle) in OPENABLE and receptacle not in self._open
        return self._room_of[receptacle] != self._room, receptacle != self._here, closed

    def _walk(self, receptacle: str) -> tuple[str, str, str] | None:
        """Return the next command on the way to a receptacle; None if the agent is there."""
        if self._here == receptacle:
            return None
        room = self._room_of[receptacle]
        return ("go to", receptacle if room == self._room else room, "")

    def _reach(self, receptacle: str) -> tuple[str, str, str] | None:
        """Return the next command on the way into a receptacle; None if it stands open before the agent."""
        closed = _kind(receptacle) in OPENABLE and receptacle not in self._open
        return self._walk(receptacle) or (("open", receptacle, "") if closed else None)

    def _search(self, kinds: Iterable[str]) -> tuple[str, str, str]:
        """Return the next command in the search for things of these kinds, or for rooms that were not seen yet."""
        kinds = tuple(kinds)
        usual = {place for kind in kinds for place in THINGS[kind].usual}
        places = [
            name for name in self._room_of if name not in self._known and any(fits(kind, _kind(name)) for kind in kinds)
        ]
        if places:
            place = min(places, key=lambda name: (name != self._here, self._room_of[name] != self._room,
                                                  _kind(name) not in usual, *self._way(name)))  # fmt: skip
            return self._reach(place) or ("look", "", "")
        return ("go to", self._unvisited[0], "") if self._unvisited else ("look", "", "")
