"""Actions on tickets, mail and incidents."""

from __future__ import annotations

from typing import Any

from gem_envs_office.office import Office, action, required, set_status
from gem_envs_office.values import OfficeRefusalError

__all__: list[str] = []


@action
def send_mail(office: Office, recipient: str, subject: str, body: str, about: str | None = None) -> dict[str, Any]:
    key = office.store.insert(
        "mail_messages",
        sender=office.actor["email"],
        recipient=recipient,
        subject=subject,
        body=body,
        sent_on=office.today,
        about=about,
    )
    return {"message_id": key}


@action
def assign_ticket(office: Office, ticket_id: str, assignee_id: str) -> dict[str, Any]:
    required(office, "tickets", ticket_id, status="open")
    required(office, "employees", assignee_id, status="active")
    office.store.update("tickets", ticket_id, assignee_id=assignee_id)
    return {"ticket_id": ticket_id, "assignee_id": assignee_id}


@action
def resolve_ticket(office: Office, ticket_id: str, resolution: str) -> dict[str, Any]:
    return set_status(office, "tickets", ticket_id, "open", "resolved", resolution=resolution)


@action
def reject_ticket(office: Office, ticket_id: str, resolution: str) -> dict[str, Any]:
    return set_status(office, "tickets", ticket_id, "open", "rejected", resolution=resolution)


@action
def open_incident(office: Office, title: str, severity: str, service_id: str) -> dict[str, Any]:
    if office.store.find("incidents", service_id=service_id, status="open"):
        raise OfficeRefusalError(f"There is an open incident about {service_id} already.")
    key = office.store.insert(
        "incidents",
        title=title,
        severity=severity,
        service_id=service_id,
        status="open",
        opened_by=office.actor_id,
        opened_on=office.today,
    )
    return {"incident_id": key}


@action
def acknowledge_alert(office: Office, alert_id: str, incident_id: str) -> dict[str, Any]:
    required(office, "alerts", alert_id, status="open")
    required(office, "incidents", incident_id, status="open")
    office.store.update("alerts", alert_id, status="acknowledged", incident_id=incident_id)
    return {"alert_id": alert_id, "status": "acknowledged"}


@action
def roll_back_deployment(office: Office, deployment_id: str) -> dict[str, Any]:
    return set_status(office, "deployments", deployment_id, "live", "rolled_back", rolled_back_at=office.seq)


@action
def resolve_alert(office: Office, alert_id: str) -> dict[str, Any]:
    return set_status(office, "alerts", alert_id, "acknowledged", "resolved")


@action
def dismiss_alert(office: Office, alert_id: str) -> dict[str, Any]:
    return set_status(office, "alerts", alert_id, "open", "dismissed")


@action
def resolve_incident(
    office: Office, incident_id: str, cause_id: str, detected_after: int, spread_over: int
) -> dict[str, Any]:
    required(office, "incidents", incident_id, status="open")
    alerts = office.store.find("alerts", incident_id=incident_id)
    if waiting := [alert["alert_id"] for alert in alerts if alert["status"] != "resolved"]:
        raise OfficeRefusalError(f"Alerts of {incident_id} are not resolved: {', '.join(waiting)}.")
    office.store.update(
        "incidents",
        incident_id,
        status="resolved",
        cause_id=cause_id,
        detected_after=detected_after,
        spread_over=spread_over,
    )
    return {"incident_id": incident_id, "status": "resolved"}
