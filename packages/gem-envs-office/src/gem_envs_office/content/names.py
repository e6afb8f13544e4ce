"""Names of invented people, firms and places. The family name decides the split: none is in both."""

from __future__ import annotations

from random import Random

__all__ = ["CITIES", "firm_name", "people_names"]

_FIRST = (
    "Agnes", "Bruno", "Carla", "Dario", "Elif", "Fabio", "Greta", "Henk", "Irina", "Jens", "Klara", "Lukas", "Maren",
    "Noor", "Oskar", "Petra", "Rafael", "Sanne", "Timo", "Ulrike", "Viktor", "Wiebke", "Yusuf", "Zita", "Amara",
    "Boris", "Chloe", "Dmitri", "Esra", "Femke", "Goran", "Hanna", "Ivo", "Jolanda", "Kofi", "Leila", "Mats", "Nadia",
    "Otto", "Pilar",
)  # fmt: skip
_BEGINNINGS = {
    "train": ("Brand", "Kell", "Lind", "Moor", "Hart", "Vels", "Stein", "Fern", "Gold", "Nord", "Rav", "Sol"),
    "test": ("Berg", "Dahl", "Esch", "Falk", "Gron", "Heid", "Juhl", "Krog", "Lund", "Osten", "Thal", "Wald"),
}
_ENDINGS = ("er", "mann", "berg", "inga", "sson", "ov", "ini", "wright", "dal", "stra", "escu", "holt")
_FIRMS = ("Instruments", "Optics", "Foods", "Mobility", "Robotics", "Textiles", "Pumps", "Media", "Labs", "Marine")
CITIES = (
    ("Tarnholm", "Norland"), ("Velmar", "Ostria"), ("Port Serra", "Lusia"), ("Halden", "Norland"),
    ("Cray Falls", "Albia"), ("Lindau Bay", "Ostria"), ("Mirefield", "Albia"), ("San Tirso", "Lusia"),
    ("Ostby", "Norland"), ("Graubek", "Ostria"),
)  # fmt: skip


def people_names(rng: Random, split: str, count: int) -> list[str]:
    """Return names of distinct people of a split, with distinct first names as long as there are any."""
    names: dict[str, None] = {}
    firsts = list(_FIRST)
    rng.shuffle(firsts)
    while len(names) < count:
        first = firsts[len(names) % len(firsts)]
        names[f"{first} {_family(rng, split)}"] = None
    return list(names)


def firm_name(rng: Random, split: str) -> str:
    """Return the name of a firm of a split."""
    return f"{_family(rng, split)} {rng.choice(_FIRMS)}"


def _family(rng: Random, split: str) -> str:
    return f"{rng.choice(_BEGINNINGS[split])}{rng.choice(_ENDINGS)}".replace("sss", "ss")
