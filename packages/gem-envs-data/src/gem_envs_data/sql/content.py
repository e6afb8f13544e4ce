"""The rows of a database, by level: more tables, more rows, codes in place of words, an outdated copy."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from gem_envs_data.names import NameMaker
from gem_envs_data.sql.domains import DOMAINS, Column, Domain, SqlTable

__all__ = ["CODES", "Content", "Row", "make_content"]

Row = dict[str, Any]
"""Column → str, int or None."""

CODES = "code_list"
"""The table with the meanings of codes: ``field`` (``table.column``), ``code``, ``meaning``."""

_ROWS = {
    1: {"owner": 8, "main": 26},
    2: {"owner": 8, "main": 26, "other": 16, "event": 90},
    3: {"owner": 10, "main": 34, "other": 22, "event": 170, "note": 80},
}
"""Level → part → number of rows."""

_TITLES = ("{} Rising", "The {} Affair", "Under {}", "Notes on {}", "{} Revisited", "After {}")


class Content(NamedTuple):
    """A database before it is loaded into an engine."""

    domain: Domain
    level: int
    tables: dict[str, list[Row]]
    """Table → rows as they are stored, with codes where there are codes; in the order of creation."""
    codes: dict[str, dict[str, str]]
    """``table.column`` → word → its code."""
    copy: str | None
    """The table that is an outdated copy of the main table."""

    def table(self, name: str) -> SqlTable:
        """Return the description of one of the domain's tables."""
        return next(table for table in self.domain.tables if table.name == name)

    def create_statements(self) -> list[str]:
        """Return the statements that create all tables, in an order that references allow."""
        statements = []
        for name in self.tables:
            if name == CODES:
                statements.append(f"CREATE TABLE {CODES} (field TEXT, code TEXT, meaning TEXT)")
                continue
            table = self.domain.main if name == self.copy else self.table(name)
            lines = ["id INTEGER PRIMARY KEY", *([] if table.label is None else [f"{table.label} TEXT"])]
            lines += [f"{column.name} {'INTEGER' if column.kind == 'number' else 'TEXT'}" for column in table.columns]
            if name != self.copy:
                lines += [f"{other}_id INTEGER REFERENCES {other}(id)" for other in table.references]
            statements.append(f"CREATE TABLE {name} ({', '.join(lines)})")
        return statements


def make_content(rng: random.Random, level: int, split: str) -> Content:
    """Return the content of a database; the first row of its ``owner`` table decides the split."""
    domain = rng.choice(DOMAINS)
    names = NameMaker(rng)
    first = names.first(split, person=domain.owner.name in _PEOPLE)
    parts = {"owner": domain.owner, "main": domain.main, "other": domain.other, "event": domain.event,
             "note": domain.note}  # fmt: skip
    counts = _ROWS[level]
    content = Content(domain, level, {}, {}, f"{domain.main.name}_old" if level == 3 else None)
    for part, count in counts.items():
        content.tables[parts[part].name] = _rows(rng, names, parts[part], count, content, first)
    if level == 3:
        assert content.copy is not None
        content.tables[content.copy] = _outdated(rng, domain.main, content.tables[domain.main.name])
        _encode(rng, content)
    return content


_PEOPLE = frozenset(
    ("author", "member", "doctor", "patient", "student", "customer", "artist", "player", "traveller", "engineer")
)
_TITLED = frozenset(("book", "course", "painting", "tour"))


def _rows(rng: random.Random, names: NameMaker, table: SqlTable, count: int, content: Content, first: str) -> list[Row]:
    places = {column.name: [names.word() for _ in range(5)] for column in table.columns if column.kind == "place"}
    rows: list[Row] = []
    for number in range(1, count + 1):
        row: Row = {"id": number}
        if table.label is not None:
            is_first = number == 1 and table is content.domain.owner
            row[table.label] = first if is_first else _label(rng, names, table)
        for column in table.columns:
            row[column.name] = _value(rng, column, places)
        for other in table.references:
            # Some rows are named often and some never.
            others = len(content.tables[other])
            row[f"{other}_id"] = 1 + int(others * rng.random() ** 1.4)
        rows.append(row)
    return rows


def _label(rng: random.Random, names: NameMaker, table: SqlTable) -> str:
    if table.name in _PEOPLE:
        return names.person()
    word = names.word()
    return rng.choice(_TITLES).format(word) if table.name in _TITLED else word


def _value(rng: random.Random, column: Column, places: dict[str, list[str]]) -> str | int | None:
    if column.kind == "number":
        if column.may_be_null and rng.random() < 0.3:
            return None
        return rng.randint(column.lowest, column.highest)
    if column.kind == "date":
        return f"{rng.randint(2019, 2023)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return rng.choice(places[column.name] if column.kind == "place" else column.values)


def _outdated(rng: random.Random, table: SqlTable, rows: list[Row]) -> list[Row]:
    """Return a copy of some rows in which half of the values differ."""
    kept = []
    for row in rng.sample(rows, len(rows) * 4 // 5):
        old = {name: value for name, value in row.items() if not name.endswith("_id")}
        for column in table.columns:
            if rng.random() < 0.5:
                old[column.name] = _value(rng, column, {})
        kept.append(old)
    return kept


def _encode(rng: random.Random, content: Content) -> None:
    """Replace the words of the main and the event table by codes, and add the list of codes."""
    listed: list[Row] = []
    for table in (content.domain.main, content.domain.event):
        for column in table.columns:
            if column.kind != "word":
                continue
            numbers = rng.sample(range(10, 100), len(column.values))
            codes = {
                word: f"{column.name[0].upper()}{number}" for word, number in zip(column.values, numbers, strict=True)
            }
            field = f"{table.name}.{column.name}"
            content.codes[field] = codes
            listed += [{"field": field, "code": code, "meaning": word} for word, code in codes.items()]
            for name in (table.name, content.copy):
                if name == table.name or table is content.domain.main:
                    for row in content.tables[str(name)]:
                        row[column.name] = codes[row[column.name]]
    rng.shuffle(listed)
    content.tables[CODES] = listed
