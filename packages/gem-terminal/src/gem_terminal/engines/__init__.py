"""The container engines, by name."""

from __future__ import annotations

import os
from threading import RLock

from gem.arguments import choice
from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines.base import Channel, Container, Engine, ExecResult, Progress
from gem_terminal.engines.contexts import IMAGES
from gem_terminal.errors import EngineError

__all__ = [
    "NAMES",
    "Channel",
    "Container",
    "Engine",
    "ExecResult",
    "Progress",
    "checked_engine_name",
    "engine_by_name",
    "engine_names",
    "is_engine_name",
    "new_engine",
]

NAMES = ("docker", "namespace")
"""The engines of this package, in the order in which ``"auto"`` tries them."""

CHOICE = "GEM_TERMINAL_ENGINE"
"""The environment variable that names the engine for ``"auto"``."""

_ENGINES: dict[tuple[str, str | None], Engine] = {}
"""Name and folder of images, as the environment says at that moment, → the engine."""
_LOCK = RLock()


def engine_names() -> list[str]:
    """Return the names of all engines: our own, and those that other packages announce."""
    from gem_terminal.engines.third_party import announced_engines

    return [*NAMES, *sorted(set(announced_engines()) - {*NAMES, "auto"})]


def is_engine_name(name: str) -> bool:
    """Return whether :func:`engine_by_name` knows a name; looks at installed packages only for names of others."""
    from gem_terminal.engines.third_party import announced_place

    return name in ("auto", *NAMES) or announced_place(name) is not None


def checked_engine_name(name: object) -> str:
    """Return a name that :func:`engine_by_name` knows.

    Raises:
        ArgumentError: if there is no such engine; the message lists those that there are.
        EngineError: if it comes with a package that is not installed; the message has the line that installs it.
    """
    from gem_terminal.engines.third_party import ADDRESSES, announced_engines, refuse_missing

    if isinstance(name, str):
        if is_engine_name(name):
            return name
        refuse_missing(name)
    schemes = [f"{scheme}:…" for scheme in sorted(announced_engines(ADDRESSES))]
    return str(choice("engine", name, ("auto", *engine_names(), *schemes)))


def engine_by_name(name: str) -> Engine:
    """Return the engine of this name. All threads of the process share it.

    Args:
        name: ``"docker"``, ``"namespace"``, or ``"auto"``: the engine that the environment variable
            ``GEM_TERMINAL_ENGINE`` names, or the first of docker and namespace that works; or the name or address of
            an engine that another package announces (:mod:`gem_terminal.engines.third_party`). gem-terminal-remote
            brings ``"kubernetes"``, ``"wss://host:port"`` for the engine of a worker there, and ``"fleet:URL,URL"``
            for the Docker engines and workers at these addresses (``namespace`` in place of one is that engine).

    Raises:
        EngineError: if the engine does not work on this machine; the message says what to install.
    """
    with _LOCK:
        if name == "auto":
            chosen = os.environ.get(CHOICE, "auto")
            return _first_that_works() if chosen == "auto" else engine_by_name(chosen)
        key = name, os.environ.get(IMAGES)
        if key not in _ENGINES:
            engine = new_engine(name)
            engine.check()
            _ENGINES[key] = engine
        return _ENGINES[key]


def new_engine(name: str) -> Engine:
    """Return an engine of this name that nobody else has, and that nobody has checked.

    Raises:
        EngineError: if there is no such engine, or its package is not installed; the message says what to do.
    """
    if name == "docker":
        from gem_terminal.engines.docker.engine import DockerEngine

        return DockerEngine()
    if name == "namespace":
        from gem_terminal.engines.namespace.engine import NamespaceEngine

        return NamespaceEngine()
    from gem_terminal.engines.third_party import announced_engine, announced_place, refuse_missing

    if announced_place(name) is not None:
        return announced_engine(name)
    refuse_missing(name)
    raise EngineError(f"there is no engine {name!r}; there are {', '.join(engine_names())} and auto")


def _first_that_works() -> Engine:
    refusals = []
    for name in NAMES:
        try:
            return engine_by_name(name)
        except EngineError as error:
            refusals.append(f"{name}: {error}")
    raise EngineError(f"no container engine works here. {'; '.join(refusals)}")


@after_fork_in_child
def _reset_after_fork() -> None:
    global _LOCK
    _LOCK = RLock()  # a thread that does not exist in the child may have held the lock
