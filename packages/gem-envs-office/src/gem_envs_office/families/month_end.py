"""Month's end: payments, expense reports, suppliers' invoices and accruals of a period, its report and its closing."""

from __future__ import annotations

from datetime import date
from typing import Any

from gem_envs_office.colleagues import Decision
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft

__all__ = ["add_month_end"]


def add_month_end(draft: OfficeDraft, count: int) -> None:
    """Add the closing of the last month, with its solution: ``count`` payments and reports, fewer suppliers' invoices.

    The sums of its report are of all that is in the tables, so that a mixed task adds it last.
    """
    tables = draft.tables
    period = tables.where("periods", status="open")[0]
    key = period["period_id"]
    draft.orders.append(f"Close the period {key}, as the policy on the month's end says.")
    draft.do("list_periods", status="open")
    draft.do("list_payments", status="unallocated")
    # By its product and month, a request for a refund may tell an invoice.
    month = period["starts_on"][:7]
    told = {(row["customer_id"], row["product"]) for row in tables["invoices"] if row["issued_on"][:7] == month}
    for kind in ("named", *(draft.rng.choice(("named", "sum", "both", "mistaken")) for _ in range(count))):
        _add_payment(draft, period, kind, told)
    _add_mail(draft, period)
    draft.do("list_expense_reports", status="submitted")
    outcomes = ("approved", "approved", "no_receipt", "over_limit", "duplicate")
    for outcome in ("approved", *(draft.rng.choice(outcomes) for _ in range(count))):
        _add_expense(draft, period, outcome)
    draft.do("list_supplier_invoices", status="received")
    faults = ("fine", "fine", "not_received", "wrong_quantity", "wrong_price")
    for fault in (draft.rng.choice(faults) for _ in range(1 + count // 2)):
        _add_bill(draft, period, fault)
    draft.do("list_goods_receipts")
    for _ in range(1 + count // 4):
        _add_accrual(draft, period)
    for status in ("open", "void"):  # so that what was invoiced is not what was received
        customer = draft.rng.choice(tables["customers"])["customer_id"]
        _open_invoice(draft, period, customer, told)["status"] = status
    _close(draft, period)


def _within(draft: OfficeDraft, period: Row, earliest: str = "") -> str:
    """Return a day of the period, one of its two ends more often than others."""
    first = date.fromisoformat(max(period["starts_on"], earliest))
    last = date.fromisoformat(period["ends_on"])
    days = range(first.toordinal(), last.toordinal() + 1)
    return date.fromordinal(draft.rng.choice((days[0], days[-1], draft.rng.choice(days)))).isoformat()


def _open_invoice(draft: OfficeDraft, period: Row, customer: str, told: set[tuple[str, str]]) -> Row:
    rng, tables = draft.rng, draft.tables
    used = {row["amount"] for row in tables["invoices"]}
    amount = next(one for one in (round(rng.uniform(60, 900), 2) for _ in range(1000)) if one not in used)
    product = rng.choice(tables["price_list"])["product"]
    if (customer, product) in told:
        product = next(row["product"] for row in tables["price_list"] if (customer, row["product"]) not in told)
    key = tables.add(
        "invoices",
        customer_id=customer,
        product=product,
        amount=amount,
        issued_on=_within(draft, period),
        due_on=period["ends_on"],
        status="open",
        final_sale="no",
    )
    return tables.row("invoices", key)


def _add_payment(draft: OfficeDraft, period: Row, kind: str, told: set[tuple[str, str]]) -> None:
    """Add a payment: it names its invoice, or only its sum fits, or it is for two, or names one that is not open.

    Its invoices are for none of the products that are told of their customer.
    """
    rng, tables = draft.rng, draft.tables
    customer = rng.choice(tables["customers"])
    invoices = [_open_invoice(draft, period, customer["customer_id"], told) for _ in range(2 if kind == "both" else 1)]
    keys = [invoice["invoice_id"] for invoice in invoices]
    if kind == "sum":
        reference = rng.choice(("thank you", "order by phone", "as agreed", "see our letter"))
    elif kind == "mistaken":
        others = [
            row for row in tables["invoices"] if row["customer_id"] != customer["customer_id"] and row.get("paid_on")
        ]
        reference = f"invoice {rng.choice(others)['invoice_id']}"
    else:
        reference = " and ".join([rng.choice(("invoice {}", "{}", "no. {}")).format(key) for key in keys])
    payment = tables.add(
        "payments",
        payer=customer["name"],
        amount=round(sum(invoice["amount"] for invoice in invoices), 2),
        received_on=_within(draft, period, max(invoice["issued_on"] for invoice in invoices)),
        reference=reference,
        status="unallocated",
    )
    draft.documents.append(("payments", payment, "reference"))
    received = tables.row("payments", payment)["received_on"]
    draft.block()
    if kind in ("sum", "mistaken"):
        draft.do("list_invoices", customer_id=customer["customer_id"], status="open")
    for invoice in invoices:
        given = {"payment_id": payment, "invoice_id": invoice["invoice_id"], "amount": invoice["amount"]}
        if kind not in ("sum", "mistaken"):
            draft.do("get_invoice", invoice_id=invoice["invoice_id"])
        draft.do("allocate_payment", **given)
        draft.want("payment_allocations", **given)
        draft.want("invoices", invoice["invoice_id"], status="paid", paid_on=received)
    draft.want("payments", payment, status="allocated")


def _add_mail(draft: OfficeDraft, period: Row) -> None:
    rng, tables = draft.rng, draft.tables
    contact = rng.choice(tables["contacts"])
    key = tables.add(
        "mail_messages",
        sender=contact["email"],
        recipient=draft.agent["email"],
        subject="Our payments",
        body=f"We have paid all that was open before {period['ends_on']}. Please allocate it to the right invoices.",
        sent_on=draft.day(0),
    )
    draft.do("list_mail_messages", recipient=draft.agent["email"], sent_on=draft.day(0))
    draft.do("get_mail_message", message_id=key)


def _add_expense(draft: OfficeDraft, period: Row, outcome: str) -> None:
    rng, tables, numbers = draft.rng, draft.tables, draft.numbers
    people = [row for row in tables["employees"] if row["manager_id"] and row["employee_id"] != draft.agent_id]
    category = rng.choice(("travel", "hotel", "meals", "equipment"))
    if outcome == "over_limit":
        category = rng.choice(("hotel", "meals"))
    units = rng.randint(1, 4) if category in ("hotel", "meals") else 1
    limit = {"hotel": numbers["hotel_limit"], "meals": numbers["meal_limit"]}.get(category)
    if limit is None:
        amount = round(rng.uniform(10, 2 * numbers["expense_free"]), 2)
    elif outcome == "over_limit":
        amount = round(limit * units + rng.choice((0.01, 1.0, rng.uniform(1, 80))), 2)
    else:
        amount = float(rng.choice((limit * units, round(rng.uniform(0.4, 1) * limit * units, 2))))
    report: dict[str, Any] = {
        "employee_id": rng.choice(people)["employee_id"],
        "category": category,
        "amount": amount,
        "nights_or_people": units,
        "receipt": "no" if outcome == "no_receipt" else "yes",
        "spent_on": _within(draft, period),
        "status": "submitted",
    }
    key = tables.add("expense_reports", **report)
    draft.block()
    if outcome == "duplicate":
        _approve(draft, key, report)
        key = tables.add("expense_reports", **report)
    if outcome == "approved":
        _approve(draft, key, report)
        return
    draft.do("reject_expense", expense_id=key, reason=outcome)
    draft.want("expense_reports", key, status="rejected", reason=outcome)


def _approve(draft: OfficeDraft, key: str, report: dict[str, Any]) -> None:
    if report["amount"] > draft.numbers["expense_free"]:
        manager = draft.decider(draft.tables.row("employees", report["employee_id"])["manager_id"])
        draft.script.decisions["expense", key] = Decision((manager,), report["amount"])
        draft.do("get_employee", employee_id=report["employee_id"])
        draft.approval(manager, "expense", key, report["amount"])
    draft.do("approve_expense", expense_id=key)
    draft.want("expense_reports", key, status="approved")


def _order(draft: OfficeDraft, period: Row, quantity: int) -> Row:
    rng, tables = draft.rng, draft.tables
    key = tables.add(
        "purchase_orders",
        supplier_id=rng.choice(tables["suppliers"])["supplier_id"],
        item_id=rng.choice(tables["items"])["item_id"],
        quantity=quantity,
        unit_price=round(rng.uniform(5, 60), 2),
        expected_on=period["starts_on"],
        warehouse_id=rng.choice(tables["warehouses"])["warehouse_id"],
        status="received",
    )
    return tables.row("purchase_orders", key)


def _add_bill(draft: OfficeDraft, period: Row, fault: str) -> None:
    rng, tables = draft.rng, draft.tables
    quantity = rng.randint(4, 40)
    order = _order(draft, period, quantity)
    key, price = order["order_id"], order["unit_price"]
    if fault == "not_received":
        order["status"] = "open"
    else:
        tables.add("goods_receipts", order_id=key, quantity=quantity, received_on=_within(draft, period))
    billed = quantity + rng.choice((-2, -1, 1, 3)) if fault == "wrong_quantity" else quantity
    charged = price + rng.choice((0.5, 1.0, 2.0)) if fault == "wrong_price" else price
    amount = round(billed * charged, 2)
    bill = tables.add(
        "supplier_invoices",
        order_id=key,
        quantity=billed,
        amount=amount,
        received_on=_within(draft, period),
        status="received",
    )
    draft.block()
    draft.do("get_purchase_order", order_id=key)
    draft.do("list_goods_receipts", order_id=key)
    if fault != "fine":
        draft.do("dispute_supplier_invoice", bill_id=bill, reason=fault)
        draft.want("supplier_invoices", bill, status="disputed", reason=fault)
        return
    if amount > draft.numbers["bill_free"]:
        head = draft.decider(draft.lead("finance_lead")["employee_id"])
        draft.script.decisions["supplier_invoice", bill] = Decision((head,), amount)
        draft.approval(head, "supplier_invoice", bill, amount)
    draft.do("approve_supplier_invoice", bill_id=bill)
    draft.want("supplier_invoices", bill, status="approved")


def _add_accrual(draft: OfficeDraft, period: Row) -> None:
    order = _order(draft, period, draft.rng.randint(4, 30))
    key, amount = order["order_id"], round(order["quantity"] * order["unit_price"], 2)
    draft.tables.add("goods_receipts", order_id=key, quantity=order["quantity"], received_on=_within(draft, period))
    draft.block()
    draft.do("list_supplier_invoices", order_id=key)
    draft.do("get_purchase_order", order_id=key)
    given = {"period_id": period["period_id"], "order_id": key, "amount": amount}
    draft.do("create_accrual", **given)
    draft.want("accruals", **given)


def _close(draft: OfficeDraft, period: Row) -> None:
    tables, key = draft.tables, period["period_id"]
    first, last = period["starts_on"], period["ends_on"]
    approved = [
        goal.keys[0]
        for goal in draft.goals
        if goal.table == "expense_reports" and goal.keys and goal.values["status"] == "approved"
    ]
    accrued = [goal.values["amount"] for goal in draft.goals if goal.table == "accruals"]
    sums = {
        "invoiced": [
            r["amount"] for r in tables["invoices"] if first <= r["issued_on"] <= last and r["status"] != "void"
        ],
        "received": [r["amount"] for r in tables["payments"] if first <= r["received_on"] <= last],
        "expenses": [tables.row("expense_reports", expense)["amount"] for expense in approved],
        "accruals": accrued,
    }
    report = {"period_id": key, **{name: round(sum(amounts), 2) for name, amounts in sums.items()}}
    draft.block(last=True)
    draft.do("list_invoices")
    draft.do("list_payments")
    draft.do("create_close_report", **report)
    draft.want("close_reports", **report)
    head = draft.decider(draft.lead("finance_lead")["employee_id"])
    draft.script.decisions["close", key] = Decision((head,))
    draft.approval(head, "close", key)
    draft.do("close_period", period_id=key)
    draft.want("periods", key, status="closed")
