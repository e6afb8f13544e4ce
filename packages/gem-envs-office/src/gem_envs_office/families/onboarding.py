"""Onboarding: signed offers, with amendments, become employees with contract, access, laptop, desk and trainings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from gem_envs_office.colleagues import Decision
from gem_envs_office.content.company import working_days
from gem_envs_office.content.names import people_names
from gem_envs_office.goals import OneOf, TimeSlot
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft

__all__ = ["add_onboarding"]


def add_onboarding(draft: OfficeDraft, count: int) -> None:
    """Add tickets about new colleagues, with their solution."""
    rng, tables = draft.rng, draft.tables
    queue = tables.where("queues", name="Onboarding")[0]["queue_id"]
    draft.orders.append(
        f"Settle the open tickets in the queue Onboarding ({queue}) assigned to you, as the policy on onboarding says."
    )
    draft.do("list_tickets", queue_id=queue, assignee_id=draft.agent_id, status="open")
    admins = [one["employee_id"] for one in tables.where("employees", role="it_admin", status="active")]
    if rng.random() < 0.4:
        draft.let_forget(rng.choice(admins))
    present = {row["name"] for row in tables["employees"]}
    names = [name for name in people_names(rng, draft.split, 40 + count) if name not in present]
    dry: dict[tuple[str, str], bool] = {}
    for place in range(count):
        _add_case(draft, queue, names[place], f"hire{place}", rng.choice(admins), dry)


def _add_case(
    draft: OfficeDraft, queue: str, name: str, hire: str, admin: str, dry: dict[tuple[str, str], bool]
) -> None:
    rng, tables = draft.rng, draft.tables
    team = rng.choice(tables["teams"][1:])
    manager = team["lead_id"]
    mates = draft.team_mates(manager)
    new: dict[str, Any] = {
        "title": rng.choice(tables["job_titles"]),
        "place": rng.choice(tables["locations"]),
        "start": _start(draft),
        "kind": rng.choice(("permanent", "permanent", "fixed_term", "intern")),
        "hours": rng.choice((20, 24, 32, 38, 40)),
    }
    private = f"{name.lower().replace(' ', '.')}@{rng.choice(('homepost', 'letterbox'))}.example"
    ticket = _documents(draft, queue, name, team["name"], new, private)
    buddy = rng.choice(mates)
    told = f"{tables.row('employees', buddy)['name']} ({buddy}) will be the buddy."
    draft.script.answers[draft.decider(manager), "buddy", ticket] = told
    draft.do("ask_colleague", employee_id=draft.decider(manager), topic="buddy", about=ticket)
    columns = {
        "name": name,
        "title_id": new["title"]["title_id"],
        "team_id": team["team_id"],
        "location_id": new["place"]["location_id"],
        "manager_id": manager,
        "buddy_id": buddy,
        "starts_on": new["start"],
    }
    draft.do("create_employee", binds=hire, **columns)
    draft.want("employees", binds=hire, **columns)
    employee = f"${hire}"
    contract = {"employee_id": employee, "kind": new["kind"], "weekly_hours": new["hours"], "starts_on": new["start"]}
    draft.do("create_contract", **contract)
    draft.want("contracts", **contract)
    _give_access(draft, team["team_id"], employee, admin)
    _equip(draft, new, employee, ticket, dry)
    _train(draft, team["name"], new["start"], employee)
    _welcome(draft, new, manager, employee, ticket, hire)
    draft.do("send_mail", recipient=private, subject="Welcome", body="We look forward to your first day.", about=ticket)
    draft.want("mail_messages", recipient=private, about=ticket)
    draft.do("resolve_ticket", ticket_id=ticket, resolution="done")
    draft.want("tickets", ticket, status="resolved", resolution="done")


def _starts(draft: OfficeDraft) -> list[str]:
    return working_days(date.fromisoformat(draft.day(14)), 20)


def _start(draft: OfficeDraft) -> str:
    return draft.rng.choice(_starts(draft))


def _documents(draft: OfficeDraft, queue: str, name: str, team: str, new: dict[str, Any], private: str) -> str:
    """Add the offer, perhaps an amendment, which changes ``new``, and what the manager wishes; return the ticket."""
    rng, tables = draft.rng, draft.tables
    owner = draft.lead("people_lead")
    folder = rng.choice(tables["folders"])["folder_id"]
    common = {"folder_id": folder, "owner_id": owner["employee_id"], "written_on": draft.day(-rng.randint(2, 20))}
    lines = [
        f"Position: {new['title']['title']}",
        f"Team: {team}",
        f"Place of work: {new['place']['city']}",
        f"First day: {new['start']}",
        f"Contract: {new['kind']}, {new['hours']} hours a week",
        f"Private address: {private}",
    ]
    rng.shuffle(lines)
    body = "\n".join([f"Offer to {name}", *lines, "Signed by both sides."])
    offer = tables.add("files", name=f"Offer {name}", body=body, **common)
    draft.documents.append(("files", offer, "body"))
    ticket = tables.add(
        "tickets",
        queue_id=queue,
        subject=f"New colleague: {name}",
        body=f"The signed offer is {offer}. Please prepare everything.",
        requester=owner["email"],
        assignee_id=draft.agent_id,
        skill="people",
        status="open",
        opened_on=draft.day(0),
    )
    draft.block()
    draft.do("get_ticket", ticket_id=ticket)
    draft.do("get_file", file_id=offer)
    draft.do("list_files", contains=name)
    if rng.random() < 0.45:
        changed = _amended(draft, new)
        text = f"Amendment to the offer {offer}: {changed}. All else stays. Signed by both sides."
        amendment = tables.add("files", name=f"Amendment {name}", body=text, **common)
        draft.documents.append(("files", amendment, "body"))
        draft.do("get_file", file_id=amendment)
    if rng.random() < 0.35:
        sender = tables.row("employees", tables.where("teams", name=team)[0]["lead_id"])
        tables.add(
            "mail_messages",
            sender=sender["email"],
            recipient=draft.agent["email"],
            subject=f"{name}",
            body=f"Could {name} start on {draft.day(rng.randint(7, 13))}? The offer can be changed later.",
            sent_on=draft.day(0),
            about=ticket,
        )
    return ticket


def _amended(draft: OfficeDraft, new: dict[str, Any]) -> str:
    """Change one thing of the offer to another value, and return the sentence that says so."""
    rng, tables = draft.rng, draft.tables
    match rng.choice(("start", "hours", "place", "title")):
        case "start":
            new["start"] = _another(new["start"], _start(draft), _starts(draft))
            return f"the first day is {new['start']}"
        case "hours":
            new["hours"] = rng.choice((16, 28, 36))
            return f"the hours are {new['hours']} a week"
        case "place":
            new["place"] = _another(new["place"], rng.choice(tables["locations"]), tables["locations"])
            return f"the place of work is {new['place']['city']}"
        case _:
            new["title"] = _another(new["title"], rng.choice(tables["job_titles"]), tables["job_titles"])
            return f"the position is {new['title']['title']}"


def _another(old: Any, drawn: Any, values: Sequence[Any]) -> Any:
    """Return the value that was drawn or, if it is the old one, another."""
    return drawn if drawn != old else next(value for value in values if value != old)


def _give_access(draft: OfficeDraft, team_id: str, employee: str, admin: str) -> None:
    tables = draft.tables
    draft.do("list_access_profiles", team_id=team_id)
    draft.ask_for(admin, "create_account", employee_id=employee)
    draft.want("accounts", employee_id=employee, status="active")
    for profile in tables.where("access_profiles", team_id=team_id):
        system: Row = tables.row("systems", profile["system_id"])
        draft.do("get_system", system_id=system["system_id"])
        if system["sensitivity"] == "restricted":
            owner = draft.decider(system["owner_id"])
            draft.script.decisions["access", system["system_id"]] = Decision((owner,))
            draft.approval(owner, "access", system["system_id"])
        draft.ask_for(admin, "grant_access", employee_id=employee, system_id=system["system_id"])
        draft.want("access_grants", employee_id=employee, system_id=system["system_id"])


def _equip(
    draft: OfficeDraft, new: dict[str, Any], employee: str, ticket: str, dry: dict[tuple[str, str], bool]
) -> None:
    rng, tables = draft.rng, draft.tables
    place, kind = new["place"]["location_id"], new["title"]["laptop_class"]
    stock = {"kind": "laptop", "class": kind, "location_id": place}
    draft.do("list_assets", kind="laptop", location_id=place, status="in_stock", **{"class": kind})
    if (place, kind) not in dry:
        dry[place, kind] = rng.random() < 0.25
        for asset in tables.where("assets", status="in_stock", **stock) if dry[place, kind] else ():
            asset["status"] = "repair"
    if dry[place, kind]:
        wanted: dict[str, Any] = {"item": f"laptop {kind}", "quantity": 1, "about": ticket}
        draft.do("create_purchase_request", **wanted)
        draft.want("purchase_requests", **wanted)
    else:
        own = tables.add("assets", status="in_stock", **stock)
        keys = [row["asset_id"] for row in tables.where("assets", status="in_stock", **stock)]
        draft.do("assign_asset", asset_id=own, employee_id=employee)
        draft.want("assets", *keys, status="assigned", employee_id=employee)
    own = tables.add("desks", location_id=place, floor=rng.randint(1, 4), status="free")
    keys = [row["desk_id"] for row in tables.where("desks", status="free", location_id=place)]
    draft.do("list_desks", location_id=place, status="free")
    draft.do("assign_desk", desk_id=own, employee_id=employee)
    draft.want("desks", *keys, status="taken", employee_id=employee)


def _train(draft: OfficeDraft, team: str, start: str, employee: str) -> None:
    due = date.fromordinal(date.fromisoformat(start).toordinal() + draft.numbers["training_days"]).isoformat()
    for training in draft.tables["trainings"]:
        if training["audience"] in ("all", team):
            given = {"employee_id": employee, "training_id": training["training_id"], "due_on": due}
            draft.do("create_training_assignment", **given)
            draft.want("training_assignments", **given, status="open")


def _welcome(draft: OfficeDraft, new: dict[str, Any], manager: str, employee: str, ticket: str, hire: str) -> None:
    minutes = draft.numbers["welcome_minutes"]
    rooms = draft.tables.where("rooms", location_id=new["place"]["location_id"])
    found = draft.diary.slot([new["start"]], rooms, [manager, employee], minutes)
    assert found is not None  # nobody is busy all day two weeks ahead
    draft.do("show_agenda", day=new["start"], employee_id=manager)
    draft.do(
        "schedule_meeting",
        title="Welcome",
        organizer_id=manager,
        attendee_ids=[employee],
        room_id=found.rooms[0],
        starts_at=found.starts_at,
        minutes=minutes,
        about=ticket,
    )
    draft.diary.book([manager, found.rooms[0]], found.starts_at, minutes)
    end = 17 * 60 - minutes
    draft.want_meeting(
        f"{hire}welcome",
        [manager, employee],
        organizer_id=manager,
        room_id=OneOf(tuple(room["room_id"] for room in rooms)),
        starts_at=TimeSlot((new["start"],), "09:00", f"{end // 60:02}:{end % 60:02}"),
        minutes=minutes,
        about=ticket,
    )
