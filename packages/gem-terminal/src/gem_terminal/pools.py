"""The pools of workplaces that the environments of a process share: :func:`workplaces`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock

from gem.processes.fork_hooks import after_fork_in_child
from gem_terminal.engines import Engine
from gem_terminal.pool import Pool
from gem_terminal.progress import showing
from gem_terminal.task import Task
from gem_terminal.workplace import Workplace

__all__ = ["Plan", "workplaces"]

_POOLS: dict[Engine, Pool[Plan, Workplace]] = {}
_LOCK = Lock()


@dataclass(frozen=True)
class Plan:
    """All that shapes a workplace, so that equal plans can share what was made ahead; see :class:`Workplace`."""

    task: Task
    output: int
    command_seconds: float
    seconds: float | None

    def __hash__(self) -> int:  # what a task says may be in dicts, which have none
        return hash((self.task.folder, self.output, self.command_seconds, self.seconds))


def workplaces(engine: Engine) -> Pool[Plan, Workplace]:
    """Return the pool of workplaces of an engine, one in this process.

    When it is first used, what an earlier process left behind is removed, in the background: an engine may hang on it.
    When the process ends (also by an exception, or as one that multiprocessing has started), everything is removed
    that it has not closed. A forked child begins anew.
    """
    from multiprocessing.util import Finalize

    with _LOCK:
        pool = _POOLS.get(engine)
        if pool is None:
            if not _POOLS:
                # As atexit, which the processes of multiprocessing end without.
                Finalize(None, _close_all, exitpriority=0)
            pool = _POOLS[engine] = Pool(
                partial(_make, engine), Workplace.close, Workplace.is_sound, first=engine.reap, rest=engine.rest
            )
    return pool


def _make(engine: Engine, plan: Plan) -> Workplace:
    with showing(f"image of {plan.task.name}") as tell:
        reference = engine.prepare(plan.task.image, tell)
    container = engine.start(reference, plan.task.limits, plan.task.environment)
    try:
        return Workplace(
            plan.task,
            container,
            engine=engine,
            output=plan.output,
            command_seconds=plan.command_seconds,
            seconds=plan.seconds,
        )
    except BaseException:
        container.remove()
        raise


def _close_all() -> None:
    for pool in list(_POOLS.values()):
        pool.close()


@after_fork_in_child
def _begin_anew() -> None:
    """Let go of the parent's workplaces, in a forked child."""
    global _LOCK
    _LOCK = Lock()
    for pool in _POOLS.values():
        pool.forget(Workplace.let_go)
    _POOLS.clear()
