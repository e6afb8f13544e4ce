"""What the written policies ask for, worked out from the tables of a task anew, is what its plan does."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from random import Random

import pytest

from gem_envs_office.content.names import firm_name, people_names
from gem_envs_office.families.refund import add_refunds
from gem_envs_office.families.registry import MIXED, office_task
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft, OfficeTask
from gem_envs_office.week import OfficeWeekEnv


def _tickets(task: OfficeTask, queue: str) -> list[Row]:
    key = task.tables.where("queues", name=queue)[0]["queue_id"]
    return task.tables.where("tickets", queue_id=key, assignee_id=task.agent_id, status="open")


def _left_by_the_absent(task: OfficeTask) -> list[str]:
    """Return the open tickets of absent colleagues that the plan gives to nobody."""
    told = " ".join(row["body"] for row in _tickets(task, "Planning"))
    absent = [one["employee_id"] for one in task.tables["employees"] if f"({one['employee_id']}) is away" in told]
    given = {call.arguments["ticket_id"] for call in task.gold if call.tool == "assign_ticket"}
    tickets = [row for one in absent for row in task.tables.where("tickets", assignee_id=one, status="open")]
    return [row["ticket_id"] for row in tickets if row["ticket_id"] not in given]


def _unclear_letters(task: OfficeTask) -> list[str]:
    """Return the refund tickets whose product and month mean several invoices of the writer's firm, or none."""
    tables, found = task.tables, []
    a_year_ago = (date.fromisoformat(task.today) - timedelta(days=360)).isoformat()
    for ticket in _tickets(task, "Refunds"):
        customer = tables.where("contacts", email=ticket["requester"])[0]["customer_id"]
        body = ticket["body"]
        meant = [
            row
            for row in tables.where("invoices", customer_id=customer)
            if row["issued_on"] > a_year_ago
            and f"{row['product']} " in body
            and f"{date.fromisoformat(row['issued_on']):%B}" in body
        ]
        if "INV" not in body and len({(row["product"], row["amount"]) for row in meant}) != 1:
            found.append(ticket["ticket_id"])
    return found


def _wrong_orders(task: OfficeTask) -> list[tuple[list[str], list[str]]]:
    """Return what late deliveries mean for customers' orders, by the policy and by the plan, where they differ."""
    tables, found = task.tables, []
    for ticket in _tickets(task, "Planning"):
        if not ticket["subject"].startswith("Late delivery"):
            continue
        words = ticket["body"].split()
        delivery = tables.row("purchase_orders", words[words.index("delivery") + 1])
        new_day, home, item = words[-1].strip("."), delivery["warehouse_id"], delivery["item_id"]
        orders = sorted(tables.where("sales_orders", item_id=item, status="open"), key=lambda row: row["promised_on"])
        held: Counter[str] = Counter()
        for order in orders:
            held[order["warehouse_id"]] += order["quantity"]
        stock = {row["warehouse_id"]: row["quantity"] for row in tables.where("stock_levels", item_id=item)}
        rest, wanted = stock[home], []
        for order in orders:
            key, missing = order["order_id"], order["quantity"] - rest
            if order["warehouse_id"] != home or order["promised_on"] >= new_day:
                continue
            if missing <= 0:
                rest = -missing
            elif any(stock[one] - held[one] >= missing for one in stock if one != home):
                wanted.append(f"{missing} for {key}")
                rest = 0
            else:
                wanted.append(f"{key} later")
        keys = {order["order_id"] for order in orders}
        planned = [
            f"{call.arguments['quantity']} for {call.arguments['about']}"
            if call.tool == "transfer_stock"
            else f"{call.arguments['order_id']} later"
            for call in task.gold
            if call.tool in ("transfer_stock", "postpone_order")
            and keys & {call.arguments.get("about"), call.arguments.get("order_id")}
        ]
        if sorted(wanted) != sorted(planned):
            found.append((wanted, planned))
    return found


def _kept(task: OfficeTask) -> None:
    assert _left_by_the_absent(task) == []
    assert _unclear_letters(task) == []
    assert _wrong_orders(task) == []


@pytest.mark.parametrize("number", [2, 28, 130])
def test_what_another_family_has_added_counts(number: int) -> None:
    """A refund request of somebody who is absent, and an invoice of the month's end for the product of a letter."""
    _kept(office_task(MIXED, number, 3, "train", "none"))


@pytest.mark.nightly
@pytest.mark.parametrize("family", ["Refund", "Replan", MIXED])
def test_plans_of_tasks_keep_the_policies(family: str) -> None:
    """Of all levels."""
    for level, count in ((1, 100), (2, 60), (3, 60)):
        for number in range(count):
            _kept(office_task(family, number, level, "train", "none"))


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
def test_plans_of_weeks_keep_the_policies(level: int) -> None:
    """Whatever earlier days have left: orders, invoices, tickets and absences."""
    for seed in range(6):
        env = OfficeWeekEnv(level=level)
        for day in range(8):
            env.reset(seed=seed if day == 0 else None)
            _kept(env.current)


def test_customers_orders_are_not_left_to_the_next_day() -> None:
    """Or else an item that is late again has orders of which the new delivery knows nothing."""
    env = OfficeWeekEnv()
    env.reset(seed=1)
    evening = env.snapshot()
    orders = evening["tables"]["sales_orders"]
    for order, status in zip(orders, ("open", "cancelled", "shipped"), strict=False):
        order["status"] = status
    env.reset(options={"snapshot": evening, "task": 1})
    assert [row["status"] for row in env.current.tables["sales_orders"][:3]] == ["shipped", "cancelled", "shipped"]


def test_a_customer_with_an_invoice_for_every_product_is_not_asked_to_guess() -> None:
    """A further one is for a product that the customer had in another month, and the letter names the month."""
    draft = OfficeDraft.begun(Random(3), "train", "support_agent")
    tables = draft.tables
    long_ago = draft.day(-200)
    for customer in tables["customers"]:
        for price in tables["price_list"]:
            tables.add(
                "invoices",
                customer_id=customer["customer_id"],
                product=price["product"],
                amount=1.0,
                issued_on=long_ago,
                due_on=long_ago,
                paid_on=long_ago,
                status="paid",
                final_sale="no",
            )
    add_refunds(draft, 16)
    _kept(draft.finished("Refund"))
    products = {row["product"] for row in tables["invoices"] if row["issued_on"] > draft.day(-120)}
    assert len(products) > 2


def test_a_fee_leaves_no_half_cent() -> None:
    """Or else an agent who rounds another way pays another amount, and no policy says which way is right."""
    fees = set()
    for number in range(24):
        task = office_task("Refund", number, 2, "train", "none")
        for call in task.gold:
            if call.tool == "issue_refund" and call.arguments["reason"] == "cancelled":
                fee = task.rulebook.parameters["refund_fee"]
                cents = round(100 * task.tables.row("invoices", call.arguments["invoice_id"])["amount"])
                assert cents * fee % 100 != 50
                assert round(100 * call.arguments["amount"]) == (cents * (100 - fee) + 50) // 100
                fees.add(fee)
    assert fees >= {10, 25}  # those that halve a cent most often


def test_the_deputy_of_a_deputy_decides_when_both_are_away() -> None:
    """As the policy on heads and deputies says of each of them."""
    draft = OfficeDraft.begun(Random(1), "train", "planner")
    lead = draft.lead("support_lead")["employee_id"]
    draft.send_away(lead)
    deputy = draft.decider(lead)
    draft.send_away(deputy)
    assert draft.decider(lead) == draft.decider(deputy) not in (lead, deputy)


def test_an_amendment_amends_something() -> None:
    """None says of the place, the position or the first day what the offer says already."""
    amended = 0
    for number in range(14):
        task = office_task("Onboarding", number, 2, "train", "none")
        bodies = {row["file_id"]: str(row["body"]) for row in task.tables["files"]}
        for body in bodies.values():
            if body.startswith("Amendment to the offer "):
                offer, change = body.removeprefix("Amendment to the offer ").split(". ")[0].split(": ", 1)
                assert f": {change.rpartition(' is ')[2]}\n" not in bodies[offer], body
                amended += 1
    assert amended > 10


def test_what_a_month_invoiced_is_not_what_it_received() -> None:
    """One invoice of the period is unpaid, and one is void and left out."""
    for number in range(4):
        task = office_task("MonthEnd", number, 1, "train", "none")
        report = next(call.arguments for call in task.gold if call.tool == "create_close_report")
        month = task.tables.where("periods", status="open")[0]["starts_on"][:7]
        invoices = [row for row in task.tables["invoices"] if row["issued_on"][:7] == month]
        assert report["invoiced"] > report["received"]
        assert report["invoiced"] == round(sum(row["amount"] for row in invoices if row["status"] != "void"), 2)
        assert [row["status"] for row in invoices].count("void") == 1


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_name_has_a_letter_three_times(split: str) -> None:
    """Such as Velsssons."""
    names = [*people_names(Random(1), split, 400), *(firm_name(Random(seed), split) for seed in range(400))]
    assert not [name for name in names if any(3 * letter in name.lower() for letter in set(name.lower()))]
