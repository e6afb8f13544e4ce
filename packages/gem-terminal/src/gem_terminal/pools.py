"""The pools of workplaces that the environments of a process share."""

from __future__ import annotations

from threading import Lock

from gem_terminal.engines import Engine
from gem_terminal.pool import Pool
from gem_terminal.task import Task
from gem_terminal.workplace import Workplace

__all__ = ["pool_of"]

_POOLS: dict[tuple[object, ...], Pool[Workplace]] = {}
_LOCK = Lock()


def pool_of(
    engine: Engine, task: Task, size: int, output: int, command_seconds: float, seconds: float | None
) -> Pool[Workplace]:
    """Return the pool of workplaces for a task, which environments with the same arguments share.

    What an earlier process left behind is removed when the first pool of an engine is made.
    """
    key = (id(engine), task.folder, size, output, command_seconds, seconds)
    with _LOCK:
        pool = _POOLS.get(key)
        if pool is None:
            if not any(other[0] == id(engine) for other in _POOLS):
                engine.reap()

            def make() -> Workplace:
                container = engine.start(engine.prepare(task.image), task.limits, task.environment)
                try:
                    return Workplace(task, container, output=output, command_seconds=command_seconds, seconds=seconds)
                except BaseException:
                    container.remove()
                    raise

            pool = _POOLS[key] = Pool(make, Workplace.close, size)
    return pool
