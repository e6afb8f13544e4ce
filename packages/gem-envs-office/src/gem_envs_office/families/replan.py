"""Re-planning: a closed room, an absent colleague, a late delivery, each with consequences in several systems."""

from __future__ import annotations

from collections import Counter

from gem_envs_office.content.company import add_meeting, working_days
from gem_envs_office.families.delivery import add_delay
from gem_envs_office.families.planning import planning_ticket, ticket_done
from gem_envs_office.goals import OneOf, RowGoal
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft, UnsolvableError

__all__ = ["add_replanning"]

_REASONS = ("repair of the heating", "a burst pipe", "new carpets", "work on the lights", "an inspection")
_TOPICS = ("Password", "Question about an order", "Broken link", "Wrong address", "Slow computer", "A complaint")


def add_replanning(draft: OfficeDraft, count: int) -> None:
    """Add tickets about what has happened, with their solution: rooms, deliveries, and up to four absences."""
    rng, tables = draft.rng, draft.tables
    queue = tables.where("queues", name="Planning")[0]["queue_id"]
    draft.orders.append(
        f"Settle the open tickets in the queue Planning ({queue}) assigned to you, as the policy on re-planning says."
    )
    draft.do("list_tickets", queue_id=queue, assignee_id=draft.agent_id, status="open")
    days = [(place["location_id"], day) for place in tables["locations"] for day in working_days(draft.today, 10)[1:]]
    rng.shuffle(days)
    items = rng.sample(tables["items"], len(tables["items"]))
    absences = min(4, (count + 1) // 3)
    rooms = (count - absences + 1) // 2
    teams = rng.sample([team["team_id"] for team in tables["teams"] if team["name"] in _TEAMS], absences)
    kinds = ["absence"] * absences + ["room"] * rooms + ["delivery"] * (count - absences - rooms)
    for kind in kinds:  # absences first, since they decide who can come to a meeting that is moved
        if kind == "absence":
            _add_absence(draft, queue, teams.pop())
        elif kind == "room":
            _add_closure(draft, queue, days)
        else:
            add_delay(draft, queue, items.pop())


_TEAMS = ("Support", "Sales", "Engineering", "Operations")
"""Teams in which somebody can be absent and two others are left."""


def _add_closure(draft: OfficeDraft, queue: str, days: list[tuple[str, str]]) -> None:
    """Close a room for a day on which it has a meeting of its own, and perhaps let the other rooms be taken then."""
    rng, tables, diary = draft.rng, draft.tables, draft.diary
    place, day, room = _closable(draft, days)
    rooms = tables.where("rooms", location_id=place)
    others = [one for one in rooms if one is not room]
    starts = [f"{day}T{hour:02}:00" for hour in range(9, 17)]
    starts = [start for start in starts if all(diary.is_free(one["room_id"], start, 60) for one in rooms)]
    if not starts:
        raise UnsolvableError
    start, minutes = rng.choice(starts), rng.choice((30, 60))
    people = _free_people(draft, start, rng.choice((2, 3, 3, 5)))
    add_meeting(tables, rng.choice(("Interview", "Budget", "Demo", "Weekly")), people, room["room_id"], start, minutes)
    diary.book([*people, room["room_id"]], start, minutes)
    others_fit = [one for one in others if one["seats"] >= len(people)]
    if rng.random() < 0.35 or not others_fit:
        for other in others:
            pair = _free_people(draft, start, 2)
            add_meeting(tables, "Training", pair, other["room_id"], start, 60)
            diary.book([*pair, other["room_id"]], start, 60)
    reason = rng.choice(_REASONS)
    meetings = _meetings(draft, room, day)
    tables.add("room_closures", room_id=room["room_id"], starts_on=day, ends_on=day, reason=reason)
    city = tables.row("locations", place)["city"]
    body = f"{room['name']} in {city} ({room['room_id']}) is closed on {day}: {reason}."
    ticket = planning_ticket(draft, queue, f"{room['name']} closed", body)
    draft.do("list_rooms", location_id=place)
    draft.do("show_agenda", day=day, room_id=room["room_id"])
    for row in meetings:
        _move(draft, row, _people(draft, row), others)
    ticket_done(draft, ticket)


def _closable(draft: OfficeDraft, days: list[tuple[str, str]]) -> tuple[str, str, Row]:
    """Take a location and a day from the list, and a room there in whose meetings nobody is absent."""
    while days:
        place, day = days.pop()
        rooms = draft.tables.where("rooms", location_id=place)
        for room in draft.rng.sample(rooms, len(rooms)):
            if all(
                draft.diary.is_there(one, day) for row in _meetings(draft, room, day) for one in _people(draft, row)
            ):
                return place, day, room
    raise UnsolvableError


def _meetings(draft: OfficeDraft, room: Row, day: str) -> list[Row]:
    return [row for row in draft.tables.where("events", room_id=room["room_id"]) if row["starts_at"][:10] == day]


def _people(draft: OfficeDraft, event: Row) -> list[str]:
    attendees = draft.tables.where("event_attendees", event_id=event["event_id"])
    return list(dict.fromkeys([event["organizer_id"], *(one["employee_id"] for one in attendees)]))


def _free_people(draft: OfficeDraft, start: str, count: int) -> list[str]:
    """Return people who have nothing else in the hour that begins then."""
    everybody = [row["employee_id"] for row in draft.tables["employees"] if row["status"] == "active"]
    free = [one for one in everybody if draft.diary.is_free(one, start, 60)]
    return draft.rng.sample(free, count)


def _move(draft: OfficeDraft, event: Row, people: list[str], others: list[Row]) -> None:
    start, minutes = event["starts_at"], event["minutes"]
    found = draft.diary.rooms(others, people, start, minutes)
    if not found:
        day = start[:10]
        for room in others:
            draft.do("show_agenda", day=day, room_id=room["room_id"])
        slot = draft.diary.slot([day], others, people, minutes)
        if slot is None:
            raise UnsolvableError
        start, found = slot.starts_at, slot.rooms
    draft.do("list_event_attendees", event_id=event["event_id"])
    draft.do("move_meeting", event_id=event["event_id"], room_id=found[0], starts_at=start)
    draft.diary.book([*people, found[0]], start, minutes)
    draft.want("events", event["event_id"], room_id=OneOf(found), starts_at=start)


def _add_absence(draft: OfficeDraft, queue: str, team: str) -> None:
    """Let somebody be absent who organizes a meeting and has open tickets."""
    rng, tables = draft.rng, draft.tables
    needed = draft.needed | {one for decision in draft.script.decisions.values() for one in decision.approvers}
    members = [row for row in tables.where("employees", team_id=team, status="active") if row["manager_id"]]
    able = [row for row in members if row["employee_id"] not in {draft.agent_id, *needed}]
    if not able:
        raise UnsolvableError
    person = rng.choice(able)
    key = person["employee_id"]
    draft.send_away(key, rng.choice(("sick", "sick", "parental")))
    deputy, until = person["deputy_id"], person["away_until"]
    day = rng.choice([one for one in working_days(draft.today, 10) if draft.day(1) <= one <= until] or [""])
    free = [f"{day}T{hour:02}:00" for hour in range(9, 17)] if day else []
    guest = rng.choice([row["employee_id"] for row in tables.where("employees", team_id="T109")])
    for start in rng.sample(free, len(free)):
        room = rng.choice(tables["rooms"])["room_id"]
        if all(draft.diary.is_free(one, start, 30) for one in (deputy, guest, room)):
            people = [key, guest, *([deputy] if rng.random() < 0.3 else [])]
            add_meeting(tables, rng.choice(("Weekly", "Planning", "Demo")), people, room, start, 30)
            draft.diary.book([*people, room], start, 30)
            break
    handed = [
        row for row in tables["events"] if row["organizer_id"] == key and draft.day(0) <= row["starts_at"][:10] <= until
    ]
    if not handed:
        raise UnsolvableError
    body = f"{person['name']} ({key}) is away until {until}, as the absences say. Please see to meetings and tickets."
    ticket = planning_ticket(draft, queue, f"{person['name']} is away", body)
    draft.do("get_employee", employee_id=key)
    draft.do("list_events", organizer_id=key)
    for event in handed:
        _hand_over(draft, event, key, deputy)
    _reassign(draft, key)
    ticket_done(draft, ticket)


def _hand_over(draft: OfficeDraft, event: Row, key: str, deputy: str) -> None:
    event_id = event["event_id"]
    rows = {row["employee_id"]: row for row in draft.tables.where("event_attendees", event_id=event_id)}
    if deputy not in rows and not draft.diary.is_free(deputy, event["starts_at"], event["minutes"]):
        raise UnsolvableError
    if not draft.diary.is_there(event["room_id"], event["starts_at"][:10]):
        raise UnsolvableError
    draft.do("hand_over_meeting", event_id=event_id, organizer_id=deputy)
    draft.diary.book([deputy], event["starts_at"], event["minutes"])
    draft.want("events", event_id, organizer_id=deputy)
    own = rows[key]["attendance_id"]
    if deputy in rows:
        draft.goals.append(RowGoal("event_attendees", keys=(own,), removed=True))
    else:
        draft.want("event_attendees", own, employee_id=deputy)


def _reassign(draft: OfficeDraft, key: str) -> None:
    """Give the absent colleague one or two open tickets more, and their team such loads that the rule decides."""
    rng, tables = draft.rng, draft.tables
    mates = draft.team_mates(key)
    general = tables.where("queues", name="General")[0]["queue_id"]

    def add_ticket(assignee: str) -> str:
        return tables.add(
            "tickets",
            queue_id=general,
            subject=rng.choice(_TOPICS),
            body="Please look into it.",
            requester=rng.choice(tables["contacts"])["email"],
            assignee_id=assignee,
            skill="general",
            status="open",
            opened_on=draft.day(-rng.randint(0, 5)),
        )

    # The rule is about all open tickets, those that another family or the day before has left included.
    tickets = [row["ticket_id"] for row in tables.where("tickets", assignee_id=key, status="open")]
    tickets += [add_ticket(key) for _ in range(rng.randint(1, 2))]
    loads = Counter(row["assignee_id"] for row in tables["tickets"] if row["status"] == "open")
    chosen = rng.choice(mates)
    for mate in mates:
        # Several may tie for one ticket; of more, all go to one colleague, who has the fewest to the last of them.
        extra = rng.randint(0, 2) if len(tickets) == 1 else rng.randint(len(tickets), len(tickets) + 1)
        for _ in range(loads[chosen] + extra - loads[mate] if mate != chosen else 0):
            add_ticket(mate)
            loads[mate] += 1
    fewest = tuple(mate for mate in mates if loads[mate] == min(loads[one] for one in mates))
    draft.do("list_tickets", assignee_id=key, status="open")
    for mate in mates:
        draft.do("list_tickets", assignee_id=mate, status="open")
    for ticket in tickets:
        draft.do("assign_ticket", ticket_id=ticket, assignee_id=fewest[0])
        draft.want("tickets", ticket, assignee_id=OneOf(fewest))
