r"""Fishery: three to six players fish one stock at the same time, which grows with what they leave in the sea.

A common pool after Hardin, "The Tragedy of the Commons", Science 162 (1968), with voluntary contributions to a hatchery
that repair what was overfished.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gem.action_forms import BoxedNumbers, read_move
from gem.arguments import boolean, integer
from gem.counts import counted
from gem.multiagent.env import AgentsStepResult
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import FORFEIT, SEATS, SeatedGameEnv, SeatedGamePolicy, seats

__all__ = ["FisheryEnv", "FisheryPolicy", "most_fish"]

_ROOM = 10
"""Fish for each player that the sea feeds."""


class FisheryEnv(SeatedGameEnv[tuple[int, ...]]):
    r"""Catch and give with ``\boxed{catch give}``, all at once. All hear the content of ``<say>…</say>``.

    Rewards, at the end: the own fish, as a share of an equal part of the most that all players can have together. One
    who takes more than a part of that earns more than 1.0 where the others take less.

    Args:
        seats: number of players, 3 … 6.
        seasons: steps, 2 … 50.
        open_books: whether all see what each caught and gave; otherwise only the stock and the total.
    """

    talks = True
    saved = SeatedGameEnv.common | StateFields(stock=int, first=int, fish=dict[str, int], own=dict[str, str])

    def __init__(self, seats: int = 4, seasons: int = 10, open_books: bool = False) -> None:
        super().__init__(_seats(seats), mode="parallel")
        self.room = _ROOM * len(self.possible_agents)
        self.max_turns = integer("seasons", seasons, minimum=2, maximum=50)
        self.open_books = boolean("open_books", open_books)
        self.form = BoxedNumbers((0, self.room), (0, self.room))

    def _deal(self) -> None:
        self.first = self.stock = self.rng.randint(self.room // 2, self.room)
        self.fish = dict.fromkeys(self.possible_agents, 0)
        self.own = dict.fromkeys(self.possible_agents, "")
        """What each player hears of the own catch."""

    def _acts(self, player: str) -> bool:
        return not self._over

    def _rules(self) -> str:
        count = len(self.possible_agents)
        seen = (
            "Everyone sees what each caught and gave" if self.open_books else "Nobody sees what another caught or gave"
        )
        return (
            f"{count} players fish in one sea for {self.max_turns} seasons, all at the same time. Each season, write "
            "how many fish you want to catch and how many of those you give to the hatchery, for example \\boxed{3 "
            "1}. If all together want more than there are, each gets a part in proportion, rounded down. The fish "
            "that stay in the sea double, and every two that were given become three; the sea never holds more than "
            f"{self.room} fish. {seen}; all see the stock. You may tell the others something with <say>text</say>, "
            "which they hear after the season. You score the fish that you keep, as a share of what an equal part of "
            "the best total would be."
        )

    def _situation(self, player: str) -> str:
        season = self.turn if self._over else self.turn + 1
        return (
            f"Season {season} of {self.max_turns}. The stock: {self.stock} fish. Your fish: {self.fish[player]}. "
            f"{self.own[player]}".rstrip()
        )

    def _moves(self) -> list[str]:
        catch = self.action_rng.randint(0, self.room)
        return [f"{catch} {self.action_rng.randint(0, catch)}"]

    def _move(self, player: str, move: tuple[int, ...]) -> dict[str, float] | str | None:
        return "nobody gives more than the own catch." if move[1] > move[0] else None

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        moves = {player: read_move(self.form, action) for player, action in actions.items()}
        self.turn += 1
        faults = {
            player: "no move was found." if move is None else str(self._move(player, move))
            for player, move in moves.items()
            if move is None or self._move(player, move)
        }
        statuses = {
            player: "legal" if player not in faults else "malformed" if moves[player] is None else "illegal"
            for player in moves
        }
        if faults:
            self.events = [f"The {player} player forfeits: {reason}" for player, reason in faults.items()]
            return self._ended(dict.fromkeys(faults, FORFEIT), statuses)
        self._season({player: move for player, move in moves.items() if move is not None})
        self.events += [said.strip() for player, action in actions.items() if (said := self._says(player, action))]
        if self.turn < self.max_turns and self.stock:
            return {}, {}, {}, {}, {player: {"action_status": "legal"} for player in moves}
        part = most_fish(self.room, self.max_turns, self.first) / len(self.possible_agents)
        return self._ended({player: fish / part for player, fish in self.fish.items()}, statuses)

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
        self.stock = min(self.room, 2 * (before - total) + 3 * given // 2)
        shown = f" Caught and given: {'; '.join(books)}." if self.open_books else ""
        self.events = [
            f"Season {self.turn} is over: {counted(before, 'fish', 'fish')} were there, {total} were caught and "
            f"{given} of these given.{shown}"
        ]
        if not self.stock:
            self.events[0] += " No fish are left."

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("stock", self.stock, minimum=0, maximum=self.room)
        integer("first", self.first, minimum=1, maximum=self.room)
        if [*self.fish] != self.possible_agents or [*self.own] != self.possible_agents or min(self.fish.values()) < 0:
            raise ValueError(f"fish are those of {', '.join(self.possible_agents)}")


def _seats(number: int) -> tuple[str, ...]:
    return seats(number, 3, 6)


@lru_cache(maxsize=256)
def most_fish(room: int, seasons: int, stock: int) -> int:
    """Return the most fish that all players can catch and keep together.

    Of two fish that are left in the sea four come, and of two that are given three, so that the best total has no
    gifts: a dynamic program over the stock. What stays, ``left``, gives ``min(room, 2 · left)``; more than half of the
    room is never left.
    """
    best = list(range(room + 1))
    for _ in range(seasons - 1):
        best = [
            max(now - left + best[min(room, 2 * left)] for left in range(min(now, room // 2) + 1))
            for now in range(room + 1)
        ]
    return best[stock]


class FisheryPolicy(SeatedGamePolicy):
    """Leaves half of the sea's room, an equal part of the rest for each; in the last season nothing."""

    def answer(self, observation: str) -> str:
        """Return the catch; the players with the first names catch the fish that do not divide."""
        count, seasons = map(int, re.findall(r"^(\d) players fish in one sea for (\d+) seasons", observation)[0])
        room = int(re.findall(r"never holds more than (\d+) fish", observation)[0])
        season, stock = map(int, re.findall(r"^Season (\d+) of \d+\. The stock: (\d+) fish", observation, re.M)[0])
        place = SEATS.index(re.findall(r"^You are the (\w+) player\.$", observation, re.MULTILINE)[0])
        total = stock if season == seasons else max(stock - room // 2, 0)
        return f"\\boxed{{{total // count + (place < total % count)} 0}}"
