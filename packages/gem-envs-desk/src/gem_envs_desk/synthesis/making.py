"""Makes verified tasks on a simulated service: drafts, checks, and the counted reasons of what was thrown away."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gem_envs_desk.checks import check_task
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.synthesis.draft_calls import DraftError
from gem_envs_desk.synthesis.drafting import Draft, Goal
from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.seeding import seeded_records
from gem_envs_desk.synthesis.service_domain import ServiceDomain
from gem_envs_desk.synthesis.store_spec import StoreSpec
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.synthesis.tool_graph import ToolGraph
from gem_envs_desk.task import DeskCall, DeskTask, Slot, ToldFact, UserScript, Wish

__all__ = ["LEVELS", "MadeTasks", "collected", "service_tasks", "task_of_goals"]

LEVELS = (1, 2, 3)
"""Goals of a task."""

_TEST_SHARE = 4
"""One task in so many is for the test split."""
_WORLDS = 6
"""Initial states of a split."""
_TRIES = 40
"""Drafts for each wanted task."""
_OPENING = "Hello, I need some help."


@dataclass
class MadeTasks:
    """The tasks that passed the checks, and the reasons of the others."""

    tasks: TaskList
    thrown_away: Counter[str] = field(default_factory=Counter)


def service_tasks(
    spec: StoreSpec, count: int, seed: int, progress: Callable[[int], object] = lambda done: None
) -> MadeTasks:
    """Return verified tasks on a simulated service.

    Args:
        spec: the service.
        count: the number of tasks.
        seed: decides everything.
        progress: is called with the number of tasks so far.

    Raises:
        DescriptionError: if hardly any draft passes the checks.
    """
    graph, domain = ToolGraph(spec), ServiceDomain(spec)
    try:
        worlds = {
            split: [seeded_records(spec, random.Random(f"{seed} {split} {number}")) for number in range(_WORLDS)]
            for split in ("train", "test")
        }
    except UnsupportedSchemaError as error:
        raise DescriptionError(f"no records could be made for {spec.title}: {error}") from error

    def drafted(level: int, split: str, rng: random.Random) -> DeskTask:
        state = rng.choice(worlds[split])
        draft = Draft(spec, graph, state, rng)
        for _ in range(level):
            draft.add_goal()
        gold = [number for number, node in enumerate(draft.nodes) if node.is_gold]
        calls = [DeskCall(draft.nodes[number].tool, draft.nodes[number].arguments) for number in gold]
        return task_of_goals(state, calls, [replace(goal, source=gold.index(goal.source)) for goal in draft.goals])

    return collected(domain, drafted, count, seed, progress)


def collected(
    domain: DeskDomain,
    drafted: Callable[[int, str, random.Random], DeskTask],
    count: int,
    seed: int,
    progress: Callable[[int], object] = lambda done: None,
    again: Callable[[DeskTask], bool] = lambda task: True,
) -> MadeTasks:
    """Return tasks that pass the checks.

    Args:
        domain: carries them out.
        drafted: makes a draft of a level and split, or raises ``DraftError``.
        count: the number of tasks.
        seed: of the drafts.
        progress: is called with the number of tasks so far.
        again: whether the solution has the same end in another world, for domains that remember what they have seen.

    Raises:
        DescriptionError: if too few drafts pass.
    """
    made: dict[tuple[int, str], list[DeskTask]] = {}
    thrown_away: Counter[str] = Counter()
    seen: set[str] = set()
    places = [(LEVELS[n % 3], "test" if n // 3 % _TEST_SHARE == _TEST_SHARE - 1 else "train") for n in range(count)]
    done = 0
    for number, place in enumerate(places):
        for attempt in range(_TRIES):
            rng = random.Random(f"{seed} {number} {attempt}")
            try:
                task = drafted(*place, rng)
            except DraftError as error:
                thrown_away[f"a dead end: {error}"] += 1
                continue
            faults = check_task(domain, task)
            if faults:
                thrown_away[f"{faults[0].clause}: {_EXPLAINED[faults[0].clause]}"] += 1
                continue
            if not again(task):
                thrown_away[f"replay: {_EXPLAINED['replay']}"] += 1
                continue
            name = json.dumps([task.state, task.text, [call.tool for call in task.gold]], sort_keys=True)
            if name in seen:
                thrown_away["it is there already"] += 1
                continue
            seen.add(name)
            made.setdefault(place, []).append(task)
            done += 1
            progress(done)
            break
    if done < count:
        reasons = "; ".join(f"{reason} ({number})" for reason, number in thrown_away.most_common(5))
        raise DescriptionError(f"only {done} of {count} tasks passed the checks; the others: {reasons}")
    return MadeTasks(TaskList(made), thrown_away)


_EXPLAINED: Mapping[str, str] = {
    "gold": "a call of the solution fails, or does not show what the user wants to know",
    "replay": "two replays differ",
    "nothing": "doing nothing is enough",
    "necessary": "a call of the solution is not needed",
    "unique": "the end depends on the order of the calls",
    "naive": "ignoring the policy is enough",
    "leak": "the user's words tell the answer",
}


def task_of_goals(state: Mapping[str, Any], calls: list[DeskCall], goals: list[Goal]) -> DeskTask:
    """Return the task of goals: its text, and a user who tells some of the values only when asked.

    Args:
        state: the initial state.
        calls: the gold calls.
        goals: their ``source`` is an index in ``calls``.
    """
    slots: list[Slot] = []
    wishes: list[Wish] = []
    for goal in goals:
        names = [words for words, _ in goal.values]
        clash = any(_share_words(words, slot.name) for words in names for slot in slots)
        if goal.vague and goal.values and not clash:
            slots += [Slot(words, (words,), says) for words, says in goal.values]
            wishes.append(Wish(goal.vague))
        else:
            wishes.append(Wish(goal.wish))
    facts = tuple(ToldFact(goal.fact[0], goal.source, goal.fact[1]) for goal in goals if goal.fact is not None)
    text = "\n".join(f"- {goal.wish}" for goal in goals) if len(goals) > 1 else goals[0].wish
    kind = " + ".join(sorted({call.tool for call in calls}))
    script = UserScript(_OPENING, tuple(wishes), tuple(slots))
    return DeskTask(kind, state, tuple(calls), facts, script, text)


def _share_words(one: str, other: str) -> bool:
    """Return whether a question for one value would also ask for the other."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "
