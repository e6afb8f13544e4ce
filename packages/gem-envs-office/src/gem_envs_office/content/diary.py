"""Who and which room is busy when, in tables that are being drawn: :class:`Diary`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem_envs_office.content.tables import Tables
from gem_envs_office.store import Row

__all__ = ["Diary", "FoundSlot"]

_HOURS = tuple(f"{hour:02}:00" for hour in range(9, 17))
"""The full hours at which meetings are looked for."""


class FoundSlot(NamedTuple):
    """A time at which a meeting can be held, and the rooms in which it can."""

    starts_at: str
    rooms: tuple[str, ...]


class Diary:
    """The meetings of a company, those that are only planned included.

    Args:
        tables: the tables, whose absences and closures count whenever they were added.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._busy: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for event in tables.get("events", ()):
            people = [row["employee_id"] for row in tables.where("event_attendees", event_id=event["event_id"])]
            self.book([event["organizer_id"], *people, event["room_id"]], event["starts_at"], event["minutes"])

    def book(self, who: Iterable[str], starts_at: str, minutes: int) -> None:
        """Make people and rooms busy."""
        day, start = starts_at[:10], _minute(starts_at[11:])
        for one in who:
            self._busy.setdefault((one, day), []).append((start, start + minutes))

    def is_free(self, who: str, starts_at: str, minutes: int) -> bool:
        """Return whether a person or a room is free and there."""
        day, start = starts_at[:10], _minute(starts_at[11:])
        spans = self._busy.get((who, day), ())
        if any(start < end and begin < start + minutes for begin, end in spans):
            return False
        return self.is_there(who, day)

    def is_there(self, who: str, day: str) -> bool:
        """Return whether a person is not absent, or a room not closed, on a day."""
        for table, column in (("absences", "employee_id"), ("room_closures", "room_id")):
            for row in self.tables.get(table, ()):
                if row[column] == who and row["starts_on"] <= day <= row["ends_on"]:
                    return False
        return True

    def rooms(self, rooms: Sequence[Row], people: Sequence[str], starts_at: str, minutes: int) -> tuple[str, ...]:
        """Return those of the rooms that are free and large enough."""
        return tuple(
            room["room_id"]
            for room in rooms
            if room["seats"] >= len(people) and self.is_free(room["room_id"], starts_at, minutes)
        )

    def slot(self, days: Sequence[str], rooms: Sequence[Row], people: Sequence[str], minutes: int) -> FoundSlot | None:
        """Return the first full hour from 09:00 to 16:00 at which everybody and a room is free, or None."""
        for day in days:
            for hour in _HOURS:
                starts_at = f"{day}T{hour}"
                if all(self.is_free(one, starts_at, minutes) for one in people) and (
                    found := self.rooms(rooms, people, starts_at, minutes)
                ):
                    return FoundSlot(starts_at, found)
        return None


def _minute(time: str) -> int:
    return 60 * int(time[:2]) + int(time[3:])
