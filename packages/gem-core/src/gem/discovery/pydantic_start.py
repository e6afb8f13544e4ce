"""Protection from broken plugins of pydantic, which would make every model fail."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

__all__ = ["start_pydantic"]


@cache
def start_pydantic() -> None:
    """Make pydantic usable beside any installed package. Must run before the first model is defined.

    Before its first model pydantic looks for plugins of its own in every distribution. One whose entry points
    are malformed makes that fail. Pydantic then continues without plugins and does not look again, so it is
    enough to let one throw-away model fail.
    """
    from pydantic import TypeAdapter

    with suppress(Exception):
        TypeAdapter(int)
