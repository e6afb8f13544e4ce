"""The rules: what is where, what a command does, and what the agent sees of it.

They are those of ALFWorld's planning domain (``alfred.pddl`` in the package ``alfworld``). An agent carries one thing.
It heats with a microwave, cools with a fridge and cleans with a sinkbasin what it carries, without opening them; heat
and cold undo each other. It slices what is at hand with the knife that it carries.

ALFWorld differs in these points, which ``as_alfworld`` keeps:

* a lamp that was turned on stays on, and can be turned on again;
* what lies in a closed receptacle can be sliced, and what is sliced can be sliced again;
* only what is carried can be examined;
* ``look`` shows no things, and in the middle of the room no receptacles;
* things lie "on" a sinkbasin and a garbagecan, not in them, and what is cool alone is "cold";
* the indefinite article is always "a", two names have a comma before "and", and slicing is told in the past tense.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gem_envs_house.catalogue import (
    BLADE,
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    LAMP,
    PORTABLE,
    SLICEABLE,
    a,
    preposition,
)
from gem_envs_house.commands import HELP, Command
from gem_envs_house.house import CLEAN, COOL, HELD, HOT, MIDDLE, ON, SLICED, Chore, House

__all__ = ["NOTHING", "Situation"]

NOTHING = "Nothing happens."
_IN_A_ROOM = "You are in the middle of a room. Looking quickly around you, you see"
_TREATMENTS = {
    "heat": (HEATABLE, "microwave", HOT, COOL),
    "cool": (COOLABLE, "fridge", COOL, HOT),
    "clean": (CLEANABLE, "sinkbasin", CLEAN, 0),
}
"""Verb → ability needed, kind of receptacle needed, mark that is set, mark that is removed."""


class Situation:
    """A house during an episode.

    Args:
        house: the house at the start.
        explain: give the reason for which a command is impossible, and not only "Nothing happens."
        as_alfworld: keep the quirks of ALFWorld.

    Attributes:
        room: number of the room in which the agent is.
        spot: where it stands there, or ``MIDDLE``.
        opened: for each receptacle, whether it is open.
        places: for each thing, the number of its receptacle, or ``HELD``.
        marks: for each thing, its marks.
    """

    def __init__(self, house: House, explain: bool = True, as_alfworld: bool = False) -> None:
        self.house = house
        self.explain = explain
        self.as_alfworld = as_alfworld
        self.room = house.start
        self.spot = house.spot
        self.opened = [number in house.opened for number in range(len(house.receptacles))]
        self.places = [thing.place for thing in house.things]
        self.marks = [thing.marks for thing in house.things]
        self._receptacles = {receptacle.name: number for number, receptacle in enumerate(house.receptacles)}
        self._things = {thing.name: number for number, thing in enumerate(house.things)}
        self._rooms = {name: number for number, name in enumerate(house.rooms)} if len(house.rooms) > 1 else {}

    @property
    def held(self) -> int | None:
        """The thing that the agent carries."""
        return self.places.index(HELD) if HELD in self.places else None

    def do(self, command: Command) -> tuple[str, bool]:
        """Carry out a command; return what the agent is told, and whether anything could be done."""
        verb, first, second = command
        if verb == "go":
            return self._go(first)
        if verb == "look":
            return self.look(), True
        if verb == "inventory":
            held = self.held
            return (
                "You are not carrying anything."
                if held is None
                else f"You are carrying: {self._listed([self.house.things[held].name])}."
            ), True
        if verb == "help":
            return f"Available commands:\n{HELP}", True
        if verb == "examine":
            return self._examine(first)
        if verb == "use":
            return self._use(first)
        if verb in ("open", "close"):
            return self._open(verb, first)
        if verb == "take":
            return self._take(first, second)
        if verb == "move":
            return self._move(first, second)
        if verb == "slice":
            return self._slice(first, second)
        return self._treat(verb, first, second)

    def look(self) -> str:
        """Return what the agent sees around it."""
        if self.spot == MIDDLE:
            return f"{_IN_A_ROOM} nothing." if self.as_alfworld else self.overview()
        here = self._here()
        facing = f"You are facing the {self._joined([self.house.receptacles[number].name for number in here])}."
        if self.as_alfworld:
            return f"{facing} Next to it, you see nothing."
        return " ".join([facing, *map(self.contents, here)])

    def overview(self) -> str:
        """Return the receptacles of the room, and the other rooms of the house."""
        house, rooms = self.house, self.house.rooms
        names = self._listed([one.name for one in house.receptacles if one.room == self.room])
        if self.as_alfworld:
            return f"{_IN_A_ROOM} {names}."
        where = f"the {rooms[self.room]}" if len(rooms) > 1 else a(rooms[0])
        text = f"You are in the middle of {where}. Looking quickly around you, you see {names}."
        if len(rooms) > 1:
            others = [f"the {name}" for number, name in enumerate(rooms) if number != self.room]
            text += f" From here you can go to {self._joined(others)}."
        return text

    def contents(self, receptacle: int) -> str:
        """Return what the agent sees in, or on, a receptacle before it."""
        kind, name, openable, *_ = self.house.receptacles[receptacle]
        if openable and not self.opened[receptacle]:
            return f"The {name} is closed."
        things = self.house.things
        inside = self._listed([things[number].name for number, place in enumerate(self.places) if place == receptacle])
        if openable:
            return f"The {name} is open. In it, you see {inside}."
        where = "on" if self.as_alfworld else preposition(kind)
        return f"{where.capitalize()} the {name}, you see {inside}."

    def holds(self, chore: Chore) -> bool:
        """Return whether a chore is done at this moment."""
        house, wanted = self.house, chore.marks
        if chore.in_light:
            held = self.held
            return held is not None and house.things[held].kind == chore.thing and self._lit(chore.receptacle)
        found: dict[int, int] = {}
        for number, place in enumerate(self.places):
            if (
                place >= 0
                and house.things[number].kind == chore.thing
                and house.receptacles[place].kind == chore.receptacle
                and self.marks[number] & wanted == wanted
            ):
                found[place] = found.get(place, 0) + 1
        return max(found.values(), default=0) >= chore.number

    def possible(self) -> list[Command]:
        """Return every command that would do something, but ``help``."""
        house, here = self.house, self._here()
        commands = [
            Command("go", one.name)
            for one in house.receptacles
            if one.room == self.room and (one.spot != self.spot or self.spot == MIDDLE)
        ]
        commands += [Command("go", name) for name, number in self._rooms.items() if number != self.room]
        commands += [Command("look"), Command("inventory")]
        held = self.held
        reached = self._reached()
        for number in here:
            kind, name, openable, *_ = house.receptacles[number]
            commands.append(Command("examine", name))
            if openable:
                commands.append(Command("close" if self.opened[number] else "open", name))
            if held is None:
                continue
            thing = house.things[held]
            if self._is_open(number) and (thing.kind, kind) in house.accepted:
                commands.append(Command("move", thing.name, name))
            commands += [
                Command(verb, thing.name, name)
                for verb, (ability, tool, *_) in _TREATMENTS.items()
                if kind == tool and ability in thing.abilities
            ]
        for number in reached:
            thing = house.things[number]
            if not self.as_alfworld:
                commands.append(Command("examine", thing.name))
            if held is None and PORTABLE in thing.abilities:
                commands.append(Command("take", thing.name, house.receptacles[self.places[number]].name))
        if held is not None:
            commands.append(Command("examine", house.things[held].name))
        for number in self._at_hand():
            thing = house.things[number]
            if LAMP in thing.abilities:
                commands.append(Command("use", thing.name))
            if held is not None and BLADE in house.things[held].abilities and self._can_slice(number):
                commands.append(Command("slice", thing.name, house.things[held].name))
        return commands

    def _here(self) -> Sequence[int]:
        if self.spot == MIDDLE:
            return ()
        return [number for number, one in enumerate(self.house.receptacles) if one.spot == self.spot]

    def _is_open(self, receptacle: int) -> bool:
        return self.opened[receptacle] or not self.house.receptacles[receptacle].openable

    def _reached(self) -> Sequence[int]:
        """Return the things that lie visible before the agent."""
        here = {number for number in self._here() if self._is_open(number)}
        return [number for number, place in enumerate(self.places) if place in here]

    def _examined(self) -> Sequence[int]:
        """Return the things that can be examined without being carried."""
        return () if self.as_alfworld else self._reached()

    def _at_hand(self) -> Sequence[int]:
        """Return the things that can be sliced or switched."""
        if not self.as_alfworld:
            return self._reached()
        here = self._here()
        return [number for number, place in enumerate(self.places) if place in here]

    def _can_slice(self, number: int) -> bool:
        abilities = self.house.things[number].abilities
        return SLICEABLE in abilities and (self.as_alfworld or not self.marks[number] & SLICED)

    def _lit(self, lamp: str) -> bool:
        things, here = self.house.things, self._here()
        return any(
            things[number].kind == lamp and self.marks[number] & ON and place in here
            for number, place in enumerate(self.places)
        )

    def _listed(self, names: Iterable[str]) -> str:
        return self._joined([f"a {name}" if self.as_alfworld else a(name) for name in names])

    def _joined(self, items: Sequence[str]) -> str:
        if len(items) < 2:
            return items[0] if items else "nothing"
        comma = "," if self.as_alfworld or len(items) > 2 else ""
        return f"{', '.join(items[:-1])}{comma} and {items[-1]}"

    def _impossible(self, reason: str) -> tuple[str, bool]:
        return (f"{NOTHING} {reason}" if self.explain else NOTHING), False

    def _unseen(self, name: str) -> tuple[str, bool]:
        thing, receptacle = self._things.get(name), self._receptacles.get(name)
        if thing is not None and (self.places[thing] == HELD or thing in self._reached()):
            return self._impossible(f"The {name} is a thing, not a place.")
        if receptacle is not None and self.house.receptacles[receptacle].room == self.room:
            return self._impossible(f"The {name} is a place, not a thing.")
        # The same for a thing out of sight and for one that does not exist, so that nothing is given away.
        return self._impossible(f"You see no {name} here.")

    def _go(self, name: str) -> tuple[str, bool]:
        number = self._receptacles.get(name)
        if number is None or self.house.receptacles[number].room != self.room:
            room = self._rooms.get(name)
            if room is None:
                return self._unseen(name)
            if room == self.room:
                return self._impossible(f"You are already in the {name}.")
            self.room, self.spot = room, MIDDLE
            return self.overview(), True
        spot = self.house.receptacles[number].spot
        if spot == self.spot:
            return self._impossible(f"You are already at the {name}.")
        self.spot = spot
        return f"You arrive at {name}. {self.contents(number)}", True

    def _receptacle_here(self, name: str) -> tuple[int, tuple[str, bool] | None]:
        """Return a receptacle before the agent; or an answer that says why there is none."""
        number = self._receptacles.get(name)
        if number is None or self.house.receptacles[number].room != self.room:
            return -1, self._unseen(name)
        if self.house.receptacles[number].spot != self.spot:
            return -1, self._impossible(f"You are not at the {name}.")
        return number, None

    def _examine(self, name: str) -> tuple[str, bool]:
        thing = self._things.get(name)
        if thing is not None and (self.places[thing] == HELD or thing in self._examined()):
            return self._described(thing), True
        if name not in self._receptacles:
            return self._unseen(name)
        number, refusal = self._receptacle_here(name)
        return refusal or (self.contents(number), True)

    def _described(self, number: int) -> str:
        marks, (_, name, abilities, *_) = self.marks[number], self.house.things[number]
        if LAMP in abilities:
            return f"This {name} is {'on' if marks & ON else 'off'}."
        states = [word for bit, word in ((HOT, "hot"), (COOL, "cool"), (CLEAN, "clean")) if marks & bit]
        if marks == COOL and self.as_alfworld:
            states = ["cold"]
        if not marks:
            return f"There's nothing special about {name}."
        words = " ".join(filter(None, (" and ".join(states), "sliced" if marks & SLICED else "")))
        return f"This is a {words} {name}."

    def _use(self, name: str) -> tuple[str, bool]:
        number = self._things.get(name)
        if number is None or number not in self._at_hand():
            held = number is not None and self.places[number] == HELD
            return self._impossible(f"There is no switch on the {name}.") if held else self._unseen(name)
        if LAMP not in self.house.things[number].abilities:
            return self._impossible(f"There is no switch on the {name}.")
        if self.marks[number] & ON and not self.as_alfworld:
            self.marks[number] &= ~ON
            return f"You turn off the {name}.", True
        self.marks[number] |= ON
        return f"You turn on the {name}.", True

    def _open(self, verb: str, name: str) -> tuple[str, bool]:
        number, refusal = self._receptacle_here(name)
        if refusal:
            return refusal
        if not self.house.receptacles[number].openable:
            return self._impossible(f"The {name} has no door or lid.")
        opens = verb == "open"
        if self.opened[number] is opens:
            return self._impossible(f"The {name} is already {'open' if opens else 'closed'}.")
        self.opened[number] = opens
        return (f"You open the {name}. {self.contents(number)}" if opens else f"You close the {name}."), True

    def _take(self, name: str, source: str) -> tuple[str, bool]:
        place, refusal = self._receptacle_here(source)
        if refusal:
            return refusal
        if not self._is_open(place):
            return self._impossible(f"The {source} is closed.")
        number = self._things.get(name)
        if number is None or self.places[number] != place:
            return self._impossible(
                f"You see no {name} {preposition(self.house.receptacles[place].kind)} the {source}."
            )
        if PORTABLE not in self.house.things[number].abilities:
            return self._impossible(f"The {name} has to stay where it is.")
        if self.held is not None:
            return self._impossible(f"You already carry the {self.house.things[self.held].name}.")
        self.places[number] = HELD
        return f"You pick up the {name} from the {source}.", True

    def _carried(self, name: str) -> tuple[int, tuple[str, bool] | None]:
        number = self._things.get(name)
        if number is None or self.places[number] != HELD:
            return -1, self._impossible(f"You are not carrying the {name}.")
        return number, None

    def _move(self, name: str, target: str) -> tuple[str, bool]:
        number, refusal = self._carried(name)
        if refusal:
            return refusal
        place, refusal = self._receptacle_here(target)
        if refusal:
            return refusal
        if not self._is_open(place):
            return self._impossible(f"The {target} is closed.")
        if (self.house.things[number].kind, self.house.receptacles[place].kind) not in self.house.accepted:
            return self._impossible(
                f"You cannot put the {name} {preposition(self.house.receptacles[place].kind)} the {target}."
            )
        self.places[number] = place
        return f"You move the {name} to the {target}.", True

    def _treat(self, verb: str, name: str, tool: str) -> tuple[str, bool]:
        number, refusal = self._carried(name)
        if refusal:
            return refusal
        receptacle, refusal = self._receptacle_here(tool)
        if refusal:
            return refusal
        ability, kind, added, removed = _TREATMENTS[verb]
        if self.house.receptacles[receptacle].kind != kind:
            return self._impossible(f"You cannot {verb} anything with the {tool}.")
        if ability not in self.house.things[number].abilities:
            return self._impossible(f"The {name} cannot be {verb}ed.")
        self.marks[number] = (self.marks[number] | added) & ~removed
        return f"You {verb} the {name} using the {tool}.", True

    def _slice(self, name: str, blade: str) -> tuple[str, bool]:
        knife, refusal = self._carried(blade)
        if refusal:
            return refusal
        if BLADE not in self.house.things[knife].abilities:
            return self._impossible(f"The {blade} is too blunt.")
        number = self._things.get(name)
        if number == knife:
            return self._impossible(f"You cannot slice the {name} with itself.")
        if number is None or number not in self._at_hand():
            return self._unseen(name)
        if SLICEABLE not in self.house.things[number].abilities:
            return self._impossible(f"The {name} cannot be sliced.")
        if not self._can_slice(number):
            return self._impossible(f"The {name} is already sliced.")
        self.marks[number] |= SLICED
        return f"You {'sliced' if self.as_alfworld else 'slice'} the {name} with the {blade}.", True
