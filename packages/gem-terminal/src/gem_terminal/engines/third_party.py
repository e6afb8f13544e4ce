"""Engines of other packages, which announce them as entry points: :func:`announced_engines`."""

from __future__ import annotations

import os
from functools import cache

from gem.discovery.official import install_line
from gem.entry_points import load
from gem.errors import EntryPointError
from gem_terminal.engines.base import Engine
from gem_terminal.errors import EngineError

__all__ = [
    "ADDRESSES", "ELSEWHERE", "GROUP", "announced_engine", "announced_engines", "announced_place", "refuse_missing",
]  # fmt: skip

GROUP = "gem_terminal.engines"
"""The group of the entry points: a name, and ``module:Class`` of an engine that is made without arguments."""

ADDRESSES = "gem_terminal.engine_addresses"
"""The group for engines with an address: a scheme, and ``module:callable`` that makes the engine of ``scheme:…``."""

ELSEWHERE = dict.fromkeys(("fleet", "kubernetes", "remote", "ws", "wss"), "gem-terminal-remote")
"""Name or scheme of an engine of this project → the distribution that brings it."""


@cache
def announced_engines(group: str = GROUP) -> dict[str, str]:
    """Return the engines of installed packages: name or scheme → ``module:Class``, none of them imported.

    Of several packages with one name the first counts. ``GEM_DISABLE_PLUGINS=1`` switches all off.
    """
    from importlib.metadata import distributions

    found: dict[str, str] = {}
    if os.environ.get("GEM_DISABLE_PLUGINS", "").lower() in ("1", "true", "all"):
        return found
    for distribution in distributions():
        try:
            if group in (distribution.read_text("entry_points.txt") or ""):
                for entry in distribution.entry_points:
                    if entry.group == group:
                        found.setdefault(entry.name, entry.value)
        except Exception:  # noqa: S112  # a fault of one distribution must not hide the others
            continue
    return found


def announced_place(name: str) -> str | None:
    """Return the ``module:Class`` of an engine of another package by its name or address; None if there is none."""
    scheme, colon, _ = name.partition(":")
    return announced_engines(ADDRESSES if colon else GROUP).get(scheme)


def refuse_missing(name: str) -> None:
    """Raise an error with the line that installs the package of an engine of this project that is not installed."""
    distribution = ELSEWHERE.get(name.partition(":")[0])
    if distribution is None or distribution.replace("-", "_") in {
        place.partition(".")[0] for group in (GROUP, ADDRESSES) for place in announced_engines(group).values()
    }:
        return
    raise EngineError(f"the engine {name!r} comes with {distribution}; run: {install_line(distribution)}")


def announced_engine(name: str) -> Engine:
    """Return a new engine of another package, which gets the name if that is an address.

    Raises:
        EngineError: if it cannot be imported or made, or is no engine; the message names what was announced.
    """
    place = announced_place(name)
    assert place is not None
    try:
        engine = load(place)(name) if ":" in name else load(place)()
    except (EntryPointError, TypeError, ImportError) as error:
        raise EngineError(f"the engine {name} ({place}) cannot be made: {error}") from error
    if not isinstance(engine, Engine):
        raise EngineError(f"the engine {name} ({place}) is no gem_terminal.engines.Engine, but {type(engine).__name__}")
    return engine
