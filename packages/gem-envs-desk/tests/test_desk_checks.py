"""Every generated task is sound, and the checks find the tasks that are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gem_envs_desk.airline.env import AirlineDomain
from gem_envs_desk.checks import check_task
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.retail.env import RetailDomain
from gem_envs_desk.task import DeskCall, DeskTask, ToldFact, Wish
from gem_envs_desk.telecom.env import TelecomDomain

RETAIL = RetailDomain()
DOMAINS = (RETAIL, AirlineDomain(), TelecomDomain())


def faults_of(domain: DeskDomain, tasks: int) -> list[object]:
    """Return the faults of the first tasks of every level and split."""
    return [
        (level, split, number, fault)
        for level in (1, 2, 3)
        for split in ("train", "test")
        for number in range(tasks)
        for fault in check_task(domain, domain.task(number, level, split))
    ]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_tasks_are_sound(domain: DeskDomain) -> None:
    """The first tasks of each level and split have no fault."""
    assert faults_of(domain, 1) == []


@pytest.mark.nightly
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_ten_thousand_tasks_are_sound(domain: DeskDomain) -> None:
    """10,000 tasks over all desks have no fault."""
    assert faults_of(domain, 10_000 // (6 * len(DOMAINS)) + 1) == []


def sound(kind: str) -> DeskTask:
    """Return a sound task of one kind."""
    return next(task for task in (RETAIL.task(number, 1, "train") for number in range(500)) if task.kind == kind)


def spoiled(task: DeskTask, defect: str) -> DeskTask:
    """Return a task with a defect of the clause of that name."""
    assert task.script is not None
    if defect == "gold":
        return replace(task, gold=(*task.gold, DeskCall("cancel_order", {"order_id": "R1", "reason": "other"})))
    if defect == "fact":
        return replace(task, facts=(ToldFact(123456.78, 0, "It is"),))
    if defect == "nothing":
        return replace(task, gold=(), facts=())
    if defect.startswith("necessary"):
        idle = DeskCall("list_items", {"product": "tablet"})
        return replace(task, gold=(idle, *task.gold) if defect == "necessary at first" else (*task.gold, idle))
    if defect == "unique":
        order = task.gold[0].arguments["order_id"]
        places = [{"street": street, "city": "Halden", "zip_code": "10000"} for street in ("1 Elm", "2 Elm")]
        return replace(task, gold=tuple(DeskCall("change_address", {"order_id": order, **place}) for place in places))
    if defect == "naive":
        return replace(task, naive=task.gold)
    told = Wish(f"I want {task.facts[0].value} and no more." if task.facts else "Call change_address for me.")
    return replace(task, script=replace(task.script, wishes=(told,)))


@pytest.mark.parametrize(
    ("kind", "defect", "clause"),
    [
        ("address", "gold", "gold"),
        ("price", "fact", "gold"),
        ("address", "nothing", "nothing"),
        ("address", "necessary", "necessary"),
        ("address", "necessary at first", "necessary"),
        ("address", "unique", "unique"),
        ("address", "naive", "naive"),
        ("address", "leak", "leak"),
        ("price", "leak", "leak"),
    ],
)
def test_a_defect_is_found(kind: str, defect: str, clause: str) -> None:
    """Each clause finds its own defect in a task that was sound."""
    task = sound(kind)
    assert check_task(RETAIL, task) == []
    assert clause in {fault.clause for fault in check_task(RETAIL, spoiled(task, defect))}


def test_a_way_with_another_end_is_found() -> None:
    """A way that leaves out a payment does not settle the wish as the gold calls do."""
    domain = LibraryActsDomain()
    task = next(task for task in (domain.task(number, 1, "train") for number in range(99)) if "fines" in task.kind)
    assert check_task(domain, task) == []
    short = tuple(replace(aim, ways=tuple(way[1:] for way in aim.ways)) for aim in task.aims)
    assert {fault.clause for fault in check_task(domain, replace(task, aims=short))} == {"ways"}


def test_replays_that_differ_are_found() -> None:
    """A domain whose tools answer differently each time has no sound task."""

    class Restless(RetailDomain):
        opened = 0

        def open(self, state):  # type: ignore[no-untyped-def]
            world = super().open(state)
            self.opened += 1
            world.store.insert("cases", {"subject": str(self.opened), "category": "restless"})
            return world

    assert "replay" in {fault.clause for fault in check_task(Restless(), sound("address"))}
