"""Pools of task sessions that the environments of a process share: :func:`session_pool`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock

from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines import Engine
from gem_terminal.episodes.progress import showing
from gem_terminal.episodes.side_cars import start_with_side_cars
from gem_terminal.episodes.task_session import SessionSnapshot, TaskSession
from gem_terminal.episodes.warm_pool import WarmPool
from gem_terminal.task import Task

__all__ = ["SessionSpec", "session_pool"]

_POOLS: dict[Engine, WarmPool[SessionSpec, TaskSession]] = {}
_LOCK = Lock()


@dataclass(frozen=True)
class SessionSpec:
    """All arguments of a :class:`TaskSession`. Environments with equal specs share the sessions made ahead."""

    task: Task
    output: int
    command_seconds: float
    seconds: float | None
    snapshot: SessionSnapshot | None = None
    """The files and the shell with which the session begins; None for those of the image."""

    def __hash__(self) -> int:  # a task contains dicts, which are not hashable
        return hash((self.task.folder, self.output, self.command_seconds, self.seconds))


def session_pool(engine: Engine) -> WarmPool[SessionSpec, TaskSession]:
    """Return this process's pool of sessions for an engine.

    On first use the pool removes, in the background because an engine may hang, the containers that earlier processes
    left. When the process ends, the pool removes all sessions that are still open; this includes processes that end
    with an exception and processes of multiprocessing. A forked child starts with no pools.
    """
    from multiprocessing.util import Finalize

    with _LOCK:
        pool = _POOLS.get(engine)
        if pool is None:
            if not _POOLS:
                # Processes of multiprocessing do not run atexit handlers; they do run this one.
                Finalize(None, _close_all, exitpriority=0)
            pool = _POOLS[engine] = WarmPool(
                partial(_make, engine),
                TaskSession.close,
                TaskSession.is_sound,
                on_start=engine.reap,
                on_idle=engine.release_idle,
            )
    return pool


def _make(engine: Engine, spec: SessionSpec) -> TaskSession:
    side_cars = None
    if spec.snapshot is None:
        with showing(f"image of {spec.task.name}") as tell:
            container, side_cars = start_with_side_cars(engine, spec.task, tell)
    else:
        container = engine.restore(spec.snapshot.files, spec.task.limits, spec.task.environment)
    try:
        return TaskSession(
            spec.task,
            container,
            engine=engine,
            side_cars=side_cars,
            output=spec.output,
            command_seconds=spec.command_seconds,
            seconds=spec.seconds,
            restored=spec.snapshot,
        )
    except BaseException:
        if side_cars is not None:
            side_cars.remove()
        container.remove()
        raise


def _close_all() -> None:
    for pool in list(_POOLS.values()):
        pool.close()


@after_fork_in_child
def _reset_after_fork() -> None:
    """Drop the parent's sessions in a forked child."""
    global _LOCK
    _LOCK = Lock()
    for pool in _POOLS.values():
        pool.forget(TaskSession.let_go)
    _POOLS.clear()
