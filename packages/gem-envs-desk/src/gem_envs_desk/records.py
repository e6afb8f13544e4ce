"""What the tools of several desks do alike: they find customers, guard states and amounts, and file cases."""

from __future__ import annotations

from gem_envs_desk.store import DeskStore, RefusedCallError, Row

__all__ = ["chargeable", "file_case", "find_customers", "with_status"]

_MOST_MONEY = 10_000


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


def with_status(store: DeskStore, table: str, status: str, ending: str = ".", **key: str) -> Row:
    """Return the row with this key, whose status must be ``status``.

    Raises:
        RefusedCallError: if there is none, or its status is another one; the sentence ends with ``ending``.
    """
    row = store.require(table, **key)
    if row["status"] != status:
        (code,) = key.values()
        raise RefusedCallError(f"{table.removesuffix('s').capitalize()} {code} is {row['status']}{ending}")
    return row


def chargeable(amount: float) -> float:
    """Return an amount in whole cents.

    Raises:
        RefusedCallError: if it is negative or above 10,000.
    """
    if not 0 <= amount <= _MOST_MONEY:
        raise RefusedCallError(f"The amount must be at least 0 and at most {_MOST_MONEY:,}.")
    return round(amount, 2)


def file_case(store: DeskStore, table: str, subject: str, category: str) -> str:
    """File a case about a row and return the words for it.

    Raises:
        RefusedCallError: if there is no row with the key ``subject``, or there is such a case.
    """
    store.require(table, **{store.schema[table].key[0]: subject})
    if store.find("cases", subject=subject, category=category):
        raise RefusedCallError(f"There is such a case about {subject} already.")
    store.insert("cases", {"subject": subject, "category": category})
    return f"The case about {subject} is filed."
