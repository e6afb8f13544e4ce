"""Stories in which one quantity changes step by step: a chain of operations, told as events.

The question asks for the quantity at the end, at the beginning, or in one of the events.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from gem_envs_math.latex import number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import Person, people, tell, word

__all__ = ["events", "events_backwards", "events_gap"]

_MOST = 20_000


@dataclass(frozen=True)
class _Theme:
    """The wording of a quantity's changes.

    ``{P}`` is the hero, ``{He}`` and ``{he}`` the pronoun, ``{F}`` a friend, ``{a}`` and ``{b}`` numbers; the changes
    are ``add`` a, ``take`` a, ``packs`` of a (b of them), ``each`` of b gets a, ``half``, ``third``, ``quarter``,
    ``fifth`` taken away, ``double``, and ``swap``: a come and b go. ``gap`` is ``take`` without its number.
    """

    begin: str
    begin_hidden: str
    changes: dict[str, tuple[str, ...]]
    gap: str
    end: str
    ask: str
    ask_begin: str
    ask_gap: str


def _collection(things: str) -> _Theme:
    return _Theme(
        begin=f"{{P}} has {{a}} {things}.",
        begin_hidden=f"{{P}} has some {things}.",
        changes={
            "add": (
                f"{{He}} finds {{a}} more {things}.",
                f"{{F}} gives {{P}} {{a}} more {things}.",
                f"For {{his}} birthday {{he}} gets {{a}} more {things}.",
            ),
            "take": (
                f"{{He}} gives {{a}} {things} to {{F}}.",
                f"{{He}} loses {{a}} {things}.",
                f"{{He}} sells {{a}} {things}.",
            ),
            "packs": (f"{{He}} buys {{b}} packs of {{a}} {things} each.",),
            "each": (f"{{He}} gives {{b}} cousins {{a}} {things} each.",),
            "half": (f"{{He}} gives half of {{his}} {things} to {{F}}.", f"{{He}} sells half of {{his}} {things}."),
            "third": (f"{{He}} trades a third of {{his}} {things} for a book.",),
            "quarter": (f"{{He}} gives a quarter of {{his}} {things} to {{F}}.",),
            "double": (f"{{He}} wins as many {things} as {{he}} has, so that the number doubles.",),
        },
        gap=f"{{He}} gives some {things} to {{F}}.",
        end=f"Now {{P}} has {{a}} {things}.",
        ask=f"How many {things} does {{P}} have now?",
        ask_begin=f"How many {things} did {{P}} have in the beginning?",
        ask_gap=f"How many {things} did {{P}} give to {{F}}?",
    )


def _bakery(things: str, tray: str) -> _Theme:
    return _Theme(
        begin=f"In the morning {{P}}'s bakery has {{a}} {things} on the shelf.",
        begin_hidden=f"In the morning {{P}}'s bakery has some {things} on the shelf.",
        changes={
            "add": (f"{{P}} bakes {{a}} more {things}.", f"A baker from next door brings {{a}} more {things}."),
            "take": (f"A café collects {{a}} {things}.", f"{{P}} sells {{a}} {things}."),
            "packs": (f"{{b}} {tray} of {{a}} {things} each come out of the oven.",),
            "each": (f"{{b}} customers buy {{a}} {things} each.",),
            "half": (f"By noon half of the {things} are sold.",),
            "third": (f"A third of the {things} go to a wedding.",),
            "quarter": (f"A quarter of the {things} are sold to a school.",),
            "fifth": (f"20% of the {things} are given to a shelter.",),
        },
        gap=f"Then {{F}} buys some {things}.",
        end=f"In the evening {{a}} {things} are on the shelf.",
        ask=f"How many {things} are on the shelf in the evening?",
        ask_begin=f"How many {things} were on the shelf in the morning?",
        ask_gap=f"How many {things} did {{F}} buy?",
    )


_TANK = _Theme(
    begin="A tank holds {a} litres of water.",
    begin_hidden="A tank holds some water.",
    changes={
        "add": ("Rain adds {a} litres.", "{P} pours {a} litres into the tank."),
        "take": ("{P} takes {a} litres for the garden.", "{a} litres leak out."),
        "packs": ("{P} empties {b} canisters of {a} litres each into the tank.",),
        "each": ("{P} fills {b} buckets of {a} litres each from the tank.",),
        "half": ("Half of the water is pumped out.",),
        "third": ("A third of the water is used to wash cars.",),
        "quarter": ("A quarter of the water is used in the kitchen.",),
        "fifth": ("20% of the water evaporates.",),
        "double": ("Then as much water flows in as is in the tank.",),
    },
    gap="{F} takes some water for the fields.",
    end="At last the tank holds {a} litres.",
    ask="How many litres of water does the tank hold at last?",
    ask_begin="How many litres did the tank hold in the beginning?",
    ask_gap="How many litres did {F} take?",
)

_TRAM = _Theme(
    begin="A tram leaves the depot with {a} passengers.",
    begin_hidden="A tram leaves the depot with some passengers.",
    changes={
        "add": ("At the next stop {a} people get on.",),
        "take": ("At the next stop {a} people get off.",),
        "swap": ("At the next stop {a} people get on and {b} get off.",),
        "packs": ("Then {b} groups of {a} people each get on.",),
        "half": ("Half of the passengers change to the train.",),
        "third": ("A third of the passengers get off at the hospital.",),
        "quarter": ("A quarter of the passengers get off at the market.",),
    },
    gap="At the school some people get off.",
    end="The tram arrives with {a} passengers.",
    ask="With how many passengers does the tram arrive?",
    ask_begin="How many passengers were on the tram when it left the depot?",
    ask_gap="How many people got off at the school?",
)

_ACCOUNT = _Theme(
    begin="{P} has ${a} in an account.",
    begin_hidden="{P} has some money in an account.",
    changes={
        "add": ("{He} pays in ${a}.", "{F} transfers ${a} to {P}."),
        "take": ("{He} withdraws ${a}.", "{He} pays a bill of ${a}."),
        "packs": ("For {b} weeks {he} pays in ${a} a week.",),
        "each": ("{He} buys {b} tickets for ${a} each.",),
        "half": ("{He} spends half of the money on a bicycle.",),
        "third": ("{He} lends a third of the money to {F}.",),
        "quarter": ("{He} moves a quarter of the money to a savings account.",),
        "fifth": ("{He} spends 20% of the money on clothes.",),
        "double": ("{P}'s grandmother doubles the money in the account.",),
    },
    gap="{He} pays {F} for a painting.",
    end="Now there are ${a} in the account.",
    ask="How many dollars are in the account now?",
    ask_begin="How many dollars were in the account in the beginning?",
    ask_gap="How many dollars did the painting cost?",
)

_TAKEN = {"half": 2, "third": 3, "quarter": 4, "fifth": 5}


def _theme(rng: random.Random) -> _Theme:
    kind = rng.randrange(6)
    if kind < 2:
        return _collection(
            rng.choice(("stickers", "marbles", "stamps", "coins", "postcards", "seashells", "beads", "comics"))
        )
    if kind == 2:
        return _bakery(
            *rng.choice((("rolls", "trays"), ("muffins", "trays"), ("loaves", "racks"), ("pretzels", "trays")))
        )
    return (_TANK, _TRAM, _ACCOUNT)[kind - 3]


class _Story:
    def __init__(self, rng: random.Random) -> None:
        self.theme = _theme(rng)
        self.hero, self.friend = people(rng, 2)
        self.value = self.start = Fraction(rng.randint(12, 400))
        self.sentences: list[str] = []

    def say(self, template: str, a: object = "", b: object = "") -> str:
        hero: Person = self.hero
        text = template.format(P=hero.name, He=hero.starts, he=hero.he, his=hero.his, F=self.friend.name, a=a, b=b)
        return text[0].upper() + text[1:]

    def change(self, rng: random.Random) -> None:
        """Tell one event.

        Raises:
            Rejected: if the quantity would become too small, too large or no whole number.
        """
        kind = rng.choice(list(self.theme.changes))
        template = rng.choice(self.theme.changes[kind])
        a: object = ""
        b: object = ""
        if kind in _TAKEN:
            value = self.value * (_TAKEN[kind] - 1) / _TAKEN[kind]
        elif kind == "double":
            value = self.value * 2
        elif kind == "swap":
            a, b = on, off = rng.randint(2, 40), rng.randint(2, 40)
            value = self.value + on - off
        elif kind in ("packs", "each"):
            many, size = rng.randint(2, 9), rng.randint(2, 25)
            a, b = size, word(many) if kind == "packs" and rng.random() < 0.5 else many
            value = self.value + (many * size if kind == "packs" else -many * size)
        else:
            a = amount = rng.randint(2, 150)
            value = self.value + (amount if kind == "add" else -amount)
        if not 3 <= value <= _MOST or value.denominator != 1:
            raise Rejected
        self.value = value
        self.sentences.append(self.say(template, a, b))


def events(rng: random.Random, count: tuple[int, int]) -> MathProblem:
    """Return a problem that gives the beginning and asks for the end."""
    story = _Story(rng)
    first = story.say(story.theme.begin, story.start)
    for _ in range(rng.randint(*count)):
        story.change(rng)
    question = tell(rng, story.hero, [first, *story.sentences], story.say(story.theme.ask))
    return MathProblem("events", question, number(story.value))


def events_backwards(rng: random.Random, count: tuple[int, int]) -> MathProblem:
    """Return a problem that gives the end and asks for the beginning."""
    story = _Story(rng)
    first = story.say(story.theme.begin_hidden)
    for _ in range(rng.randint(*count)):
        story.change(rng)
    told = [first, *story.sentences, story.say(story.theme.end, story.value)]
    question = tell(rng, story.hero, told, story.say(story.theme.ask_begin))
    return MathProblem("events_backwards", question, number(story.start))


def events_gap(rng: random.Random, count: tuple[int, int]) -> MathProblem:
    """Return a problem that gives beginning and end and asks for the number of one event."""
    story = _Story(rng)
    first = story.say(story.theme.begin, story.start)
    gap_at = rng.randint(1, count[1])
    amount = 0
    for place in range(count[1] + 1):
        if place == gap_at:
            amount = rng.randint(2, 120)
            if story.value - amount < 3:
                raise Rejected
            story.value -= amount
            story.sentences.append(story.say(story.theme.gap))
        else:
            story.change(rng)
    told = [first, *story.sentences, story.say(story.theme.end, story.value)]
    question = tell(rng, story.hero, told, story.say(story.theme.ask_gap))
    return MathProblem("events_gap", question, str(amount))
