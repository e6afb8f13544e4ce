"""Tasks that change a database: what must hold afterwards, the statements that bring it about, and their wording."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gem.tables import read_table
from gem_envs_data.sql.content import Content, Row
from gem_envs_data.sql.queries import Condition, such, where_sql

__all__ = ["Change", "change_statements", "change_words"]


@dataclass(frozen=True)
class Change:
    """A change of the rows or the tables.

    ``set``: ``column`` of the only row gets the value ``number``. ``raise``: ``column`` of all rows is raised by
    ``number``.
    ``remove``: all rows go. ``insert``: a row of ``values``, in which a reference is the label of its target, gets the
    next free id. ``counts``: the new column ``column`` of ``parent`` has the number of its rows. ``archive``: the
    rows move
    to the new table ``column``. ``merge``: the row with the label ``values["from"]`` goes, and all that refers to it
    refers to the one with ``values["into"]`` instead. ``normalise``: the words of ``column`` move to a new table,
    numbered by the alphabet.
    """

    kind: str
    table: str
    conditions: tuple[Condition, ...] = ()
    column: str = ""
    number: int = 0
    parent: str = ""
    values: Row = field(default_factory=dict)


def _ids(content: Content, change: Change) -> str:
    joins, where = where_sql(content, change.table, change.conditions, "t")
    return f"SELECT t.id FROM {change.table} t{joins} WHERE {where}"


def _id_of(content: Content, table: str, label: str) -> str:
    return f"(SELECT id FROM {table} WHERE {content.table(table).label} = '{label}')"


def change_statements(content: Content, change: Change) -> list[str]:
    """Return the statements that make the change; for any engine."""
    table, column = change.table, change.column
    if change.kind == "set":
        return [f"UPDATE {table} SET {column} = {change.number} WHERE id IN ({_ids(content, change)})"]
    if change.kind == "raise":
        return [f"UPDATE {table} SET {column} = {column} + {change.number} WHERE id IN ({_ids(content, change)})"]
    if change.kind == "remove":
        return [f"DELETE FROM {table} WHERE id IN ({_ids(content, change)})"]
    if change.kind == "insert":
        values = [f"(SELECT MAX(id) + 1 FROM {table})"]
        for name, value in change.values.items():
            if name in content.table(table).references:
                values.append(_id_of(content, name, value))
            else:
                values.append(str(value) if isinstance(value, int) else f"'{value}'")
        names = [f"{name}_id" if name in content.table(table).references else name for name in change.values]
        return [f"INSERT INTO {table} (id, {', '.join(names)}) VALUES ({', '.join(values)})"]
    if change.kind == "counts":
        inner = f"SELECT COUNT(*) FROM {table} WHERE {table}.{change.parent}_id = {change.parent}.id"
        return [
            f"ALTER TABLE {change.parent} ADD COLUMN {column} INTEGER",
            f"UPDATE {change.parent} SET {column} = ({inner})",
        ]
    if change.kind == "archive":
        return [
            f"CREATE TABLE {column} AS SELECT * FROM {table} WHERE id IN ({_ids(content, change)})",
            f"DELETE FROM {table} WHERE id IN (SELECT id FROM {column})",
        ]
    if change.kind == "merge":
        gone, kept = (_id_of(content, table, str(change.values[key])) for key in ("from", "into"))
        referring = [
            one.name for one in content.domain.tables if table in one.references and one.name in content.tables
        ]
        repoint = [f"UPDATE {name} SET {table}_id = {kept} WHERE {table}_id = {gone}" for name in referring]
        return [*repoint, f"DELETE FROM {table} WHERE id = {gone}"]
    rank = f"(SELECT COUNT(DISTINCT u.{column}) FROM {table} u WHERE u.{column} <= t.{column})"
    new = f"{table}_{column}"
    return [
        f"CREATE TABLE {new} AS SELECT DISTINCT {rank} AS id, t.{column} AS name FROM {table} t",
        f"ALTER TABLE {table} ADD COLUMN {new}_id INTEGER",
        f"UPDATE {table} SET {new}_id = (SELECT n.id FROM {new} n WHERE n.name = {table}.{column})",
        f"ALTER TABLE {table} DROP COLUMN {column}",
    ]


_WORDING: Mapping[str, Sequence[str]] = read_table(__file__, "changes.json")


def change_words(content: Content, change: Change, rng: random.Random) -> str:
    """Return the task in words."""
    table = content.table(change.table)
    known = {column.name: column.phrase for column in table.columns}
    words = {
        "such": such(content, change.table, change.conditions, rng),
        "noun": table.noun,
        "plural": table.plural,
        "table": table.name,
        "column": known.get(change.column, change.column) if change.kind in ("set", "raise") else change.column,
        "number": str(change.number),
        "value": str(change.conditions[0].value) if change.conditions else "",
        "parent": change.parent,
        "parent_noun": content.table(change.parent).noun if change.parent else "",
        "values": ", ".join(
            f"{name.replace('_', ' ')} {value}" if isinstance(value, int) else f"{name.replace('_', ' ')} '{value}'"
            for name, value in change.values.items()
        ),
        "from": str(change.values.get("from")),
        "into": str(change.values.get("into")),
    }
    text: str = rng.choice(_WORDING[change.kind])
    return text.format(**words)
