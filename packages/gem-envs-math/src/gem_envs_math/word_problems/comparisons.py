"""Stories in which quantities are compared with each other: a graph of relations, told in sentences.

The first quantity is given, or only what some of them come to together; each other one is described by one or two
that came before it. The sentences may come in any order, and some quantities may not matter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

from gem_envs_math.latex import number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import THINGS, people, times

__all__ = ["comparison", "comparison_backwards"]

_MOST = 5000


@dataclass(frozen=True)
class _Theme:
    """The wording of a quantity. ``{s}``, ``{t}``, ``{u}`` are holders, ``{n}`` a number, ``{k}`` "three times"."""

    is_: str
    more: str
    less: str
    k_times: str
    half: str
    both: str
    ask: str
    ask_all: str
    ask_more: str
    together: str
    share: str = ""
    holders: tuple[str, ...] = ()


def _counted(verb: str, base: str, things: str) -> _Theme:
    """Return the theme of persons who have, read or score things; ``base`` is the verb in a question."""
    auxiliary = "do" if verb in ("has", "owns") else "did"
    does = "does" if auxiliary == "do" else "did"
    return _Theme(
        is_=f"{{s}} {verb} {{n}} {things}.",
        more=f"{{s}} {verb} {{n}} more {things} than {{t}}.",
        less=f"{{s}} {verb} {{n}} fewer {things} than {{t}}.",
        k_times=f"{{s}} {verb} {{k}} as many {things} as {{t}}.",
        half=f"{{s}} {verb} half as many {things} as {{t}}.",
        both=f"{{s}} {verb} as many {things} as {{t}} and {{u}} together.",
        share=f"{{s}} {verb} {{n}}% more {things} than {{t}}.",
        ask=f"How many {things} {does} {{s}} {base}?",
        ask_all=f"How many {things} {auxiliary} {{s}} {base} altogether?",
        ask_more=f"How many more {things} {does} {{s}} {base} than {{t}}?",
        together=f"{{s}} {base if auxiliary == 'do' else verb} {{n}} {things} altogether.",
    )


def _measured(is_: str, unit: str, more: str, less: str, as_much: str, verb: str, ask: str, holders: str) -> _Theme:
    """Return a theme of weights, prices or times; ``verb`` is the plural verb, ``ask`` "How much does {s} weigh"."""
    n = "${n}" if unit == "$" else f"{{n}} {unit}"
    several = ask.replace("does {s}", "do {s}")
    return _Theme(
        is_=f"{{s}} {is_} {n}.",
        more=f"{{s}} {is_} {n} {more} than {{t}}.",
        less=f"{{s}} {is_} {n} {less} than {{t}}.",
        k_times=f"{{s}} {is_} {{k}} as {as_much} as {{t}}.",
        half=f"{{s}} {is_} half as {as_much} as {{t}}.",
        both=f"{{s}} {is_} as {as_much} as {{t}} and {{u}} together.",
        share=f"{{s}} {is_} {{n}}% {more} than {{t}}.",
        ask=f"{ask}?",
        ask_all=f"{several} altogether?",
        ask_more=f"{ask.replace('does', f'{more} does', 1)} than {{t}}?",
        together=f"{{s}} {verb} {n} altogether.",
        holders=tuple(holders.split(", ")),
    )


_MEASURES = (
    _measured("weighs", "kg", "more", "less", "much", "weigh", "How many kilograms does {s} weigh",
              ("the red box, the blue box, the green crate, the wooden chest, the "
"steel drum, the sack of rice, the old trunk")),
    _measured("costs", "$", "more", "less", "much", "cost", "How many dollars does {s} cost",
              "the lamp, the chair, the carpet, the table, the mirror, the bookshelf, the armchair, the clock"),
    _measured("lasts", "minutes", "longer", "shorter", "long", "last", "How many minutes does {s} last",
              "the opera, the lecture, the film, the concert, the cartoon, the documentary, the rehearsal"),
    _measured("holds", "litres", "more", "less", "much", "hold", "How many litres does {s} hold",
              "the barrel, the bathtub, the tank, the pond, the cistern, the trough, the pool"),
    _measured("measures", "metres", "more", "less", "much", "measure", "How many metres does {s} measure",
              "the oak, the pine, the tower, the chimney, the flagpole, the crane, the lighthouse"),
)  # fmt: skip


def _theme(rng: random.Random) -> tuple[_Theme, list[str]]:
    """Return a theme, and the holders of its quantities in a random order."""
    if rng.random() < 0.45:
        theme = rng.choice(_MEASURES)
        return theme, rng.sample(theme.holders, len(theme.holders))
    names = [person.name for person in people(rng, 7)]
    verb, base, things = rng.choice(
        (
            ("has", "have", rng.choice(THINGS)),
            ("has", "have", rng.choice(THINGS)),
            ("owns", "own", rng.choice(THINGS)),
            ("scored", "score", "points"),
            ("read", "read", "pages"),
            ("sold", "sell", rng.choice(THINGS)),
            ("collected", "collect", rng.choice(THINGS)),
        )
    )
    return _counted(verb, base, things), names


@dataclass
class _World:
    """Quantities, and the sentences that describe them."""

    theme: _Theme
    names: list[str]
    values: list[Fraction] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def say(self, template: str, **parts: object) -> None:
        self.sentences.append(_capital(template.format(**parts)))

    def add(self, rng: random.Random, hard: bool) -> None:
        """Describe the next quantity by earlier ones."""
        theme, at = self.theme, len(self.values)
        other = rng.randrange(at)
        base = self.values[other]
        s, t = self.names[at], self.names[other]
        relation = rng.choices(
            ("more", "less", "times", "half", "both", "percent"), (4, 4, 3, 2, 2 if at > 1 else 0, 2 if hard else 0)
        )[0]
        if relation == "more":
            n = rng.randint(2, 60)
            value = base + n
            self.say(theme.more, s=s, t=t, n=n)
        elif relation == "less":
            n = rng.randint(2, 60)
            value = base - n
            self.say(theme.less, s=s, t=t, n=n)
        elif relation == "times":
            k = rng.randint(2, 6)
            value = base * k
            self.say(theme.k_times, s=s, t=t, k=times(k))
        elif relation == "half":
            value = base / 2
            self.say(theme.half, s=s, t=t)
        elif relation == "percent":
            n = rng.choice((10, 20, 25, 30, 40, 50, 60, 75))
            value = base * (100 + n) / 100
            self.say(theme.share, s=s, t=t, n=n)
        else:
            third = rng.choice([place for place in range(at) if place != other])
            value = base + self.values[third]
            self.say(theme.both, s=s, t=t, u=self.names[third])
        if not 2 <= value <= _MOST or value.denominator != 1 or value in self.values:
            raise Rejected
        self.values.append(value)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " and " + names[-1]


def comparison(
    rng: random.Random, relations: tuple[int, int], shuffled: bool = False, hard: bool = False
) -> MathProblem:
    """Return a problem in which one quantity is given and the others follow from it."""
    theme, names = _theme(rng)
    world = _World(theme, names)
    first = Fraction(rng.randint(4, 120))
    world.values.append(first)
    world.say(theme.is_, s=names[0], n=first)
    count = rng.randint(*relations)
    for _ in range(count):
        world.add(rng, hard)
    if shuffled:
        rng.shuffle(world.sentences)
    last = len(world.values) - 1
    kind = rng.choice(("one", "all", "more") if count > 1 else ("one", "one", "all"))
    if kind == "one":
        answer, ask = world.values[last], theme.ask.format(s=names[last])
    elif kind == "all":
        chosen = sorted(rng.sample(range(last + 1), rng.randint(2, last + 1)))
        answer, ask = (
            sum((world.values[i] for i in chosen), Fraction(0)),
            theme.ask_all.format(s=_listed([names[i] for i in chosen])),
        )
    else:
        low, high = sorted(rng.sample(range(last + 1), 2), key=lambda i: world.values[i])
        answer, ask = world.values[high] - world.values[low], theme.ask_more.format(s=names[high], t=names[low])
    return MathProblem("comparison", " ".join([*world.sentences, ask]), number(answer))


def comparison_backwards(rng: random.Random, relations: tuple[int, int], hard: bool = False) -> MathProblem:
    """Return a problem that gives the total of several quantities and asks for one of them."""
    theme, names = _theme(rng)
    world = _World(theme, names)
    world.values.append(Fraction(rng.randint(4, 120)))
    for _ in range(rng.randint(*relations)):
        world.add(rng, hard)
    total = sum(world.values, Fraction(0))
    world.say(theme.together, s=_listed(names[: len(world.values)]), n=total)
    if rng.random() < 0.5:
        rng.shuffle(world.sentences)
    asked = rng.randrange(len(world.values))
    question = " ".join([*world.sentences, theme.ask.format(s=names[asked])])
    return MathProblem("comparison_backwards", question, number(world.values[asked]))
