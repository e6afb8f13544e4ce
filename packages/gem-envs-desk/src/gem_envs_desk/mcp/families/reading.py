"""Questions whose answer is in the rows or in the catalogues of a database. The database must stay as it is."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from random import Random

from gem_envs_desk.mcp.content import DatabaseContent, TaskTable, day
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask

__all__ = ["READING"]


def _joined_sum(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    region, state = rng.choice(b.regions), rng.choice(b.states)
    here = {row["id"] for row in content.rows(b.party) if row["region"] == region}
    chosen = [row for row in content.rows(b.deal) if row[b.party_id] in here and row["status"] == state]
    if len(chosen) < 2 or len({row["status"] for row in content.rows(b.deal) if row[b.party_id] in here}) < 2:
        return None
    total = sum(Decimal(row["amount"]) for row in chosen)
    return DatabaseTask(
        content,
        f"What do the amounts of all {b.deal} with the status '{state}' add up to, counting only {b.party} of the "
        f"region '{region}'? Answer with the number.",
        answer=(str(total),),
        look=f"SELECT ROUND(SUM(d.amount), 2) FROM {b.deal} d JOIN {b.party} p ON p.id = d.{b.party_id} "
        f"WHERE p.region = '{region}' AND d.status = '{state}'",
    )


def _largest(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    item = rng.choice(b.items)
    party_of = {row["id"]: row[b.party_id] for row in content.rows(b.deal)}
    sums: Counter[int] = Counter()
    for row in content.rows(b.line):
        if row["item"] == item:
            sums[party_of[row[b.deal_id]]] += int(row["quantity"] * Decimal(row["unit_price"]) * 100)
    first, second, *_ = [*sums.most_common(2), (0, 0), (0, 0)]
    if first[1] == second[1]:
        return None
    (name,) = (row["name"] for row in content.rows(b.party) if row["id"] == first[0])
    return DatabaseTask(
        content,
        f"Which of the {b.party} has the highest total of quantity times unit price over all {b.line} of the item "
        f"'{item}'? Answer with the name.",
        answer=(name,),
        look=f"SELECT p.name FROM {b.line} l JOIN {b.deal} d ON d.id = l.{b.deal_id} JOIN {b.party} p ON "
        f"p.id = d.{b.party_id} WHERE l.item = '{item}' GROUP BY p.id, p.name "
        "ORDER BY SUM(l.quantity * l.unit_price) DESC LIMIT 1",
    )


def _never(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    state = rng.choice(b.states)
    any_deal = {row[b.party_id] for row in content.rows(b.deal)}
    such = {row[b.party_id] for row in content.rows(b.deal) if row["status"] == state}
    names = [row["name"] for row in content.rows(b.party) if row["id"] in any_deal - such]
    if not 1 <= len(names) <= 6 or len(any_deal) == len(content.rows(b.party)):
        return None
    return DatabaseTask(
        content,
        f"Which {b.party} have {b.deal}, but none with the status '{state}'? Answer with their names, one a line.",
        answer=tuple(names),
        look=f"SELECT name FROM {b.party} p WHERE EXISTS (SELECT 1 FROM {b.deal} d WHERE d.{b.party_id} = p.id) AND "
        f"NOT EXISTS (SELECT 1 FROM {b.deal} d WHERE d.{b.party_id} = p.id AND d.status = '{state}')",
    )


def _unindexed(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    keys = [(b.deal, b.party_id), (b.line, b.deal_id)]
    for name, other, column in (("reviews", b.party, b.party_id), ("reminders", b.deal, b.deal_id),
                                ("badges", b.worker, f"{b.worker_one}_id")):  # fmt: skip
        rows = [(number, rng.randint(1, 5), rng.choice(b.tiers)) for number in range(1, rng.randint(3, 9))]
        create = f"id integer PRIMARY KEY, {column} integer NOT NULL REFERENCES {other} (id), kind text NOT NULL"
        content = content.with_table(TaskTable(name, create, ("id", column, "kind"), rows))
        keys.append((name, column))
    missing = rng.sample(keys, rng.randint(1, 3))
    after = [f"CREATE INDEX by_{table}_{column} ON {table} ({column})" for table, column in keys
             if (table, column) not in missing]  # fmt: skip
    # An index on another column, or with the key in the second place, is of no use for a look-up by the key.
    table, column = rng.choice(missing)
    after.append(f"CREATE INDEX {table}_pairs ON {table} (id, {column})")
    return DatabaseTask(
        content._replace(after=tuple(after)),
        "Which columns that refer to another table by a foreign key are not the first column of any index? Answer "
        "with each as table.column, one a line.",
        answer=tuple(f"{table}.{column}" for table, column in missing),
    )


def _differences(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    (deals,) = (table for table in content.tables if table.name == b.deal)
    changed = sorted(rng.sample(range(len(deals.rows)), rng.randint(2, 5)))
    rows = [list(row) for row in deals.rows]
    for place in changed:
        column = rng.choice((2, 4))
        old = rows[place][column]
        while rows[place][column] == old:
            rows[place][column] = rng.choice(b.states) if column == 2 else day(rng)
    rng.shuffle(rows)
    backup = TaskTable(f"{b.deal}_backup", deals.create, deals.columns, [tuple(row) for row in rows])
    return DatabaseTask(
        content.with_table(backup),
        f"The table {b.deal}_backup is a copy of {b.deal} as it was last night. Which rows have changed since then? "
        "Answer with their ids, one a line.",
        answer=tuple(str(deals.rows[place][0]) for place in changed),
        look=f"SELECT d.id FROM {b.deal} d JOIN {b.deal}_backup o ON o.id = d.id WHERE o.status <> d.status OR "
        "o.placed_on <> d.placed_on OR o.amount <> d.amount",
    )


def _rights(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    tables = [table.name for table in content.tables]
    role, right = rng.choice(("reader", "clerk", "auditor")), rng.choice(("UPDATE", "DELETE", "INSERT"))
    chosen = rng.sample(tables, rng.randint(1, 3))
    after = []
    for table in tables:
        after.append(f"GRANT SELECT ON {table} TO reader, clerk, auditor")
        if table in chosen:
            after.append(f"GRANT {right}{rng.choice(('', ', REFERENCES'))} ON {table} TO {role}")
        others = [one for one in ("INSERT", "UPDATE", "DELETE") if one != right]
        after.append(f"GRANT {rng.choice(others)} ON {table} TO {role}")
    return DatabaseTask(
        content._replace(after=tuple(after)),
        f"On which tables may the role {role} execute {right}? Answer with their names, one a line.",
        answer=tuple(chosen),
        look=f"SELECT table_name FROM information_schema.role_table_grants WHERE grantee = '{role}' AND "
        f"privilege_type = '{right}'",
    )


READING = {
    "joined_sum": DatabaseFamily(_joined_sum, "reading", in_sqlite=True),
    "largest": DatabaseFamily(_largest, "reading", in_sqlite=True),
    "never": DatabaseFamily(_never, "reading", in_sqlite=True),
    "unindexed": DatabaseFamily(_unindexed, "reading", in_sqlite=True),
    "differences": DatabaseFamily(_differences, "reading", in_sqlite=True),
    "rights": DatabaseFamily(_rights, "reading"),
}
