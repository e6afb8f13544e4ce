"""Rules of tools and policies at their limits: the wrong neighbour value is refused or a violation."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import Any

import pytest

from gem.tools import ToolResult
from gem_envs_office.checks import executed
from gem_envs_office.families.registry import office_task
from gem_envs_office.task import OfficeCall, OfficeTask
from gem_envs_office.week import OfficeWeekEnv
from gem_envs_office.world import OfficeWorld


@cache
def _task() -> OfficeTask:
    return office_task("Mixed", 1, 1, "train", "none")


@pytest.fixture
def world() -> OfficeWorld:
    task = _task()
    return OfficeWorld(task.tables, task.today, task.rulebook)


def _called(world: OfficeWorld, tool: str, /, **arguments: Any) -> ToolResult:
    return world.call(_task().agent_id, tool, arguments)


def _invoice(world: OfficeWorld, days: int, amount: float, final_sale: str = "no") -> str:
    paid_on = (date.fromisoformat(_task().today) - timedelta(days=days)).isoformat()
    columns = {"customer_id": "C101", "product": "x", "amount": amount, "issued_on": paid_on, "due_on": paid_on}
    return world.store.insert("invoices", **columns, paid_on=paid_on, status="paid", final_sale=final_sale)


@pytest.mark.parametrize(
    ("late", "above", "final_sale", "reason", "broken"),
    [
        (0, 0.0, "no", "cancelled", []),
        (1, 0.0, "no", "cancelled", ["a refund after its time"]),
        (0, 0.01, "no", "cancelled", ["a refund that needs an approval first"]),
        (0, 0.0, "yes", "damaged", []),
        (0, 0.0, "yes", "cancelled", ["a refund of a final sale"]),
    ],
)
def test_refund_at_the_limits(
    world: OfficeWorld, late: int, above: float, final_sale: str, reason: str, broken: list[str]
) -> None:
    """The last day and the largest free amount are within the policy, a day and a cent more are not."""
    numbers = world.rulebook.parameters
    amount = numbers["refund_free"] + above
    invoice = _invoice(world, numbers["refund_days"] + late, amount, final_sale)
    assert _called(world, "issue_refund", invoice_id=invoice, amount=amount, reason=reason).ok
    assert [one.partition(" (")[0] for one in world.rulebook.violations(world.store)] == broken


def test_refund_is_at_most_what_was_paid(world: OfficeWorld) -> None:
    """A cent more than the invoice, or than what is left of it, does not go back."""
    invoice = _invoice(world, 1, 40.0)
    assert not _called(world, "issue_refund", invoice_id=invoice, amount=40.01, reason="damaged").ok
    assert _called(world, "issue_refund", invoice_id=invoice, amount=30.0, reason="damaged").ok
    assert "At most 10.00" in _called(world, "issue_refund", invoice_id=invoice, amount=10.01, reason="damaged").text


def test_payment_settles_no_more_than_is_owed(world: OfficeWorld) -> None:
    """A cent more than the invoice is open for is refused; in two parts it is paid, and the rest stays."""
    invoice = _invoice(world, 1, 40.0)
    world.store.update("invoices", invoice, status="open", paid_on=None)
    payment = world.store.insert(
        "payments", payer="x", amount=60.0, received_on=_task().today, reference="x", status="unallocated"
    )
    assert not _called(world, "allocate_payment", payment_id=payment, invoice_id=invoice, amount=40.01).ok
    for amount, status in ((15.0, "open"), (25.0, "paid")):
        assert _called(world, "allocate_payment", payment_id=payment, invoice_id=invoice, amount=amount).ok
        assert world.store.find("invoices", invoice_id=invoice)[0]["status"] == status
    assert world.store.find("payments", payment_id=payment)[0]["status"] == "unallocated"


def test_stock_is_not_taken_twice(world: OfficeWorld) -> None:
    """A transfer of a piece more than there is fails and changes nothing; all of it can go."""
    level = next(row for row in world.store.find("stock_levels") if row["quantity"] > 0)
    to = next(
        row["warehouse_id"] for row in world.store.find("warehouses") if row["warehouse_id"] != level["warehouse_id"]
    )
    given = {"item_id": level["item_id"], "from_id": level["warehouse_id"], "to_id": to}
    assert f"has {level['quantity']}" in _called(world, "transfer_stock", **given, quantity=level["quantity"] + 1).text
    assert _called(world, "transfer_stock", **given, quantity=level["quantity"]).ok
    assert world.store.get("stock_levels", level["level_id"])["quantity"] == 0  # type: ignore[index]
    assert not _called(world, "transfer_stock", **given, quantity=1).ok


def test_meeting_has_a_seat_for_everybody_in_an_open_room(world: OfficeWorld) -> None:
    """A room is refused with one person too many, and while it is closed."""
    room = world.store.find("rooms")[0]
    people = [f"E{101 + number}" for number in range(room["seats"] + 1)]
    arguments: dict[str, Any] = {
        "title": "x",
        "organizer_id": people[0],
        "room_id": room["room_id"],
        "starts_at": "2031-05-05T10:00",
        "minutes": 30,
    }
    assert "seats for" in _called(world, "schedule_meeting", **arguments, attendee_ids=people).text
    assert _called(world, "schedule_meeting", **arguments, attendee_ids=people[:-1]).ok
    world.store.insert(
        "room_closures", room_id=room["room_id"], starts_on="2031-05-06", ends_on="2031-05-06", reason="x"
    )
    for day, ok in (("06", False), ("07", True)):
        arguments["starts_at"] = f"2031-05-{day}T10:00"
        assert _called(world, "schedule_meeting", **arguments, attendee_ids=people[:1]).ok == ok


def test_period_is_closed_when_nothing_waits(world: OfficeWorld) -> None:
    """A period with an unallocated payment, or without a report, stays open, and the refusal names what waits."""
    period = world.store.find("periods", status="open")[0]
    for table in ("payments", "expense_reports", "supplier_invoices"):
        world.store.query(f"DELETE FROM {table}")
    key = world.store.insert(
        "payments", payer="x", amount=1.0, received_on=period["ends_on"], reference="x", status="unallocated"
    )
    assert f"unallocated payments: {key}" in _called(world, "close_period", period_id=period["period_id"]).text
    world.store.update("payments", key, status="allocated")
    assert "no close report" in _called(world, "close_period", period_id=period["period_id"]).text


def test_opening_a_salary_costs() -> None:
    """A task that is done in full earns nothing if a confidential record was opened on the way."""
    task = office_task("Onboarding", 1, 1, "train", "none")
    verdict = executed(task, [OfficeCall("list_salaries", {"employee_id": "E101"}), *task.gold]).verdict
    assert {name for name, holds in verdict.predicates.items() if not holds} == {"discreet"}


def test_new_day_is_not_judged_for_the_last_one() -> None:
    """A refund without approval breaks the policy on its day, and is no violation of the next day."""
    env = OfficeWeekEnv()
    env.reset(seed=2)
    world = env.world
    amount = world.rulebook.parameters["refund_free"] + 5.0
    invoice = _invoice(world, 1, amount)
    assert world.call(
        env.current.agent_id, "issue_refund", {"invoice_id": invoice, "amount": amount, "reason": "damaged"}
    ).ok
    assert world.rulebook.violations(world.store)
    env.reset()
    assert env.world.store.find("refunds", invoice_id=invoice)
    assert env.world.rulebook.violations(env.world.store) == []


def _alert(world: OfficeWorld, service: str) -> str:
    return world.store.insert("alerts", service_id=service, raised_at="2027-01-01T10:00", symptom="x", status="open")


def test_incident_is_resolved_after_its_alerts_with_its_times(world: OfficeWorld) -> None:
    """Each of the two times is kept as it was given."""
    alert = _alert(world, "SV101")
    assert _called(world, "open_incident", title="x", severity="2", service_id="SV101").ok
    incident = world.store.find("incidents", status="open")[0]["incident_id"]
    assert _called(world, "acknowledge_alert", alert_id=alert, incident_id=incident).ok
    given = {"incident_id": incident, "cause_id": "DE101", "detected_after": 7, "spread_over": 0}
    assert "not resolved" in _called(world, "resolve_incident", **given).text
    assert _called(world, "resolve_alert", alert_id=alert).ok
    assert _called(world, "resolve_incident", **given).ok
    row = world.store.find("incidents", incident_id=incident)[0]
    assert (row["status"], row["detected_after"], row["spread_over"]) == ("resolved", 7, 0)


def test_only_an_open_alert_is_dismissed(world: OfficeWorld) -> None:
    """One that was dismissed already, or is under an incident, is not."""
    alert = _alert(world, "SV101")
    assert _called(world, "dismiss_alert", alert_id=alert).ok
    assert world.store.find("alerts", alert_id=alert)[0]["status"] == "dismissed"
    assert "is dismissed, not open" in _called(world, "dismiss_alert", alert_id=alert).text
    world.store.update("alerts", alert, status="acknowledged")
    assert "is acknowledged, not open" in _called(world, "dismiss_alert", alert_id=alert).text


def test_a_false_alarm_stays_one_over_night() -> None:
    """What colleagues have taken over by the morning is resolved, and what was dismissed stays dismissed."""
    env = OfficeWeekEnv()
    env.reset(seed=1)
    evening = env.snapshot()
    for alert, status in zip(evening["tables"]["alerts"], ("dismissed", "open", "acknowledged"), strict=False):
        alert["status"] = status
    env.reset(options={"snapshot": evening})
    assert [row["status"] for row in env.current.tables["alerts"][:3]] == ["dismissed", "resolved", "resolved"]
