"""Changes of rows: what a clerk or a nightly job would do."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from random import Random
from typing import Any

from gem_envs_desk.mcp.content import DatabaseContent, TaskTable, day, email_of, money, person
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask

__all__ = ["ROWS"]


def _raise_prices(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    item, state, more = rng.choice(b.items), rng.choice(b.states), rng.choice(("0.75", "2.50", "4.25"))
    of_state = {row["id"] for row in content.rows(b.deal) if row["status"] == state}
    such = [row for row in content.rows(b.line) if row["item"] == item]
    if not 0 < sum(row[b.deal_id] in of_state for row in such) < len(such):
        return None
    return DatabaseTask(
        content,
        f"Raise the unit price of the {b.line} of the item '{item}' by {more}, but only in {b.deal} with the status "
        f"'{state}'.",
        (f"UPDATE {b.line} SET unit_price = unit_price + {more} WHERE item = '{item}' AND {b.deal_id} IN "
         f"(SELECT id FROM {b.deal} WHERE status = '{state}')",),
    )  # fmt: skip


def _merge_duplicates(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    parties, deals = (next(table for table in content.tables if table.name == name) for name in (b.party, b.deal))
    rows, deal_rows = list(parties.rows), list(deals.rows)
    for original in rng.sample(parties.rows, rng.randint(2, 3)):
        number = len(rows) + 1
        rows.append((number, original[1], original[2], rng.choice(b.tiers), original[4]))
        for _ in range(rng.randint(1, 2)):
            deal_rows.append((len(deal_rows) + 1, number, rng.choice(b.states), money(rng), day(rng), None))
    # A namesake with another address is somebody else.
    namesake = rng.choice(parties.rows)
    rows.append((len(rows) + 1, namesake[1], namesake[2], namesake[3], email_of(namesake[1], len(rows) + 1)))
    content = content.with_table(parties._replace(rows=rows)).with_table(deals._replace(rows=deal_rows))
    lowest = f"(SELECT MIN(k.id) FROM {b.party} k WHERE k.email = p.email)"
    return DatabaseTask(
        content,
        f"Some {b.party} were entered twice: rows with the same email are the same {b.party_one}. Of each, keep the "
        f"row with the lowest id, let the {b.deal} of the others refer to it, and delete the others.",
        (f"UPDATE {b.deal} SET {b.party_id} = (SELECT {lowest} FROM {b.party} p WHERE p.id = {b.deal}.{b.party_id})",
         f"DELETE FROM {b.party} WHERE id NOT IN (SELECT MIN(id) FROM {b.party} GROUP BY email)"),
    )  # fmt: skip


def _archive(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    state, before = rng.choice(b.states), f"{rng.choice((2023, 2024))}-01-01"
    chosen = {row["id"] for row in content.rows(b.deal) if row["status"] == state and row["placed_on"] < before}
    if len(chosen) < 2 or not any(row[b.deal_id] in chosen for row in content.rows(b.line)):
        return None
    for name in (b.deal, b.line):
        source = next(table for table in content.tables if table.name == name)
        create = source.create.replace(f" REFERENCES {b.deal} (id)", "").replace(f" REFERENCES {b.party} (id)", "")
        content = content.with_table(TaskTable(f"{name}_archive", create, source.columns, []))
    such = f"status = '{state}' AND placed_on < '{before}'"
    inside = f"{b.deal_id} IN (SELECT id FROM {b.deal} WHERE {such})"
    return DatabaseTask(
        content,
        f"Move the {b.deal} with the status '{state}' that were placed before {before} to the table {b.deal}_archive, "
        f"and their {b.line} to {b.line}_archive.",
        (f"INSERT INTO {b.deal}_archive SELECT * FROM {b.deal} WHERE {such}",
         f"INSERT INTO {b.line}_archive SELECT * FROM {b.line} WHERE {inside}",
         f"DELETE FROM {b.line} WHERE {inside}",
         f"DELETE FROM {b.deal} WHERE {such}"),
    )  # fmt: skip


def _import(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    parties = next(table for table in content.tables if table.name == b.party)
    rows: list[tuple[Any, ...]] = []
    for row in rng.sample(parties.rows, 3):
        region = rng.choice([one for one in b.regions if one != row[2]])
        rows.append((row[0], row[1], region, rng.choice(b.tiers), row[4]))
    for number in range(rng.randint(2, 3)):
        name = person(rng)
        new = len(parties.rows) + 1 + number * 2
        rows.append((new, name, rng.choice(b.regions), rng.choice(b.tiers), email_of(name, new)))
    rng.shuffle(rows)
    content = content.with_table(parties._replace(name="incoming", rows=rows))
    columns = ("name", "region", "tier", "email")
    values = ", ".join(
        f"{column} = (SELECT i.{column} FROM incoming i WHERE i.id = {b.party}.id)" for column in columns
    )
    return DatabaseTask(
        content,
        f"The table incoming holds new and changed {b.party}. Take them over into {b.party}: a row whose id exists "
        "there replaces its values, any other is added. Then empty incoming, but keep the table.",
        (f"UPDATE {b.party} SET {values} WHERE id IN (SELECT id FROM incoming)",
         f"INSERT INTO {b.party} SELECT * FROM incoming WHERE id NOT IN (SELECT id FROM {b.party})",
         "DELETE FROM incoming"),
    )  # fmt: skip


def _restore(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    deals = next(table for table in content.tables if table.name == b.deal)
    one, other = (row[1] for row in rng.sample(content.tables[3].rows, 2))
    state = {row[0]: row[2] for row in deals.rows}
    log: list[tuple[Any, ...]] = []
    touched = rng.sample(deals.rows, 8)
    for place, row in enumerate([*touched, *touched[:3]]):
        old = state[row[0]]
        new = rng.choice([one_state for one_state in b.states if one_state != old])
        # Some rows were changed twice; those of the other person stay.
        by = one if place < 5 or place >= 8 else other
        log.append((len(log) + 1, row[0], old, new, by))
        state[row[0]] = new
    if all(state[row[0]] == row[2] for row in touched[:5]):
        return None
    rows = [(*row[:2], state[row[0]], *row[3:]) for row in deals.rows]
    if any(state[row[0]] == row[2] for row in touched[:5]):
        return None  # changed back by chance
    create = f"id integer PRIMARY KEY, {b.deal_id} integer NOT NULL, old_status text, new_status text, changed_by text"
    name = f"{b.deal}_log"
    content = content.with_table(deals._replace(rows=rows)).with_table(
        TaskTable(name, create, ("id", b.deal_id, "old_status", "new_status", "changed_by"), log)
    )
    first = (
        f"SELECT l.old_status FROM {name} l WHERE l.{b.deal_id} = {b.deal}.id AND l.changed_by = '{one}' "
        "ORDER BY l.id LIMIT 1"
    )
    return DatabaseTask(
        content,
        f"The table {name} records every change of a status, in the order of its ids. Whatever {one} changed was a "
        f"mistake: give those {b.deal} the status that they had before {one}'s first change. Leave the log as it is.",
        (f"UPDATE {b.deal} SET status = ({first}) WHERE id IN (SELECT {b.deal_id} FROM {name} "
         f"WHERE changed_by = '{one}')",),
    )  # fmt: skip


def _complete(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    used = {row[b.deal_id] for row in content.rows(b.line)}
    if len(content.rows(b.deal)) - len(used) < 2:
        return None
    item = rng.choice(("unknown", "lump sum", "unspecified"))
    return DatabaseTask(
        content,
        f"Each of the {b.deal} without any {b.line} gets one: the item '{item}', the quantity 1, and its amount as "
        "the unit price. The new ids follow the highest id so far, one by one, in the order of the ids of the "
        f"{b.deal}.",
        (f"INSERT INTO {b.line} SELECT (SELECT MAX(id) FROM {b.line}) + ROW_NUMBER() OVER (ORDER BY d.id), d.id, "
         f"'{item}', 1, d.amount FROM {b.deal} d WHERE d.id NOT IN (SELECT {b.deal_id} FROM {b.line})",),
    )  # fmt: skip


ROWS = {
    "raise_prices": DatabaseFamily(_raise_prices, "rows", in_sqlite=True),
    "merge_duplicates": DatabaseFamily(_merge_duplicates, "rows", in_sqlite=True),
    "archive": DatabaseFamily(_archive, "rows", in_sqlite=True),
    "import": DatabaseFamily(_import, "rows", in_sqlite=True),
    "restore": DatabaseFamily(_restore, "rows", in_sqlite=True),
    "complete": DatabaseFamily(_complete, "rows", in_sqlite=True),
}
