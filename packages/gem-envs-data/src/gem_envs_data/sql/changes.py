"""Tasks that change a database: what must hold afterwards, the statements that bring it about, and their wording."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

import random
from dataclasses import dataclass, field

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


_WORDING = {
    "set": (
        "Set the {column} of the {noun} '{value}' to {number}.",
        "The {column} of the {noun} '{value}' must be {number}; correct it.",
        "Change the {noun} '{value}' so that its {column} is {number}.",
    ),
    "raise": (
        "Raise the {column} by {number} for all {such}.",
        "Add {number} to the {column} of each of the {such}.",
        "The {column} goes up by {number} for the {such}; update the table.",
    ),
    "remove": ("Delete the {such}.", "Remove from the database all {such}.", "The {such} must go; delete them."),
    "insert": (
        "Add a row to the table {table}: {values}. Its id is one more than the highest id of the table so far.",
        "Record a new {noun}: {values}. As id, use the highest id of the table {table} plus one.",
        "Insert into {table} this {noun}, with the next id after the highest: {values}.",
    ),
    "counts": (
        "Add an integer column {column} to the table {parent} that holds, for each {parent_noun}, the number of its "
        "{plural} (0 where it has none).",
        "The table {parent} needs a new integer column {column}: the number of {plural} of each {parent_noun}, "
        "with 0 for those without. Add "
        "it and fill it.",
    ),
    "archive": (
        "Move the {such} into a new table {column} with the same columns as {table}, so that they are no longer "
        "in {table}.",
        "Archive the {such}: a new table {column} with all columns of {table} holds them, and {table} no longer does.",
    ),
    "merge": (
        "The {plural} '{from}' and '{into}' are one and the same. Make all rows that refer to '{from}' refer to "
        "'{into}', and delete "
        "'{from}' from {table}.",
        "'{from}' was entered into {table} by mistake and is a duplicate of '{into}'. Let everything that "
        "refers to it refer to "
        "'{into}' instead, and remove it.",
    ),
    "normalise": (
        "Normalise the column {column} of the table {table}: create a table {table}_{column} with the columns "
        "id and name, one row for "
        "each value of {column}, numbered from 1 in alphabetical order; add an integer column "
        "{table}_{column}_id to {table} that "
        "holds the number of its value; and drop the column {column}.",
        "The values of {table}.{column} get a table of their own, {table}_{column} (id, name), numbered 1, 2, … in the "
        "order of the alphabet. Replace the column {column} of {table} by an integer column {table}_{column}_id "
        "with those numbers.",
    ),
}  # fmt: skip


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
