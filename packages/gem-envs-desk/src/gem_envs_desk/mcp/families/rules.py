"""Rules that a database keeps by itself, after the rows that break them were repaired."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from random import Random
from typing import Any

from gem_envs_desk.mcp.content import DatabaseContent, TaskTable, money, replaced
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask
from gem_envs_desk.mcp.snapshots import Probe

__all__ = ["RULES"]


def _check(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    deals = next(table for table in content.tables if table.name == b.deal)
    place = deals.columns.index("amount")
    wrong = set(rng.sample(range(len(deals.rows)), rng.randint(2, 4)))
    amounts = [f"-{row[place]}" if number in wrong else row[place] for number, row in enumerate(deals.rows)]
    insert = f"INSERT INTO {b.deal} VALUES ({{}}, 1, 'new', {{}}, '2024-01-01', NULL)"
    return DatabaseTask(
        content.with_table(replaced(deals, "amount", amounts)),
        f"Some amounts of {b.deal} were entered with a minus sign. Make them positive, and let the database refuse an "
        "amount that is not greater than 0 from now on, by a check constraint.",
        (f"UPDATE {b.deal} SET amount = -amount WHERE amount < 0",
         f"ALTER TABLE {b.deal} ADD CHECK (amount > 0)"),
        probes=(Probe((insert.format(9001, "0.01"), insert.format(9002, "0"), insert.format(9003, "-1"),
                       f"UPDATE {b.deal} SET amount = 0 WHERE id = 1")),),
    )  # fmt: skip


def _not_null(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    name = rng.choice((b.party, b.worker))
    table = next(one for one in content.tables if one.name == name)
    place = table.columns.index("email")
    gone = set(rng.sample(range(len(table.rows)), rng.randint(2, 4)))
    values = [None if number in gone else row[place] for number, row in enumerate(table.rows)]
    domain = rng.choice(("example.net", "example.com"))
    return DatabaseTask(
        content.with_table(replaced(table, "email", values)),
        f"Some rows of {table.name} have no email. Give each of them the address id@{domain}, with its id in the place "
        f"of the word id (such as 7@{domain}), and make the column mandatory.",
        (f"UPDATE {table.name} SET email = id || '@{domain}' WHERE email IS NULL",
         f"ALTER TABLE {table.name} ALTER COLUMN email SET NOT NULL"),
    )  # fmt: skip


def _unique(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    lines = next(table for table in content.tables if table.name == b.line)
    seen: set[tuple[Any, Any]] = set()
    rows: list[tuple[Any, ...]] = []
    for row in lines.rows:
        if (row[1], row[2]) not in seen:
            seen.add((row[1], row[2]))
            rows.append((len(rows) + 1, *row[1:]))
    for original in rng.sample(rows, rng.randint(3, 4)):
        rows.append((len(rows) + 1, original[1], original[2], rng.randint(1, 5), original[4]))
    same = f"o.{b.deal_id} = {b.line}.{b.deal_id} AND o.item = {b.line}.item"
    return DatabaseTask(
        content.with_table(lines._replace(rows=rows)),
        f"An item may occur only once in each {b.deal_one}. Where {b.line} has several rows of one {b.deal_one} and "
        "item, keep the one with the lowest id, give it the sum of their quantities, and delete the others. Then "
        f"guarantee it by a unique constraint on {b.deal_id} and item, in this order.",
        (f"UPDATE {b.line} SET quantity = (SELECT SUM(o.quantity) FROM {b.line} o WHERE {same})",
         f"DELETE FROM {b.line} WHERE id > (SELECT MIN(o.id) FROM {b.line} o WHERE {same})",
         f"ALTER TABLE {b.line} ADD UNIQUE ({b.deal_id}, item)"),
    )  # fmt: skip


def _foreign_key(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    most = len(content.rows(b.deal))
    rows = [(number, rng.randint(1, most), rng.randint(1, 5)) for number in range(1, 16)]
    for number in range(rng.randint(2, 4)):
        rows.append((len(rows) + 1, most + 10 + number, rng.randint(1, 5)))
    rng.shuffle(rows)
    create = f"id integer PRIMARY KEY, {b.deal_id} integer, stars integer NOT NULL"
    ending, action = rng.choice(
        (("is deleted, too", "CASCADE"), (f"stays, and its {b.deal_id} becomes empty (null)", "SET NULL"))
    )
    target = rng.choice([row[1] for row in rows if row[1] <= most])
    return DatabaseTask(
        content.with_table(TaskTable("ratings", create, ("id", b.deal_id, "stars"), rows)),
        f"The table ratings refers to {b.deal} by {b.deal_id}, but no foreign key says so. Delete the ratings whose "
        f"{b.deal_one} does not exist, and add the foreign key, such that a rating {ending} when its {b.deal_one} is "
        "deleted.",
        (f"DELETE FROM ratings WHERE {b.deal_id} NOT IN (SELECT id FROM {b.deal})",
         f"ALTER TABLE ratings ADD FOREIGN KEY ({b.deal_id}) REFERENCES {b.deal} (id) ON DELETE {action}"),
        probes=(Probe((f"DELETE FROM {b.line} WHERE {b.deal_id} = {target}",
                       f"DELETE FROM {b.deal} WHERE id = {target}",
                       f"SELECT id, {b.deal_id} FROM ratings", f"INSERT INTO ratings VALUES (900, {most + 99}, 1)")),),
    )  # fmt: skip


def _interval(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    rows: list[tuple[Any, ...]] = []
    for number in range(1, 15):
        worker, year, month = rng.randint(1, 8), rng.randint(2022, 2024), rng.randint(1, 11)
        rows.append((number, worker, f"{year}-{month:02}-10", f"{year}-{month + 1:02}-05", money(rng)))
    for place in rng.sample(range(len(rows)), rng.randint(2, 3)):
        number, worker, begins, ends, paid = rows[place]
        rows[place] = (number, worker, ends, begins, paid)
    create = (
        f"id integer PRIMARY KEY, {b.worker_one}_id integer NOT NULL REFERENCES {b.worker} (id), begins_on date NOT "
        "NULL, ends_on date NOT NULL, paid numeric(10, 2) NOT NULL"
    )
    name = rng.choice(("absences", "contracts", "trainings"))
    columns = ("id", f"{b.worker_one}_id", "begins_on", "ends_on", "paid")
    insert = f"INSERT INTO {name} VALUES ({{}}, 1, '2024-03-02', '{{}}', 1)"
    return DatabaseTask(
        content.with_table(TaskTable(name, create, columns, rows)),
        f"In some rows of {name}, beginning and end are swapped: ends_on is before begins_on. Swap them back, and let "
        "the database refuse such rows by a check constraint; both may be the same day.",
        (f"UPDATE {name} SET begins_on = ends_on, ends_on = begins_on WHERE ends_on < begins_on",
         f"ALTER TABLE {name} ADD CHECK (ends_on >= begins_on)"),
        probes=(Probe((insert.format(901, "2024-03-02"), insert.format(902, "2024-03-01"),
                       insert.format(903, "2024-04-01"))),),
    )  # fmt: skip


RULES = {
    "check": DatabaseFamily(_check, "rules"),
    "not_null": DatabaseFamily(_not_null, "rules"),
    "unique": DatabaseFamily(_unique, "rules"),
    "foreign_key": DatabaseFamily(_foreign_key, "rules"),
    "interval": DatabaseFamily(_interval, "rules"),
}
