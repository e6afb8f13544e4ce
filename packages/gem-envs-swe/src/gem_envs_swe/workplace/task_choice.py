"""The choice of tasks by their names, kinds and levels: :func:`chosen_tasks`."""

from __future__ import annotations

from collections.abc import Sequence

from gem.arguments import choice, integer, nearest
from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_swe.row import KINDS
from gem_envs_swe.workplace.tasks import SweTask

__all__ = ["chosen_tasks"]


def chosen_tasks(
    found: Sequence[SweTask], names: Sequence[str] | None, kinds: Sequence[str] | None, level: int | None
) -> tuple[SweTask, ...]:
    """Return the tasks that all given criteria select, in their order.

    Raises:
        ArgumentError: if a name, a kind or the level is unknown, or nothing is left.
        ArgumentTypeError: if the names or kinds are no list of strings.
    """
    chosen = list(found)
    if names is not None:
        wanted = _strings("tasks", names)
        known = {task.row.instance_id: task for task in found}
        for name in wanted:
            if name not in known:
                hint = nearest(name, known)
                raise ArgumentError(f"there is no task {name!r:.120}" + (f"; did you mean {hint!r}?" if hint else ""))
        chosen = [task for task in chosen if task.row.instance_id in wanted]
    if kinds is not None:
        wanted = _strings("kinds", kinds)
        for kind in wanted:
            choice("kinds", kind, KINDS)
        chosen = [task for task in chosen if task.row.kind in wanted]
    if level is not None:
        wanted_level = integer("level", level, minimum=1, maximum=5)
        chosen = [task for task in chosen if task.row.level == wanted_level]
    if not chosen:
        raise ArgumentError(f"no task meets tasks={names!r:.200}, kinds={kinds!r:.200}, level={level!r}")
    return tuple(chosen)


def _strings(name: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise ArgumentTypeError(f"{name} must be a list of strings, got {given!r:.80}")
    return tuple(given)
