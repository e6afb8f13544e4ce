"""Names, things, and the sentences that have nothing to do with the problem."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gem_envs_math.latex import decimal

__all__ = [
    "DAYS",
    "MONTHS",
    "ORDINALS",
    "THINGS",
    "Person",
    "amount",
    "clock",
    "dollars",
    "people",
    "tell",
    "times",
    "word",
]


@dataclass(frozen=True)
class Person:
    """A person in a story."""

    name: str
    he: str
    his: str

    @property
    def starts(self) -> str:
        """The pronoun at the beginning of a sentence."""
        return self.he.capitalize()


_SHE = [
    "Ada",
    "Aisha",
    "Alma",
    "Amara",
    "Anna",
    "Beatriz",
    "Carmen",
    "Chloe",
    "Clara",
    "Dana",
    "Dora",
    "Elena",
    "Emma",
    "Fatima",
    "Freya",
    "Grace",
    "Hana",
    "Helen",
    "Ines",
    "Ingrid",
    "Iris",
    "Jana",
    "Julia",
    "Kavya",
    "Keiko",
    "Laila",
    "Lena",
    "Linh",
    "Lucia",
    "Maja",
    "Maria",
    "Mei",
    "Mira",
    "Nadia",
    "Nina",
    "Noor",
    "Olga",
    "Petra",
    "Priya",
    "Rosa",
    "Ruth",
    "Sara",
    "Sofia",
    "Tanja",
    "Vera",
    "Yara",
    "Zoe",
]
_HE = [
    "Adam",
    "Ahmed",
    "Ali",
    "Amit",
    "Andrei",
    "Anton",
    "Ben",
    "Bruno",
    "Carlos",
    "Chen",
    "Daniel",
    "David",
    "Diego",
    "Emil",
    "Erik",
    "Felix",
    "Finn",
    "George",
    "Hugo",
    "Ivan",
    "Jack",
    "Jakub",
    "Jonas",
    "Juan",
    "Karim",
    "Kenji",
    "Kofi",
    "Leo",
    "Liam",
    "Luca",
    "Marco",
    "Martin",
    "Mateo",
    "Max",
    "Nikhil",
    "Noah",
    "Oscar",
    "Otto",
    "Pablo",
    "Pavel",
    "Rafael",
    "Ravi",
    "Samuel",
    "Tariq",
    "Theo",
    "Tom",
    "Victor",
    "Yusuf",
]

THINGS = (
    "apples", "badges", "balloons", "beads", "books", "buttons", "candles", "coins", "comics", "crayons", "figurines",
    "marbles", "mangoes", "pebbles", "pencils", "photos", "postcards", "puzzles", "ribbons", "seashells", "stamps",
    "stickers", "tickets", "toy cars", "tulips", "walnuts",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_ASIDES = (
    "{name} is 1{number} centimetres tall.",
    "On the way {name} passes {number} parked bicycles.",
    "The clock on {name}'s wall is {number} years old.",
    "{name} lives at number {number} of a long street.",
    "The radio in the room has {number} channels.",
    "{name}'s neighbour owns {number} records.",
    "Somebody has left a magazine of {number} pages on the chair.",
    "{name}'s old rucksack has a label with the number {number}.",
)


def people(rng: random.Random, count: int) -> list[Person]:
    """Return ``count`` people with different names."""
    names = rng.sample(_SHE + _HE, count)
    return [Person(name, "she", "her") if name in _SHE else Person(name, "he", "his") for name in names]


def word(number: int) -> str:
    """Return a small number in words, a large one in digits."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def times(factor: int) -> str:
    """Return ``"twice"``, ``"three times"`` and so on."""
    return "twice" if factor == 2 else f"{word(factor)} times"


def dollars(cents: int) -> str:
    """Return an amount of money: ``$12`` or ``$12.50``."""
    return f"${cents // 100}" if cents % 100 == 0 else f"${cents // 100}.{cents % 100:02d}"


def amount(cents: Fraction | int) -> str:
    """Return an amount of money as an answer, in dollars: ``12`` or ``12.50``."""
    value = Fraction(cents) / 100
    return (
        decimal(value)
        if (value * 100).denominator > 1 or value.denominator == 1
        else f"{int(value)}.{int(value * 100) % 100:02d}"
    )


def clock(minutes: int) -> str:
    """Return a time of day, given in minutes after midnight, on the 24-hour clock."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def tell(rng: random.Random, hero: Person | None, sentences: Sequence[str], ask: str) -> str:
    """Put a story together; where there is a hero, sometimes with a sentence that does not matter."""
    told = list(sentences)
    if hero is not None and rng.random() < 0.35:
        aside = rng.choice(_ASIDES).format(name=hero.name, number=rng.randint(23, 96))
        told.insert(rng.randint(1, len(told)), aside)
    return " ".join([*told, ask])
