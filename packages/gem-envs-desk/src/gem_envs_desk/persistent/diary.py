"""Calendar: a calendar that fills up, and appointments to make, to move and to cancel."""

# ruff: noqa: D417  # the episode fills the argument store, which the agent does not see

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

from gem.tools import tool
from gem_envs_desk.content import columns
from gem_envs_desk.domain import Db, StoreWorld
from gem_envs_desk.persistent.env import PersistentDomain, PersistentEnv
from gem_envs_desk.persistent.office import OwnerInstruction, instructed, people
from gem_envs_desk.requests import called
from gem_envs_desk.store import DeskStore, RefusedCallError, Row, Tables, TableSchema
from gem_envs_desk.task import DeskTask

__all__ = ["CalendarDomain", "CalendarEnv"]

_SCHEMA = {
    "people": TableSchema(columns("name"), ("name",)),
    "appointments": TableSchema(columns("person subject", "day hour hours"), ("day", "hour")),
}
_FIRST, _LAST = 9, 17
"""Hours between which appointments lie."""
_DAYS = 10
"""Days that the calendar shows; each episode, the first goes and another comes."""
_MOST = 6
"""Hours of a day that are taken at most before a task."""
_SUBJECTS = ("planning", "review", "interview", "handover", "budget", "lunch", "training")


@tool
def list_day(store: Db, day: int) -> list[Row]:
    """List the appointments of a day, in order.

    Args:
        day: the number of the day.
    """
    return store.find("appointments", day=day)


@tool
def find_appointments(store: Db, person: str) -> list[Row]:
    """Find the appointments with a person.

    Args:
        person: the whole name.
    """
    return store.find("appointments", person=person.strip())


@tool
def add_appointment(store: Db, day: int, hour: int, hours: int, person: str, subject: str) -> str:
    """Enter an appointment.

    Args:
        day: the number of the day.
        hour: the full hour at which it begins, 9 to 16.
        hours: how long it lasts.
        person: the whole name of a person of the address book.
        subject: what it is about.
    """
    store.require("people", name=person.strip())
    _free(store, day, hour, hours)
    row = {"day": day, "hour": hour, "hours": hours, "person": person.strip(), "subject": subject.strip()}
    store.insert("appointments", row)
    return f"The appointment with {person.strip()} is on day {day} at {hour}."


@tool
def move_appointment(store: Db, day: int, hour: int, new_day: int, new_hour: int) -> str:
    """Move an appointment.

    Args:
        day: its day.
        hour: the hour at which it begins.
        new_day: the day to which it goes.
        new_hour: the hour at which it begins then.
    """
    row = _appointment(store, day, hour)
    _free(store, new_day, new_hour, row["hours"], row)
    store.update("appointments", {"day": day, "hour": hour}, day=new_day, hour=new_hour)
    return f"The appointment with {row['person']} is on day {new_day} at {new_hour}."


@tool
def cancel_appointment(store: Db, day: int, hour: int) -> str:
    """Cancel an appointment.

    Args:
        day: its day.
        hour: the hour at which it begins.
    """
    row = _appointment(store, day, hour)
    store.delete("appointments", day=day, hour=hour)
    return f"The appointment with {row['person']} is cancelled."


class CalendarDomain(PersistentDomain):
    """A calendar of ten days, of which one goes and one comes before each task."""

    name = "calendar"
    schema = _SCHEMA
    policy = (
        "You keep a calendar. Appointments lie between 9 and 17 o'clock, begin at full hours and never overlap. Once a "
        "day you get instructions; do exactly what they say, in their order. The first free time of a day is the "
        "earliest hour from 9 on at which the whole appointment fits. Where an instruction makes an appointment, its "
        "subject is the word in quotation marks."
    )
    _tools: ClassVar = (list_day, find_appointments, add_appointment, move_appointment, cancel_appointment)

    def new_world(self, number: int, split: str) -> dict[str, list[dict[str, Any]]]:
        rng = Random(f"calendar {split} {number}")
        book = [{"name": name} for name in people(rng, split, 9)]
        tables: dict[str, Any] = {"people": book, "appointments": []}
        for day in range(1, _DAYS):
            _fill(rng, tables, day)
        return tables

    def next_task(self, state: Tables, number: int, level: int, split: str) -> DeskTask:
        rng = Random(f"day of {split} {level} {number}")
        tables: dict[str, Any] = {name: [dict(row) for row in rows] for name, rows in state.items()}
        new = max((row["day"] for row in tables["appointments"]), default=_DAYS - 1) + 1
        tables["appointments"] = [row for row in tables["appointments"] if row["day"] > new - _DAYS]
        _fill(rng, tables, new)
        # Days of its own for each instruction, so that none changes what another finds.
        days = rng.sample(range(new - _DAYS + 1, new + 1), _DAYS)
        kinds = rng.sample((_add, _move, _cancel), level)
        return instructed(
            [made for kind in kinds for made in kind(rng, tables, days)] or _add(rng, tables, [new]), tables
        )

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(_SCHEMA, state, self._tools)


class CalendarEnv(PersistentEnv):
    """A calendar that goes on; see :class:`gem_envs_desk.persistent.env.PersistentEnv`."""

    domain = CalendarDomain()
    role = "keeper of a calendar"


def _fill(rng: Random, tables: dict[str, Any], day: int) -> None:
    """Enter appointments with different people on a day without any."""
    names = rng.sample([row["name"] for row in tables["people"]], 4)
    hour, taken = _FIRST, 0
    for name in names:
        hour += rng.randint(0, 1)
        hours = rng.randint(1, 2)
        if hour + hours > _LAST or taken + hours > _MOST:
            break
        tables["appointments"].append(
            {"day": day, "hour": hour, "hours": hours, "person": name, "subject": rng.choice(_SUBJECTS)}
        )
        hour, taken = hour + hours, taken + hours


def _on(tables: dict[str, Any], day: int) -> list[Row]:
    return [row for row in tables["appointments"] if row["day"] == day]


def _first_free(tables: dict[str, Any], day: int, hours: int) -> int | None:
    for hour in range(_FIRST, _LAST - hours + 1):
        if all(row["hour"] + row["hours"] <= hour or row["hour"] >= hour + hours for row in _on(tables, day)):
            return hour
    return None


def _latest(tables: dict[str, Any], day: int) -> int:
    """Return the end of the last appointment of a day: when it is free next for who ignores the policy."""
    return max((row["hour"] + row["hours"] for row in _on(tables, day)), default=_FIRST)


def _add(rng: Random, tables: dict[str, Any], days: list[int]) -> list[OwnerInstruction]:
    person, subject = rng.choice(tables["people"])["name"], rng.choice(_SUBJECTS)
    while days:
        day = days.pop()
        hour = _first_free(tables, day, 1)
        if hour is not None:
            text = f"Make an appointment of one hour with {person} on day {day}, at the first free time: {subject!r}."
            call = called("add_appointment", day=day, hour=hour, hours=1, person=person, subject=subject)
            late = called(
                "add_appointment", day=day, hour=_latest(tables, day), hours=1, person=person, subject=subject
            )
            return [OwnerInstruction("add", text, (call,), naive=None if late == call else (late,))]
    return []


def _move(rng: Random, tables: dict[str, Any], days: list[int]) -> list[OwnerInstruction]:
    while len(days) > 1:
        day, target = days.pop(), days.pop()
        single = [
            row for row in _on(tables, day) if sum(row["person"] == other["person"] for other in _on(tables, day)) == 1
        ]
        if not single:
            continue
        row = rng.choice(single)
        hour = _first_free(tables, target, row["hours"])
        if hour is not None:
            text = f"Move the appointment with {row['person']} on day {day} to the first free time of day {target}."
            call = called("move_appointment", day=day, hour=row["hour"], new_day=target, new_hour=hour)
            late = called(
                "move_appointment", day=day, hour=row["hour"], new_day=target, new_hour=_latest(tables, target)
            )
            return [OwnerInstruction("move", text, (call,), naive=None if late == call else (late,))]
    return []


def _cancel(rng: Random, tables: dict[str, Any], days: list[int]) -> list[OwnerInstruction]:
    while days:
        day = days.pop()
        if _on(tables, day):
            after = rng.choice(_on(tables, day))["hour"]
            found = [row for row in _on(tables, day) if row["hour"] >= after]
            calls = tuple(called("cancel_appointment", day=day, hour=row["hour"]) for row in found)
            text = f"Cancel every appointment that begins at {after} or later on day {day}."
            return [OwnerInstruction("cancel", text, calls)]
    return []


def _appointment(store: DeskStore, day: int, hour: int) -> Row:
    row = store.get("appointments", day=day, hour=hour)
    if row is None:
        raise RefusedCallError(f"No appointment begins on day {day} at {hour}.")
    return row


def _free(store: DeskStore, day: int, hour: int, hours: int, moved: Row | None = None) -> None:
    if hours < 1 or hour < _FIRST or hour + hours > _LAST:
        raise RefusedCallError(f"Appointments lie between {_FIRST} and {_LAST} o'clock.")
    for row in store.find("appointments", day=day):
        if row != moved and row["hour"] < hour + hours and hour < row["hour"] + row["hours"]:
            raise RefusedCallError(f"There is an appointment with {row['person']} on day {day} at {row['hour']}.")
