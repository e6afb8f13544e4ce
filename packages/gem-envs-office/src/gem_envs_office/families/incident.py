"""Incidents: alerts of several services lead to the deployment that caused them, which is rolled back."""

from __future__ import annotations

from datetime import datetime, timedelta

from gem_envs_office.colleagues import Decision
from gem_envs_office.content.company import COMMON
from gem_envs_office.goals import OneOf, TimeSlot
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft

__all__ = ["add_incidents"]

_HOURS = range(0, 20, 5)
"""After noon of yesterday: alerts that are not of one incident are hours apart."""
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
    cause_ids = {cause["service_id"] for cause in causes}
    largest = min(4, len(front) // count)
    hours = rng.sample(_HOURS, len(_HOURS))

    def moment(hour: int) -> datetime:
        return datetime.fromisoformat(f"{draft.day(-1)}T12:00") + timedelta(hours=hour, minutes=rng.randrange(50))

    for place, (cause, hour) in enumerate(zip(causes, sorted(hours[:count]), strict=True)):
        hit = [front.pop() for _ in range(rng.randint(2, largest))]
        _add_case(draft, f"incident{place}", cause, hit, moment(hour), cause_ids)
    alone = [service for service in front if service["owner_id"] != draft.agent_id]
    for service, hour in zip(alone, hours[count:][: rng.randint(0, 2)], strict=False):
        _add_false_alarm(draft, service, moment(hour), cause_ids)


def _add_false_alarm(draft: OfficeDraft, service: Row, raised: datetime, cause_ids: set[str]) -> None:
    """Add an alert hours from all others, before which at most a service was deployed that its own does not need."""
    rng, tables, window = draft.rng, draft.tables, draft.numbers["cause_minutes"]
    strangers = [
        row["service_id"]
        for row in tables["services"][COMMON:]
        if row["service_id"] not in _needs(draft, service) | cause_ids
    ]
    if strangers and rng.random() < 0.5:
        _deployed(draft, rng.choice(strangers), raised - timedelta(minutes=rng.randint(1, window)))
    alert = _raised(draft, service, raised)
    draft.block()
    draft.do("list_service_dependencies", service_id=service["service_id"])
    draft.do("list_deployments", deployed_at=raised.date().isoformat())
    draft.do("dismiss_alert", alert_id=alert)
    owner = tables.row("employees", service["owner_id"])["email"]
    draft.do("send_mail", recipient=owner, subject="False alarm", body="I have dismissed it.", about=alert)
    draft.want("alerts", alert, status="dismissed")
    draft.want("mail_messages", recipient=owner, about=alert)


def _raised(draft: OfficeDraft, service: Row, at: datetime) -> str:
    """Add an open alert of a service, and return its key."""
    key = draft.tables.add(
        "alerts",
        service_id=service["service_id"],
        raised_at=at.isoformat(timespec="minutes"),
        symptom=draft.rng.choice(_SYMPTOMS),
        status="open",
    )
    draft.documents.append(("alerts", key, "symptom"))
    return key


def _deployed(draft: OfficeDraft, service_id: str, at: datetime) -> str:
    """Add a live deployment of the version that follows the last one of a service, and return its key."""
    versions = [row["version"] for row in draft.tables.where("deployments", service_id=service_id)]
    major, minor = max((tuple(map(int, version.split("."))) for version in versions), default=(1, -1))
    return draft.tables.add(
        "deployments",
        service_id=service_id,
        version=f"{major}.{minor + 1}",
        deployed_at=at.isoformat(timespec="minutes"),
        status="live",
    )


def _add_case(draft: OfficeDraft, name: str, cause: Row, hit: list[Row], first: datetime, cause_ids: set[str]) -> None:
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
    window = numbers["cause_minutes"]
    detected_after = window if rng.random() < 0.15 else rng.randint(1, window)
    deployment = _deploy(draft, cause, hit, first, detected_after, cause_ids)
    later = [0, *(rng.randint(1, 25) for _ in hit[1:])]
    spread_over = max(later)
    alerts = [
        _raised(draft, service, first + timedelta(minutes=minutes)) for service, minutes in zip(hit, later, strict=True)
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
    draft.do(
        "resolve_incident",
        incident_id=incident,
        cause_id=deployment,
        detected_after=detected_after,
        spread_over=spread_over,
    )
    draft.do("create_status_update", incident_id=incident, state="resolved", text="All is well again.")
    draft.want(
        "incidents",
        binds=name,
        severity=severity,
        service_id=cause["service_id"],
        status="resolved",
        cause_id=deployment,
        detected_after=detected_after,
        spread_over=spread_over,
    )
    for alert in alerts:
        draft.want("alerts", alert, status="resolved", incident_id=incident)
    draft.want("deployments", deployment, status="rolled_back")
    for state in ("identified", "resolved"):
        draft.want("status_updates", incident_id=incident, state=state)
    _tell_customers(draft, service_ids, incident)
    _review(draft, cause["owner_id"], incident, name)


def _deploy(
    draft: OfficeDraft, cause: Row, hit: list[Row], first: datetime, detected_after: int, cause_ids: set[str]
) -> str:
    """Let all services that are hit need the cause, which was deployed shortly before; return the deployment.

    Another service that only some of them need was deployed as well, and the owner of the cause suspects it. No service
    is deployed besides its being the cause of an incident: to roll back all but its newest version would be odd.
    """
    rng, tables, window = draft.rng, draft.tables, draft.numbers["cause_minutes"]
    cause_id = cause["service_id"]
    needed = {service["service_id"]: _needs(draft, service) for service in hit}
    for service_id, needs in needed.items():
        if cause_id not in needs:
            tables.add("service_dependencies", service_id=service_id, needs_id=cause_id)
    common = set.intersection(*needed.values()) - cause_ids
    some = sorted(set.union(*needed.values()) - common - cause_ids)

    def deployed(service_id: str, minutes: int) -> str:
        return _deployed(draft, service_id, first - timedelta(minutes=minutes))

    suspected = None
    if some:
        suspected = rng.choice(some)
        deployed(suspected, rng.randint(1, window))
    for other in sorted(common):
        deployed(other, window + rng.randint(20, 100))
    deployment = deployed(cause_id, detected_after)
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
    draft.do("get_mail_message", message_id=key)


def _tell_customers(draft: OfficeDraft, service_ids: list[str], incident: str) -> None:
    tables = draft.tables
    for service_id in service_ids:
        draft.do("list_service_subscriptions", service_id=service_id)
    for customer in tables["customers"]:
        key, sla = customer["customer_id"], customer["sla"]
        subscribed = [row["service_id"] for row in tables.where("service_subscriptions", customer_id=key)]
        if sla not in ("gold", "silver") or not set(subscribed) & set(service_ids):
            continue
        draft.do("create_customer_note", customer_id=key, kind="outage", about=incident, text="Told about the outage.")
        draft.want("customer_notes", customer_id=key, kind="outage", about=incident)
        if sla == "silver":
            continue
        addresses = tuple(row["email"] for row in tables.where("contacts", customer_id=key))
        draft.do("list_contacts", customer_id=key)
        draft.do("send_mail", recipient=addresses[0], subject="Outage", body="It is repaired.", about=incident)
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
