r"""Liar's Dice: three to six players bid on dice of which each sees the own ones alone, until one is doubted."""

from __future__ import annotations

import re
from math import comb

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGameEnv, SeatedGamePolicy, seat_names

__all__ = ["LiarsDiceEnv", "LiarsDicePolicy"]

_FACES = 6


class LiarsDiceEnv(SeatedGameEnv[re.Match[str]]):
    r"""Bid with ``\boxed{number face}``, or doubt the last bid with ``\boxed{liar}``; each round has one loser.

    Rewards, at the end: the points, as a share of the rounds. A round costs its loser one point, which the others
    share.

    Args:
        seats: number of players, 3 … 6.
        dice: dice of each player, 1 … 6.
        rounds: number of rounds, 1 … 100.
    """

    form = BoxedPattern(r"\s*(?:(liar)|(\d{1,3})[\s,]+(\d{1,3}))\s*", re.ASCII | re.IGNORECASE)
    saved = SeatedGameEnv.common | StateFields(
        round=int, dice=dict[str, list[int]], bid=list[int] | None, lost=list[int]
    )

    def __init__(self, seats: int = 4, dice: int = 3, rounds: int = 8) -> None:
        super().__init__(seat_names(seats, 3, 6))
        self.each = integer("dice", dice, minimum=1, maximum=6)
        self.rounds = integer("rounds", rounds, minimum=1, maximum=100)
        self.total = self.each * len(self.possible_agents)
        self.max_turns = self.rounds * (self.total * _FACES + 1)

    def _deal(self) -> None:
        self.lost = [0] * len(self.possible_agents)
        """The rounds that each player has lost."""
        self.round = 0
        self._roll()

    def _roll(self) -> None:
        self.round += 1
        self.bid: list[int] | None = None
        self.dice = {
            player: sorted(self.rng.randint(1, _FACES) for _ in range(self.each)) for player in self.possible_agents
        }

    def _rules(self, player: str) -> str:
        each = counted(self.each, "die", "dice")
        return (
            f"Liar's Dice, {counted(self.rounds, 'round')}, {len(self.possible_agents)} players. In each round every "
            f"player rolls {each} and sees no others. In turn, bid how many dice of one face all players have "
            f"together, for example \\boxed{{3 5}}: there are at least three fives. A bid is from 1 to {self.total} "
            f"dice of a face from 1 to {_FACES}, and must have a higher number than the last one, or the same number "
            "and a higher face. Or doubt the last bid with \\boxed{liar}: all dice are shown, and if there are fewer "
            "than the bid says, the bidder loses the round, otherwise the doubter. The player after the doubter opens "
            "the next round. Each round costs its loser a point, which the others share equally. At the end you score "
            f"your points as a share of {self.rounds}, so at least -1."
        )

    def _situation(self, player: str) -> str:
        shown = " ".join(map(str, self.dice[player]))
        points = ", ".join(f"{one} {lost}" for one, lost in zip(self.possible_agents, self.lost, strict=True))
        bid = "There is no bid yet." if self.bid is None else f"The last bid is {self.bid[0]} {self.bid[1]}."
        return (
            f"Round {self.round} of {self.rounds}. Rounds lost: {points}. Your dice: {shown}. All players together "
            f"have {self.total} dice. {bid}"
        )

    def _moves(self) -> list[str]:
        bids = [
            f"{number} {face}"
            for number in range(1, self.total + 1)
            for face in range(1, _FACES + 1)
            if self.bid is None or [number, face] > self.bid
        ]
        return bids if self.bid is None else ["liar", *bids]

    def _move(self, player: str, move: re.Match[str]) -> dict[str, float] | str | None:
        if move[1] is None:
            bid = [int(move[2]), int(move[3])]
            if not (1 <= bid[0] <= self.total and 1 <= bid[1] <= _FACES):
                return f"a bid is from 1 to {self.total} dice of a face from 1 to {_FACES}."
            if self.bid is not None and bid <= self.bid:
                return f"{bid[0]} {bid[1]} is not higher than the last bid."
            self.bid = bid
            self.event = f"The {player} player bids {bid[0]} {bid[1]}."
            return None
        if self.bid is None:
            return "there is no bid to doubt."
        number, face = self.bid
        found = sum(dice.count(face) for dice in self.dice.values())
        players = self.possible_agents
        before = players[players.index(player) - 1]
        loser = before if found < number else player
        self.lost[players.index(loser)] += 1
        shown = "; ".join(f"{one} {' '.join(map(str, dice))}" for one, dice in self.dice.items())
        self.event = (
            f"The {player} player doubts the bid {number} {face} of the {before} player. The dice: {shown}. There "
            f"{'is' if found == 1 else 'are'} {found}, so the {loser} player loses round {self.round}."
        )
        if self.round < self.rounds:
            self._roll()
            return None
        others = len(players) - 1
        return {
            one: ((self.rounds - lost) / others - lost) / self.rounds
            for one, lost in zip(players, self.lost, strict=True)
        }

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("round", self.round, minimum=1, maximum=self.rounds)
        if [*self.dice] != self.possible_agents or any(len(dice) != self.each for dice in self.dice.values()):
            raise ValueError(f"each of {', '.join(self.possible_agents)} has {self.each} dice")
        for value in (value for dice in self.dice.values() for value in dice):
            integer("die", value, minimum=1, maximum=_FACES)
        if len(self.lost) != len(self.possible_agents) or sum(self.lost) not in (self.round - 1, self.rounds):
            raise ValueError("every round that is over has one loser")
        if self.bid is not None:
            integer("numbers of a bid", len(self.bid), minimum=2, maximum=2)
            integer("number of a bid", self.bid[0], minimum=1, maximum=self.total)
            integer("face of a bid", self.bid[1], minimum=1, maximum=_FACES)


class LiarsDicePolicy(SeatedGamePolicy):
    """Doubts a bid that is less likely to hold than the safest higher one, the others' dice being unknown."""

    def answer(self, observation: str) -> str:
        """Return a bid or a doubt."""
        found = re.findall(r"Your dice: ([\d ]+)\. All players together have (\d+) dice\.", observation)[0]
        own, total = [int(face) for face in found[0].split()], int(found[1])
        last = re.findall(r"The last bid is (\d+) (\d+)\.", observation)
        unknown = total - len(own)

        def holds(number: int, face: int) -> float:
            least = max(number - own.count(face), 0)
            ways = sum(comb(unknown, hits) * (_FACES - 1) ** (unknown - hits) for hits in range(least, unknown + 1))
            return float(ways / _FACES**unknown)

        faces = range(1, _FACES + 1)
        if not last:
            face = max(faces, key=lambda one: (own.count(one), one))
            return f"\\boxed{{{max(own.count(face), 1)} {face}}}"
        number, above = map(int, last[0])
        higher = [(n, f) for n in (number, number + 1) for f in faces if (n, f) > (number, above) and n <= total]
        best = max(higher, key=lambda bid: (holds(*bid), -bid[0]), default=None)
        if best is None or 1 - holds(number, above) > holds(*best):
            return "\\boxed{liar}"
        return f"\\boxed{{{best[0]} {best[1]}}}"
