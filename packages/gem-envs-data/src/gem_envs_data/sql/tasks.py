"""Tasks of three levels: a database, a question or a change, and what was executed to know the answer."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from gem_envs_data.sql.changes import Change, change_statements, change_words
from gem_envs_data.sql.content import CODES, Content, make_content
from gem_envs_data.sql.domains import Column, SqlTable
from gem_envs_data.sql.queries import Condition, Query, query_sql, weaker, worded
from gem_envs_data.sql.results import Dump, StatementError
from gem_envs_data.sql.sqlite_database import SqliteDatabase, image_of

__all__ = ["KINDS", "LEVELS", "SqlTask", "task_of"]

LEVELS = (1, 2, 3)
MIXED, QUESTIONS, CHANGES = "mixed", "questions", "changes"
KINDS = (MIXED, QUESTIONS, CHANGES)

_QUERIES = {
    1: ("count", "total", "lookup", "names", "extreme", "distinct"),
    2: ("count", "total", "top", "at_least", "names", "first", "distinct"),
    3: ("none", "above_average", "top", "every", "total", "at_least"),
}
_CHANGES = {
    1: ("set", "remove", "insert"),
    2: ("raise", "remove", "insert"),
    3: ("counts", "archive", "merge", "normalise"),
}
_KEPT = 16
"""Tasks that stay in memory: the rows of more would hold up a reset with a full garbage collection."""
_CHANGE_SHARE = 0.4
"""Share of the tasks that change the database, where both kinds are asked for."""


class SqlTask(NamedTuple):
    """What an environment knows of its episode."""

    content: Content
    image: bytes
    """The database as a file of SQLite."""
    text: str
    query: Query | None
    change: Change | None
    statements: tuple[str, ...]
    """The gold SQL: one statement whose rows are the answer, or those that make the change."""
    answer: tuple[Any, ...]
    """The right answer to a question: its values."""
    end: Dump | None
    """The right content of the database after a change."""

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the answer's values matters."""
        return self.query is not None and self.query.kind == "first"


@lru_cache(maxsize=_KEPT)
def task_of(number: int, level: int, split: str, tasks: str) -> SqlTask:
    """Return a task; a pure function of its arguments. The episodes of a group share it."""
    rng = random.Random(f"sql {split} {level} {tasks} {number}")
    content = make_content(rng, level, split)
    image = image_of(content)
    is_change = tasks == CHANGES or (tasks == MIXED and rng.random() < _CHANGE_SHARE)
    kind = rng.choice((_CHANGES if is_change else _QUERIES)[level])
    while True:
        task = _change(rng, content, image, kind) if is_change else _question(rng, content, image, kind)
        if task is not None:
            return task
        kind = rng.choice((_CHANGES if is_change else _QUERIES)[level])


def _question(rng: random.Random, content: Content, image: bytes, kind: str) -> SqlTask | None:
    database = SqliteDatabase(image)
    try:
        for _ in range(12):
            query = _drawn(rng, content, kind)
            if query is None:
                continue
            answer = _answer(database, content, query)
            if answer is None or not _is_sound(database, content, query, answer):
                continue
            text = worded(content, query, rng)
            return SqlTask(content, image, text, query, None, (query_sql(content, query),), answer, None)
    finally:
        database.close()
    return None


def _answer(database: SqliteDatabase, content: Content, query: Query) -> tuple[Any, ...] | None:
    try:
        rows = database.execute(query_sql(content, query)).rows
    except StatementError:
        return None
    return tuple(row[0] for row in rows)


_FEWEST = {"count": 3, "above_average": 3, "distinct": 2, "total": 1}


def _is_sound(database: SqliteDatabase, content: Content, query: Query, answer: tuple[Any, ...]) -> bool:
    """Return whether there is one right answer, and every part of the question matters for it."""
    if not 1 <= len(answer) <= 8 or None in answer or len(set(answer)) < len(answer):
        return False
    if query.kind == "first" and len(answer) < 3:
        return False
    if query.kind in _FEWEST and answer[0] < _FEWEST[query.kind]:
        return False
    for other in weaker(query):
        found = _answer(database, content, other)
        if found == answer or (query.kind != "first" and sorted(found or (), key=str) == sorted(answer, key=str)):
            return False
    # Of equal numbers, the order would be the engine's.
    if query.kind in ("extreme", "first", "top"):
        return _is_decided(database, content, query)
    if content.copy is not None and query.table == content.domain.main.name:
        stale = query_sql(content, query).replace(f"FROM {query.table} ", f"FROM {content.copy} ")
        try:
            return tuple(row[0] for row in database.execute(stale).rows) != answer
        except StatementError:
            return True
    return True


def _is_decided(database: SqliteDatabase, content: Content, query: Query) -> bool:
    """Return whether no two of the rows that the answer compares have equal numbers."""
    sql = query_sql(content, query)
    body, _, order = sql.partition(" ORDER BY ")
    measure, way, *_ = order.split(" ")
    _, _, source = body.partition(" FROM ")
    rows = database.execute(f"SELECT {measure} FROM {source} ORDER BY {measure} {way} LIMIT 5").rows
    compared = [row[0] for row in rows[: {"extreme": 2, "first": 4}.get(query.kind, query.number + 2)]]
    return len(compared) >= 2 and len(set(compared)) == len(compared) and None not in compared


def _drawn(rng: random.Random, content: Content, kind: str) -> Query | None:
    """Return a random query of a kind with a wording that fits the level."""
    domain, level = content.domain, content.level
    if kind == "lookup":
        table = rng.choice((domain.owner, domain.main))
        row = rng.choice(content.tables[table.name])
        assert table.label is not None
        column = rng.choice(table.columns)
        return Query(kind, table.name, (Condition((), table.label, "=", row[table.label]),), column.name)
    if level == 1:
        table = rng.choice((domain.owner, domain.main, domain.main))
        conditions = _conditions(rng, content, table, ((),), rng.randint(1, 2))
    elif level == 2:
        table = domain.main if kind in ("names", "first") else domain.event
        near = [(name,) for name in table.references]
        conditions = _conditions(rng, content, table, near, 1)
        if rng.random() < 0.6:
            conditions += _conditions(rng, content, table, ((),), 1)
    else:
        table = domain.event
        far = (domain.main.name, domain.owner.name)
        conditions = _conditions(rng, content, table, (far, far, (domain.other.name,)), 1)
        conditions += _conditions(rng, content, table, ((), (domain.main.name,)), 1)
    numbers = [column.name for column in table.columns if column.kind == "number"]
    certain = [column.name for column in table.columns if column.kind == "number" and not column.may_be_null]
    query = Query(kind, table.name, tuple(dict.fromkeys(conditions)))
    if len({(one.path, one.column) for one in query.conditions}) < len(query.conditions):
        return None
    return _completed(rng, content, query, numbers, certain)


def _completed(
    rng: random.Random, content: Content, query: Query, numbers: list[str], certain: list[str]
) -> Query | None:
    """Return the query with what its kind needs besides conditions."""
    kind, table, level = query.kind, content.table(query.table), content.level
    asked = {one.column for one in query.conditions if not one.path}
    largest = rng.random() < 0.6
    if kind == "total":
        summed = [name for name in numbers if not name.endswith("year")]
        return _with(query, column=rng.choice(summed)) if summed else None
    if kind in ("extreme", "first"):
        free = [name for name in certain if name not in asked]
        return _with(query, column=rng.choice(free), largest=largest) if free else None
    if kind == "distinct":
        free = [
            column.name for column in table.columns if column.kind in ("word", "place") and column.name not in asked
        ]
        return _with(query, column=rng.choice(free)) if free else None
    if kind in ("count", "names"):
        return query
    parent = rng.choice(table.references)
    if any(one.path[:1] == (parent,) and kind != "above_average" for one in query.conditions) and kind != "none":
        # A condition on the parent itself would leave few parents to compare.
        parent = next((name for name in table.references if name != parent), parent)
    if kind == "top":
        column = rng.choice(["", *certain]) if level == 2 else rng.choice(certain)
        # Never the lowest: a parent without any row would be in question.
        return _with(query, parent=parent, column=column, number=int(level == 3))
    if kind == "at_least":
        return _with(query, parent=parent, number=rng.randint(2, 4))
    if kind == "above_average":
        return _with(query, parent=parent, column=rng.choice(certain))
    if kind == "every":
        words = [column.name for column in table.columns if column.kind == "word" and column.name not in asked]
        simple = tuple(one for one in query.conditions if not one.path)[:1]
        return _with(query, parent=parent, column=rng.choice(words), conditions=simple) if words and simple else None
    assert kind == "none"
    of_parent = _conditions(rng, content, content.table(parent), ((),), 1)
    about = tuple(one for one in query.conditions if one.path[:1] != (parent,))
    return _with(query, parent=parent, conditions=about, parent_conditions=tuple(of_parent)) if about else None


def _with(query: Query, **changes: Any) -> Query:
    return replace(query, **changes)


def _conditions(rng: random.Random, content: Content, table: SqlTable, paths: Any, count: int) -> tuple[Condition, ...]:
    """Return conditions on columns at the ends of paths, with values that occur there."""
    found = []
    for _ in range(count):
        path = rng.choice(list(paths))
        at = content.table(path[-1]) if path else table
        if path and at.label is not None and rng.random() < 0.3:
            found.append(Condition(path, at.label, "=", rng.choice(content.tables[at.name])[at.label]))
            continue
        found.append(_condition(rng, content, path, at, rng.choice(at.columns)))
    return tuple(found)


def _condition(rng: random.Random, content: Content, path: tuple[str, ...], at: SqlTable, column: Column) -> Condition:
    value = rng.choice(content.tables[at.name])[column.name]
    if column.kind == "date":
        return Condition(path, column.name, "year", int(value[:4]))
    if value is None or (column.may_be_null and rng.random() < 0.3):
        return Condition(path, column.name, rng.choice(("known", "unknown")), None)
    if column.kind == "number":
        return Condition(path, column.name, rng.choice("<>"), value)
    codes = content.codes.get(f"{at.name}.{column.name}")
    if codes is not None:
        value = next(word for word, code in codes.items() if code == value)
    return Condition(path, column.name, "=", value)


def _change(rng: random.Random, content: Content, image: bytes, kind: str) -> SqlTask | None:
    for _ in range(12):
        change = _drawn_change(rng, content, kind)
        if change is None:
            continue
        statements = change_statements(content, change)
        ends = [_end(image, statements[:place] + statements[place + 1 :]) for place in range(len(statements))]
        end = _end(image, statements)
        # Each statement is needed: without it, the end is another.
        if end is None or end in ends:
            continue
        # Neither nothing nor everything, and each condition matters.
        if change.conditions and any(_end(image, change_statements(content, one)) == end for one in _weaker(change)):
            continue
        return SqlTask(content, image, change_words(content, change, rng), None, change, tuple(statements), (), end)
    return None


def _weaker(change: Change) -> list[Change]:
    places = range(len(change.conditions))
    return [replace(change, conditions=change.conditions[:one] + change.conditions[one + 1 :]) for one in places]


def _end(image: bytes, statements: list[str]) -> Dump | None:
    """Return the content of the database after the statements; None if one fails."""
    database = SqliteDatabase(image)
    try:
        for statement in statements:
            database.execute(statement)
        return database.dump()
    except StatementError:
        return None
    finally:
        database.close()


def _drawn_change(rng: random.Random, content: Content, kind: str) -> Change | None:
    domain, level = content.domain, content.level
    if kind == "set":
        table = rng.choice((domain.owner, domain.main))
        column = rng.choice([one for one in table.columns if one.kind == "number"])
        row = rng.choice(content.tables[table.name])
        assert table.label is not None
        condition = Condition((), table.label, "=", row[table.label])
        return Change(kind, table.name, (condition,), column.name, rng.randint(column.lowest, column.highest))
    if kind == "insert":
        table = domain.owner if level == 1 else domain.event
        values = {}
        for name in table.references:
            label = content.table(name).label
            values[name] = rng.choice(content.tables[name])[str(label)]
        if table.label is not None:
            values[table.label] = (
                f"{rng.choice(content.tables[table.name])[table.label]} {rng.choice(('II', 'III', 'Jr'))}"
            )
        for one in table.columns:
            value = rng.choice(content.tables[table.name])[one.name]
            values[one.name] = rng.randint(one.lowest, one.highest) if one.kind == "number" else value
        return Change(kind, table.name, values=values)
    if kind in ("raise", "remove", "archive"):
        table = domain.main if level == 1 else domain.event
        paths: tuple[tuple[str, ...], ...] = ((),) if level == 1 else tuple((name,) for name in table.references)
        conditions = _conditions(rng, content, table, paths, 1)
        if level > 1:
            conditions += _conditions(rng, content, table, ((),), 1)
        certain = [one.name for one in table.columns if one.kind == "number" and not one.may_be_null]
        column_name = {"raise": rng.choice(certain), "archive": f"{table.name}_archive", "remove": ""}[kind]
        return Change(kind, table.name, conditions, column_name, rng.randint(2, 30) if kind == "raise" else 0)
    if kind == "counts":
        table = rng.choice((domain.event, domain.note))
        parent = rng.choice(table.references)
        return Change(kind, table.name, column=f"{table.name}_count", parent=parent)
    if kind == "merge":
        table = domain.main
        one_row, other = rng.sample(content.tables[table.name], 2)
        return Change(kind, table.name, values={"from": one_row[str(table.label)], "into": other[str(table.label)]})
    table = rng.choice((domain.other, domain.note))
    words = [one.name for one in table.columns if one.kind in ("word", "place")]
    return Change(kind, table.name, column=rng.choice(words)) if CODES in content.tables else None
