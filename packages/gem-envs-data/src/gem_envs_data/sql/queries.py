"""Questions about a database as structures: conditions and kinds of answers, their SQL, and their wording."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gem.tables import read_table
from gem_envs_data.sql.content import CODES, Content
from gem_envs_data.sql.domains import Column

__all__ = ["Condition", "Query", "query_sql", "such", "weaker", "where_sql", "worded"]


class Condition(NamedTuple):
    """A condition on rows of a table, or on the rows to which they refer."""

    path: tuple[str, ...]
    """Tables from the row's reference on; empty for the row itself."""
    column: str
    operator: str
    """``=``, ``>``, ``<``, ``year`` (of a date), ``known`` or ``unknown`` (NULL)."""
    value: str | int | None


@dataclass(frozen=True)
class Query:
    """A question with one right answer: one value, or several in any order unless the kind is ``first``.

    ``count``, ``total``, ``distinct``: one number. ``lookup``: the value of ``column`` of the only row. ``names``: the
    labels of all rows. ``extreme``: the label of the row with the largest or smallest ``column``. ``first``: the
    labels of
    the three such rows, in order. Of the rows to which ``parent`` leads, by their labels: ``top``, the one with the
    most rows, or with the largest total of ``column``, or the one in second place; ``at_least``, those with at least
    ``number`` rows; ``none``, those without a row; ``every``, those whose rows have every value of ``column``.
    ``above_average``: the number of rows whose ``column`` is above the average of all rows of the same parent.
    """

    kind: str
    table: str
    conditions: tuple[Condition, ...] = ()
    column: str = ""
    parent: str = ""
    largest: bool = True
    number: int = 0
    parent_conditions: tuple[Condition, ...] = ()
    """For ``none``: conditions on the parent."""


def column_at(content: Content, table: str, condition: Condition) -> tuple[str, Column | None]:
    """Return the table in which a condition's column is, and the column; None for a label."""
    name = condition.path[-1] if condition.path else table
    described = content.table(name)
    return name, None if condition.column == described.label else described.column(condition.column)


def _literal(content: Content, table: str, column: str, value: str | int) -> str:
    codes = content.codes.get(f"{table}.{column}")
    if codes is not None:
        return f"(SELECT code FROM {CODES} WHERE field = '{table}.{column}' AND meaning = '{value}')"
    return str(value) if isinstance(value, int) else f"'{value}'"


def where_sql(content: Content, table: str, conditions: tuple[Condition, ...], alias: str) -> tuple[str, str]:
    """Return the joins and the condition (without WHERE; ``1 = 1`` for none) in SQL."""
    joins: dict[tuple[str, ...], str] = {}
    tests = []
    for condition in conditions:
        at = alias
        for depth in range(1, len(condition.path) + 1):
            path = condition.path[:depth]
            name = f"{alias}_{'_'.join(path)}"
            joins.setdefault(path, f" JOIN {path[-1]} {name} ON {name}.id = {at}.{path[-1]}_id")
            at = name
        name, _ = column_at(content, table, condition)
        field = f"{at}.{condition.column}"
        if condition.operator == "year":
            tests.append(f"{field} LIKE '{condition.value}-%'")
        elif condition.operator in ("known", "unknown"):
            tests.append(f"{field} IS {'NOT ' if condition.operator == 'known' else ''}NULL")
        else:
            assert condition.value is not None
            literal = _literal(content, name, condition.column, condition.value)
            tests.append(f"{field} {condition.operator} {literal}")
    return "".join(joins.values()), " AND ".join(tests) or "1 = 1"


def query_sql(content: Content, query: Query) -> str:
    """Return a statement whose rows are the answer; for any engine."""
    table, column = query.table, query.column
    label = content.table(table).label
    joins, where = where_sql(content, table, query.conditions, "t")
    source = f"FROM {table} t{joins} WHERE {where}"
    way = "DESC" if query.largest else "ASC"
    if query.kind == "count":
        return f"SELECT COUNT(*) {source}"
    if query.kind == "total":
        return f"SELECT SUM(t.{column}) {source}"
    if query.kind == "distinct":
        return f"SELECT COUNT(DISTINCT t.{column}) {source}"
    if query.kind == "lookup":
        return f"SELECT t.{column} {source}"
    if query.kind == "names":
        return f"SELECT t.{label} {source}"
    if query.kind in ("extreme", "first"):
        return f"SELECT t.{label} {source} ORDER BY t.{column} {way} LIMIT {1 if query.kind == 'extreme' else 3}"
    parent = query.parent
    name = f"p.{content.table(parent).label}"
    if query.kind == "above_average":
        inner = f"SELECT AVG(u.{column}) FROM {table} u WHERE u.{parent}_id = t.{parent}_id"
        return f"SELECT COUNT(*) {source} AND t.{column} > ({inner})"
    if query.kind == "none":
        parent_joins, parent_where = where_sql(content, parent, query.parent_conditions, "p")
        inside = f"SELECT 1 {source} AND t.{parent}_id = p.id"
        return f"SELECT {name} FROM {parent} p{parent_joins} WHERE {parent_where} AND NOT EXISTS ({inside})"
    joined = f"FROM {table} t JOIN {parent} p ON p.id = t.{parent}_id{joins} WHERE {where} GROUP BY p.id, {name}"
    if query.kind == "every":
        every = f"SELECT COUNT(DISTINCT {column}) FROM {table}"
        return f"SELECT {name} {joined} HAVING COUNT(DISTINCT t.{column}) = ({every})"
    if query.kind == "at_least":
        return f"SELECT {name} {joined} HAVING COUNT(*) >= {query.number}"
    measure = f"SUM(t.{column})" if column else "COUNT(*)"
    return f"SELECT {name} {joined} ORDER BY {measure} {way} LIMIT 1 OFFSET {query.number}"


def weaker(query: Query) -> list[Query]:
    """Return the query without each of its conditions, and with each other reading that must have another answer."""
    others = [
        replace(query, conditions=query.conditions[:place] + query.conditions[place + 1 :])
        for place in range(len(query.conditions))
    ]
    others += [
        replace(query, parent_conditions=query.parent_conditions[:place] + query.parent_conditions[place + 1 :])
        for place in range(len(query.parent_conditions))
    ]
    if query.kind in ("extreme", "first", "top"):
        others.append(replace(query, largest=not query.largest))
    if query.kind == "top" and query.number:
        others.append(replace(query, number=0))
    if query.kind == "top" and query.column:
        others.append(replace(query, column=""))
    if query.kind in ("distinct", "above_average"):
        others.append(replace(query, kind="count"))
    if query.kind == "at_least":
        others += [replace(query, number=query.number - 1), replace(query, number=query.number + 1)]
    return others


def _path_words(content: Content, table: str, condition: Condition, ways_of: bool) -> str:
    """Return "category", "product's category" or "category of the product"."""
    _, column = column_at(content, table, condition)
    words = [content.table(part).noun for part in condition.path]
    if column is not None:
        words.append(column.phrase)
    elif not words:
        words.append(condition.column)
    return " of the ".join(reversed(words)) if ways_of else "'s ".join(words)


_ABOVE, _BELOW = ("above", "greater than", "more than"), ("below", "less than", "under")


def condition_words(content: Content, table: str, condition: Condition, lead: str, rng: random.Random) -> str:
    """Return a condition as the part of a sentence after ``lead``, which is "whose", "for which the" or "with"."""
    path, value = _path_words(content, table, condition, lead == "for which the"), condition.value
    if lead == "with":
        return {
            "=": f"the {path} '{value}'",
            ">": f"{_a(path)} {rng.choice(('above', 'of more than'))} {value}",
            "<": f"{_a(path)} {rng.choice(('below', 'of less than'))} {value}",
            "year": f"{_a(path)} in {value}",
            "known": f"a recorded {path}",
            "unknown": f"an unrecorded {path}",
        }[condition.operator]
    return {
        "=": f"{path} is '{value}'",
        ">": f"{path} is {rng.choice(_ABOVE)} {value}",
        "<": f"{path} is {rng.choice(_BELOW)} {value}",
        "year": f"{path} {rng.choice(('is', 'falls'))} in {value}",
        "known": f"{path} is recorded",
        "unknown": f"{path} is not recorded",
    }[condition.operator]


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def such(content: Content, table: str, conditions: tuple[Condition, ...], rng: random.Random) -> str:
    """Return the rows that fulfil conditions, as a noun phrase in the plural."""
    plural = content.table(table).plural
    if not conditions:
        return plural
    # A long chain of owners reads better as "of the … of the …", and "with" needs columns of the rows themselves.
    deep = max(len(condition.path) for condition in conditions)
    leads = ("for which the",) if deep > 1 else ("whose", "for which the") if deep else ("whose", "with")
    lead = rng.choice(leads)
    words = [condition_words(content, table, condition, lead, rng) for condition in conditions]
    joint = {"whose": " and whose ", "for which the": " and the ", "with": " and "}[lead]
    return f"{plural} {lead} {joint.join(words)}"


_WORDING: Mapping[str, Sequence[str]] = read_table(__file__, "queries.json")


def worded(content: Content, query: Query, rng: random.Random) -> str:
    """Return the question in words."""
    table = content.table(query.table)
    words = {
        "such": such(content, query.table, query.conditions, rng),
        "noun": table.noun,
        "plural": table.plural,
        "table": table.name,
        "label": table.label or "",
        "labels": f"{table.label}s",
        "column": table.column(query.column).phrase if query.column else "",
        "a_column": _a(table.column(query.column).phrase) if query.column else "",
        "number": str(query.number),
        "value": str(query.conditions[0].value) if query.conditions else "",
        "most": "highest" if query.largest else "lowest",
    }
    kind = query.kind
    if query.parent:
        parent = content.table(query.parent)
        words |= {"parent": parent.noun, "parents": parent.plural, "parent_label": parent.label or "",
                  "parent_labels": f"{parent.label}s",
                  "parent_such": such(content, query.parent, query.parent_conditions, rng)}  # fmt: skip
    if kind == "top":
        kind = "top total" if query.column else "top count"
        rank = ("", "second ")[query.number]
        words["place"] = f"{rank}highest" if query.column else f"the {rank}most"
    text: str = rng.choice(_WORDING[kind])
    return text.format(**words)
