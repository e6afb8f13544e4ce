"""Whether a task is sound, decided by program: :func:`check_task`.

A task is sound if

* ``gold``: each gold call succeeds, and the answer of its source shows each fact;
* ``replay``: a second replay gives the same answers and the same end;
* ``nothing``: doing nothing is not enough;
* ``necessary``: without any one of the gold calls, the end is another or a fact stays unknown;
* ``ways``: each other way to settle a wish, in place of its gold calls, has the same end;
* ``unique``: all other orders of the gold calls in which each succeeds have the same end;
* ``naive``: the calls of an agent that ignores the policy, where they are given, are not enough;
* ``leak``: the user's words contain no fact, and neither they nor the text of the task a tool's name with arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

from gem_envs_desk.domain import DeskDomain, carried_out
from gem_envs_desk.facts import shows
from gem_envs_desk.store import Dump, differences
from gem_envs_desk.task import DeskCall, DeskTask, UserScript

__all__ = ["GoldRun", "TaskFault", "check_task", "gold_run", "solves", "user_words"]

_MOST_ORDERS = 6


@dataclass(frozen=True)
class TaskFault:
    """Why a task is not sound."""

    clause: str
    """``gold``, ``replay``, ``nothing``, ``necessary``, ``ways``, ``unique``, ``naive`` or ``leak``."""
    message: str


@dataclass(frozen=True)
class GoldRun:
    """A replay of calls on the initial state of a task."""

    answers: tuple[str | None, ...]
    """The text of each call's result; None if it failed."""
    end: Dump
    errors: tuple[str, ...]
    """The reasons of the failed calls."""


def gold_run(domain: DeskDomain, task: DeskTask, calls: Iterable[DeskCall]) -> GoldRun:
    """Replay calls on the initial state of a task; one that fails is passed over."""
    world = domain.open(task.state)
    try:
        results = [(call, carried_out(world, call)) for call in calls]
        answers = tuple(result.text if result.ok else None for _, result in results)
        errors = tuple(f"{call.tool}: {result.text}" for call, result in results if not result.ok)
        return GoldRun(answers, world.dump(), errors)
    finally:
        world.close()


def solves(run: GoldRun, task: DeskTask, gold: GoldRun) -> bool:
    """Return whether a run ends as the gold run does, and its answers show every fact."""
    known = [answer for answer in run.answers if answer is not None]
    return not differences(run.end, gold.end, 1) and all(_shown(fact.value, known) for fact in task.facts)


def check_task(domain: DeskDomain, task: DeskTask) -> list[TaskFault]:
    """Return the faults of a task; none if it is sound."""
    gold = gold_run(domain, task, task.gold)
    faults = [TaskFault("gold", error) for error in gold.errors]
    faults += _fact_faults(task, gold)
    if faults:
        return faults  # the other clauses take a solution for granted
    again = gold_run(domain, task, task.gold)
    if again.answers != gold.answers or again.end != gold.end:
        faults.append(TaskFault("replay", f"{task.kind}: two replays differ"))
    if solves(gold_run(domain, task, ()), task, gold):
        faults.append(TaskFault("nothing", f"{task.kind}: doing nothing solves it"))
    for index, call in enumerate(task.gold):
        if solves(gold_run(domain, task, (*task.gold[:index], *task.gold[index + 1 :])), task, gold):
            faults.append(TaskFault("necessary", f"{task.kind}: it is solved without {call.tool} {call.arguments}"))
    for calls in _other_ways(task):
        other = gold_run(domain, task, calls)
        if other.errors or differences(other.end, gold.end, 1):
            faults.append(TaskFault("ways", f"{task.kind}: {_names(calls)} do not end as the gold calls do"))
    for order in _other_orders(task.gold):
        other = gold_run(domain, task, order)
        if not other.errors and differences(other.end, gold.end, 1):
            faults.append(TaskFault("unique", f"{task.kind}: the end depends on the order of {_names(order)}"))
    if task.naive is not None and solves(gold_run(domain, task, task.naive), task, gold):
        faults.append(TaskFault("naive", f"{task.kind}: {_names(task.naive)} ignore the policy and solve it"))
    return [*faults, *_leaks(task)]


def user_words(script: UserScript) -> Iterator[str]:
    """Yield everything that a scripted user can say of its own."""
    yield script.opening
    for wish in script.wishes:
        yield from filter(None, (wish.says, wish.again, wish.lead, wish.change, wish.protest))
    for slot in (*script.slots, *(slot for wish in script.wishes for slot in wish.slots)):
        yield from filter(None, (slot.says, slot.wrong, slot.after_change))


def _fact_faults(task: DeskTask, gold: GoldRun) -> Iterator[TaskFault]:
    for fact in task.facts:
        if not 0 <= fact.source < len(task.gold):
            yield TaskFault("gold", f"{task.kind}: the fact {fact.value!r} names no gold call as its source")
        elif not _shown(fact.value, [gold.answers[fact.source] or ""]):
            tool = task.gold[fact.source].tool
            yield TaskFault("gold", f"{task.kind}: the answer of {tool} does not show {fact.value!r}")


def _leaks(task: DeskTask) -> Iterator[TaskFault]:
    words = [task.text] if task.script is None else list(user_words(task.script))
    for fact in task.facts:
        if any(shows(text, fact.value) for text in words):
            yield TaskFault("leak", f"{task.kind}: the user's own words tell {fact.value!r}")
    for call in task.gold:
        if any(call.tool in text for text in words if "_" in call.tool):
            yield TaskFault("leak", f"{task.kind}: the user's own words name the tool {call.tool}")


def _shown(value: str | float, answers: Sequence[str]) -> bool:
    return any(shows(answer, value) for answer in answers)


def _other_ways(task: DeskTask) -> Iterator[tuple[DeskCall, ...]]:
    """Yield the gold calls with each other way of a wish in their place."""
    start = 0
    for aim in task.aims:
        end = start + len(aim.gold)
        yield from ((*task.gold[:start], *way, *task.gold[end:]) for way in aim.ways)
        start = end


def _other_orders(gold: Sequence[DeskCall]) -> Iterator[tuple[DeskCall, ...]]:
    if len(gold) < 2:
        return
    if len(gold) <= 3:
        yield from islice(permutations(gold), 1, _MOST_ORDERS)
        return
    yield tuple(reversed(gold))
    yield from ((*gold[turn:], *gold[:turn]) for turn in range(1, min(len(gold), _MOST_ORDERS)))


def _names(calls: Iterable[DeskCall]) -> str:
    return ", ".join(call.tool for call in calls)
