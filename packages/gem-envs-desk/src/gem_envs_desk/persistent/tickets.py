"""Tickets: a queue that fills up, and rules by which it is triaged."""

# ruff: noqa: D417  # the episode fills the argument store, which the agent does not see

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar, Literal

from gem.tools import tool
from gem_envs_desk.content import columns
from gem_envs_desk.domain import Db, StoreWorld
from gem_envs_desk.persistent.env import PersistentDomain, PersistentEnv
from gem_envs_desk.persistent.office import OwnerInstruction, instructed, people
from gem_envs_desk.requests import called
from gem_envs_desk.store import DeskStore, RefusedCallError, Row, Tables, TableSchema
from gem_envs_desk.task import DeskTask

__all__ = ["TicketsDomain", "TicketsEnv"]

_TEAMS = {
    "outage": "network",
    "slow line": "network",
    "wrong bill": "billing",
    "refund": "billing",
    "password": "access",
}
"""Topic → the team for it."""
_Priority = Literal["low", "normal", "high"]
_SCHEMA = {
    "staff": TableSchema(columns("name team"), ("name",)),
    "tickets": TableSchema(
        columns("ticket_id customer topic priority status assignee duplicate_of", "day affected"), ("ticket_id",)
    ),
}
_NEW = 4
"""Tickets that arrive before each task."""
_KEPT = 40
"""Tickets in the queue at most; the oldest that are closed go, then the oldest of all."""


@tool
def list_tickets(store: Db, status: Literal["new", "assigned", "closed"]) -> list[Row]:
    """List the tickets of a status, the oldest first.

    Args:
        status: the status.
    """
    return store.query("SELECT * FROM tickets WHERE status = ? ORDER BY day, ticket_id", status)


@tool
def list_staff(store: Db) -> list[Row]:
    """List the staff with their teams and how many tickets are assigned to each."""
    return store.query(
        "SELECT s.name, s.team, count(t.ticket_id) AS assigned FROM staff s "
        "LEFT JOIN tickets t ON t.assignee = s.name AND t.status = 'assigned' GROUP BY s.name ORDER BY s.name"
    )


@tool
def assign_ticket(store: Db, ticket_id: str, name: str, priority: _Priority) -> str:
    """Assign a ticket that is not closed, and set its priority.

    Args:
        ticket_id: such as T12345.
        name: who works on it.
        priority: how urgent it is.
    """
    _open(store, ticket_id)
    store.require("staff", name=name)
    store.update("tickets", {"ticket_id": ticket_id}, assignee=name, priority=priority, status="assigned")
    return f"Ticket {ticket_id} is assigned to {name} with the priority {priority}."


@tool
def close_as_duplicate(store: Db, ticket_id: str, of: str) -> str:
    """Close a ticket because another one is about the same.

    Args:
        ticket_id: the ticket to close.
        of: the ticket that stays.
    """
    _open(store, ticket_id)
    store.require("tickets", ticket_id=of)
    if of == ticket_id:
        raise RefusedCallError("A ticket is no duplicate of itself.")
    store.update("tickets", {"ticket_id": ticket_id}, status="closed", duplicate_of=of)
    return f"Ticket {ticket_id} is closed as a duplicate of {of}."


@tool
def close_ticket(store: Db, ticket_id: str) -> str:
    """Close a ticket that is settled.

    Args:
        ticket_id: such as T12345.
    """
    _open(store, ticket_id)
    store.update("tickets", {"ticket_id": ticket_id}, status="closed")
    return f"Ticket {ticket_id} is closed."


class TicketsDomain(PersistentDomain):
    """A ticket queue: four tickets arrive a day, and everyone's load is what the days before have left."""

    name = "tickets"
    schema = _SCHEMA
    policy = (
        "You keep a ticket queue. Once a day you get instructions; do exactly what they say, in their order.\n\n"
        "How a ticket is triaged: topics 'outage' and 'slow line' go to the team network, 'wrong bill' and "
        "'refund' to billing, 'password' to access. In the team, the ticket goes to the one to whom the "
        "fewest tickets are assigned at that moment; of several, to the first in the alphabet. The priority "
        "is high for every outage and wherever 20 people or more are affected, low for a password, normal "
        "otherwise. A new ticket with the same customer and topic as an older ticket that is not closed is no "
        "work of its own: close it as a duplicate of the oldest such ticket instead."
    )
    _tools: ClassVar = (list_tickets, list_staff, assign_ticket, close_as_duplicate, close_ticket)

    def new_world(self, number: int, split: str) -> dict[str, list[dict[str, Any]]]:
        rng = Random(f"tickets {split} {number}")
        teams = [team for team in sorted(set(_TEAMS.values())) for _ in range(3)]
        staff = [{"name": name, "team": team} for name, team in zip(people(rng, split, len(teams)), teams, strict=True)]
        return {"staff": staff, "tickets": []}

    def next_task(self, state: Tables, number: int, level: int, split: str) -> DeskTask:
        rng = Random(f"tickets of {split} {level} {number}")
        tables: dict[str, Any] = {name: [dict(row) for row in rows] for name, rows in state.items()}
        new = _arrivals(rng, tables)
        # One team a ticket, so that the order of the instructions does not matter.
        chosen: dict[str, Row] = {}
        for row in new:
            chosen.setdefault(_TEAMS[row["topic"]], row)
        rows = list(chosen.values())[:level]
        instructions = [_triage(tables, row) for row in rows]
        settled = [row for row in tables["tickets"] if row["status"] == "assigned"]
        if level > len(instructions) and settled:
            row = rng.choice(settled)
            call = called("close_ticket", ticket_id=row["ticket_id"])
            instructions.append(OwnerInstruction("close", f"Close ticket {row['ticket_id']}: it is settled.", (call,)))
        return instructed(instructions, tables)

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(_SCHEMA, state, self._tools)


class TicketsEnv(PersistentEnv):
    """A ticket queue that goes on; see :class:`gem_envs_desk.persistent.env.PersistentEnv`."""

    domain = TicketsDomain()
    role = "keeper of a ticket queue"


def _arrivals(rng: Random, tables: dict[str, Any]) -> list[Row]:
    """Let tickets arrive and old ones go; return the new ones. Every other day one repeats an open ticket."""
    tickets = tables["tickets"]
    while len(tickets) > _KEPT - _NEW:
        closed = [row for row in tickets if row["status"] == "closed"] or tickets
        tickets.remove(min(closed, key=lambda row: (row["day"], row["ticket_id"])))
    day = max((row["day"] for row in tickets), default=0) + 1
    known = {row["ticket_id"] for row in tickets}
    numbers = [number for number in rng.sample(range(10_000, 100_000), 100) if f"T{number}" not in known]
    pending = [row for row in tickets if row["status"] != "closed"]
    topics = rng.sample(list(_TEAMS), _NEW)
    new: list[Row] = []
    for index, topic in enumerate(topics):
        customer = f"Customer {numbers[index + _NEW]}"
        repeated = [row for row in pending if row["topic"] == topic]
        if repeated and rng.random() < 0.5:
            customer = rng.choice(repeated)["customer"]
        new.append(
            {"ticket_id": f"T{numbers[index]}", "customer": customer, "topic": topic, "priority": "normal",
             "status": "new", "assignee": None, "duplicate_of": None, "day": day, "affected": rng.randint(1, 35)}
        )  # fmt: skip
    tickets += new
    return new


def _triage(tables: dict[str, Any], ticket: Row) -> OwnerInstruction:
    """Return the instruction to triage a ticket, with the solution by the policy."""
    identifier, topic = ticket["ticket_id"], ticket["topic"]
    text = f"Triage ticket {identifier}."
    older = [
        row
        for row in tables["tickets"]
        if row is not ticket
        and (row["customer"], row["topic"]) == (ticket["customer"], topic)
        and row["status"] != "closed"
    ]
    team = sorted(row["name"] for row in tables["staff"] if row["team"] == _TEAMS[topic])
    # Who ignores the policy gives each ticket to the first in the alphabet.
    naive = (called("assign_ticket", ticket_id=identifier, name=team[0], priority="normal"),)
    if older:
        first = min(older, key=lambda row: (row["day"], row["ticket_id"]))
        return OwnerInstruction(
            "duplicate", text, (called("close_as_duplicate", ticket_id=identifier, of=first["ticket_id"]),), naive=naive
        )
    load = dict.fromkeys(team, 0)
    for row in tables["tickets"]:
        if row["status"] == "assigned" and row["assignee"] in load:
            load[row["assignee"]] += 1
    name = min(team, key=lambda one: load[one])
    high = topic == "outage" or ticket["affected"] >= 20
    priority = "high" if high else "low" if topic == "password" else "normal"
    call = called("assign_ticket", ticket_id=identifier, name=name, priority=priority)
    return OwnerInstruction("triage", text, (call,), naive=None if naive == (call,) else naive)


def _open(store: DeskStore, ticket_id: str) -> Row:
    ticket = store.require("tickets", ticket_id=ticket_id)
    if ticket["status"] == "closed":
        raise RefusedCallError(f"Ticket {ticket_id} is closed.")
    return ticket
