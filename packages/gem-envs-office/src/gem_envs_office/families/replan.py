"""Re-planning: a closed room, an absent colleague, a late delivery, each with consequences in several systems."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gem_envs_office.content.company import add_meeting, working_days
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
            _add_delay(draft, queue, items.pop())


_TEAMS = ("Support", "Sales", "Engineering", "Operations")
"""Teams in which somebody can be absent and two others are left."""


def _ticket(draft: OfficeDraft, queue: str, subject: str, body: str) -> str:
    key = draft.tables.add(
        "tickets",
        queue_id=queue,
        subject=subject,
        body=body,
        requester=draft.lead("operations_lead")["email"],
        assignee_id=draft.agent_id,
        skill="planning",
        status="open",
        opened_on=draft.day(0),
    )
    draft.documents.append(("tickets", key, "body"))
    draft.block()
    draft.do("get_ticket", ticket_id=key)
    return key


def _done(draft: OfficeDraft, ticket: str) -> None:
    draft.do("resolve_ticket", ticket_id=ticket, resolution="done")
    draft.want("tickets", ticket, status="resolved", resolution="done")


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
    ticket = _ticket(draft, queue, f"{room['name']} closed", body)
    draft.do("list_rooms", location_id=place)
    draft.do("show_agenda", day=day, room_id=room["room_id"])
    for row in meetings:
        _move(draft, row, _people(draft, row), others)
    _done(draft, ticket)


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
    ticket = _ticket(draft, queue, f"{person['name']} is away", body)
    draft.do("get_employee", employee_id=key)
    draft.do("list_events", organizer_id=key)
    for event in handed:
        _hand_over(draft, event, key, deputy)
    _reassign(draft, key)
    _done(draft, ticket)


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
    """Give the absent colleague one or two open tickets, and their team such loads that the rule decides."""
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

    tickets = [add_ticket(key) for _ in range(rng.randint(1, 2))]
    loads = Counter(row["assignee_id"] for row in tables["tickets"] if row["status"] == "open")
    chosen = rng.choice(mates)
    for mate in mates:
        # Several may tie for one ticket; of two, both go to one colleague, who has the fewest even with the first.
        extra = rng.randint(0, 2) if len(tickets) == 1 else rng.randint(2, 3)
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


def _add_delay(draft: OfficeDraft, queue: str, item: Row) -> None:
    """Let a delivery be late: one order is served by the stock, one by a transfer, one must wait."""
    rng, tables = draft.rng, draft.tables
    item_id = item["item_id"]
    home, near, far = rng.sample([row["warehouse_id"] for row in tables["warehouses"]], 3)
    late = rng.randint(12, 24)
    new_day = draft.day(late)
    delivery = tables.add(
        "purchase_orders",
        supplier_id=rng.choice(tables["suppliers"])["supplier_id"],
        item_id=item_id,
        quantity=rng.randint(40, 90),
        unit_price=item["unit_price"],
        expected_on=draft.day(rng.randint(1, 4)),
        warehouse_id=home,
        status="open",
    )
    served, missing, waiting = rng.randint(2, 9), rng.randint(3, 12), rng.randint(60, 90)
    rest = rng.randint(0, 4)
    spare_near, spare_far = missing + rng.randint(0, 5), rng.choice((missing + 7, rng.randint(0, missing - 1)))
    held_near, held_far = rng.randint(0, 8), rng.randint(0, 8)
    levels = {}
    # Which of two warehouses has given must show in the quantities.
    while abs(spare_near + held_near - spare_far - held_far) == missing:
        held_far += 1
    for warehouse, quantity in ((home, served + rest), (near, spare_near + held_near), (far, spare_far + held_far)):
        level = tables.where("stock_levels", item_id=item_id, warehouse_id=warehouse)[0]
        level["quantity"] = quantity
        levels[warehouse] = level["level_id"]
    promised = sorted(rng.sample(range(2, 12), 3))
    sizes = [served, rest + missing, waiting][: rng.choice((2, 3))]
    orders = [_sales_order(draft, item_id, home, size, promised[place]) for place, size in enumerate(sizes)]
    _sales_order(draft, item_id, home, rng.randint(50, 80), 30)
    for warehouse, held in ((near, held_near), (far, held_far)):
        if held:
            _sales_order(draft, item_id, warehouse, held, rng.randint(2, 9))
    supplier = tables.row("suppliers", tables.row("purchase_orders", delivery)["supplier_id"])["name"]
    body = f"{supplier} writes: our delivery {delivery} ({item['name']}) is late and arrives on {new_day}."
    ticket = _ticket(draft, queue, f"Late delivery of {item['name']}", body)
    draft.do("get_purchase_order", order_id=delivery)
    draft.do("update_purchase_order", order_id=delivery, expected_on=new_day)
    draft.want("purchase_orders", delivery, expected_on=new_day)
    draft.do("list_stock_levels", item_id=item_id)
    draft.do("list_sales_orders", item_id=item_id, status="open")
    able = [one for one, spare in ((near, spare_near), (far, spare_far)) if spare >= missing]
    _transfer(draft, item_id, home, able, missing, levels, orders[1])
    if len(orders) == 3:
        _postpone(draft, orders[2], draft.day(late + draft.numbers["delay_days"]))
    _done(draft, ticket)


def _sales_order(draft: OfficeDraft, item: str, warehouse: str, quantity: int, days: int) -> str:
    customer = draft.rng.choice(draft.tables["customers"])["customer_id"]
    return draft.tables.add(
        "sales_orders",
        customer_id=customer,
        item_id=item,
        quantity=quantity,
        warehouse_id=warehouse,
        promised_on=draft.day(days),
        status="open",
    )


def _transfer(
    draft: OfficeDraft, item: str, home: str, able: list[str], missing: int, levels: dict[str, str], order: str
) -> None:
    level = {name: draft.tables.row("stock_levels", key)["quantity"] for name, key in levels.items()}
    given: dict[str, Any] = {"item_id": item, "to_id": home, "quantity": missing, "about": order}
    draft.do("transfer_stock", from_id=able[0], **given)
    draft.want("stock_transfers", from_id=OneOf(tuple(able)), **given)
    draft.want("stock_levels", levels[home], quantity=level[home] + missing)
    draft.want(
        "stock_levels", *(levels[one] for one in able), quantity=OneOf(tuple(level[one] - missing for one in able))
    )


def _postpone(draft: OfficeDraft, order: str, day: str) -> None:
    tables = draft.tables
    customer = tables.row("sales_orders", order)["customer_id"]
    addresses = tuple(row["email"] for row in tables.where("contacts", customer_id=customer))
    draft.do("postpone_order", order_id=order, promised_on=day)
    draft.do("create_customer_note", customer_id=customer, kind="delay", about=order, text=f"Now promised for {day}.")
    draft.do("list_contacts", customer_id=customer)
    draft.do("send_mail", recipient=addresses[0], subject="Delay", body=f"It comes on {day}.", about=order)
    draft.want("sales_orders", order, promised_on=day)
    draft.want("customer_notes", customer_id=customer, kind="delay", about=order)
    draft.want("mail_messages", recipient=OneOf(addresses), about=order)
