r"""Hands of Kuhn poker: three cards, one bet, hidden information (Kuhn, "Simplified two-person poker", 1950)."""

from __future__ import annotations

import random
import re

from gem.action_forms import BoxedChoice
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGamePolicy
from gem_envs_games.duels.two_players import PLAYERS, TwoPlayerEnv

__all__ = ["KuhnPokerEnv", "KuhnPokerPolicy"]

_CARDS = ("jack", "queen", "king")


class KuhnPokerEnv(TwoPlayerEnv[str]):
    r"""Hands of Kuhn poker with ``\boxed{bet}`` and ``\boxed{pass}``; who is next in turn opens the next hand.

    Rewards, at the end: the chips won, as a share of the most that can be won, 2 in each hand; the other loses as much.

    Args:
        hands: number of hands, 1 … 100.
    """

    form = BoxedChoice("bet", "pass")
    saved = TwoPlayerEnv.common | StateFields(hand=int, cards=dict[str, int], line=list[str], chips=int, opener=str)

    def __init__(self, hands: int = 6) -> None:
        super().__init__()
        self.hands = integer("hands", hands, minimum=1, maximum=100)
        self.max_turns = 3 * self.hands

    def _deal(self) -> None:
        self.hand = self.chips = 0
        self._deal_hand(PLAYERS[0])

    def _deal_hand(self, opener: str) -> None:
        self.hand, self.opener = self.hand + 1, opener
        first, second = self.rng.sample(range(len(_CARDS)), 2)
        self.cards = {PLAYERS[0]: first, PLAYERS[1]: second}
        self.line: list[str] = []

    def _rules(self, player: str) -> str:
        return (
            f"Kuhn poker, {self.hands} hands. Each player puts one chip into the pot and gets one of three cards: "
            f"jack, queen, king. In turn you may \\boxed{{bet}} another chip or \\boxed{{pass}}. After a bet, the "
            f"other player calls with \\boxed{{bet}} or gives the pot up with \\boxed{{pass}}. If both pass or both "
            f"bet, the higher card takes the pot. Who is next in turn opens the next hand. At the end you score the "
            f"chips that you are up or down, as a share of {2 * self.hands}."
        )

    def _situation(self, player: str) -> str:
        own = self.chips if player == PLAYERS[0] else -self.chips
        done = f"So far in this hand: {', '.join(self.line)}." if self.line else "Nobody has acted in this hand."
        balance = "have won as much as you lost"
        if own:
            balance = f"are {counted(abs(own), 'chip')} {'up' if own > 0 else 'down'}"
        card = _CARDS[self.cards[player]]
        return f"Hand {self.hand} of {self.hands}. You {balance} so far. Your card is the {card}. {done}"

    def _moves(self) -> list[str]:
        return ["bet", "pass"]

    def _move(self, player: str, move: str) -> dict[str, float] | str | None:
        self.line.append(move)
        other = PLAYERS[1 - PLAYERS.index(player)]
        shown = ""
        if move == "pass" and "bet" in self.line:
            winner, won = other, 1
        elif (len(self.line) == 2 and self.line[0] == "pass" and move == "bet") or len(self.line) == 1:
            self.event = f"The {player} player chose to {move}."
            return None
        else:
            winner = max(PLAYERS, key=self.cards.__getitem__)
            won = 2 if move == "bet" else 1
            names = {one: _CARDS[card] for one, card in self.cards.items()}
            shown = f" The first player had the {names[PLAYERS[0]]}, the second the {names[PLAYERS[1]]}."
        self.chips += won if winner == PLAYERS[0] else -won
        gain = f"The {winner} player won {counted(won, 'chip')} in hand {self.hand}."
        self.event = f"The {player} player chose to {move}. {gain}{shown}"
        if self.hand < self.hands:
            self._deal_hand(other)
            return None
        share = self.chips / (2 * self.hands)
        return {PLAYERS[0]: share, PLAYERS[1]: -share}

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        cards = [self.cards[player] for player in PLAYERS]
        for card in cards:
            integer("card", card, minimum=0, maximum=2)
        if cards[0] == cards[1] or len(self.cards) > 2 or any(move not in self._moves() for move in self.line):
            raise ValueError("two players have two different cards, and moves are bet and pass")
        integer("hand", self.hand, minimum=1, maximum=self.hands)


class KuhnPokerPolicy(SeatedGamePolicy):
    """Kuhn's equilibrium in which the opener never bets: no policy wins against it in the long run."""

    def answer(self, observation: str) -> str:
        """Return a move; where the equilibrium draws, a text that differs from hand to hand seeds the draw."""
        card = re.findall(r"Your card is the (\w+)\.", observation)[0]
        line = re.findall(r"So far in this hand: (.+)\.", observation)
        one_in_three = random.Random(observation).random() < 1 / 3
        if line and line[0].endswith("bet"):
            bets = card == "king" or (card == "queen" and one_in_three)
        else:
            bets = bool(line) and (card == "king" or (card == "jack" and one_in_three))
        return "\\boxed{bet}" if bets else "\\boxed{pass}"
