"""Engines of other packages, which announce them as entry points: :func:`announced_engines`."""

from __future__ import annotations

import os
from functools import cache

from gem.entry_points import load
from gem.errors import EntryPointError
from gem_terminal.engines.base import Engine
from gem_terminal.errors import EngineError

__all__ = ["GROUP", "announced_engine", "announced_engines"]

GROUP = "gem_terminal.engines"
"""The group of the entry points: a name, and ``module:Class`` of an engine that is made without arguments."""


@cache
def announced_engines() -> dict[str, str]:
    """Return the engines of installed packages: name → ``module:Class``, none of them imported.

    Of several packages with one name the first counts. ``GEM_DISABLE_PLUGINS=1`` switches all off.
    """
    from importlib.metadata import distributions

    found: dict[str, str] = {}
    if os.environ.get("GEM_DISABLE_PLUGINS", "").lower() in ("1", "true", "all"):
        return found
    for distribution in distributions():
        try:
            if GROUP in (distribution.read_text("entry_points.txt") or ""):
                for entry in distribution.entry_points:
                    if entry.group == GROUP:
                        found.setdefault(entry.name, entry.value)
        except Exception:  # noqa: S112  # a fault of one distribution must not hide the others
            continue
    return found


def announced_engine(name: str) -> Engine:
    """Return a new engine of another package.

    Raises:
        EngineError: if it cannot be imported or made, or is no engine; the message names what was announced.
    """
    place = announced_engines()[name]
    try:
        engine = load(place)()
    except (EntryPointError, TypeError, ImportError) as error:
        raise EngineError(f"the engine {name} ({place}) cannot be made: {error}") from error
    if not isinstance(engine, Engine):
        raise EngineError(f"the engine {name} ({place}) is no gem_terminal.engines.Engine, but {type(engine).__name__}")
    return engine
