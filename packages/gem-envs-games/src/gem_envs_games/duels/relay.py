r"""Relay: guides who each see a part of a map pass messages on, one to the next, and the last player walks unseeing."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SEATS, SeatedGameEnv, SeatedGamePolicy, one_line, seat_names

__all__ = ["RelayEnv", "RelayPolicy"]

_STEPS = {"n": (-1, 0), "e": (0, 1), "s": (1, 0), "w": (0, -1)}
_PIT, _FREE = "#", "."
_PITS = 0.3
"""The share of pits among the cells."""
_LATER = 0.25
"""What each further attempt costs."""

Cell = tuple[int, int]
"""Row and column, from 0."""


class RelayEnv(SeatedGameEnv[re.Match[str]]):
    r"""Guides write ``\boxed{text}``, which the next player alone reads; the last one walks, ``\boxed{n e e}``.

    Rewards: if the walk ends on the goal, 1.0 in the first attempt and 0.25 less in each further one, in equal parts
    for all players; otherwise 0.0.

    Args:
        seats: number of players, 2 … 4.
        size: rows and columns of the map, 3 … 9.
        letters: characters of a message, 10 … 400; what is longer is cut off.
        attempts: walks, 1 … 4.
    """

    form = BoxedPattern(r"([^{}\\]{0,2000})")
    saved = SeatedGameEnv.common | StateFields(
        grid=list[str], start=tuple[int, int], goal=tuple[int, int], heard=list[str]
    )

    def __init__(self, seats: int = 3, size: int = 5, letters: int = 80, attempts: int = 2) -> None:
        super().__init__(seat_names(seats, 2, 4))
        self.size = integer("size", size, minimum=3, maximum=9)
        self.letters = integer("letters", letters, minimum=10, maximum=400)
        self.attempts = integer("attempts", attempts, minimum=1, maximum=4)
        self.max_turns = self.attempts * len(self.possible_agents)

    def _deal(self) -> None:
        cells = [(row, column) for row in range(self.size) for column in range(self.size)]
        while True:
            pits = set(self.rng.sample(cells, round(_PITS * len(cells))))
            self.start, self.goal = self.rng.sample([cell for cell in cells if cell not in pits], 2)
            route = shortest_route(self.size, pits, self.start, self.goal)
            # A route that turns at least twice cannot be walked by keeping to one or two directions.
            if route is not None and len(route) >= self.size and sum(a != b for a, b in pairwise(route)) >= 2:
                break
        self.grid = ["".join(_PIT if (row, c) in pits else _FREE for c in range(self.size)) for row in range(self.size)]
        self.heard = [""] * len(self.possible_agents)
        """The last message to each player."""

    def _band(self, guide: int) -> range:
        """Return the columns that a guide sees."""
        guides = len(self.possible_agents) - 1
        return range(self.size * guide // guides, self.size * (guide + 1) // guides)

    def _rules(self, player: str) -> str:
        count = len(self.possible_agents)
        runner = SEATS[count - 1]
        return (
            f"Relay, {count} players who win together: the {runner} player must walk from the start to the goal on a "
            f"map of {self.size} rows and {self.size} columns, numbered from 1 in the north-west, without leaving it "
            "or stepping into a pit, and sees nothing of it. The map is split into strips of columns; each other "
            "player sees one strip. In turn, each of them writes one message for the next player alone, of at most "
            f"{counted(self.letters, 'character')} (the rest is cut off), for example "
            f"\\boxed{{pits 1,2 3,3; goal 4,1}}. Then the {runner} player walks, for example "
            "\\boxed{n e e s} (north, east, south, west), and must stop on the goal. "
            f"There are {counted(self.attempts, 'attempt')}, each from the start. The goal is worth 1 point in the "
            f"first and {_LATER} less in each further one; each of you scores an equal part, in the first 1/{count}."
        )

    def _situation(self, player: str) -> str:
        place = self.possible_agents.index(player)
        moves = self.turn - self._over  # the attempt of the last move is the one that is over
        attempt = moves // len(self.possible_agents) + 1
        lines = [f"Attempt {attempt} of {self.attempts}."]
        if place + 1 < len(self.possible_agents):
            band = self._band(place)
            lines.append(
                f"You see columns {band[0] + 1} to {band[-1] + 1} ({_PIT} pit, S start, G goal, {_FREE} free):"
            )
            lines += ["".join(self._shown((row, column)) for column in band) for row in range(self.size)]
        if place:
            nothing = "an empty message" if moves >= place else "nothing yet"
            lines.append(f"The {SEATS[place - 1]} player wrote to you: {self.heard[place] or nothing}")
        return "\n".join(lines)

    def _shown(self, cell: Cell) -> str:
        return "S" if cell == self.start else "G" if cell == self.goal else self.grid[cell[0]][cell[1]]

    def _moves(self) -> list[str]:
        if self.to_move != self.possible_agents[-1]:
            return ["go north", "go east", "I do not know"]
        return [" ".join(self.action_rng.choices("nesw", k=self.action_rng.randint(1, 2 * self.size)))]

    def _move(self, player: str, move: re.Match[str]) -> dict[str, float] | str | None:
        place = self.possible_agents.index(player)
        if place + 1 < len(self.possible_agents):
            self.heard[place + 1] = one_line(move[1], self.letters)
            self.event = f"The {player} player wrote a message."
            return None
        steps = move[1].lower().replace(",", " ").split()
        if not steps or any(step not in _STEPS for step in steps):
            return "a walk consists of n, e, s and w, with blanks between."
        reached = self._walk(player, steps)
        last = self.turn + 1 == self.max_turns
        if not (reached or last):
            return None
        worth = 1.0 - _LATER * (self.turn // len(self.possible_agents)) if reached else 0.0
        return dict.fromkeys(self.possible_agents, worth / len(self.possible_agents))

    def _walk(self, player: str, steps: list[str]) -> bool:
        """Walk from the start, set ``event``, and return whether the walk ends on the goal."""
        row, column = self.start
        for number, step in enumerate(steps, 1):
            row, column = row + _STEPS[step][0], column + _STEPS[step][1]
            inside = 0 <= row < self.size and 0 <= column < self.size
            if not inside or self.grid[row][column] == _PIT:
                what = "stepped into a pit" if inside else "left the map"
                self.event = f"The {player} player {what} with step {number}."
                return False
        reached = (row, column) == self.goal
        self.event = f"The {player} player {'has reached' if reached else 'did not stop on'} the goal."
        return reached

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("rows", len(self.grid), minimum=self.size, maximum=self.size)
        if any(len(row) != self.size or row.strip(_PIT + _FREE) for row in self.grid):
            raise ValueError(f"a row has {self.size} cells, each {_PIT} or {_FREE}")
        for row, column in (self.start, self.goal):
            integer("row", row, minimum=0, maximum=self.size - 1)
            integer("column", column, minimum=0, maximum=self.size - 1)
        integer("messages", len(self.heard), minimum=len(self.possible_agents), maximum=len(self.possible_agents))


def shortest_route(size: int, pits: set[Cell], start: Cell, goal: Cell) -> str | None:
    """Return the letters of a shortest route without pits; None if there is none."""
    routes, waiting = {start: ""}, deque([start])
    while waiting:
        cell = waiting.popleft()
        if cell == goal:
            return routes[cell]
        for letter, (down, right) in _STEPS.items():
            beside = cell[0] + down, cell[1] + right
            if beside not in routes and beside not in pits and 0 <= beside[0] < size and 0 <= beside[1] < size:
                routes[beside] = routes[cell] + letter
                waiting.append(beside)
    return None


class RelayPolicy(SeatedGamePolicy):
    """Guides add their cells to those that they heard, as ``S24 G51 P12 …``; the last one writes the route instead."""

    def answer(self, observation: str) -> str:
        """Return a message, or the walk that was heard."""
        me = re.findall(r"^You are the (\w+) player\.$", observation, re.MULTILINE)[0]
        players, size = map(int, re.findall(r"^Relay, (\d) players.*?map of (\d) rows", observation)[0])
        heard = "".join(re.findall(r"wrote to you: (.*)$", observation, re.MULTILINE))
        if SEATS.index(me) == players - 1:
            steps = [step for step in heard.split() if step in _STEPS]
            return f"\\boxed{{{' '.join(steps) or 'n'}}}"
        known = re.findall(r"\b([SGP])(\d)(\d)\b", heard)
        first = int(re.findall(r"^You see columns (\d)", observation, re.MULTILINE)[0])
        rows = re.findall(rf"^([{_PIT}{_FREE}SG]{{1,9}})$", observation, re.MULTILINE)
        for row, cells in enumerate(rows, 1):
            for column, shown in enumerate(cells, first):
                if shown != _FREE:
                    known.append(("P" if shown == _PIT else shown, str(row), str(column)))
        if SEATS.index(me) < players - 2:
            return f"\\boxed{{{' '.join(map(''.join, known))}}}"
        at = {kind: {(int(row) - 1, int(column) - 1) for one, row, column in known if one == kind} for kind in "SGP"}
        if not (at["S"] and at["G"]):  # another player did not pass them on
            return "\\boxed{n}"
        return f"\\boxed{{{' '.join(shortest_route(size, at['P'], min(at['S']), min(at['G'])) or 'n')}}}"
