"""The forms that exist, as ``data/forms.toml`` describes them."""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["DERIVED", "FAMILY_NAMES", "GIVEN_NAMES", "FormTheme", "form_themes", "options_of"]

DERIVED = ("days", "product")
"""Kinds whose value follows from two other fields, and which no letter states."""

GIVEN_NAMES = (
    "Anna", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karin", "Leon", "Marta",
    "Nils", "Olga", "Pavel", "Quentin", "Rosa", "Stefan", "Tilda", "Ulrich", "Vera", "Wendel", "Xenia", "Yusuf",
    "Zora", "Amina", "Bjorn", "Carla", "Dario", "Esther", "Farid", "Gina", "Henrik", "Ines", "Jakub", "Kaja", "Luka",
    "Mira", "Nuno",
)  # fmt: skip
FAMILY_NAMES = (
    "Abel", "Baumann", "Costa", "Dahlberg", "Engstrom", "Ferrara", "Grahame", "Hollis", "Ivanow", "Jansen",
    "Kowalska", "Lindqvist", "Moreau", "Novak", "Olsen", "Pereira", "Quist", "Rossi", "Santos", "Tanaka", "Ullman",
    "Varga", "Weber", "Xander", "Ylonen", "Zeman", "Adeyemi", "Bianchi", "Cordero", "Duarte", "Eklund", "Fischer",
    "Gallo", "Horvat", "Iversen", "Juhasz", "Keller", "Lombardi", "Mendes", "Nyberg", "Okafor", "Petrov", "Ramos",
    "Schuster", "Toth", "Urban", "Visser", "Wallin", "Yilmaz", "Zanetti", "Almeida", "Brandt", "Carvalho", "Dubois",
    "Eriksen", "Fontana", "Gruber", "Hansen", "Ibarra", "Jokinen", "Kaplan", "Laine", "Marek", "Nagy", "Orban",
    "Pinto", "Reiter", "Svoboda", "Tremblay", "Unger", "Vogel", "Winkler", "Yates", "Zuber", "Arnold", "Becker",
    "Conti", "Drexler", "Evers", "Falk",
)  # fmt: skip


class FormTheme(NamedTuple):
    """A kind of form."""

    title: str
    intro: str
    """The first sentence of a letter."""
    fields: tuple[dict[str, Any], ...]
    """The tables of its own fields, in their order on the form."""


@cache
def form_themes() -> tuple[tuple[FormTheme, ...], tuple[dict[str, Any], ...], dict[str, dict[str, Any]]]:
    """Return the themes, the fields that any form may have, and the two fields that every form has."""
    found = tomllib.loads((files("gem_envs_web.form") / "data" / "forms.toml").read_text(encoding="utf-8"))
    themes = tuple(FormTheme(t["title"], t["intro"], tuple(t["field"])) for t in found["theme"])
    return themes, tuple(found["common"]), found["person"]


def options_of(field: dict[str, Any]) -> dict[str, str]:
    """Return the options of a choice, each with the words of a letter for it."""
    pairs = (value.partition(" = ") for value in field["values"])
    return {option: words or option for option, _, words in pairs}
