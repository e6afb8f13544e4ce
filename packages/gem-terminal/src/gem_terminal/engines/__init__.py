"""Engines of containers by name."""

from __future__ import annotations

import os
from functools import cache

from gem_terminal.engines.base import Channel, Container, Engine, Finished, Progress
from gem_terminal.errors import EngineError

__all__ = ["NAMES", "Channel", "Container", "Engine", "Finished", "Progress", "engine_by_name"]

NAMES = ("docker", "namespace")
"""The engines in the order in which ``"auto"`` tries them."""

CHOICE = "GEM_TERMINAL_ENGINE"
"""The environment variable that says what ``"auto"`` stands for."""


@cache
def engine_by_name(name: str) -> Engine:
    """Return the engine of this name, one for the whole process.

    Args:
        name: ``"docker"``, ``"namespace"``, or ``"auto"``: what the environment variable ``GEM_TERMINAL_ENGINE`` says,
            or else the first of them that works here.

    Raises:
        EngineError: if it does not work here; the message says what to install.
    """
    if name == "auto":
        chosen = os.environ.get(CHOICE, "auto")
        return _first_that_works() if chosen == "auto" else engine_by_name(chosen)
    engine: Engine
    if name == "docker":
        from gem_terminal.engines.docker import DockerEngine

        engine = DockerEngine()
    elif name == "namespace":
        from gem_terminal.engines.namespace import NamespaceEngine

        engine = NamespaceEngine()
    else:
        raise EngineError(f"there is no engine {name!r}; there are {', '.join(NAMES)} and auto")
    engine.check()
    return engine


def _first_that_works() -> Engine:
    refusals = []
    for name in NAMES:
        try:
            return engine_by_name(name)
        except EngineError as error:
            refusals.append(f"{name}: {error}")
    raise EngineError(f"no container engine works here. {'; '.join(refusals)}")
