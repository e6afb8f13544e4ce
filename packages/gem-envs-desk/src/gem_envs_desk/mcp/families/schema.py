"""Changes of the schema: columns, tables, indexes, views, triggers, functions."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from random import Random

from gem_envs_desk.mcp.content import DatabaseContent, TaskTable, money
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask
from gem_envs_desk.mcp.snapshots import Probe

__all__ = ["SCHEMA"]


def _totals(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    column = rng.choice(("turnover", "total_amount", "sum_of_amounts"))
    return DatabaseTask(
        content,
        f"Add to the table {b.party} a column {column} of the type numeric(12, 2), and fill it with the sum of the "
        f"amounts of all {b.deal} of the {b.party_one}, 0 for those without.",
        (f"ALTER TABLE {b.party} ADD COLUMN {column} numeric(12, 2)",
         f"UPDATE {b.party} SET {column} = COALESCE((SELECT SUM(d.amount) FROM {b.deal} d WHERE d.{b.party_id} = "
         f"{b.party}.id), 0)"),
    )  # fmt: skip


def _normalise(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    table = rng.choice(("items", "articles", "item_list"))
    return DatabaseTask(
        content,
        f"Give the items of {b.line} a table of their own: {table}, with the columns id (integer, primary key) and "
        "name (text, not null, unique), one row for each item that occurs, numbered from 1 in alphabetical order. Add "
        f"to {b.line} a column item_id (integer, a foreign key to {table}), fill it, and drop the column item.",
        (f"CREATE TABLE {table} (id integer PRIMARY KEY, name text NOT NULL UNIQUE)",
         f"INSERT INTO {table} SELECT ROW_NUMBER() OVER (ORDER BY item), item FROM (SELECT DISTINCT item FROM "
         f"{b.line}) AS found",
         f"ALTER TABLE {b.line} ADD COLUMN item_id integer REFERENCES {table} (id)",
         f"UPDATE {b.line} SET item_id = (SELECT id FROM {table} WHERE name = item)",
         f"ALTER TABLE {b.line} DROP COLUMN item"),
    )  # fmt: skip


def _retype(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    currency = rng.choice(("EUR", "USD", "CHF"))
    rows = [(number, f"{currency} {money(rng)}") for number in range(1, 20)]
    table = TaskTable("statements", "id integer PRIMARY KEY, amount text NOT NULL", ("id", "amount"), rows)
    return DatabaseTask(
        content.with_table(table),
        f"The column amount of the table statements is text, such as '{rows[0][1]}'. Make it numeric(10, 2), and keep "
        "the numbers.",
        (f"ALTER TABLE statements ALTER COLUMN amount TYPE numeric(10, 2) USING replace(amount, '{currency} ', "
         "'')::numeric(10, 2)",),
    )  # fmt: skip


def _index(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    table, first, second = rng.choice(
        ((b.deal, b.party_id, "placed_on"), (b.deal, "status", "amount"), (b.line, b.deal_id, "quantity"))
    )
    way = rng.choice(("ascending", "descending"))
    order = " DESC" if way == "descending" else ""
    return DatabaseTask(
        content,
        f"Create one index on {table} for queries that fix {first} and sort by {second}: the columns {first}, "
        f"ascending, and {second}, {way}, in that order.",
        (f"CREATE INDEX by_{first}_and_{second} ON {table} ({first}, {second}{order})",),
    )


def _partial_index(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    team = rng.choice(b.teams)
    return DatabaseTask(
        content,
        f"Create a unique index on the column email of {b.worker} that covers only the rows with team = '{team}'.",
        (f"CREATE UNIQUE INDEX one_email ON {b.worker} (email) WHERE team = '{team}'",),
    )


def _view(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    region, name = rng.choice(b.regions), rng.choice(("overview", "regional_totals", "party_report"))
    here = [row["id"] for row in content.rows(b.party) if row["region"] == region]
    if not here or len(here) == len(content.rows(b.party)):
        return None
    values = f"9001, {here[0]}, '{b.states[0]}', 10.25, '2024-05-05'"
    return DatabaseTask(
        content,
        f"Create a view {name} with one row for each of the {b.party} of the region '{region}', also those without "
        f"{b.deal}. Its columns: id, name, {b.deal}_count (the number of their {b.deal}) and {b.deal}_sum (the sum "
        "of their amounts, 0 for none).",
        (f"CREATE VIEW {name} AS SELECT p.id, p.name, COUNT(d.id) AS {b.deal}_count, COALESCE(SUM(d.amount), 0) AS "
         f"{b.deal}_sum FROM {b.party} p LEFT JOIN {b.deal} d ON d.{b.party_id} = p.id WHERE p.region = '{region}' "
         "GROUP BY p.id, p.name",),
        probes=(Probe((f"INSERT INTO {b.deal} (id, {b.party_id}, status, amount, placed_on) VALUES ({values})",
                       f"SELECT id, name, {b.deal}_count, {b.deal}_sum FROM {name}")),),
    )  # fmt: skip


def _materialized(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    name = rng.choice(("monthly", "by_month", "month_totals"))
    return DatabaseTask(
        content,
        f"Create a materialized view {name} of {b.deal} with the columns month (text, such as 2024-03) and total (the "
        "sum of the amounts of the month), one row for each month that has any, and a unique index on its column "
        "month.",
        (f"CREATE MATERIALIZED VIEW {name} AS SELECT to_char(placed_on, 'YYYY-MM') AS month, SUM(amount) AS total "
         f"FROM {b.deal} GROUP BY 1",
         f"CREATE UNIQUE INDEX {name}_key ON {name} (month)"),
        probes=(Probe((f"UPDATE {b.deal} SET amount = amount + 1 WHERE id = 1", f"SELECT month, total FROM {name}",
                       f"REFRESH MATERIALIZED VIEW {name}", f"SELECT month, total FROM {name}")),),
    )  # fmt: skip


def _trigger(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    name = f"{b.deal}_log"
    create = f"{b.deal_id} integer NOT NULL, old_status text NOT NULL, new_status text NOT NULL"
    first, second = rng.sample(range(1, 30), 2)
    state = rng.choice(b.states)
    return DatabaseTask(
        content.with_table(TaskTable(name, create, (b.deal_id, "old_status", "new_status"), [])),
        f"From now on, whenever the status of a row of {b.deal} changes to another value, a row must go to {name} by "
        "itself, with the id and both values. Updates that leave the status as it is write none.",
        (f"CREATE FUNCTION log_status() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO {name} VALUES "
         "(NEW.id, OLD.status, NEW.status); RETURN NEW; END $$",
         f"CREATE TRIGGER log_status AFTER UPDATE ON {b.deal} FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM "
         "NEW.status) EXECUTE FUNCTION log_status()"),
        probes=(Probe((f"UPDATE {b.deal} SET status = '{state}' WHERE id IN ({first}, {second})",
                       f"UPDATE {b.deal} SET note = 'seen' WHERE id = {first}",
                       f"UPDATE {b.deal} SET status = status", f"UPDATE {b.deal} SET status = 'x' WHERE id = {second}",
                       f"INSERT INTO {b.deal} VALUES (9001, 1, 'y', 1, '2024-01-01', NULL)",
                       f"SELECT {b.deal_id}, old_status, new_status FROM {name}")),),
    )  # fmt: skip


def _generated(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    column = rng.choice(("line_total", "price_total", "value"))
    return DatabaseTask(
        content,
        f"Add to {b.line} a stored generated column {column} of the type numeric(12, 2) that always is quantity times "
        "unit_price.",
        (f"ALTER TABLE {b.line} ADD COLUMN {column} numeric(12, 2) GENERATED ALWAYS AS (quantity * unit_price) "
         "STORED",),
        probes=(Probe((f"UPDATE {b.line} SET quantity = quantity + 3 WHERE id < 9",
                       f"SELECT id, {column} FROM {b.line}", f"UPDATE {b.line} SET {column} = 1")),),
    )  # fmt: skip


def _function(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    state, name = rng.choice(b.states), rng.choice(("amount_of", "sum_for", "total_by"))
    if not any(row["status"] == state for row in content.rows(b.deal)):
        return None
    return DatabaseTask(
        content,
        f"Create a function {name} that takes the id of one of the {b.party}, an integer, and returns, as numeric, the "
        f"sum of the amounts of its {b.deal} with the status '{state}', and 0 if there are none.",
        (f"CREATE FUNCTION {name}(integer) RETURNS numeric LANGUAGE sql STABLE AS $$ SELECT COALESCE(SUM(amount), 0) "
         f"FROM {b.deal} WHERE {b.party_id} = $1 AND status = '{state}' $$",),
        probes=(Probe((f"SELECT id, {name}(id) FROM {b.party}", f"SELECT {name}(9999), pg_typeof({name}(1))")),),
    )  # fmt: skip


def _defaults(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    state = rng.choice(b.states)
    start = len(content.rows(b.deal)) + 1
    return DatabaseTask(
        content,
        f"New {b.deal} that come without a status get '{state}', and those without an id get the next number: ids "
        f"become an identity column, generated by default, that continues with {start}.",
        (f"ALTER TABLE {b.deal} ALTER COLUMN status SET DEFAULT '{state}'",
         f"ALTER TABLE {b.deal} ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (START WITH {start})"),
        probes=(Probe((f"INSERT INTO {b.deal} ({b.party_id}, amount, placed_on) VALUES (1, 5, '2024-02-02') "
                       "RETURNING id, status",
                       f"INSERT INTO {b.deal} (id, {b.party_id}, amount, placed_on, status) VALUES (7777, 1, 5, "
                       "'2024-02-02', 'z') RETURNING id, status",
                       "SELECT column_name, identity_generation FROM information_schema.columns WHERE table_name = "
                       f"'{b.deal}' AND is_identity = 'YES'")),),
    )  # fmt: skip


SCHEMA = {
    "totals": DatabaseFamily(_totals, "schema", in_sqlite=True),
    "normalise": DatabaseFamily(_normalise, "schema", in_sqlite=True),
    "retype": DatabaseFamily(_retype, "schema"),
    "index": DatabaseFamily(_index, "schema", in_sqlite=True),
    "partial_index": DatabaseFamily(_partial_index, "schema", in_sqlite=True),
    "view": DatabaseFamily(_view, "schema", in_sqlite=True),
    "materialized": DatabaseFamily(_materialized, "schema"),
    "trigger": DatabaseFamily(_trigger, "schema"),
    "generated": DatabaseFamily(_generated, "schema"),
    "function": DatabaseFamily(_function, "schema"),
    "defaults": DatabaseFamily(_defaults, "schema"),
}
