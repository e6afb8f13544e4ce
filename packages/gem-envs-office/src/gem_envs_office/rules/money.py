"""Actions on money: refunds, payments, expenses, suppliers' invoices, the end of a period."""

from __future__ import annotations

from typing import Any

from gem_envs_office.office import Office, action, required, set_status
from gem_envs_office.values import OfficeRefusalError

__all__: list[str] = []


@action
def issue_refund(office: Office, invoice_id: str, amount: float, reason: str) -> dict[str, Any]:
    invoice = required(office, "invoices", invoice_id)
    if invoice["status"] not in ("paid", "refunded"):
        raise OfficeRefusalError(f"{invoice_id} is {invoice['status']}; nothing was paid that could go back.")
    before = sum(row["amount"] for row in office.store.find("refunds", invoice_id=invoice_id))
    if amount > round(invoice["amount"] - before, 2):
        raise OfficeRefusalError(f"At most {invoice['amount'] - before:.2f} of {invoice_id} can go back, got {amount}.")
    key = office.store.insert(
        "refunds",
        invoice_id=invoice_id,
        amount=amount,
        reason=reason,
        issued_by=office.actor_id,
        issued_on=office.today,
        issued_at=office.seq,
    )
    office.store.update("invoices", invoice_id, status="refunded")
    return {"refund_id": key}


@action
def allocate_payment(office: Office, payment_id: str, invoice_id: str, amount: float) -> dict[str, Any]:
    payment = required(office, "payments", payment_id, status="unallocated")
    invoice = required(office, "invoices", invoice_id, status="open")
    used = sum(row["amount"] for row in office.store.find("payment_allocations", payment_id=payment_id))
    settled = sum(row["amount"] for row in office.store.find("payment_allocations", invoice_id=invoice_id))
    left, owed = round(payment["amount"] - used, 2), round(invoice["amount"] - settled, 2)
    if amount > min(left, owed):
        raise OfficeRefusalError(f"{payment_id} has {left:.2f} left and {invoice_id} is open for {owed:.2f}.")
    office.store.insert("payment_allocations", payment_id=payment_id, invoice_id=invoice_id, amount=amount)
    if amount == left:
        office.store.update("payments", payment_id, status="allocated")
    if amount == owed:
        office.store.update("invoices", invoice_id, status="paid", paid_on=payment["received_on"])
    return {"payment_id": payment_id, "left": round(left - amount, 2), "invoice_open_for": round(owed - amount, 2)}


@action
def void_invoice(office: Office, invoice_id: str) -> dict[str, Any]:
    return set_status(office, "invoices", invoice_id, "open", "void")


@action
def approve_expense(office: Office, expense_id: str) -> dict[str, Any]:
    return set_status(office, "expense_reports", expense_id, "submitted", "approved", decided_at=office.seq)


@action
def reject_expense(office: Office, expense_id: str, reason: str) -> dict[str, Any]:
    return set_status(
        office, "expense_reports", expense_id, "submitted", "rejected", reason=reason, decided_at=office.seq
    )


@action
def approve_supplier_invoice(office: Office, bill_id: str) -> dict[str, Any]:
    return set_status(office, "supplier_invoices", bill_id, "received", "approved", decided_at=office.seq)


@action
def dispute_supplier_invoice(office: Office, bill_id: str, reason: str) -> dict[str, Any]:
    return set_status(
        office, "supplier_invoices", bill_id, "received", "disputed", reason=reason, decided_at=office.seq
    )


@action
def close_period(office: Office, period_id: str) -> dict[str, Any]:
    period = required(office, "periods", period_id, status="open")
    dates = (period["starts_on"], period["ends_on"])
    waiting = {
        "unallocated payments": "SELECT payment_id FROM payments WHERE status = 'unallocated' "
        "AND received_on BETWEEN ? AND ?",
        "submitted expense reports": "SELECT expense_id FROM expense_reports WHERE status = 'submitted' "
        "AND spent_on BETWEEN ? AND ?",
        "received supplier invoices": "SELECT bill_id FROM supplier_invoices WHERE status = 'received' "
        "AND received_on BETWEEN ? AND ?",
    }
    for what, statement in waiting.items():
        if rows := office.store.query(statement, dates):
            raise OfficeRefusalError(
                f"{period_id} still has {what}: {', '.join(next(iter(r.values())) for r in rows)}."
            )
    if not office.store.find("close_reports", period_id=period_id):
        raise OfficeRefusalError(f"{period_id} has no close report (create_close_report).")
    office.store.update("periods", period_id, status="closed", closed_at=office.seq)
    return {"period_id": period_id, "status": "closed"}
