"""The forms that exist, as ``data/forms.toml`` describes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from gem.tables import read_table

__all__ = ["DERIVED", "FAMILY_NAMES", "GIVEN_NAMES", "FormTheme", "form_themes", "options_of"]

DERIVED = ("days", "product")
"""Kinds whose value follows from two other fields, and which no letter states."""

_TABLES = read_table(__file__, "names.json")
GIVEN_NAMES: Sequence[str] = _TABLES["given_names"]
FAMILY_NAMES: Sequence[str] = _TABLES["family_names"]


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
    found = read_table(__file__, "data/forms.toml")
    themes = tuple(FormTheme(t["title"], t["intro"], tuple(t["field"])) for t in found["theme"])
    return themes, tuple(found["common"]), found["person"]


def options_of(field: dict[str, Any]) -> dict[str, str]:
    """Return the options of a choice, each with the words of a letter for it."""
    pairs = (value.partition(" = ") for value in field["values"])
    return {option: words or option for option, _, words in pairs}
