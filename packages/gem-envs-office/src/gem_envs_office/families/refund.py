"""Refund requests: tickets of customers, checked against invoices and the policy, with approvals by amount."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from gem.tables import read_table
from gem_envs_office.colleagues import Decision
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft, UnsolvableError

__all__ = ["add_refunds"]

_PHRASES: dict[str, list[str]] = read_table(__file__, "refund_phrases.json")
_REASONS = ("damaged", "not_delivered", "cancelled", "duplicate")
_OUTCOMES = (*_REASONS, *_REASONS, "not_paid", "already_refunded", "too_late", "final_sale", "not_ours")
_TWIN_DAYS = 3
"""The most days between an invoice and one for the same, sent before."""


def add_refunds(draft: OfficeDraft, count: int) -> None:
    """Add refund tickets of the agent, with their solution, and some that are others'."""
    rng, tables = draft.rng, draft.tables
    queue = tables.where("queues", name="Refunds")[0]["queue_id"]
    lead = draft.lead("support_lead")["employee_id"]
    if rng.random() < 0.3:
        draft.send_away(lead)
    draft.needed |= {draft.decider(lead), draft.lead("finance_lead")["employee_id"]}
    if rng.random() < 0.4:
        draft.let_forget(draft.decider(lead))
    draft.orders.append(
        f"Settle the open tickets in the queue Refunds ({queue}) assigned to you, as the policy on refunds says."
    )
    draft.do("list_tickets", queue_id=queue, assignee_id=draft.agent_id, status="open")
    customers = rng.sample(tables["contacts"], len(tables["contacts"]))
    outcomes = [rng.choice(_REASONS), *(rng.choice(_OUTCOMES) for _ in range(count))]
    for place in range(count):
        _add_case(draft, queue, customers[place % len(customers)], outcomes[place])
    others = [one["employee_id"] for one in tables.where("employees", role="support_agent") if one != draft.agent]
    contact = customers[count % len(customers)]
    invoice = _invoice(draft, contact["customer_id"], rng.randint(1, 8))
    _ticket(draft, queue, contact, invoice, "damaged", rng.choice(others))
    _add_rumour(draft)


def _add_case(draft: OfficeDraft, queue: str, contact: Row, outcome: str) -> None:
    rng, tables, days = draft.rng, draft.tables, draft.numbers["refund_days"]
    reason = outcome if outcome in _REASONS else rng.choice(("damaged", "not_delivered", "cancelled"))
    if outcome == "final_sale":
        reason = "cancelled"
    paid = rng.choice((days, days - 1, rng.randint(0, days)))
    if outcome == "too_late":
        paid = days + rng.choice((1, 2, rng.randint(1, 40)))
    owner = contact["customer_id"]
    if outcome == "not_ours":
        owner = rng.choice([one["customer_id"] for one in tables["customers"] if one["customer_id"] != owner])
    invoice = _invoice(draft, owner, paid)
    if reason == "cancelled" and round(invoice["amount"] * 100) * draft.numbers["refund_fee"] % 100 == 50:
        invoice["amount"] = round(invoice["amount"] + 0.01, 2)  # no policy says how half a cent is rounded
    if outcome == "not_paid":
        invoice.update(status="open", paid_on=None)
    if outcome == "already_refunded":
        invoice["status"] = "refunded"
        issued = tables.where("employees", role="support_agent")[0]["employee_id"]
        tables.add(
            "refunds",
            invoice_id=invoice["invoice_id"],
            amount=round(invoice["amount"] / 2, 2),
            reason="damaged",
            issued_by=issued,
            issued_on=invoice["paid_on"],
        )
    if outcome == "final_sale" or (reason != "cancelled" and reason != "duplicate" and rng.random() < 0.2):
        invoice["final_sale"] = "yes"
    if reason == "duplicate":
        twin = {**invoice, "issued_on": _before(draft, invoice["issued_on"], rng.randint(1, _TWIN_DAYS))}
        del twin["invoice_id"]
        tables.add("invoices", **twin)
    ticket = _ticket(draft, queue, contact, invoice, reason, draft.agent_id, named=outcome == "not_ours")
    draft.block()
    draft.do("get_ticket", ticket_id=ticket)
    draft.do("list_contacts", email=contact["email"])
    draft.do("list_invoices", customer_id=owner)
    draft.do("list_refunds", invoice_id=invoice["invoice_id"])
    if outcome in _REASONS:
        _refund(draft, ticket, contact, invoice, reason)
    else:
        _reject(draft, ticket, contact, invoice, outcome)


def _refund(draft: OfficeDraft, ticket: str, contact: Row, invoice: Row, reason: str) -> None:
    numbers, key = draft.numbers, invoice["invoice_id"]
    fee = numbers["refund_fee"] if reason == "cancelled" else 0
    amount = round(invoice["amount"] * (100 - fee) / 100, 2)
    role = "support_lead" if amount <= numbers["refund_high"] else "finance_lead"
    if amount > numbers["refund_free"]:
        approver = draft.decider(draft.lead(role)["employee_id"])
        draft.script.decisions["refund", key] = Decision((approver,), amount)
        draft.approval(approver, "refund", key, amount)
    draft.do("issue_refund", invoice_id=key, amount=amount, reason=reason)
    _tell(draft, ticket, contact, key, "refund", f"We pay {amount:.2f} euros back to you.")
    draft.do("resolve_ticket", ticket_id=ticket, resolution="refunded")
    draft.want("refunds", invoice_id=key, amount=amount, reason=reason, issued_by=draft.agent_id)
    draft.want("invoices", key, status="refunded")
    draft.want("tickets", ticket, status="resolved", resolution="refunded")


def _reject(draft: OfficeDraft, ticket: str, contact: Row, invoice: Row, outcome: str) -> None:
    _tell(draft, ticket, contact, invoice["invoice_id"], "refusal", "We cannot refund this.")
    draft.do("reject_ticket", ticket_id=ticket, resolution=outcome)
    draft.want("tickets", ticket, status="rejected", resolution=outcome)


def _tell(draft: OfficeDraft, ticket: str, contact: Row, invoice: str, kind: str, text: str) -> None:
    customer = contact["customer_id"]
    draft.do("create_customer_note", customer_id=customer, kind=kind, about=invoice, text=text)
    draft.do("send_mail", recipient=contact["email"], subject="Your request", body=text, about=ticket)
    draft.want("customer_notes", customer_id=customer, kind=kind, about=invoice)
    draft.want("mail_messages", recipient=contact["email"], about=ticket)


def _invoice(draft: OfficeDraft, customer: str, paid_days_ago: int) -> Row:
    """Add a paid invoice, whose product no other invoice of the customer in that month has."""
    rng, tables = draft.rng, draft.tables
    paid_on = (draft.today - timedelta(days=paid_days_ago)).isoformat()
    issued_on = _before(draft, paid_on, rng.randint(4, 20))
    product = rng.choice(_products(draft, customer, issued_on))
    numbers = draft.numbers
    amount = round(
        rng.choice(
            (
                rng.uniform(10, numbers["refund_free"]),
                rng.uniform(numbers["refund_free"], numbers["refund_high"]),
                rng.uniform(numbers["refund_high"], 2 * numbers["refund_high"]),
            )
        ),
        2,
    )
    key = tables.add(
        "invoices",
        customer_id=customer,
        product=product,
        amount=amount,
        issued_on=issued_on,
        due_on=paid_on,
        paid_on=paid_on,
        status="paid",
        final_sale="no",
    )
    return tables.row("invoices", key)


def _products(draft: OfficeDraft, customer: str, issued_on: str) -> list[str]:
    """Return the products by which an invoice of the customer can be told, if need be with its month."""
    tables = draft.tables
    invoices = tables.where("invoices", customer_id=customer)
    months = {issued_on[:7], _before(draft, issued_on, _TWIN_DAYS)[:7]}
    for others in (invoices, [row for row in invoices if row["issued_on"][:7] in months]):
        used = {row["product"] for row in others}
        if free := [row["product"] for row in tables["price_list"] if row["product"] not in used]:
            return free
    raise UnsolvableError


def _ticket(
    draft: OfficeDraft, queue: str, contact: Row, invoice: Row, reason: str, assignee: str, *, named: bool = False
) -> str:
    rng = draft.rng
    values: dict[str, Any] = {
        "invoice": invoice["invoice_id"],
        "product": invoice["product"],
        "month": f"{date.fromisoformat(invoice['issued_on']):%B}",
        "amount": f"{rng.choice((1.0, 1.0, 1.1, 0.9)) * invoice['amount']:.2f}",
    }
    which = "described" if reason == "duplicate" or (not named and rng.random() < 0.4) else "named"
    parts = [rng.choice(_PHRASES[kind]) for kind in ("opening", which, reason, "request", "amount")]
    body = " ".join(f"{parts[0]} {parts[1]} {parts[2]}. {parts[3]} {parts[4]}".split()).format(**values)
    key = draft.tables.add(
        "tickets",
        queue_id=queue,
        subject=rng.choice(("Refund", "Money back", "Our purchase", "Complaint", f"The {invoice['product']}")),
        body=f"{body}\n{contact['name']}",
        requester=contact["email"],
        assignee_id=assignee,
        skill="general",
        status="open",
        opened_on=draft.today.isoformat(),
    )
    if assignee == draft.agent_id:
        draft.documents.append(("tickets", key, "body"))
    return key


def _add_rumour(draft: OfficeDraft) -> None:
    """Let a colleague contradict the policy, in the chat and when asked."""
    rng, days = draft.rng, draft.numbers["refund_days"]
    seller = rng.choice(draft.tables.where("employees", role="salesperson"))
    told = f"We give refunds for {days + rng.choice((10, 15, 30))} days now, that was decided last week."
    draft.script.answers[seller["employee_id"], "policy", "refunds"] = told
    draft.tables.add(
        "chat_messages",
        channel_id=rng.choice(draft.tables["channels"])["channel_id"],
        author_id=seller["employee_id"],
        text=told,
        posted_on=draft.today.isoformat(),
    )


def _before(draft: OfficeDraft, day: str, days: int) -> str:
    return (draft.today.fromisoformat(day) - timedelta(days=days)).isoformat()
