"""Incidents: alerts of several services lead to the deployment that caused them, which is rolled back."""

from __future__ import annotations

from datetime import datetime, timedelta

from gem_envs_office.colleagues import Decision
from gem_envs_office.content.company import COMMON
from gem_envs_office.goals import OneOf, TimeSlot
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft

__all__ = ["add_incidents"]

_SYMPTOMS = ("errors", "slow answers", "time-outs", "empty pages", "failed logins", "full queue", "wrong totals")
_COMPLAINTS = (
    "Since this morning your {service} does not work for us. What is going on?",
    "We see errors in {service}. Please tell us when it is repaired.",
    "{service} is very slow today; our people cannot work.",
)


def add_incidents(draft: OfficeDraft, count: int) -> None:
    """Add incidents that nobody has opened yet, with their solution. At most four."""
    rng, tables = draft.rng, draft.tables
    draft.orders.append("Deal with all open alerts, as the policy on incidents says.")
    draft.do("list_alerts", status="open")
    draft.do("list_mail_messages", recipient=draft.agent["email"], sent_on=draft.day(0))
    front = rng.sample(tables["services"][:COMMON], COMMON)
    causes = rng.sample(tables["services"][COMMON:], count)
    largest = min(4, len(front) // count)
    hours = rng.sample(range(0, 20, 5), count)
    for place, (cause, hour) in enumerate(zip(causes, sorted(hours), strict=True)):
        hit = [front.pop() for _ in range(rng.randint(2, largest))]
        minute = datetime.fromisoformat(f"{draft.day(-1)}T12:00") + timedelta(hours=hour, minutes=rng.randrange(50))
        _add_case(draft, f"incident{place}", cause, hit, minute)


def _add_case(draft: OfficeDraft, name: str, cause: Row, hit: list[Row], first: datetime) -> None:
    rng, tables, numbers = draft.rng, draft.tables, draft.numbers
    owners = [
        row["employee_id"]
        for role in ("engineer", "engineering_lead")
        for row in tables.where("employees", role=role, status="active")
        if row["employee_id"] != draft.agent_id
    ]
    if cause["owner_id"] not in owners:
        cause["owner_id"] = rng.choice(owners)
    if rng.random() < 0.3:
        draft.let_forget(cause["owner_id"])
    deployment = _deploy(draft, cause, hit, first)
    alerts = [
        tables.add(
            "alerts",
            service_id=service["service_id"],
            raised_at=(first + timedelta(minutes=0 if place == 0 else rng.randint(1, 25))).isoformat(
                timespec="minutes"
            ),
            symptom=rng.choice(_SYMPTOMS),
            status="open",
        )
        for place, service in enumerate(hit)
    ]
    draft.block()
    _complaint(draft, hit[0])
    service_ids = [service["service_id"] for service in hit]
    severe = len(hit) >= numbers["severe_alerts"] or any(service["tier"] == "1" for service in hit)
    severity = "1" if severe else "2" if any(service["customer_facing"] == "yes" for service in hit) else "3"
    for service_id in service_ids:
        draft.do("get_service", service_id=service_id)
        draft.do("list_service_dependencies", service_id=service_id)
    draft.do("list_deployments", service_id=cause["service_id"])
    title = f"{rng.choice(_SYMPTOMS)} after a deployment"
    draft.do("open_incident", binds=name, title=title, severity=severity, service_id=cause["service_id"])
    incident = f"${name}"
    for alert in alerts:
        draft.do("acknowledge_alert", alert_id=alert, incident_id=incident)
    draft.do("create_status_update", incident_id=incident, state="identified", text="We know the cause.")
    if cause["tier"] == "1":
        draft.script.decisions["rollback", deployment] = Decision((cause["owner_id"],))
        draft.approval(cause["owner_id"], "rollback", deployment)
    draft.do("roll_back_deployment", deployment_id=deployment)
    for alert in alerts:
        draft.do("resolve_alert", alert_id=alert)
    draft.do("resolve_incident", incident_id=incident, cause_id=deployment)
    draft.do("create_status_update", incident_id=incident, state="resolved", text="All is well again.")
    draft.want(
        "incidents",
        binds=name,
        severity=severity,
        service_id=cause["service_id"],
        status="resolved",
        cause_id=deployment,
    )
    for alert in alerts:
        draft.want("alerts", alert, status="resolved", incident_id=incident)
    draft.want("deployments", deployment, status="rolled_back")
    for state in ("identified", "resolved"):
        draft.want("status_updates", incident_id=incident, state=state)
    _tell_customers(draft, service_ids, incident)
    _review(draft, cause["owner_id"], incident, name)


def _deploy(draft: OfficeDraft, cause: Row, hit: list[Row], first: datetime) -> str:
    """Let all services that are hit need the cause, which was deployed shortly before; return the deployment.

    Another service that only some of them need was deployed as well, and the owner of the cause suspects it.
    """
    rng, tables, window = draft.rng, draft.tables, draft.numbers["cause_minutes"]
    cause_id = cause["service_id"]
    needed = {service["service_id"]: _needs(draft, service) for service in hit}
    for service_id, needs in needed.items():
        if cause_id not in needs:
            tables.add("service_dependencies", service_id=service_id, needs_id=cause_id)
    common = set.intersection(*needed.values()) - {cause_id}
    some = sorted(set.union(*needed.values()) - common - {cause_id})
    version = f"{rng.randint(1, 4)}.{rng.randint(0, 9)}"

    def deployed(service_id: str, minutes: int) -> str:
        at = (first - timedelta(minutes=minutes)).isoformat(timespec="minutes")
        return tables.add("deployments", service_id=service_id, version=version, deployed_at=at, status="live")

    suspected = None
    if some:
        suspected = rng.choice(some)
        deployed(suspected, rng.randint(1, window))
    for other in sorted(common):
        deployed(other, window + rng.randint(20, 100))
    deployment = deployed(cause_id, rng.choice((window, rng.randint(1, window))))
    if suspected is not None:
        belief = f"Not us. It must be the deployment of {tables.row('services', suspected)['name']}."
        draft.script.answers[cause["owner_id"], "cause", cause_id] = belief
    return deployment


def _needs(draft: OfficeDraft, service: Row) -> set[str]:
    return {row["needs_id"] for row in draft.tables.where("service_dependencies", service_id=service["service_id"])}


def _complaint(draft: OfficeDraft, service: Row) -> None:
    rng, tables = draft.rng, draft.tables
    contact = rng.choice(tables["contacts"])
    key = tables.add(
        "mail_messages",
        sender=contact["email"],
        recipient=draft.agent["email"],
        subject=f"Trouble with {service['name']}",
        body=rng.choice(_COMPLAINTS).format(service=service["name"]),
        sent_on=draft.day(0),
    )
    draft.documents.append(("mail_messages", key, "body"))
    draft.do("get_mail_message", message_id=key)


def _tell_customers(draft: OfficeDraft, service_ids: list[str], incident: str) -> None:
    tables = draft.tables
    for service_id in service_ids:
        draft.do("list_service_subscriptions", service_id=service_id)
    for customer in tables.where("customers", sla="gold"):
        key = customer["customer_id"]
        if not any(row["service_id"] in service_ids for row in tables.where("service_subscriptions", customer_id=key)):
            continue
        addresses = tuple(row["email"] for row in tables.where("contacts", customer_id=key))
        draft.do("create_customer_note", customer_id=key, kind="outage", about=incident, text="Told about the outage.")
        draft.do("list_contacts", customer_id=key)
        draft.do("send_mail", recipient=addresses[0], subject="Outage", body="It is repaired.", about=incident)
        draft.want("customer_notes", customer_id=key, kind="outage", about=incident)
        draft.want("mail_messages", recipient=OneOf(addresses), about=incident)


def _review(draft: OfficeDraft, owner: str, incident: str, name: str) -> None:
    minutes = draft.numbers["review_minutes"]
    days = [draft.day(ahead) for ahead in range(1, draft.numbers["review_days"] + 1)]
    people = [draft.agent_id, owner]
    found = draft.diary.slot(days, draft.tables["rooms"], people, minutes)
    assert found is not None  # nine rooms are not busy for days
    draft.do("show_agenda", day=found.starts_at[:10], employee_id=owner)
    draft.do(
        "schedule_meeting",
        title="Review of the incident",
        organizer_id=draft.agent_id,
        attendee_ids=[owner],
        room_id=found.rooms[0],
        starts_at=found.starts_at,
        minutes=minutes,
        about=incident,
    )
    draft.diary.book([*people, found.rooms[0]], found.starts_at, minutes)
    end = 17 * 60 - minutes
    draft.want_meeting(
        f"{name}review",
        people,
        organizer_id=draft.agent_id,
        starts_at=TimeSlot(tuple(days), "09:00", f"{end // 60:02}:{end % 60:02}"),
        minutes=minutes,
        about=incident,
    )
