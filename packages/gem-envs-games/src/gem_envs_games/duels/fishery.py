r"""Fishery: three to six players fish one stock at the same time, which grows with what they leave in the sea.

A common pool after Hardin, "The Tragedy of the Commons", Science 162 (1968), with voluntary contributions to a hatchery
that repair what was overfished.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gem.action_forms import BoxedNumbers, read_move
from gem.arguments import boolean, choice, integer
from gem.errors import NotSupportedError
from gem.multiagent.env import AgentsStepResult
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import FORFEIT, NO_MOVE, SEATS, SeatedGameEnv, SeatedGamePolicy, seat_names

__all__ = ["FisheryEnv", "FisheryPolicy", "most_fish"]

_ROOM = (8, 15)
"""Fish for each player that the sea feeds, least and most."""
_GROWTH = (3, 4, 5)
"""What every two fish that stay become."""
_MOST_SAID = 9999
"""The highest number that is read as a catch, however many fish a boat holds."""


class FisheryEnv(SeatedGameEnv[tuple[int, ...]]):
    r"""Catch and give with ``\boxed{catch give}``, all at once. All hear the content of ``<say>…</say>``.

    Rewards, at the end: the own fish, as a share of an equal part of the most that all players can have together. One
    who takes more than a part of that earns more than 1.0 where the others take less. A forfeit ends the game, and the
    others keep their fish.

    Args:
        seats: number of players, 3 … 6.
        seasons: steps, 2 … 50.
        open_books: whether all see what each caught and gave; otherwise only the stock and the total.
    """

    talks = True
    after_forfeit = "scores the fish that they keep, for that season is not fished"
    saved = SeatedGameEnv.common | StateFields(
        room=int, growth=int, boats=dict[str, int], stock=int, first=int, fish=dict[str, int], own=dict[str, str]
    )

    def __init__(self, seats: int = 4, seasons: int = 10, open_books: bool = False) -> None:
        super().__init__(seat_names(seats, 3, 6), mode="parallel")
        self.max_turns = integer("seasons", seasons, minimum=2, maximum=50)
        self.open_books = boolean("open_books", open_books)
        self.form = BoxedNumbers((0, _MOST_SAID), (0, _MOST_SAID))

    def _deal(self) -> None:
        part = self.rng.randint(*_ROOM)
        self.room = part * len(self.possible_agents)
        self.growth = self.rng.choice(_GROWTH)
        self.boats = {player: self.rng.randint(2 * part, 5 * part) for player in self.possible_agents}
        """Of each player the most that a catch can be."""
        self.first = self.stock = self.rng.randint(self.room // 2, self.room)
        self.fish = dict.fromkeys(self.possible_agents, 0)
        self.own = dict.fromkeys(self.possible_agents, "")
        """What each player hears of the own catch."""

    def _acts(self, player: str) -> bool:
        return not self._over

    def _rules(self, player: str) -> str:
        count = len(self.possible_agents)
        seen = (
            "Everyone sees what each caught and gave" if self.open_books else "Nobody sees what another caught or gave"
        )
        boats = ", ".join(f"{player} {most}" for player, most in self.boats.items())
        return (
            f"{count} players fish in one sea for {self.max_turns} seasons, all at the same time. Each season, write "
            "how many fish you want to catch and how many of those you give to the hatchery, for example "
            "\\boxed{3 1}. A catch is at most what the boat holds. If all together want more than there are, each gets "
            "a part in proportion, rounded down. Every two fish that stay in the sea become "
            f"{self.growth}, and every two that were given become 3, both rounded down; the sea never holds more than "
            f"{self.room} fish, and without any the game ends. {seen}; all see the stock. You may tell the others "
            "something with <say>text</say>, which they hear after the season. You score the fish that you keep, as a "
            f"share of what an equal part of the best total would be. The boats hold: {boats}."
        )

    def _situation(self, player: str) -> str:
        season = self.turn if self._over else self.turn + 1
        return (
            f"Season {season} of {self.max_turns}. The stock: {self.stock} fish. Your fish: {self.fish[player]}. "
            f"{self.own[player]}".rstrip()
        )

    def _moves(self) -> list[str]:
        raise NotSupportedError("all players move at once; ask for a random action")

    def _random_action(self, agent: str) -> str:
        catch = self.action_rng.randint(0, self.boats[agent])
        return f"\\boxed{{{catch} {self.action_rng.randint(0, catch)}}}"

    def _move(self, player: str, move: tuple[int, ...]) -> dict[str, float] | str | None:
        if move[0] > self.boats[player]:
            return f"the boat holds {self.boats[player]} fish."
        return "nobody gives more than the own catch." if move[1] > move[0] else None

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        moves = {player: read_move(self.form, action) for player, action in actions.items()}
        self.turn += 1
        faults = {
            player: NO_MOVE if move is None else str(self._move(player, move))
            for player, move in moves.items()
            if move is None or self._move(player, move)
        }
        statuses = {
            player: "legal" if player not in faults else "malformed" if moves[player] is None else "illegal"
            for player in moves
        }
        if faults:
            self.events = [f"The {player} player forfeits: {reason}" for player, reason in faults.items()]
            return self._ended({**self._shares(), **dict.fromkeys(faults, FORFEIT)}, statuses)
        self._season({player: move for player, move in moves.items() if move is not None})
        self.events += [said.strip() for player, action in actions.items() if (said := self._says(player, action))]
        if self.turn < self.max_turns and self.stock:
            return {}, {}, {}, {}, {player: {"action_status": "legal"} for player in moves}
        return self._ended(self._shares(), statuses)

    def _shares(self) -> dict[str, float]:
        """Return the fish of each player, as a share of an equal part of the best total."""
        part = most_fish(self.room, self.growth, self.max_turns, self.first) / len(self.possible_agents)
        return {player: fish / part for player, fish in self.fish.items()}

    def _season(self, moves: dict[str, tuple[int, ...]]) -> None:
        wanted, before = sum(catch for catch, _ in moves.values()), self.stock
        caught = total = given = 0
        books = []
        for player, (catch, give) in moves.items():
            caught = catch if wanted <= before else catch * before // wanted
            give = min(give, caught)
            total, given = total + caught, given + give
            self.fish[player] += caught - give
            self.own[player] = f"Last season you caught {caught} and gave {give}."
            books.append(f"{player} {caught} and {give}")
        self.stock = min(self.room, self.growth * (before - total) // 2 + 3 * given // 2)
        shown = f" Caught and given: {'; '.join(books)}." if self.open_books else ""
        self.events = [
            f"Season {self.turn} is over: of {before} fish, {total} {'was' if total == 1 else 'were'} caught, and of "
            f"these {given} {'was' if given == 1 else 'were'} given.{shown}"
        ]
        if not self.stock:
            self.events[0] += " No fish are left."

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        count = len(self.possible_agents)
        integer("room", self.room, minimum=_ROOM[0] * count, maximum=_ROOM[1] * count)
        choice("growth", self.growth, _GROWTH)
        integer("stock", self.stock, minimum=0, maximum=self.room)
        integer("first", self.first, minimum=1, maximum=self.room)
        if [*self.boats] != self.possible_agents or min(self.boats.values()) < self.room // count:
            raise ValueError(f"boats are those of {', '.join(self.possible_agents)}, each for a part of the room")
        if [*self.fish] != self.possible_agents or [*self.own] != self.possible_agents or min(self.fish.values()) < 0:
            raise ValueError(f"fish are those of {', '.join(self.possible_agents)}")


@lru_cache(maxsize=1024)
def _best_totals(room: int, growth: int, seasons: int) -> tuple[tuple[int, int], ...]:
    """Return for each stock the most fish of so many seasons, and how many to leave for it in the first one."""
    if seasons == 1:
        return tuple((now, 0) for now in range(room + 1))
    later = _best_totals(room, growth, seasons - 1)
    return tuple(
        max((now - left + later[min(room, growth * left // 2)][0], -left) for left in range(now + 1))
        for now in range(room + 1)
    )


def most_fish(room: int, growth: int, seasons: int, stock: int) -> int:
    """Return the most fish that all players can catch and keep together.

    Fish that are left grow at least as much as those that are given, so that the best total has no gifts: a dynamic
    program over the stock.
    """
    return _best_totals(room, growth, seasons)[stock][0]


class FisheryPolicy(SeatedGamePolicy):
    """Takes an equal part of what the best total of all players leaves to catch."""

    def answer(self, observation: str) -> str:
        """Return the catch; the players with the first names catch the fish that do not divide."""
        count, seasons = map(int, re.findall(r"^(\d) players fish in one sea for (\d+) seasons", observation)[0])
        growth = int(re.findall(r"stay in the sea become (\d)", observation)[0])
        room = int(re.findall(r"never holds more than (\d+) fish", observation)[0])
        season, stock = map(int, re.findall(r"^Season (\d+) of \d+\. The stock: (\d+) fish", observation, re.M)[0])
        place = SEATS.index(re.findall(r"^You are the (\w+) player\.$", observation, re.MULTILINE)[0])
        total = stock + _best_totals(room, growth, seasons - season + 1)[stock][1]
        return f"\\boxed{{{total // count + (place < total % count)} 0}}"
