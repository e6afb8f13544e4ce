"""The container engines, by name."""

from __future__ import annotations

import os
from threading import RLock

from gem.arguments import choice
from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines.base import Channel, Container, Engine, ExecResult, Progress
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
]

NAMES = ("docker", "namespace", "kubernetes")
_TRIED = NAMES[:2]
"""The engines that ``"auto"`` tries, in this order; a cluster must be chosen explicitly."""

CHOICE = "GEM_TERMINAL_ENGINE"
"""The environment variable that names the engine for ``"auto"``."""


_FLEET = "fleet:"
_WORKER = ("ws://", "wss://")

_ENGINES: dict[str, Engine] = {}
_LOCK = RLock()


def engine_names() -> list[str]:
    """Return the names of all engines: our own, and those that other packages announce."""
    from gem_terminal.engines.third_party import announced_engines

    return [*NAMES, *sorted(set(announced_engines()) - {*NAMES, "auto"})]


def is_engine_name(name: str) -> bool:
    """Return whether :func:`engine_by_name` knows a name; looks at installed packages only for names of others."""
    return name in ("auto", *NAMES) or name.startswith((_FLEET, *_WORKER)) or name in engine_names()


def checked_engine_name(name: object) -> str:
    """Return a name that :func:`engine_by_name` knows; raises an error with the nearest name for another."""
    if isinstance(name, str) and is_engine_name(name):
        return name
    return str(choice("engine", name, ("auto", *engine_names())))


def engine_by_name(name: str) -> Engine:
    """Return the engine of this name. All threads of the process share it.

    Args:
        name: ``"docker"``, ``"namespace"``, ``"kubernetes"``, or ``"auto"``: the engine that the environment
            variable ``GEM_TERMINAL_ENGINE`` names, or the first of docker and namespace that works; the name of
            an engine that another package announces as an entry point of ``gem_terminal.engines``;
            ``"wss://host:port"`` for the engine of a worker there
            (:class:`~gem_terminal.engines.remote.WorkerEngine`); or ``"fleet:URL,URL"`` for a
            :class:`~gem_terminal.engines.fleet.FleetEngine` over the Docker engines and workers at these addresses
            (``namespace`` in place of one is that engine).

    Raises:
        EngineError: if the engine does not work on this machine; the message says what to install.
    """
    with _LOCK:
        if name == "auto":
            chosen = os.environ.get(CHOICE, "auto")
            return _first_that_works() if chosen == "auto" else engine_by_name(chosen)
        if name not in _ENGINES:
            engine = _new(name)
            engine.check()
            _ENGINES[name] = engine
        return _ENGINES[name]


def _new(name: str) -> Engine:
    if name == "docker":
        from gem_terminal.engines.docker.engine import DockerEngine

        return DockerEngine()
    if name == "namespace":
        from gem_terminal.engines.namespace.engine import NamespaceEngine

        return NamespaceEngine()
    if name == "kubernetes":
        from gem_terminal.engines.kubernetes.engine import KubernetesEngine

        return KubernetesEngine()
    if name.startswith(_WORKER):
        from gem_terminal.engines.remote.engine import WorkerEngine

        return WorkerEngine(name)
    if name.startswith(_FLEET):
        from gem_terminal.engines.docker.engine import DockerEngine
        from gem_terminal.engines.fleet.engine import FleetEngine

        places = [place.strip() for place in name.removeprefix(_FLEET).split(",") if place.strip()]
        return FleetEngine(
            [_new(place) if place in NAMES or place.startswith(_WORKER) else DockerEngine(place) for place in places]
        )
    if name in engine_names():
        from gem_terminal.engines.third_party import announced_engine

        return announced_engine(name)
    raise EngineError(f"there is no engine {name!r}; there are {', '.join(engine_names())} and auto")


def _first_that_works() -> Engine:
    refusals = []
    for name in _TRIED:
        try:
            return engine_by_name(name)
        except EngineError as error:
            refusals.append(f"{name}: {error}")
    raise EngineError(f"no container engine works here. {'; '.join(refusals)}")


@after_fork_in_child
def _reset_after_fork() -> None:
    global _LOCK
    _LOCK = RLock()  # a thread that does not exist in the child may have held the lock
