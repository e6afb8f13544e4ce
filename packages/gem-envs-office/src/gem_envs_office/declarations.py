"""What the company consists of, read from ``departments/*.toml`` and ``roles.toml``: tables, tools, roles.

A department declares tables, the tools that are derived from them (``list``, ``get``, ``create``, ``update``,
``delete``), and actions, tools with a rule of their own, whose functions are in :mod:`gem_envs_office.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError
from gem.tables import read_table

__all__ = ["ActionDeclaration", "Company", "Department", "OfficeColumn", "OfficeTable", "Role", "company"]

_PLAIN = ("text", "body", "mail", "date", "time", "money", "int", "object", "seq")
_SQL = {"money": "REAL", "int": "INTEGER", "seq": "INTEGER"}


@dataclass(frozen=True)
class OfficeColumn:
    """A column of a table, or an argument of an action.

    Declared as ``key PREFIX``, ``@table``, ``list @table``, ``a|b|c``, or one of ``text``, ``body`` (a long text),
    ``mail``, ``date``, ``time``, ``money``, ``int``, ``object`` and ``seq`` (the number of the log's entry that wrote
    it; agents do not see it). A question mark at the end means that it may be missing.
    """

    name: str
    kind: str
    """``key``, ``ref``, ``refs``, ``choice`` or one of the plain kinds."""
    table: str = ""
    """The table that a reference leads to."""
    choices: tuple[str, ...] = ()
    prefix: str = ""
    optional: bool = False
    told: str = ""
    """What its description says instead of the words for its kind."""

    @property
    def sql(self) -> str:
        """The type in SQLite."""
        return _SQL.get(self.kind, "TEXT")


@dataclass(frozen=True)
class OfficeTable:
    """A table, and which tools are derived from it."""

    name: str
    department: str
    columns: Mapping[str, OfficeColumn]
    tools: tuple[str, ...]
    change: tuple[str, ...] = ()
    """The columns that ``update`` may change."""
    set: Mapping[str, str] = field(default_factory=dict)
    """The columns that ``create`` fills itself: with ``actor``, ``own mail``, ``today``, ``nothing`` or a text."""
    singular: str = ""
    confidential: bool = False
    """Whether it can be read only by roles that may change the department, and by employee."""
    own: tuple[str, ...] = ()
    """Columns of addresses: a row is read only by those who stand in one of them."""

    @cached_property
    def key(self) -> str:
        """The column that identifies a row, the first one."""
        return next(iter(self.columns))

    @cached_property
    def prefix(self) -> str:
        """The letters with which a key begins."""
        return self.columns[self.key].prefix


@dataclass(frozen=True)
class ActionDeclaration:
    """A tool with a rule of its own."""

    name: str
    department: str
    about: str
    arguments: Mapping[str, OfficeColumn]
    reads: bool = False
    """Whether it changes nothing."""


@dataclass(frozen=True)
class Department:
    """A department: what it is about, its tables and its actions."""

    name: str
    about: str
    tables: tuple[OfficeTable, ...]
    actions: tuple[ActionDeclaration, ...]
    open_to_all: bool = False
    """Whether every role may change things in it."""


@dataclass(frozen=True)
class Role:
    """What an employee may do."""

    name: str
    title: str
    write: tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """All departments and roles."""

    departments: Mapping[str, Department]
    roles: Mapping[str, Role]
    tables: Mapping[str, OfficeTable]

    def may_write(self, role: str, department: str) -> bool:
        """Return whether a role may change things in a department."""
        return self.departments[department].open_to_all or department in self.roles[role].write


@lru_cache(maxsize=1)
def company() -> Company:
    """Return the declarations; they are read once.

    Raises:
        ArgumentError: if a declaration is wrong; it names the place.
    """
    folder = Path(__file__).with_name("departments")
    departments = {path.stem: _department(path.stem) for path in sorted(folder.glob("*.toml"))}
    tables = {table.name: table for one in departments.values() for table in one.tables}
    roles = {
        name: Role(name, declared["title"], tuple(declared["write"]))
        for name, declared in read_table(__file__, "roles.toml").items()
    }
    for table in tables.values():
        _check_references(table.name, table.columns, tables)
    for department in departments.values():
        for action in department.actions:
            _check_references(action.name, action.arguments, tables)
    for role in roles.values():
        if unknown := set(role.write) - set(departments):
            raise ArgumentError(f"role {role.name} names {', '.join(sorted(unknown))}, which is no department")
    return Company(departments, roles, tables)


def _department(name: str) -> Department:
    declared = read_table(__file__, f"departments/{name}.toml")
    tables = tuple(_table(name, table, one) for table, one in declared["tables"].items())
    actions = tuple(
        ActionDeclaration(action, name, one["about"], _columns(action, one["arguments"]), one.get("reads", False))
        for action, one in declared.get("actions", {}).items()
    )
    return Department(name, declared["about"], tables, actions, declared.get("open_to_all", False))


def _table(department: str, name: str, declared: Mapping[str, Any]) -> OfficeTable:
    columns = _columns(name, declared["columns"])
    if next(iter(columns.values())).kind != "key":
        raise ArgumentError(f"the first column of {name} must be its key")
    change = tuple(declared.get("change", ()))
    if unknown := {*change, *declared.get("set", {})} - set(columns):
        raise ArgumentError(f"{name} has no column {', '.join(sorted(unknown))}")
    return OfficeTable(
        name,
        department,
        columns,
        tuple(declared["tools"].split()),
        change,
        declared.get("set", {}),
        declared.get("singular") or _singular(name),
        declared.get("confidential", False),
        tuple(declared.get("own", ())),
    )


def _columns(owner: str, declared: Mapping[str, str]) -> dict[str, OfficeColumn]:
    return {name: _column(f"{owner}.{name}", name, kind) for name, kind in declared.items()}


def _column(place: str, name: str, declared: str) -> OfficeColumn:
    optional = declared.endswith("?")
    kind = declared.removesuffix("?")
    if kind.startswith("key "):
        return OfficeColumn(name, "key", prefix=kind.removeprefix("key "))
    if kind.startswith("@"):
        return OfficeColumn(name, "ref", table=kind[1:], optional=optional)
    if kind.startswith("list @"):
        return OfficeColumn(name, "refs", table=kind.removeprefix("list @"), optional=optional)
    if "|" in kind:
        return OfficeColumn(name, "choice", choices=tuple(kind.split("|")), optional=optional)
    if kind not in _PLAIN:
        raise ArgumentError(
            f"{place}: {declared!r} is no kind of column; see gem_envs_office.declarations.OfficeColumn"
        )
    return OfficeColumn(name, kind, optional=optional)


def _check_references(owner: str, columns: Mapping[str, OfficeColumn], tables: Mapping[str, OfficeTable]) -> None:
    for column in columns.values():
        if column.table and column.table not in tables:
            raise ArgumentError(f"{owner}.{column.name} refers to {column.table}, which is no table")


def _singular(name: str) -> str:
    return name[:-3] + "y" if name.endswith("ies") else name.removesuffix("s")
