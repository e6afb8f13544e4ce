"""Tools of the office: their declarations, permissions and errors."""

from __future__ import annotations

import json
import re
import string
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.tools import ToolResult
from gem_envs_office.colleagues import Decision
from gem_envs_office.declarations import company
from gem_envs_office.families.registry import office_task
from gem_envs_office.store import changes
from gem_envs_office.task import OfficeTask
from gem_envs_office.tools import office_tools
from gem_envs_office.world import OfficeWorld


@pytest.fixture
def world() -> OfficeWorld:
    task = office_task("Refund", 1, 1, "train", "none")
    return OfficeWorld(task.tables, task.today, task.rulebook, task.script)


def _employee(world: OfficeWorld, role: str) -> str:
    return str(world.store.find("employees", role=role)[-1]["employee_id"])


def _called(world: OfficeWorld, role: str, tool: str, /, **arguments: Any) -> ToolResult:
    return world.call(_employee(world, role), tool, arguments)


def test_company_is_large() -> None:
    """There are more than 60 tables and 150 tools, each with a description, a schema and a department."""
    assert len(company().tables) >= 80
    assert len(office_tools()) >= 200
    for tool in office_tools().values():
        tool.check()
        assert tool.description
        assert tool.department in company().departments
        properties = tool.to_openai()["function"]["parameters"]["properties"]
        assert all("type" in one for one in properties.values())


def test_every_table_has_rows() -> None:
    """An agent that looks around finds something in nearly every table."""
    tables = office_task("Refund", 1, 1, "train", "none").tables
    empty = {name for name in company().tables if not tables.get(name)}
    assert empty <= {"approvals", "colleague_requests", "audit_log", "accruals", "close_reports", "room_closures"}


def test_tool_of_another_department_refuses_by_name(world: OfficeWorld) -> None:
    """The refusal names the department, the role, and colleagues who may; the attempt is in the log."""
    result = _called(world, "support_agent", "close_period", period_id="P103")
    assert not result.ok
    assert "belongs to finance" in result.text
    assert "support agent" in result.text
    assert str(world.store.find("employees", role="accountant")[0]["employee_id"]) in result.text
    assert [row["outcome"] for row in world.store.find("audit_log")] == ["denied"]


def test_confidential_records_are_for_their_department(world: OfficeWorld) -> None:
    """Salaries are shown to the people department alone, by employee, and reading them is logged."""
    assert "Denied" in _called(world, "support_agent", "list_salaries", employee_id="E101").text
    assert "needs the argument employee_id" in _called(world, "people_lead", "list_salaries").text
    assert _called(world, "people_lead", "list_salaries", employee_id="E101").ok
    assert [row["outcome"] for row in world.store.find("audit_log")] == ["denied", "read"]


def test_mail_is_read_by_those_in_it(world: OfficeWorld) -> None:
    """Nobody lists or opens the mail of others."""
    message = world.store.find("mail_messages")[0]
    for row in world.store.find("employees"):
        concerned = row["email"] in (message["sender"], message["recipient"])
        result = world.call(row["employee_id"], "get_mail_message", {"message_id": message["message_id"]})
        assert result.ok == concerned


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("issue_refund", {"invoice_id": "INV101"}, "issue_refund needs the argument amount, an amount in euros"),
        ("get_ticket", {"ticket_id": "INV101"}, 'ticket_id must be a key of tickets, such as TK101, got "INV101"'),
        ("get_ticket", {"ticket_id": 4}, "got 4"),
        ("get_ticket", {"ticket_id": "TK101", "colour": "red"}, "no argument 'colour'; it takes ticket_id"),
        ("get_tickets", {}, "no tool 'get_tickets'. Did you mean get_ticket"),
        ("resolve_ticket", {"ticket_id": "TK101", "resolution": "done"}, "The status of TK101 is resolved, not open."),
        ("resolve_ticket", {"ticket_id": "TK101", "resolution": "gone"}, 'one of the texts "done", "refunded"'),
        ("create_ticket_link", {"ticket_id": 101, "other_id": "TK101"}, "such as TK101, got 101"),
        ("create_customer_note", {"customer_id": "C101", "kind": 2, "text": "x"}, '"outage", "delay", got 2'),
        ("list_tickets", {"opened_on": "yesterday"}, 'must be a date, such as 2027-03-01, got "yesterday"'),
        ("show_agenda", {"day": "2027-02-30", "room_id": "RM101"}, "must be a date"),
        ("issue_refund", {"invoice_id": "INV101", "amount": -5, "reason": "damaged"}, "at least 0.01, got -5"),
        ("issue_refund", {"invoice_id": "INV101", "amount": float("nan"), "reason": "damaged"}, "got NaN"),
        ("issue_refund", {"invoice_id": "INV101", "amount": 10**8, "reason": "damaged"}, "can go back"),
        ("update_customer", {"customer_id": "C101"}, "Nothing to change was given"),
        (
            "schedule_meeting",
            {"title": "x", "organizer_id": "E101", "attendee_ids": [], "room_id": "RM101"},
            "attendee_ids",
        ),
    ],
)
def test_error_says_what_was_wrong(world: OfficeWorld, tool: str, arguments: dict[str, Any], told: str) -> None:
    """A refused call names the tool or the argument, the value, and what would be right, and changes nothing."""
    before = world.store.state()
    result = _called(world, "support_agent", tool, **arguments)
    assert not result.ok
    assert told in result.text
    assert changes(before, world.store.state()) == []


def test_descriptions_are_sentences_and_say_what_contains_looks_through(world: OfficeWorld) -> None:
    """No word has a capital inside but those of SQL tables' keys, and a text of the named columns alone is found."""
    for tool in office_tools().values():
        assert not re.search(r"[a-z][A-Z]", tool.description), tool.description
    told = office_tools()["list_contacts"].parameters["properties"]["contains"]["description"]
    assert told == "a text that name contains, in capitals or not"
    contact = world.store.find("contacts")[0]
    assert json.loads(_called(world, "support_agent", "list_contacts", contains=contact["name"].upper()).text)["total"]
    assert not json.loads(_called(world, "support_agent", "list_contacts", contains=contact["email"]).text)["total"]


def test_meeting_needs_a_free_room_and_free_people(world: OfficeWorld) -> None:
    """A meeting is refused where the room or a person is taken, and ends where the next one begins."""
    event = world.store.find("events")[0]
    arguments = {
        "title": "x",
        "organizer_id": "E101",
        "attendee_ids": ["E101"],
        "room_id": event["room_id"],
        "starts_at": event["starts_at"],
        "minutes": 30,
    }
    assert f"taken then by {event['event_id']}" in _called(world, "support_agent", "schedule_meeting", **arguments).text
    other = next(r["room_id"] for r in world.store.find("rooms") if r["room_id"] != event["room_id"])
    busy = {**arguments, "room_id": other, "attendee_ids": [event["organizer_id"]]}
    assert "is in" in _called(world, "support_agent", "schedule_meeting", **busy).text
    early = f"{event['starts_at'][:11]}{int(event['starts_at'][11:13]) - 1:02}:30"
    assert _called(world, "support_agent", "schedule_meeting", **{**busy, "starts_at": early}).ok


def test_colleague_decides_by_authority_and_amount(world: OfficeWorld) -> None:
    """Only the approver of a matter approves it, with the right amount alone; away, they name their deputy."""
    lead, other = _employee(world, "support_lead"), _employee(world, "planner")
    world.store.update("employees", lead, status="active")
    world.script.forgetful.clear()
    world.script.decisions["refund", "INV103"] = Decision((lead,), 80.0)
    asked = {"kind": "refund", "about": "INV103", "amount": 80.0}
    agent = "support_agent"
    assert "may not approve" in _called(world, agent, "request_approval", employee_id=other, **asked).text
    assert (
        "this amount" in _called(world, agent, "request_approval", employee_id=lead, **{**asked, "amount": 81.0}).text
    )
    assert (
        "nothing about X" in _called(world, agent, "request_approval", employee_id=lead, kind="refund", about="X").text
    )
    assert world.store.find("approvals") == []
    assert "Approved" in _called(world, agent, "request_approval", employee_id=lead, **asked).text
    world.store.update("employees", lead, status="away", deputy_id=other)
    assert f"{other} stands in" in _called(world, agent, "request_approval", employee_id=lead, **asked).text
    assert len(world.store.find("approvals")) == 1


def test_forgetful_colleague_does_at_the_second_request(world: OfficeWorld) -> None:
    """The first request is promised and nothing happens; the second one is done."""
    admin, new = _employee(world, "it_admin"), _employee(world, "planner")
    world.script.forgetful.add(admin)
    for answer, status in (("I will see to it", "active"), ("Done", "locked")):
        arguments = {"employee_id": admin, "tool": "lock_account", "arguments": {"employee_id": new}}
        assert answer in _called(world, "support_agent", "request_action", **arguments).text
        assert world.store.find("accounts", employee_id=new)[0]["status"] == status


def test_colleague_refuses_what_a_policy_forbids(world: OfficeWorld) -> None:
    """An administrator does not grant a restricted system without its owner's approval, and nothing remains of it."""
    system = world.store.find("systems")[0]["system_id"]
    world.store.update("systems", system, sensitivity="restricted")
    world.store.query("DELETE FROM access_grants")
    world.script.forgetful.clear()
    given = {"employee_id": "E101", "system_id": system}
    arguments = {"employee_id": _employee(world, "it_admin"), "tool": "grant_access", "arguments": given}
    answer = _called(world, "support_agent", "request_action", **arguments).text
    assert "against the policy: access to a restricted system that its owner has not approved." in answer
    assert world.store.find("access_grants") == []
    world.store.update("systems", system, sensitivity="normal")
    assert "Done" in _called(world, "support_agent", "request_action", **arguments).text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable + "\ud800\x00", max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_no_arguments_crash_a_tool(data: st.DataObject) -> None:
    """Any call with any JSON arguments gets an answer, as the one who may most."""
    world, task = _busy_world()
    tool = office_tools()[data.draw(st.sampled_from(sorted(office_tools())))]
    arguments = {}
    for name, column in tool.arguments.items():
        rows = task.tables.get(column.table, ())
        likely = [next(iter(row.values())) for row in rows][:3] or [*column.choices, "2027-03-01", 5]
        arguments[name] = data.draw(st.sampled_from(likely) | _JSON)
    assert world.call(task.agent_id, tool.name, arguments).text


@cache
def _busy_world() -> tuple[OfficeWorld, OfficeTask]:
    task = office_task("Mixed", 3, 1, "train", "none")
    return OfficeWorld(task.tables, task.today, task.rulebook, task.script), task
