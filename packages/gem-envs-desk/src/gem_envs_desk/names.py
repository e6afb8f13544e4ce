"""Names of invented people and places. The family name decides the split: none is in both."""

from __future__ import annotations

from random import Random

__all__ = ["CITIES", "FIRST_NAMES", "STREETS", "family_name"]

FIRST_NAMES = (
    "Ada", "Bela", "Ciro", "Dalia", "Edda", "Faris", "Gwen", "Hugo", "Ines", "Jonas", "Kaya", "Liam", "Mira", "Nils",
    "Olga", "Pia", "Quentin", "Rosa", "Selim", "Tara", "Ugo", "Vera", "Wanda", "Ximena", "Yara", "Zeno",
)  # fmt: skip
_BEGINNINGS = {
    "train": ("Ald", "Bren", "Cor", "Dov", "Est", "Fal", "Gar", "Hol", "Ived", "Jar", "Kest", "Lor"),
    "test": ("Mord", "Nev", "Orl", "Pell", "Quar", "Rost", "Sand", "Tev", "Urb", "Vask", "Wend", "Yar"),
}
_ENDINGS = ("en", "ina", "ova", "ström", "wick", "ley", "ano", "etti", "mark", "sen", "ides", "ucci")
STREETS = ("Mill Lane", "Harbour Road", "Elm Street", "Station Square", "Cedar Avenue", "Quarry Hill", "North Quay")
CITIES = ("Tarnholm", "Velmar", "Ostby", "Cray Falls", "Lindau Bay", "Port Serra", "Halden", "Mirefield")


def family_name(rng: Random, split: str) -> str:
    """Return the family name of an invented person of a split."""
    return rng.choice(_BEGINNINGS[split]) + rng.choice(_ENDINGS)
