"""A graph out of a seed."""

from __future__ import annotations

import random

from gem_envs_data.graph.schema import ATTRIBUTES, FORWARD
from gem_envs_data.graph.store import TripleStore
from gem_envs_data.names import NameMaker

__all__ = ["make_graph"]

_COUNTS = {
    "country": 5, "city": 16, "university": 8, "company": 18, "person": 70, "award": 8, "book": 32, "film": 48,
}  # fmt: skip
_OBJECTS = {"film.film.cast": (2, 5), "film.film.shooting_locations": (1, 3), "business.company.founders": (1, 2),
            "award.award.winners": (3, 7)}  # fmt: skip
"""Relation that is not functional → the lowest and the highest number of objects."""
_SHARES = {"people.person.employer": 0.8, "people.person.alma_mater": 0.8, "people.person.mentor": 0.5,
           "business.company.parent": 0.5, "film.film.based_on": 0.5}  # fmt: skip
"""Relation → the share of the subjects that have it, where not all of them do."""

_TITLES = ("The {} Affair", "Return to {}", "{} at Dawn", "The Last of {}", "A Winter in {}", "Beyond {}", "{} Rising")
_BOOKS = ("Letters from {}", "The House of {}", "{}: A Life", "The {} Chronicle", "Under the Moons of {}", "On {}")
_AWARDS = ("{} Prize", "{} Medal", "Order of {}")
_COMPANIES = ("{} Pictures", "{} Industries", "{} Press", "{} Media", "{} and Sons")


def make_graph(rng: random.Random, split: str) -> TripleStore:
    """Return a graph of some 200 entities; its first country decides the split (see :mod:`gem_envs_data.names`)."""
    names, store = NameMaker(rng), TripleStore.empty()
    of_kind: dict[str, list[str]] = {}
    for kind, count in _COUNTS.items():
        of_kind[kind] = [_name(rng, names, kind, split if kind == "country" and n == 0 else None) for n in range(count)]
        for name in of_kind[kind]:
            numbers = {one.name: rng.randint(one.lowest, one.highest) for one in ATTRIBUTES[kind]}
            store.add_entity(name, kind, numbers)
    for relation in FORWARD:
        # A few objects have many subjects and most have few, as in real graphs.
        objects = of_kind[relation.object]
        share, (fewest, most) = _SHARES.get(relation.name, 1.0), _OBJECTS.get(relation.name, (1, 1))
        rng.shuffle(objects)
        for subject in of_kind[relation.subject]:
            if share < 1.0 and rng.random() > share:
                continue
            chosen: set[str] = set()
            for _ in range(rng.randint(fewest, most)):
                other = objects[int(len(objects) * rng.random() ** 2)]
                if other != subject and other not in chosen:
                    chosen.add(other)
                    store.add_link(subject, relation.name, other)
    return store


def _name(rng: random.Random, names: NameMaker, kind: str, split: str | None) -> str:
    if split is not None:
        return names.first(split)
    if kind == "person":
        return names.person()
    word = names.word()
    if kind == "university":
        return f"University of {word}"
    patterns = {"company": _COMPANIES, "award": _AWARDS, "book": _BOOKS, "film": _TITLES}.get(kind)
    return word if patterns is None else rng.choice(patterns).format(word)
