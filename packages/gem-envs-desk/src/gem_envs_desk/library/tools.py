"""The tools of the library's staff. They keep the data whole; what is allowed beyond that, the policy says."""

# ruff: noqa: D417  # the episode fills the argument store, which the agent does not see

from __future__ import annotations

from typing import Any, Literal

from gem.tools import tool
from gem_envs_desk.domain import Db, RefusedCallError
from gem_envs_desk.records import chargeable, file_case, find_customers, with_status
from gem_envs_desk.store import Row

_CASES = Literal["refused request", "identity not verified"]
_Branch = Literal["Harbour", "Old Town", "Mill Hill", "Station", "Riverside"]


@tool
def find_customer(store: Db, email: str = "", last_name: str = "", card: str = "") -> list[Row]:
    """Find readers by e-mail address, or by last name and card number.

    Args:
        email: the e-mail address; leave it out to search by name.
        last_name: with card, instead of the e-mail address.
        card: with last_name, such as K12345.
    """
    statement = "SELECT * FROM customers WHERE lower(last_name) = lower(?) AND card = upper(?)"
    return find_customers(store, email, statement, last_name, card, second="card number")


@tool
def get_account(store: Db, customer_id: str) -> dict[str, Any]:
    """Show the loans, holds and fines of a reader.

    Args:
        customer_id: such as C12345.
    """
    store.require("customers", customer_id=customer_id)
    tables = ("loans", "holds", "fines")
    return {table: store.find(table, customer_id=customer_id) for table in tables}


@tool
def get_loan(store: Db, loan_id: str) -> dict[str, Any]:
    """Show a loan with its title, and how many other readers wait for it.

    Args:
        loan_id: such as L12345.
    """
    loan = store.require("loans", loan_id=loan_id)
    waiting = [row for row in store.find("holds", title_id=loan["title_id"], status="waiting")
               if row["customer_id"] != loan["customer_id"]]  # fmt: skip
    return {**loan, "title": store.get("titles", title_id=loan["title_id"]), "others_waiting": len(waiting)}


@tool
def find_title(store: Db, name: str) -> Row:
    """Find a title by its name, with the copies that are in.

    Args:
        name: such as The Silent Harbour.
    """
    found = store.query("SELECT * FROM titles WHERE lower(name) = lower(?)", name.strip())
    if not found:
        raise RefusedCallError(f"There is no title {name!r:.60}.")
    return found[0]


@tool
def list_closings(store: Db) -> list[Row]:
    """List the days on which the library was closed."""
    return store.find("closings")


@tool
def renew(store: Db, loan_id: str, due_on: str) -> str:
    """Renew a loan that is open.

    Args:
        loan_id: such as L12345.
        due_on: the new due date, such as 2026-06-01.
    """
    loan = with_status(store, "loans", "open", loan_id=loan_id)
    if not loan["due_on"] < due_on.strip() <= "2026-12-31":
        raise RefusedCallError(f"Loan {loan_id} is due on {loan['due_on']}; the new date must be later, in 2026.")
    store.update("loans", {"loan_id": loan_id}, due_on=due_on.strip(), renewals=loan["renewals"] + 1)
    return f"Loan {loan_id} is due on {due_on.strip()} now."


@tool
def place_hold(store: Db, customer_id: str, title_id: str, branch: _Branch) -> str:
    """Put a title on hold for a reader.

    Args:
        customer_id: such as C12345.
        title_id: such as T12345.
        branch: where the reader picks it up.
    """
    store.require("customers", customer_id=customer_id)
    store.require("titles", title_id=title_id)
    if store.find("holds", customer_id=customer_id, title_id=title_id):
        raise RefusedCallError(f"Reader {customer_id} has a hold on {title_id} already.")
    hold = {"customer_id": customer_id, "title_id": title_id, "branch": branch, "status": "waiting"}
    store.insert("holds", hold)
    return f"Title {title_id} is on hold for {customer_id} at {branch}."


@tool
def move_hold(store: Db, customer_id: str, title_id: str, branch: _Branch) -> str:
    """Move a hold to another branch.

    Args:
        customer_id: the reader who has the hold.
        title_id: the title.
        branch: where the reader picks it up.
    """
    hold = {"customer_id": customer_id, "title_id": title_id}
    if not store.find("holds", **hold):
        raise RefusedCallError(f"Reader {customer_id} has no hold on {title_id!r:.60}.")
    store.update("holds", hold, branch=branch)
    return f"The hold on {title_id} is at {branch}."


@tool
def pay_fine(store: Db, loan_id: str) -> str:
    """Enter that the reader pays a fine.

    Args:
        loan_id: the loan of the fine, such as L12345.
    """
    fine = with_status(store, "fines", "open", loan_id=loan_id)
    store.update("fines", {"loan_id": loan_id}, status="paid")
    return f"The fine of {fine['amount']:.2f} for {loan_id} is paid."


@tool
def pay_all_fines(store: Db, customer_id: str) -> str:
    """Enter that a reader pays all open fines.

    Args:
        customer_id: such as C12345.
    """
    fines = store.find("fines", customer_id=customer_id, status="open")
    if not fines:
        raise RefusedCallError(f"Reader {customer_id!r:.60} has no open fine.")
    store.update("fines", {"customer_id": customer_id, "status": "open"}, status="paid")
    return f"All fines of {customer_id} are paid, {sum(fine['amount'] for fine in fines):.2f} in all."


@tool
def waive_fine(store: Db, loan_id: str) -> str:
    """Waive a fine that is open.

    Args:
        loan_id: the loan of the fine, such as L12345.
    """
    with_status(store, "fines", "open", loan_id=loan_id)
    store.update("fines", {"loan_id": loan_id}, status="waived")
    return f"The fine for {loan_id} is waived."


@tool
def report_lost(store: Db, loan_id: str, charge: float) -> str:
    """Enter that a reader has lost an open loan, and what they pay for it.

    Args:
        loan_id: such as L12345.
        charge: what the reader pays.
    """
    loan = with_status(store, "loans", "open", loan_id=loan_id)
    charge = chargeable(charge)
    store.update("loans", {"loan_id": loan_id}, status="lost")
    fine = {"loan_id": loan_id, "customer_id": loan["customer_id"], "was_due_on": loan["due_on"], "status": "lost item"}
    store.insert("fines", {**fine, "amount": charge})
    return f"Loan {loan_id} is lost; the reader pays {charge:.2f}."


@tool
def open_case(store: Db, subject: str, category: _CASES) -> str:
    """File a case for the head of the library.

    Args:
        subject: the number of the loan or the title that it is about.
        category: what it is about.
    """
    return file_case(store, "titles" if subject.startswith("T") else "loans", subject, category)
