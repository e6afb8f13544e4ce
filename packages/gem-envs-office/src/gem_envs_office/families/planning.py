"""Tickets of the queue Planning, which all cases of re-planning share."""

from __future__ import annotations

from gem_envs_office.task import OfficeDraft

__all__ = ["planning_ticket", "ticket_done"]


def planning_ticket(draft: OfficeDraft, queue: str, subject: str, body: str) -> str:
    """Add an open ticket of the agent, with which a part of the plan begins, and return its key."""
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


def ticket_done(draft: OfficeDraft, ticket: str) -> None:
    """Add to plan and goals that a ticket is resolved as done."""
    draft.do("resolve_ticket", ticket_id=ticket, resolution="done")
    draft.want("tickets", ticket, status="resolved", resolution="done")
