r"""Bargain: two players divide things that each of them values differently, and neither knows the other's values.

After Lewis et al., "Deal or No Deal? End-to-End Learning for Negotiation Dialogues" (EMNLP 2017): the values of all
things are 10 for each player, and without an agreement nobody gets anything.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGamePolicy
from gem_envs_games.duels.two_players import PLAYERS, TwoPlayerEnv

__all__ = ["BargainEnv", "BargainPolicy"]

_KINDS = ("books", "hats", "balls")
_WORTH = 10


class BargainEnv(TwoPlayerEnv[re.Match[str]]):
    r"""Say what you want with ``\boxed{books hats balls}``, or ``\boxed{accept}`` what the other player left.

    The other player hears the content of ``<say>…</say>``. Rewards: after an agreement each player's value of the own
    things, as a share of the value of all; otherwise 0.0.

    Args:
        max_turns: proposals and acceptances of both players together, 2 … 100.
    """

    talks = True
    form = BoxedPattern(r"\s*(?:(accept)|(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3}))\s*", re.ASCII | re.IGNORECASE)
    saved = TwoPlayerEnv.common | StateFields(pool=list[int], values=dict[str, list[int]], offer=list[int] | None)

    def __init__(self, max_turns: int = 10) -> None:
        super().__init__()
        self.max_turns = integer("max_turns", max_turns, minimum=2, maximum=100)

    def _deal(self) -> None:
        self.offer: list[int] | None = None
        """What the player who spoke last wants."""
        while True:
            self.pool = [self.rng.randint(1, 4) for _ in _KINDS]
            possible = [
                list(values) for values in product(range(_WORTH + 1), repeat=3) if self._worth(values) == _WORTH
            ]
            if 5 <= sum(self.pool) <= 8 and len(possible) > 1:
                self.values = dict(zip(PLAYERS, self.rng.sample(possible, 2), strict=True))
                return

    def _worth(self, values: Any) -> int:
        return sum(count * value for count, value in zip(self.pool, values, strict=True))

    def _rules(self, player: str) -> str:
        return (
            "Two players divide some things. Each has values of their own for them, which the other does not know; all "
            f"things together are worth {_WORTH} to each. In turn, propose what you want yourself, for example "
            "\\boxed{1 0 2} for 1 book, 0 hats and 2 balls; the other player would get the rest. Or agree to the "
            "other's last proposal with \\boxed{accept}. You may tell the other player something with "
            f"<say>text</say>. There are {self.max_turns} turns in all; without an agreement both get nothing. You "
            f"score what your things are worth to you, as a share of {_WORTH}."
        )

    def _situation(self, player: str) -> str:
        worth = ", ".join(f"{kind} {value}" for kind, value in zip(_KINDS, self.values[player], strict=True))
        turn = self.turn if self._over else self.turn + 1
        return f"Turn {turn} of {self.max_turns}. The things: {_listed(self.pool)}. Worth to you, each: {worth}."

    def _moves(self) -> list[str]:
        offers = [" ".join(map(str, wanted)) for wanted in product(*(range(count + 1) for count in self.pool))]
        return offers if self.offer is None else [*offers, "accept"]

    def _move(self, player: str, move: re.Match[str]) -> dict[str, float] | str | None:
        other = PLAYERS[1 - PLAYERS.index(player)]
        if move[1]:
            if self.offer is None:
                return "there is no proposal to accept."
            rest = [count - wanted for count, wanted in zip(self.pool, self.offer, strict=True)]
            shares = {other: self.offer, player: rest}
            each = "; ".join(f"the {one} player gets {_listed(shares[one])}" for one in PLAYERS)
            self.event = f"The {player} player accepts: {each}."
            return {one: self._value(one, shares[one]) / _WORTH for one in PLAYERS}
        wanted = [int(digits) for digits in move.groups()[1:]]
        if any(number > count for number, count in zip(wanted, self.pool, strict=True)):
            return "there are not so many things."
        self.offer = wanted
        last = self.turn + 1 == self.max_turns
        closing = "\nNo turns are left, and there is no agreement." if last else ""
        self.event = f"The {player} player wants {_listed(wanted)}.{closing}"
        return dict.fromkeys(PLAYERS, 0.0) if last else None

    def _value(self, player: str, things: list[int]) -> int:
        return sum(number * value for number, value in zip(things, self.values[player], strict=True))

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        for name, things in (("pool", self.pool), ("offer", self.offer or self.pool)):
            integer(f"kinds in {name}", len(things), minimum=3, maximum=3)
        if sorted(self.values) != sorted(PLAYERS) or any(self._worth(self.values[one]) != _WORTH for one in PLAYERS):
            raise ValueError(f"all things are worth {_WORTH} to each player")


def _listed(things: list[int]) -> str:
    return ", ".join(counted(number, kind.removesuffix("s"), kind) for number, kind in zip(things, _KINDS, strict=True))


class BargainPolicy(SeatedGamePolicy):
    """Asks for much at first and for less from turn to turn, and leaves the other what that asked for."""

    def answer(self, observation: str) -> str:
        """Return a proposal, or accept what is worth as much as the own next proposal."""
        pool = [
            int(number) for number in re.findall(r"The things: (\d+) books?, (\d+) hats?, (\d+) balls?", observation)[0]
        ]
        values = [int(one) for one in re.findall(r"each: books (\d+), hats (\d+), balls (\d+)", observation)[0]]
        asked = re.findall(r"^The \w+ player wants (\d+) books?, (\d+) hats?, (\d+) balls?", observation, re.MULTILINE)
        turn = int(re.findall(r"^Turn (\d+) of", observation, re.MULTILINE)[0])
        turns = int(re.findall(r"There are (\d+) turns", observation)[0])
        # The last proposal is the other's: from the second turn on, the player to move has made the one before.
        others = [int(number) for number in asked[-1]] if asked else [0, 0, 0]
        rest = [count - number for count, number in zip(pool, others, strict=True)]

        def worth(things: tuple[int, ...] | list[int]) -> int:
            return sum(number * value for number, value in zip(things, values, strict=True))

        goal = max(9 - 6 * (turn - 1) / max(turns - 2, 1), 1)
        if asked and (worth(rest) >= goal or (turn == turns and worth(rest) > 0)):
            return "\\boxed{accept}"
        possible = [things for things in product(*(range(count + 1) for count in pool)) if worth(things) >= goal]
        best = min(possible, key=lambda one: (sum(max(n - r, 0) for n, r in zip(one, rest, strict=True)), sum(one)))
        return f"\\boxed{{{' '.join(map(str, best))}}}"
