"""Pydantic's own search for plugins, kept from failing for everybody."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

__all__ = ["start_pydantic"]


@cache
def start_pydantic() -> None:
    """Make pydantic usable whatever is installed beside it; to be called before a model is made.

    Before its first model pydantic looks for plugins of its own in every distribution. One whose entry points
    are malformed makes that fail. Pydantic then goes on without plugins and does not look again, so it is
    enough to let a model fail that nobody needs.
    """
    from pydantic import TypeAdapter

    with suppress(Exception):
        TypeAdapter(int)
