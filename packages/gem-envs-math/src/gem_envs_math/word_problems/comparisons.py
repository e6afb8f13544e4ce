"""Stories in which quantities are compared with each other: a graph of relations, told in sentences.

The first quantity is given, or only what some of them come to together; each other one is described by one or two
that came before it. The sentences may come in any order, and some quantities may not matter.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gem_envs_math.latex import number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.grammar import plural
from gem_envs_math.word_problems.lexicon import frames
from gem_envs_math.word_problems.story import Story, listed

__all__ = ["comparison", "comparison_backwards"]

_FILE = "comparisons"
_ROLES = "ABCDEFG"
_MEASURED_SHARE = 0.4
_OPEN_SHARE = 0.55


class _Relation(NamedTuple):
    """What is said of a quantity, by their places among the quantities."""

    name: str
    at: int = 0
    other: int = 0
    third: int = 0
    """The second of two quantities that it is described by."""
    n: int = 0
    """The number in the sentence."""


class _Comparison:
    """Quantities, the relations between them, and how they are told."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng = rng
        self.measured = rng.random() < _MEASURED_SHARE
        self.story = Story(rng, _FILE, "measured" if self.measured else "counted", name)
        self.lines: Mapping[str, Sequence[str]] = frames(_FILE, "measured_lines" if self.measured else "counted_lines")[
            0
        ]
        self.values = [Fraction(self.story.number("start"))]
        self.relations: list[_Relation] = []
        self._told = False

    def relate(self, hard: bool) -> None:
        """Describe the next quantity by earlier ones."""
        rng, at = self.rng, len(self.values)
        other = rng.randrange(at)
        base = self.values[other]
        relation = rng.choices(
            ("more", "less", "times", "half", "both", "share"), (4, 4, 3, 2, 2 if at > 1 else 0, 2 if hard else 0)
        )[0]
        n, third = 0, 0
        if relation in ("more", "less"):
            n = rng.randint(2, 60)
            value = base + n if relation == "more" else base - n
        elif relation == "times":
            n = rng.randint(2, 6)
            value = base * n
        elif relation == "half":
            value = base / 2
        elif relation == "share":
            n = rng.choice((10, 20, 25, 30, 40, 50, 60, 75))
            value = base * (100 + n) / 100
        else:
            third = rng.choice([place for place in range(at) if place != other])
            value = base + self.values[third]
        if not 2 <= value <= self.story.frame["most"] or value.denominator != 1 or value in self.values:
            raise Rejected
        self.values.append(value)
        self.relations.append(_Relation(relation, at, other, third, n))

    def facts(self) -> dict[str, object]:
        return {
            "relations": [
                [one.name, one.at, one.other, one.third if one.name == "both" else one.n] for one in self.relations
            ]
        }

    def name_holders(self) -> None:
        """Draw who or what has the quantities, and the words that go with the frame's verb."""
        story, frame, count = self.story, self.story.frame, len(self.values)
        if self.measured:
            names: list[str] = []
            while len(names) < count:
                name = story.afresh(frame["holders"])
                if name not in names:
                    names.append(name)
            self.names = names
            units = {"as": frame["as"], "more": frame["more"], "less": frame["less"], "word": frame["word"],
                     "measure": frame["measure"], "measures": plural(frame["measure"])}  # fmt: skip
        else:
            self.names = [story.person(role).name for role in _ROLES[:count]]
            units = {"things": story.line("things")}
        does = frame.get("auxiliary", ("does", "did"))[story.past]
        many = frame.get("auxiliary_many", ("do", "did"))[story.past]
        story.facts.update(
            units, v=frame["verb"][story.past], vs=frame["plural"][story.past], base=frame["base"], aux=does, auxs=many
        )

    def say(
        self, line: str, at: int = 0, other: int = 0, third: int = 0, several: Sequence[int] = (), **local: object
    ) -> str:
        """Return a sentence, or a question, about some of the quantities."""
        story, choices = self.story, self.lines[line]
        template = choices[int(self.rng.random() * len(choices))]
        while not self._told and not self.measured and "{things}" not in template:
            template = choices[int(self.rng.random() * len(choices))]
        self._told = True
        local["all"] = listed([self.names[i] for i in several]) if several else ""
        if self.measured:
            local |= {"s": self.names[at], "t": self.names[other], "u": self.names[third]}
            if "n" in local:
                unit = story.frame["unit"]
                local["q"] = f"${local['n']}" if unit == "$" else f"{local['n']}{unit}"
        else:
            story.alias = {"s": _ROLES[at], "t": _ROLES[other], "u": _ROLES[third]}
            local["he_s"] = story.person(_ROLES[at]).word("he")
        return story.question(template, **local) if line in ("one", "all_of", "gap") else story.say(template, **local)

    def told(self, shuffled: bool, first: bool, total: Fraction | None = None) -> list[str]:
        """Return the sentences: an opening, the first quantity, the relations, the total."""
        relations = [*([_Relation("is", n=int(self.values[0]))] if first else []), *self.relations]
        if total is not None:
            relations.append(_Relation("together", n=int(total)))
        if shuffled:
            self.rng.shuffle(relations)
        story = self.story
        told = [story.line("open")] if self.rng.random() < _OPEN_SHARE else []
        self.name_holders()
        for name, at, other, third, n in relations:
            if name == "both":
                told.append(self.say(name, at, other, third))
            elif name == "together":
                told.append(self.say(name, several=range(len(self.values)), n=n))
            else:
                told.append(self.say(name, at, other, n=n, k=n))
        return told


def comparison(
    rng: random.Random, relations: tuple[int, int], shuffled: bool = False, hard: bool = False
) -> MathProblem:
    """Return a problem in which one quantity is given and the others follow from it."""
    world = _Comparison(rng, "comparison")
    count = rng.randint(*relations)
    for _ in range(count):
        world.relate(hard)
    last = count
    kind = rng.choice(("one", "all_of", "gap") if count > 1 else ("one", "one", "all_of"))
    facts = {"first": int(world.values[0]), **world.facts()}
    told = world.told(shuffled, first=True)
    if kind == "one":
        of, answer, ask = [last], world.values[last], world.say("one", last)
    elif kind == "all_of":
        of = sorted(rng.sample(range(last + 1), rng.randint(2, last + 1)))
        answer, ask = sum((world.values[i] for i in of), Fraction(0)), world.say("all_of", several=of)
    else:
        low, high = sorted(rng.sample(range(last + 1), 2), key=lambda i: world.values[i])
        of, answer, ask = [high, low], world.values[high] - world.values[low], world.say("gap", high, low)
    return world.story.problem(kind, number(answer), facts | {"of": of}, tell=["*told"], lines={"told": told}, ask=ask)


def comparison_backwards(rng: random.Random, relations: tuple[int, int], hard: bool = False) -> MathProblem:
    """Return a problem that gives the total of several quantities and asks for one of them."""
    world = _Comparison(rng, "comparison_backwards")
    for _ in range(rng.randint(*relations)):
        world.relate(hard)
    total = sum(world.values, Fraction(0))
    told = world.told(rng.random() < 0.5, first=False, total=total)
    asked = rng.randrange(len(world.values))
    facts = {**world.facts(), "total": int(total), "of": [asked]}
    ask = world.say("one", asked)
    return world.story.problem("one", number(world.values[asked]), facts, tell=["*told"], lines={"told": told}, ask=ask)
