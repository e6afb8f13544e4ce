r"""Negotiation: three or four players divide things of several kinds that each values differently, all or nothing.

The values of all things are 10 for each player, as in the game for two, :mod:`gem_envs_games.duels.bargain`; an
agreement needs everyone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGameEnv, SeatedGamePolicy, seat_names

__all__ = ["NegotiationEnv", "NegotiationPolicy"]

_KINDS = ("apples", "books", "coins", "drums")
_WORTH = 10

Bundle: TypeAlias = list[int]
"""Of each kind, how many."""


class NegotiationEnv(SeatedGameEnv[re.Match[str]]):
    r"""Propose who gets what, ``\boxed{1 0 2 / 0 1 0 / 1 1 1}``, or ``\boxed{accept}`` the last proposal.

    All players hear the content of ``<say>…</say>``. Rewards: once all other players have accepted a proposal, each
    player's value of the own things, as a share of the value of all; otherwise 0.0.

    Args:
        seats: number of players, 3 or 4.
        kinds: kinds of things, 2 … 4.
        rounds: turns of each player, 2 … 30.
    """

    talks = True
    form = BoxedPattern(r"\s*(?:(accept)|(\d{1,3}(?:[\s,/]+\d{1,3}){3,15}))\s*", re.ASCII | re.IGNORECASE)
    saved = SeatedGameEnv.common | StateFields(
        pool=list[int],
        values=dict[str, list[int]],
        proposal=list[list[int]] | None,
        agreed=int,
        asked=dict[str, list[int]],
    )

    def __init__(self, seats: int = 3, kinds: int = 3, rounds: int = 6) -> None:
        super().__init__(seat_names(seats, 3, 4))
        self.kinds = _KINDS[: integer("kinds", kinds, minimum=2, maximum=len(_KINDS))]
        self.max_turns = integer("rounds", rounds, minimum=2, maximum=30) * len(self.possible_agents)

    def _deal(self) -> None:
        self.proposal: list[Bundle] | None = None
        """What each player would get."""
        self.agreed = 0
        """The players who have accepted it."""
        self.asked: dict[str, Bundle] = {}
        """What each player last proposed for the own part."""
        players = self.possible_agents
        while True:
            self.pool = [self.rng.randint(1, len(players) + 1) for _ in self.kinds]
            possible = [
                list(values)
                for values in product(range(_WORTH + 1), repeat=len(self.kinds))
                if self._worth(values, self.pool) == _WORTH
            ]
            if len(possible) >= len(players) and sum(self.pool) >= 2 * len(players):
                self.values = dict(zip(players, self.rng.sample(possible, len(players)), strict=True))
                return

    @staticmethod
    def _worth(values: Sequence[int], things: Sequence[int]) -> int:
        return sum(value * number for value, number in zip(values, things, strict=True))

    def _rules(self, player: str) -> str:
        count = len(self.possible_agents)
        example = " / ".join(
            " ".join("2" if one == kind else "0" for kind in range(len(self.kinds))) for one in range(count)
        )
        return (
            f"{count} players divide some things of {len(self.kinds)} kinds: {', '.join(self.kinds)}. Each has values "
            f"of their own for them, which the others do not know; all things together are worth {_WORTH} to each. In "
            "turn, propose who gets how many of each kind, one part for each player, from the first to the last, for "
            f"example \\boxed{{{example}}}; all things must be given away. Or agree to the last proposal with "
            "\\boxed{accept}. It holds once all other players have accepted it one after the other; a new proposal "
            f"takes its place. You may tell all players something with <say>text</say>. There are {self.max_turns} "
            "turns in all; without an agreement everyone gets nothing. You score what your things are worth to you, "
            f"as a share of {_WORTH}."
        )

    def _situation(self, player: str) -> str:
        worth = ", ".join(f"{kind} {value}" for kind, value in zip(self.kinds, self.values[player], strict=True))
        turn = self.turn if self._over else self.turn + 1
        lines = [
            f"Turn {turn} of {self.max_turns}. The things: {self._listed(self.pool)}. Worth to you, each: {worth}."
        ]
        for one, part in self.asked.items():
            lines.append(f"The {one} player last asked for {self._listed(part)}.")
        if self.proposal is not None:
            lines.append(
                f"The proposal: {self._written(self.proposal)}. Accepted by {self.agreed} of {len(self.values) - 1}."
            )
        return "\n".join(lines)

    def _listed(self, things: Sequence[int]) -> str:
        return ", ".join(
            counted(number, kind.removesuffix("s"), kind) for number, kind in zip(things, self.kinds, strict=True)
        )

    @staticmethod
    def _written(parts: Sequence[Sequence[int]]) -> str:
        return " / ".join(" ".join(map(str, part)) for part in parts)

    def _moves(self) -> list[str]:
        count, rng = len(self.possible_agents), self.action_rng
        parts = [[0] * len(self.kinds) for _ in range(count)]
        for kind, number in enumerate(self.pool):
            for _ in range(number):
                parts[rng.randrange(count)][kind] += 1
        return [self._written(parts)] if self.proposal is None else [self._written(parts), "accept"]

    def _move(self, player: str, move: re.Match[str]) -> dict[str, float] | str | None:
        players = self.possible_agents
        if move[1] is not None:
            if self.proposal is None:
                return "there is no proposal to accept."
            self.agreed += 1
            self.event = f"The {player} player accepts."
            if self.agreed == len(players) - 1:
                self.event += " The proposal holds."
                return {
                    one: self._worth(self.values[one], part) / _WORTH
                    for one, part in zip(players, self.proposal, strict=True)
                }
        else:
            numbers = [int(digits) for digits in re.findall(r"\d+", move[2])]
            width = len(self.kinds)
            parts = [numbers[at : at + width] for at in range(0, len(numbers), width)]
            if len(numbers) != width * len(players):
                return f"a proposal has {width} numbers for each of {len(players)} players."
            if [sum(column) for column in zip(*parts, strict=True)] != self.pool:
                return "a proposal gives away all things, and no more."
            self.proposal, self.agreed = parts, 0
            self.asked[player] = parts[players.index(player)]
            self.event = f"The {player} player proposes {self._written(parts)}."
        if self.turn + 1 < self.max_turns:
            return None
        self.event += " No turns are left, and there is no agreement."
        return dict.fromkeys(players, 0.0)

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        players, width = self.possible_agents, len(self.kinds)
        for things in (self.pool, *self.values.values(), *self.asked.values(), *(self.proposal or ())):
            integer("number of kinds", len(things), minimum=width, maximum=width)
        if [*self.values] != players or any(self._worth(one, self.pool) != _WORTH for one in self.values.values()):
            raise ValueError(f"all things are worth {_WORTH} to each of {', '.join(players)}")
        if self.proposal is not None and [sum(column) for column in zip(*self.proposal, strict=True)] != self.pool:
            raise ValueError("a proposal gives away all things, and no more")
        if not self.asked.keys() <= set(players):
            raise ValueError("asked is by player")
        integer("agreed", self.agreed, minimum=0, maximum=len(players) - 1)


class NegotiationPolicy(SeatedGamePolicy):
    """Asks for much at first and for less from turn to turn, and gives the others what they asked for, if it can."""

    def answer(self, observation: str) -> str:
        """Return a proposal, or accept what is worth as much as the own goal of this turn."""

        def numbers(listed: str) -> list[int]:
            return [int(number) for number in re.findall(r"\d+", listed)]

        me = re.findall(r"^You are the (\w+) player\.$", observation, re.MULTILINE)[0]
        turn, pool, values = re.findall(
            r"^Turn (\d+) of \d+\. The things: (.+?)\. Worth to you, each: (.+)\.$", observation, re.M
        )[0]
        things, worth_each = numbers(pool), numbers(values)
        turns = int(re.findall(r"There are (\d+) turns", observation)[0])
        count = int(re.findall(r"^(\d) players divide", observation)[0])
        names = ("first", "second", "third", "fourth")[:count]
        asked = {
            one: numbers(part)
            for one, part in re.findall(r"^The (\w+) player last asked for (.+)\.$", observation, re.MULTILINE)
        }

        def worth(part: Sequence[int]) -> int:
            return sum(value * number for value, number in zip(worth_each, part, strict=True))

        goal = max(8 - 8 * (int(turn) - 1) / max(turns - 2 * count, 1), 1)
        proposed = re.findall(r"^The proposal: (.+)\. Accepted", observation, re.MULTILINE)
        if proposed and worth(numbers(proposed[0].split(" / ")[names.index(me)])) >= goal:
            return "\\boxed{accept}"
        wanted = [
            sum(asked.get(one, [0] * len(things))[kind] for one in names if one != me) for kind in range(len(things))
        ]
        free = [number - others for number, others in zip(things, wanted, strict=True)]
        possible = [part for part in product(*(range(number + 1) for number in things)) if worth(part) >= goal]
        own = min(possible, key=lambda part: (sum(max(n - f, 0) for n, f in zip(part, free, strict=True)), sum(part)))
        left = [number - taken for number, taken in zip(things, own, strict=True)]
        parts = {me: list(own)}
        others = sorted((one for one in names if one != me), key=lambda one: sum(asked.get(one, things)))
        for one in others:
            parts[one] = [
                min(number, rest) for number, rest in zip(asked.get(one, [0] * len(things)), left, strict=True)
            ]
            left = [rest - number for rest, number in zip(left, parts[one], strict=True)]
        for kind, rest in enumerate(left):
            for number in range(rest):
                parts[others[number % len(others)]][kind] += 1
        return f"\\boxed{{{' / '.join(' '.join(map(str, parts[one])) for one in names)}}}"
