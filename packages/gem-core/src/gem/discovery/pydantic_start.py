"""Protection from broken plugins of pydantic, which would make every model fail."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

__all__ = ["start_pydantic"]


@cache
def start_pydantic() -> None:
    """Make pydantic usable beside any installed package. Must run before the first model is defined.

    Before its first model pydantic searches every distribution for plugins of its own. A distribution with malformed
    entry points makes the search fail. Pydantic then continues without plugins and does not search again, so one
    throw-away model that fails is enough.
    """
    from pydantic import TypeAdapter

    with suppress(Exception):
        TypeAdapter(int)
