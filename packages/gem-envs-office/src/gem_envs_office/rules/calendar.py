"""Actions on meetings, which keep rooms and people from being in two places."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gem_envs_office.office import Office, action, required
from gem_envs_office.store import OfficeStore, Row
from gem_envs_office.values import OfficeRefusalError

__all__ = ["obstacle"]

_MOST_MINUTES = 480
_OVERLAP = "e.starts_at < ? AND STRFTIME('%Y-%m-%dT%H:%M', e.starts_at, '+' || e.minutes || ' minutes') > ?"


def obstacle(
    store: OfficeStore, room_id: str, starts_at: str, minutes: int, people: list[str], moved: str = ""
) -> str | None:
    """Return why a meeting cannot be held, or None.

    Args:
        store: the state.
        room_id: the room.
        starts_at: such as 2027-03-01T09:30.
        minutes: the length.
        people: the organizer and the attendees, employee keys.
        moved: the meeting that is moved, which is no obstacle to itself.
    """
    day, room = starts_at[:10], store.get("rooms", room_id)
    if room is None:
        return f"there is no room {room_id}"
    if closed := store.query(
        "SELECT reason FROM room_closures WHERE room_id = ? AND starts_on <= ? AND ends_on >= ?", (room_id, day, day)
    ):
        return f"{room_id} is closed on {day} ({closed[0]['reason']})"
    if room["seats"] < len(people):
        return f"{room_id} has {room['seats']} seats for {len(people)} people"
    end = (datetime.fromisoformat(starts_at) + timedelta(minutes=minutes)).isoformat(timespec="minutes")
    if taken := store.query(
        f"SELECT e.event_id FROM events e WHERE e.room_id = ? AND e.event_id <> ? AND {_OVERLAP}",  # noqa: S608
        (room_id, moved, end, starts_at),
    ):
        return f"{room_id} is taken then by {taken[0]['event_id']}"
    for person in people:
        found = store.query(
            "SELECT e.event_id FROM events e LEFT JOIN event_attendees a ON a.event_id = e.event_id "  # noqa: S608
            f"WHERE (e.organizer_id = ? OR a.employee_id = ?) AND e.event_id <> ? AND {_OVERLAP}",
            (person, person, moved, end, starts_at),
        )
        if found:
            return f"{person} is in {found[0]['event_id']} then"
        away = store.query(
            "SELECT kind FROM absences WHERE employee_id = ? AND starts_on <= ? AND ends_on >= ?", (person, day, day)
        )
        if away:
            return f"{person} is away on {day}"
    return None


@action
def schedule_meeting(
    office: Office,
    title: str,
    organizer_id: str,
    attendee_ids: list[str],
    room_id: str,
    starts_at: str,
    minutes: int,
    about: str | None = None,
) -> dict[str, Any]:
    if not 5 <= minutes <= _MOST_MINUTES:
        raise OfficeRefusalError(f"A meeting has 5 to {_MOST_MINUTES} minutes, got {minutes}.")
    people = list(dict.fromkeys([organizer_id, *attendee_ids]))
    if reason := obstacle(office.store, room_id, starts_at, minutes, people):
        raise OfficeRefusalError(f"The meeting cannot be held: {reason}.")
    key = office.store.insert(
        "events",
        title=title,
        organizer_id=organizer_id,
        room_id=room_id,
        starts_at=starts_at,
        minutes=minutes,
        about=about,
    )
    for person in people:
        office.store.insert("event_attendees", event_id=key, employee_id=person)
    return {"event_id": key}


@action
def move_meeting(office: Office, event_id: str, room_id: str, starts_at: str) -> dict[str, Any]:
    event = required(office, "events", event_id)
    people = _people(office, event)
    if reason := obstacle(office.store, room_id, starts_at, event["minutes"], people, moved=event_id):
        raise OfficeRefusalError(f"The meeting cannot be held: {reason}.")
    office.store.update("events", event_id, room_id=room_id, starts_at=starts_at)
    return {"event_id": event_id, "room_id": room_id, "starts_at": starts_at}


@action
def hand_over_meeting(office: Office, event_id: str, organizer_id: str) -> dict[str, Any]:
    event = required(office, "events", event_id)
    people = _people(office, event)
    if organizer_id == event["organizer_id"]:
        raise OfficeRefusalError(f"{organizer_id} is the organizer already.")
    if organizer_id not in people:
        reason = obstacle(
            office.store, event["room_id"], event["starts_at"], event["minutes"], [organizer_id], moved=event_id
        )
        if reason:
            raise OfficeRefusalError(f"The meeting cannot be handed over: {reason}.")
    attendances = office.store.find("event_attendees", event_id=event_id)
    own = next((one for one in attendances if one["employee_id"] == event["organizer_id"]), None)
    if own is not None and organizer_id in people:
        office.store.delete("event_attendees", own["attendance_id"])
    elif own is not None:
        office.store.update("event_attendees", own["attendance_id"], employee_id=organizer_id)
    office.store.update("events", event_id, organizer_id=organizer_id)
    return {"event_id": event_id, "organizer_id": organizer_id}


@action
def cancel_meeting(office: Office, event_id: str) -> dict[str, Any]:
    for row in office.store.find("event_attendees", event_id=event_id):
        office.store.delete("event_attendees", row["attendance_id"])
    office.store.delete("events", event_id)
    return {"cancelled": event_id}


@action
def show_agenda(
    office: Office, day: str, employee_id: str | None = None, room_id: str | None = None
) -> list[dict[str, Any]]:
    if (employee_id is None) == (room_id is None):
        raise OfficeRefusalError("show_agenda needs employee_id or room_id, one of them.")
    return office.store.query(
        "SELECT DISTINCT e.event_id, e.title, e.organizer_id, e.room_id, e.starts_at, e.minutes FROM events e "
        "LEFT JOIN event_attendees a ON a.event_id = e.event_id WHERE SUBSTR(e.starts_at, 1, 10) = ? "
        "AND (e.room_id = ? OR e.organizer_id = ? OR a.employee_id = ?) ORDER BY e.starts_at, e.event_id",
        (day, room_id, employee_id, employee_id),
    )


def _people(office: Office, event: Row) -> list[str]:
    attendees = [row["employee_id"] for row in office.store.find("event_attendees", event_id=event["event_id"])]
    return list(dict.fromkeys([event["organizer_id"], *attendees]))
