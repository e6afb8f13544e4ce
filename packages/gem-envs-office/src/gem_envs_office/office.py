"""What the function of a tool works with: :class:`Office`, and how it is registered as an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from gem_envs_office.declarations import company
from gem_envs_office.store import OfficeStore, Row
from gem_envs_office.values import OfficeRefusalError

__all__ = ["ACTIONS", "Office", "action", "required", "set_status"]

ACTIONS: dict[str, Callable[..., Any]] = {}
"""Action → its function, filled by the modules of :mod:`gem_envs_office.rules`."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Office(NamedTuple):
    """The state, and who works on it when."""

    store: OfficeStore
    actor: Row
    """The row of the employee who calls the tool."""
    today: str

    @property
    def actor_id(self) -> str:
        """The key of the employee who calls the tool."""
        return str(self.actor["employee_id"])

    @property
    def seq(self) -> int:
        """The number of the log's next entry; what is written now happens after all that has a lower number."""
        return int(self.store.query("SELECT COUNT(*) AS entries FROM audit_log")[0]["entries"]) + 1


def action(function: FunctionT) -> FunctionT:
    """Make a function the action of its name: it takes an :class:`Office` and the declared arguments."""
    ACTIONS[function.__name__] = function
    return function


def required(office: Office, table: str, key: str, **wanted: Any) -> Row:
    """Return the row with this key, if its columns have the wanted values.

    Raises:
        OfficeRefusalError: if one has another value.
    """
    row = office.store.get(table, key)
    if row is None:
        raise OfficeRefusalError(f"There is no {company().tables[table].singular} {key!r:.40}.")
    for column, value in wanted.items():
        if row[column] != value:
            raise OfficeRefusalError(f"The {column} of {key} is {row[column]}, not {value}.")
    return row


def set_status(office: Office, table: str, key: str, was: str, status: str, **columns: Any) -> dict[str, Any]:
    """Give the row with this key another status, and other columns new values; return key and status.

    Raises:
        OfficeRefusalError: if there is no such row, or its status is another than ``was``.
    """
    required(office, table, key, status=was)
    office.store.update(table, key, status=status, **columns)
    return {company().tables[table].key: key, "status": status}
