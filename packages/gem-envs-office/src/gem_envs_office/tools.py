"""The tools of the company, those that are derived from tables and the actions: :func:`office_tools`."""

# ruff: noqa: S608  # names of tables and columns come from the declarations, values are bound

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gem.tools import Tool
from gem_envs_office.declarations import OfficeColumn, OfficeTable, company
from gem_envs_office.office import ACTIONS, Office, required
from gem_envs_office.rules import calendar, money, people, service, stock  # noqa: F401  # they register the actions
from gem_envs_office.store import Row
from gem_envs_office.values import OfficeRefusalError, schema_of

__all__ = ["COLLEAGUE_TOOLS", "OfficeTool", "office_tools", "shown_row"]

COLLEAGUE_TOOLS = ("ask_colleague", "request_approval", "request_action")
"""The acts that a colleague answers; :mod:`gem_envs_office.colleagues` carries them out."""

_PAGE = 25
"""Rows of an answer."""


class OfficeTool(Tool):
    """One tool: its department, its arguments, and the function that carries it out."""

    def __init__(
        self,
        name: str,
        department: str,
        description: str,
        arguments: Mapping[str, OfficeColumn],
        run: Callable[..., Any] | None,
        *,
        changes: bool,
        confidential: bool = False,
    ) -> None:
        self.name, self.department = name, department
        self.description = f"{description} [{department}]"
        self.arguments = arguments
        self.run = run
        """Takes an :class:`Office` and the arguments, and returns JSON values; None for what colleagues answer."""
        self.changes = changes
        self.confidential = confidential
        self.parameters = {
            "type": "object",
            "properties": {argument: schema_of(column) for argument, column in arguments.items()},
            "required": [argument for argument, column in arguments.items() if not column.optional],
            "additionalProperties": False,
        }

    @property
    def signature(self) -> str:
        """The name with the arguments in one line; those in brackets may be left out."""
        return f"{self.name}({', '.join(f'[{n}]' if c.optional else n for n, c in self.arguments.items())})"


@lru_cache(maxsize=1)
def office_tools() -> Mapping[str, OfficeTool]:
    """Return all tools by name, department by department."""
    tools: dict[str, OfficeTool] = {}
    for department in company().departments.values():
        own = [_derived(table, kind) for table in department.tables for kind in table.tools]
        for one in department.actions:
            run = None if one.name in COLLEAGUE_TOOLS else ACTIONS[one.name]
            own.append(OfficeTool(one.name, department.name, one.about, one.arguments, run, changes=not one.reads))
        tools |= {tool.name: tool for tool in own}
    return tools


def _derived(table: OfficeTable, kind: str) -> OfficeTool:
    one, key = table.singular.replace("_", " "), table.columns[table.key]
    reference = OfficeColumn(key.name, "ref", table=table.name)
    if kind == "list":
        about = f"List {table.name.replace('_', ' ')}, {_PAGE} at a time, by the values of columns."
        if table.confidential:
            about = f"Show the confidential {table.name.replace('_', ' ')} of one employee."
        return OfficeTool(
            f"list_{table.name}",
            table.department,
            about,
            _filters(table),
            lambda office, **given: _list(office, table, given),
            changes=False,
            confidential=table.confidential,
        )
    if kind == "get":
        return OfficeTool(
            f"get_{table.singular}",
            table.department,
            f"Show the {one} with all its columns.",
            {key.name: reference},
            lambda office, **given: shown_row(table, _readable(office, table, given[key.name]), long=True),
            changes=False,
        )
    if kind == "delete":
        return OfficeTool(
            f"delete_{table.singular}",
            table.department,
            f"Delete the {one}.",
            {key.name: reference},
            lambda office, **given: _delete(office, table, given[key.name]),
            changes=True,
        )
    if kind == "create":
        taken = {
            name: column
            for name, column in table.columns.items()
            if column.kind not in ("key", "seq") and name not in table.set
        }
        return OfficeTool(
            f"create_{table.singular}",
            table.department,
            f"Make a new {one}.",
            taken,
            lambda office, **given: _create(office, table, given),
            changes=True,
        )
    return OfficeTool(
        f"update_{table.singular}",
        table.department,
        f"Change columns of the {one}; what is left out stays.",
        {key.name: reference, **{name: _optional(table.columns[name]) for name in table.change}},
        lambda office, **given: _update(office, table, given),
        changes=True,
    )


def _optional(column: OfficeColumn) -> OfficeColumn:
    return OfficeColumn(column.name, column.kind, column.table, column.choices, optional=True)


def _filters(table: OfficeTable) -> dict[str, OfficeColumn]:
    if table.confidential:
        return {"employee_id": table.columns["employee_id"]}
    filters = {}
    for name, column in table.columns.items():
        if column.kind in ("ref", "choice", "date", "mail"):
            filters[name] = _optional(column)
        elif column.kind == "time":
            filters[name] = OfficeColumn(name, "date", optional=True)
    if texts := _texts(table):
        told = f"a text that {' or '.join(texts)} contains, in capitals or not"
        filters["contains"] = OfficeColumn("contains", "text", optional=True, told=told)
    filters["offset"] = OfficeColumn("offset", "int", optional=True)
    return filters


def _texts(table: OfficeTable) -> list[str]:
    """Return the columns that ``contains`` looks through."""
    return [column.name for column in table.columns.values() if column.kind in ("text", "body")]


def _list(office: Office, table: OfficeTable, given: dict[str, Any]) -> dict[str, Any]:
    offset = given.pop("offset", 0)
    conditions, values = [], []
    for name, value in given.items():
        if name == "contains":
            texts = _texts(table)
            conditions.append(f"({' OR '.join(f'INSTR(LOWER({text}), LOWER(?))' for text in texts)})")
            values += [value] * len(texts)
        elif table.columns[name].kind == "time":
            conditions.append(f'SUBSTR("{name}", 1, 10) = ?')
            values.append(value)
        else:
            conditions.append(f'"{name}" = ?')
            values.append(value)
    if table.own:
        conditions.append(f"({' OR '.join(f'{name} = ?' for name in table.own)})")
        values += [office.actor["email"]] * len(table.own)
    where = " AND ".join(conditions) or "1"
    rows = office.store.query(f'SELECT * FROM "{table.name}" WHERE {where} ORDER BY rowid', values)
    page = rows[offset : offset + _PAGE]
    shown: dict[str, Any] = {"total": len(rows), "rows": [shown_row(table, row) for row in page]}
    if offset + _PAGE < len(rows):
        shown["next_offset"] = offset + _PAGE
    return shown


def shown_row(table: OfficeTable, row: Row, *, long: bool = False) -> Row:
    """Return what agents see of a row: no missing value, no number of the log, long texts where they are asked for."""
    hidden = ("seq",) if long else ("seq", "body")
    return {name: row[name] for name, one in table.columns.items() if one.kind not in hidden and row[name] is not None}


def _readable(office: Office, table: OfficeTable, key: str) -> Row:
    row = required(office, table.name, key)
    if table.own and office.actor["email"] not in [row[name] for name in table.own]:
        raise OfficeRefusalError(f"{key} is not yours to read.")
    return row


def _create(office: Office, table: OfficeTable, given: Mapping[str, Any]) -> Row:
    values = {"actor": office.actor_id, "own mail": office.actor["email"], "today": office.today, "nothing": None}
    filled = {name: values.get(source, source) for name, source in table.set.items()}
    seq = {name: office.seq for name, column in table.columns.items() if column.kind == "seq"}
    return {table.key: office.store.insert(table.name, **given, **filled, **seq)}


def _update(office: Office, table: OfficeTable, given: dict[str, Any]) -> Row:
    key = given.pop(table.key)
    if not given:
        raise OfficeRefusalError(f"Nothing to change was given; {table.name} can change {', '.join(table.change)}.")
    row = required(office, table.name, key)
    if all(row[name] == value for name, value in given.items()):
        raise OfficeRefusalError(f"{key} has these values already.")
    office.store.update(table.name, key, **given)
    return {table.key: key, **given}


def _delete(office: Office, table: OfficeTable, key: str) -> Row:
    required(office, table.name, key)
    office.store.delete(table.name, key)
    return {"deleted": key}
