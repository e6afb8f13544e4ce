"""What the tools of several desks do alike: finding customers, and filing cases."""

from __future__ import annotations

from gem_envs_desk.store import DeskStore, RefusedCallError, Row

__all__ = ["file_case", "find_customers"]


def find_customers(store: DeskStore, email: str, statement: str, *data: str, second: str) -> list[Row]:
    """Return the customers with an e-mail address, or those that a statement finds by other data.

    Args:
        store: the tables.
        email: the e-mail address; empty to search by the other data.
        statement: takes ``data``, a last name and something else.
        data: must all be given.
        second: the words for what is beside the last name.

    Raises:
        RefusedCallError: if data are missing, or nobody has them.
    """
    if email:
        found = store.query("SELECT * FROM customers WHERE lower(email) = lower(?)", email.strip())
    elif all(data):
        found = store.query(statement, *(value.strip() for value in data))
    else:
        raise RefusedCallError(f"Give the e-mail address, or both the last name and the {second}.")
    if not found:
        raise RefusedCallError("No customer has these data.")
    return found


def file_case(store: DeskStore, subject: str, category: str) -> str:
    """File a case and return the words for it; RefusedCallError if there is such a case."""
    if store.find("cases", subject=subject, category=category):
        raise RefusedCallError(f"There is such a case about {subject} already.")
    store.insert("cases", {"subject": subject, "category": category})
    return f"The case about {subject} is filed."
