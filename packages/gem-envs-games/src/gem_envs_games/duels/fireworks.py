r"""Fireworks: players lay cards onto piles together, and each sees all hands but the own one.

After Antoine Bauza's game Hanabi (2010), as a problem for agents: Bard et al., "The Hanabi Challenge: A New Frontier
for AI Research", Artificial Intelligence 280 (2020). Here the deck holds two cards of each kind and three of the lowest
ones, every player keeps the number of cards as long as the deck lasts, and the game goes on for an announced number of
moves.
"""

from __future__ import annotations

import re
from collections import Counter

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SEATS, SeatedGameEnv, SeatedGamePolicy, seat_names

__all__ = ["FireworksEnv", "FireworksPolicy"]

_COLOURS = ("red", "blue", "green", "white", "yellow")
_LIVES = 3
_HINTS = 8


class FireworksEnv(SeatedGameEnv[re.Match[str]]):
    r"""Play with ``\boxed{play 2}``, ``\boxed{discard 2}``, or hint with ``\boxed{tell third red}``.

    Rewards, at the end, the same for all: the share of the cards that lie on the piles, as a part of 1 for each player;
    0.0 if all lives are lost.

    Args:
        seats: number of players, 2 … 5.
        colours: number of piles, 1 … 5.
        ranks: height of a pile, 2 … 5.
        hints: hints at the beginning, 1 … 8; 8 is also the most.
        moves: moves of each player, 1 … 100.
    """

    form = BoxedPattern(
        r"\s*(?:(play|discard)\s+(\d{1,3})|tell\s+(first|second|third|fourth|fifth)\s+([a-z]{1,10}|\d{1,3}))\s*",
        re.ASCII | re.IGNORECASE,
    )
    saved = SeatedGameEnv.common | StateFields(
        deck=list[str],
        hands=dict[str, list[str]],
        told=dict[str, list[list[str]]],
        piles=list[int],
        gone=list[str],
        hints=int,
        lives=int,
    )

    def __init__(self, seats: int = 3, colours: int = 3, ranks: int = 4, hints: int = 8, moves: int = 12) -> None:
        super().__init__(seat_names(seats, 2, 5))
        self.colours = _COLOURS[: integer("colours", colours, minimum=1, maximum=len(_COLOURS))]
        self.ranks = integer("ranks", ranks, minimum=2, maximum=5)
        self.first_hints = integer("hints", hints, minimum=1, maximum=_HINTS)
        self.max_turns = integer("moves", moves, minimum=1, maximum=100) * len(self.possible_agents)
        cards = self._cards()
        self.hand = min(5 if len(self.possible_agents) < 4 else 4, len(cards) // len(self.possible_agents))

    def _cards(self) -> list[str]:
        return [
            f"{colour} {rank}"
            for colour in self.colours
            for rank in range(1, self.ranks + 1)
            for _ in range(3 if rank == 1 else 2)
        ]

    def _deal(self) -> None:
        self.deck = self._cards()
        self.rng.shuffle(self.deck)
        self.hands: dict[str, list[str]] = {player: [] for player in self.possible_agents}
        """Of each player the cards, the oldest first."""
        self.told: dict[str, list[list[str]]] = {player: [] for player in self.possible_agents}
        """Of each card what its player was told: ``"red"``, ``"not 3"``."""
        self.piles = [0] * len(self.colours)
        self.gone: list[str] = []
        """The cards that were discarded or played in vain."""
        self.hints, self.lives = self.first_hints, _LIVES
        for player in self.possible_agents:
            for _ in range(self.hand):
                self._draw(player)

    def _draw(self, player: str) -> None:
        if self.deck:
            self.hands[player].append(self.deck.pop())
            self.told[player].append([])

    def _rules(self, player: str) -> str:
        highest, count = self.ranks, len(self.possible_agents)
        # An example that this player may copy: to another player, and to one that there is.
        other = self.possible_agents[(self.possible_agents.index(player) + 1) % count]
        return (
            f"Fireworks: {count} players lay cards onto {counted(len(self.colours), 'pile')} "
            f"together, one for each colour ({', '.join(self.colours)}), each from 1 up to {highest}. There are three "
            "cards of each 1 and two of every other. You see the cards of all players but your own. In turn, play a "
            "card of yours by its place, \\boxed{play 2}: if it is the next of its pile it is laid there, "
            f"otherwise it is gone, and one of {_LIVES} lives is lost. Or \\boxed{{discard 2}}, which gives back a "
            f"hint (at most {_HINTS}). Or spend a hint and tell another player which of their cards have a colour or "
            f"a number: \\boxed{{tell {other} red}}, \\boxed{{tell {other} 2}}; at least one must have it. All players "
            "hear every hint. Who plays or discards draws a card, which becomes the last; the others move up. "
            f"Without lives, or after {counted(self.max_turns, 'move')} of all players, or with all piles complete, "
            f"the game ends. Together you score the share of {highest * len(self.colours)} cards that lie on the "
            f"piles, but nothing without lives; each of you gets an equal part, at most 1/{count}."
        )

    def _situation(self, player: str) -> str:
        piles = ", ".join(f"{colour} {height}" for colour, height in zip(self.colours, self.piles, strict=True))
        gone = (
            ", ".join(f"{counted(count, card)}" if count > 1 else card for card, count in _counts(self.gone)) or "none"
        )
        lines = [
            f"{counted(self.max_turns - self.turn, 'move')} left, {counted(self.hints, 'hint')}, "
            f"{counted(self.lives, 'life', 'lives')}, {counted(len(self.deck), 'card')} to draw.",
            f"Piles: {piles}. Gone: {gone}.",
        ]
        for one, hand in self.hands.items():
            cards = [
                f"{place}: {'?' if one == player else card} (told {', '.join(_is_first(told)) or 'nothing'})"
                for place, (card, told) in enumerate(zip(hand, self.told[one], strict=True), 1)
            ]
            none = "none; \\boxed{discard 1} passes the turn" if one == player else "no cards"
            lines.append(f"{'Your cards' if one == player else f'The {one} player'}: {'; '.join(cards) or none}")
        return "\n".join(lines)

    def _moves(self) -> list[str]:
        player = self.to_move
        moves = [f"{what} {place}" for what in ("play", "discard") for place in range(1, len(self.hands[player]) + 1)]
        if self.hints:
            moves += [
                f"tell {other} {part}"
                for other, hand in self.hands.items()
                if other != player
                for part in dict.fromkeys(part for card in hand for part in card.split())
            ]
        return moves or ["discard 1"]  # a player without cards, and no hints: a move must be made

    def _move(self, player: str, move: re.Match[str]) -> dict[str, float] | str | None:
        if move[1] is not None:
            wrong = self._put(player, move[1].lower(), int(move[2]))
        else:
            wrong = self._tell(player, move[3].lower(), move[4].lower())
        if wrong:
            return wrong
        full = sum(self.piles) == self.ranks * len(self.colours)
        if not (self.lives == 0 or full or self.turn + 1 == self.max_turns):
            return None
        share = sum(self.piles) / (self.ranks * len(self.colours)) if self.lives else 0.0
        return dict.fromkeys(self.possible_agents, share / len(self.possible_agents))

    def _put(self, player: str, what: str, place: int) -> str:
        hand = self.hands[player]
        if not hand:
            self.event = f"The {player} player has no cards left."
            return ""
        if not 1 <= place <= len(hand):
            return f"you have cards from 1 to {len(hand)}."
        card = hand.pop(place - 1)
        del self.told[player][place - 1]
        colour, rank = card.split()
        pile = self.colours.index(colour)
        if what == "discard":
            self.gone.append(card)
            self.hints = min(self.hints + 1, _HINTS)
            self.event = f"The {player} player discarded card {place}: {card}."
        elif self.piles[pile] + 1 == int(rank):
            self.piles[pile] += 1
            self.event = f"The {player} player played card {place}: {card}."
        else:
            self.gone.append(card)
            self.lives -= 1
            self.event = f"The {player} player played card {place} in vain: {card}."
        self._draw(player)
        return ""

    def _tell(self, player: str, other: str, part: str) -> str:
        if other == player or other not in self.hands:
            return "a hint goes to another player."
        if not self.hints:
            return "there are no hints left."
        places = [place for place, card in enumerate(self.hands[other], 1) if part in card.split()]
        if not places:
            return f"the {other} player has no card that is {part}."
        self.hints -= 1
        for place, told in enumerate(self.told[other], 1):
            word = part if place in places else f"not {part}"
            if word not in told:
                told.append(word)
        cards = ", ".join(map(str, places))
        self.event = f"The {player} player told the {other} player which cards are {part}: {cards}."
        return ""

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("hints", self.hints, minimum=0, maximum=_HINTS)
        integer("lives", self.lives, minimum=0, maximum=_LIVES)
        integer("number of piles", len(self.piles), minimum=len(self.colours), maximum=len(self.colours))
        for height in self.piles:
            integer("pile", height, minimum=0, maximum=self.ranks)
        laid = [
            f"{colour} {rank}"
            for colour, top in zip(self.colours, self.piles, strict=True)
            for rank in range(1, top + 1)
        ]
        held = [card for hand in self.hands.values() for card in hand]
        if sorted([*self.deck, *held, *self.gone, *laid]) != sorted(self._cards()):
            raise ValueError("deck, hands, piles and what is gone are the cards of the game together")
        if [*self.hands] != self.possible_agents or [*self.told] != self.possible_agents:
            raise ValueError(f"hands are those of {', '.join(self.possible_agents)}")
        if any(len(self.hands[one]) != len(self.told[one]) for one in self.possible_agents):
            raise ValueError("something, if only an empty list, is told of each card of a hand")


def _counts(cards: list[str]) -> list[tuple[str, int]]:
    return sorted(Counter(cards).items())


def _is_first(told: list[str]) -> list[str]:
    """Return what was told of a card, what it is before what it is not: "not 1, 2" would read as neither."""
    return sorted(told, key=lambda word: word.startswith("not "))


class FireworksPolicy(SeatedGamePolicy):
    """Takes every hint as "play the last of these cards", gives such hints only, and discards what is worth least."""

    def answer(self, observation: str) -> str:
        """Return a move."""
        view = _View(observation)
        place = view.asked_to_play(view.me) or view.certain()
        if place:
            return f"\\boxed{{play {place}}}"
        hint = view.hint() if view.hints else None
        return f"\\boxed{{tell {hint[0]} {hint[1]}}}" if hint else f"\\boxed{{discard {view.least()}}}"


class _View:
    """What a player knows from an observation."""

    def __init__(self, text: str) -> None:
        self.me = re.findall(r"^You are the (\w+) player\.$", text, re.MULTILINE)[0]
        self.hints = int(re.findall(r"(\d+) hints?,", text)[0])
        self.piles = {
            c: int(n) for c, n in re.findall(r"(\w+) (\d)", re.findall(r"^Piles: (.+?)\. Gone", text, re.M)[0])
        }
        self.ranks = int(re.findall(r"each from 1 up to (\d)", text)[0])
        gone = re.findall(r"Gone: (.+)\.$", text, re.MULTILINE)[0]
        self.gone = Counter[str]()
        for count, card in re.findall(r"(?:(\d+) )?([a-z]+ \d)", gone):
            self.gone[card] += int(count or 1)
        self.hands: dict[str, list[tuple[str, list[str]]]] = {}
        for who, cards in re.findall(r"^(Your cards|The \w+ player): (1: .+)$", text, re.MULTILINE):
            name = self.me if who == "Your cards" else who.split()[1]
            self.hands[name] = [
                (card, told.split(", ")) for card, told in re.findall(r"\d+: (\S+(?: \d)?) \(told ([^)]*)\)", cards)
            ]
        # The moves since the own last one, so of the other players in turn.
        lines = re.findall(
            r"^The (\w+) player (told the (\w+) player which cards are (\w+): ([\d, ]+)|.*)\.$", text, re.M
        )
        self.moves = lines
        order = [name for name in SEATS if name in {self.me, *(who for who in re.findall(r"The (\w+) player:", text))}]
        turn = order.index(self.me)
        self.others = order[turn + 1 :] + order[:turn]

    def next_of(self, colour: str) -> int:
        return self.piles[colour] + 1

    def asked_to_play(self, player: str) -> int | None:
        """Return the place of the card that a player was told to play and has not played since."""
        place = None
        for who, _, whom, _, places in self.moves:
            if who == player:
                place = None
            elif whom == player and place is None:
                place = int(places.split(", ")[-1])
        return place

    def certain(self) -> int | None:
        """Return the place of an own card that must be the next of its pile, from what was told of it."""
        for place, (_, told) in enumerate(self.hands.get(self.me, []), 1):
            possible = self._possible(told)
            if possible and all(self.next_of(colour) == rank for colour, rank in possible):
                return place
        return None

    def _possible(self, told: list[str]) -> list[tuple[str, int]]:
        colours = [c for c in self.piles if c in told] or [c for c in self.piles if f"not {c}" not in told]
        ranks = range(1, self.ranks + 1)
        numbers = [n for n in ranks if str(n) in told] or [n for n in ranks if f"not {n}" not in told]
        return [(c, n) for c in colours for n in numbers if self._left(c, n)]

    def _left(self, colour: str, rank: int) -> int:
        """Return how many cards of a kind the player does not see."""
        card = f"{colour} {rank}"
        seen = sum(one == card for hand in self.hands.values() for one, _ in hand)
        return (3 if rank == 1 else 2) - seen - self.gone[card] - (self.piles[colour] >= rank)

    def hint(self) -> tuple[str, str] | None:
        """Return whom to tell what, so that the last card it is true of can be played when that player's turn comes."""
        piles = dict(self.piles)
        for player in self.others:
            place = self.asked_to_play(player)
            hand = self.hands.get(player, [])
            if place is not None and place <= len(hand):
                colour, rank = hand[place - 1][0].split()
                if piles[colour] + 1 == int(rank):
                    piles[colour] += 1
                continue
            for card, _ in reversed(hand):
                colour, rank = card.split()
                if piles[colour] + 1 != int(rank) or self._asked_already(card):
                    continue
                for part in (rank, colour):
                    touched = [one for one, _ in hand if part in one.split()]
                    if touched[-1] is card:
                        return player, part
        return None

    def _asked_already(self, card: str) -> bool:
        return any(
            place is not None and place <= len(self.hands.get(one, [])) and self.hands[one][place - 1][0] == card
            for one in self.others
            for place in [self.asked_to_play(one)]
        )

    def least(self) -> int:
        """Return the place of the own card that is least likely to be needed."""

        def worth(place: int) -> tuple[float, int]:
            possible = self._possible(self.hands[self.me][place - 1][1])
            needed = [(c, n) for c, n in possible if n > self.piles[c]]
            last = [(c, n) for c, n in needed if self.gone[f"{c} {n}"] + 1 >= (3 if n == 1 else 2)]
            count = max(len(possible), 1)
            return (len(needed) + 3 * len(last)) / count, place

        return min(range(1, len(self.hands.get(self.me, [])) + 1), key=worth, default=1)
