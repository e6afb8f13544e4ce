"""Whether a task is sound, proved by executing it: :func:`check_task`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem_envs_office.judge import OfficeVerdict, judged
from gem_envs_office.reference import bound_arguments, returned_key
from gem_envs_office.task import OfficeCall, OfficeTask
from gem_envs_office.tools import office_tools
from gem_envs_office.world import OfficeWorld

__all__ = ["OfficeTaskFault", "PlanExecution", "check_task", "executed", "other_order"]


class OfficeTaskFault(NamedTuple):
    """What is wrong with a task."""

    clause: str
    """``gold``, ``replay``, ``nothing``, ``necessary`` or ``order``."""
    message: str


class PlanExecution(NamedTuple):
    """What came of calls."""

    answers: tuple[str, ...]
    errors: tuple[str, ...]
    verdict: OfficeVerdict


def executed(task: OfficeTask, calls: Iterable[OfficeCall]) -> PlanExecution:
    """Carry out calls in a new world of a task; one that fails is passed over."""
    world = OfficeWorld(task.tables, task.today, task.rulebook, task.script)
    bound: dict[str, str] = {}
    answers, errors = [], []
    try:
        for call in calls:
            result = world.call(task.agent_id, call.tool, bound_arguments(call.arguments, bound))
            answers.append(result.text)
            if not result.ok:
                errors.append(f"{call.tool} {call.arguments}: {result.text}")
            elif call.binds:
                bound[f"${call.binds}"] = returned_key(result.data)
        return PlanExecution(tuple(answers), tuple(errors), judged(task, world))
    finally:
        world.close()


def check_task(task: OfficeTask) -> list[OfficeTaskFault]:
    """Return the faults of a task; none if it is sound.

    The golden plan succeeds and earns everything, twice with the same answers, and in another order too; doing nothing
    earns nothing, and leaving out any call that changes something costs the reward.
    """
    gold = executed(task, task.gold)
    faults = [OfficeTaskFault("gold", error) for error in gold.errors]
    faults += [OfficeTaskFault("gold", f"{name} does not hold: {gold.verdict.wrong}") for name in _broken(gold.verdict)]
    if faults:
        return faults  # the other clauses take a solution for granted
    if executed(task, task.gold).answers != gold.answers:
        faults.append(OfficeTaskFault("replay", "two executions answer differently"))
    if executed(task, ()).verdict.goals_met > 0:
        faults.append(OfficeTaskFault("nothing", "doing nothing meets a goal"))
    for place, call in enumerate(task.gold):
        if office_tools()[call.tool].changes:
            rest = (*task.gold[:place], *task.gold[place + 1 :])
            if not _broken(executed(task, rest).verdict):
                faults.append(OfficeTaskFault("necessary", f"it is solved without {call.tool} {call.arguments}"))
    other = executed(task, other_order(task))
    if other.errors or _broken(other.verdict):
        faults.append(
            OfficeTaskFault("order", f"another order does not solve it: {other.errors} {other.verdict.wrong}")
        )
    return faults


def other_order(task: OfficeTask) -> Sequence[OfficeCall]:
    """Return the golden plan with its parts in reverse order, but for those that come after the others."""
    if not task.blocks:
        return task.gold
    starts = [start for start, _ in task.blocks]
    parts = [task.gold[start:end] for start, end in zip(starts, [*starts[1:], len(task.gold)], strict=True)]
    free = [part for part, (_, last) in zip(parts, task.blocks, strict=True) if not last]
    late = [part for part, (_, last) in zip(parts, task.blocks, strict=True) if last]
    return [*task.gold[: starts[0]], *(call for part in (*free[::-1], *late) for call in part)]


def _broken(verdict: OfficeVerdict) -> list[str]:
    return [name for name, holds in verdict.predicates.items() if not holds]
