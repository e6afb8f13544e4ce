"""Who may do what: grants, grants on columns, row security, views that hide columns.

Roles belong to the whole cluster, so no task creates one; the tasks grant to those that every cluster has.
"""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from random import Random
from typing import Any

from gem_envs_desk.mcp.content import DatabaseContent, TaskTable
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask
from gem_envs_desk.mcp.snapshots import Probe

__all__ = ["SECURITY"]

_ROLES = ("reader", "clerk", "auditor", "analyst", "support", "manager")
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")


def _grants(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    one, other = rng.sample(_ROLES, 2)
    hidden = rng.choice(("salary", "email"))
    shown = [name for name in ("id", "name", "team", "salary", "email") if name != hidden]
    return DatabaseTask(
        content,
        f"Let the role {one} read the whole table {b.party}, and the role {other} read all columns of {b.worker} "
        f"except {hidden}. The role {one} may also insert rows into {b.deal}, but not read them.",
        (f"GRANT SELECT ON {b.party} TO {one}", f"GRANT SELECT ({', '.join(shown)}) ON {b.worker} TO {other}",
         f"GRANT INSERT ON {b.deal} TO {one}"),
    )  # fmt: skip


def _plan(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    tables = [table.name for table in content.tables]
    cells = [(role, table, right) for role in _ROLES[:4] for table in tables for right in _RIGHTS]
    planned = rng.sample(cells, 12)
    missing, held = planned[:3], planned[3:]
    excess = rng.sample([cell for cell in cells if cell not in planned], 3)
    rows: list[tuple[Any, ...]] = [(number, *cell) for number, cell in enumerate(planned, 1)]
    create = "id integer PRIMARY KEY, role_name text NOT NULL, table_name text NOT NULL, privilege text NOT NULL"
    plan = TaskTable("access_plan", create, ("id", "role_name", "table_name", "privilege"), rows)
    after = tuple(f"GRANT {right} ON {table} TO {role}" for role, table, right in [*held, *excess])
    return DatabaseTask(
        content.with_table(plan)._replace(after=after),
        f"The table access_plan lists the privileges that the roles {', '.join(_ROLES[:4])} shall have on "
        f"{', '.join(tables)}, and they shall have no others. Bring the database in line with it.",
        (*(f"GRANT {right} ON {table} TO {role}" for role, table, right in missing),
         *(f"REVOKE {right} ON {table} FROM {role}" for role, table, right in excess)),
    )  # fmt: skip


def _row_security(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    one, all_seer, nobody = rng.sample(_ROLES, 3)
    region = rng.choice(b.regions)
    here = [row["id"] for row in content.rows(b.party) if row["region"] == region]
    if not 0 < len(here) < len(content.rows(b.party)):
        return None
    after = (f"GRANT SELECT ON {b.party} TO {one}, {all_seer}, {nobody}",)
    select = f"SELECT id, name FROM {b.party}"
    new = f"INSERT INTO {b.party} VALUES (901, 'New', '{region}', 'x', NULL)"
    return DatabaseTask(
        content._replace(after=after),
        f"The roles {one}, {all_seer} and {nobody} may all read {b.party}. By row security, let {one} see only the "
        f"rows of the region '{region}', {all_seer} see all rows, and {nobody} see none. "
        "Leave their grants as they are.",
        (f"ALTER TABLE {b.party} ENABLE ROW LEVEL SECURITY",
         f"CREATE POLICY regional ON {b.party} FOR SELECT TO {one} USING (region = '{region}')",
         f"CREATE POLICY everything ON {b.party} FOR SELECT TO {all_seer} USING (true)"),
        probes=(*(Probe((select, f"SELECT COUNT(*) FROM {b.party} WHERE region <> '{region}'"), role)
                  for role in (one, all_seer, nobody)), Probe((new, select))),
    )  # fmt: skip


def _row_updates(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    role = rng.choice(_ROLES)
    state, other = rng.sample(b.states, 2)
    rows = content.rows(b.deal)
    if not all(any(row["status"] == one for row in rows) for one in (state, other)):
        return None
    after = (f"GRANT SELECT, UPDATE ON {b.deal} TO {role}",)
    return DatabaseTask(
        content._replace(after=after),
        f"The role {role} may read and update {b.deal}. By row security, let it go on reading all rows, but update "
        f"only those with the status '{state}', and never give a row another status than that.",
        (f"ALTER TABLE {b.deal} ENABLE ROW LEVEL SECURITY",
         f"CREATE POLICY reading ON {b.deal} FOR SELECT TO {role} USING (true)",
         f"CREATE POLICY writing ON {b.deal} FOR UPDATE TO {role} USING (status = '{state}') "
         f"WITH CHECK (status = '{state}')"),
        probes=(Probe((f"SELECT id FROM {b.deal}",
                       f"UPDATE {b.deal} SET note = 'x' RETURNING id",
                       f"UPDATE {b.deal} SET status = '{other}' WHERE status = '{state}'",
                       f"UPDATE {b.deal} SET status = '{state}' WHERE status = '{other}' RETURNING id",
                       f"INSERT INTO {b.deal} VALUES (901, 1, '{state}', 1, '2024-01-01', NULL)",
                       f"DELETE FROM {b.deal}"), role),),
    )  # fmt: skip


def _masking_view(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    role = rng.choice(_ROLES)
    name = rng.choice(("staff_list", "public_staff", "directory"))
    select = f"SELECT id, name, team FROM {name}"
    return DatabaseTask(
        content._replace(after=(f"GRANT SELECT ON {b.worker} TO {role}",)),
        f"The role {role} must no longer read the table {b.worker}. Instead, create a view {name} of it with the "
        f"columns id, name and team, and let {role} read this view.",
        (f"CREATE VIEW {name} AS SELECT id, name, team FROM {b.worker}",
         f"GRANT SELECT ON {name} TO {role}", f"REVOKE SELECT ON {b.worker} FROM {role}"),
        probes=(Probe((select, f"SELECT * FROM {b.worker}"), role),
                Probe((f"INSERT INTO {b.worker} VALUES (901, 'New', 'x', 1, NULL)", select))),
    )  # fmt: skip


def _column_update(rng: Random, content: DatabaseContent) -> DatabaseTask | None:
    b = content.business
    role = rng.choice(_ROLES)
    column, other = rng.sample(("status", "note", "amount"), 2)
    return DatabaseTask(
        content._replace(after=(f"GRANT SELECT, UPDATE, DELETE ON {b.deal} TO {role}",)),
        f"The role {role} may read, update and delete {b.deal}. From now on it may still read everything, but update "
        f"only the column {column}, and delete nothing.",
        (f"REVOKE UPDATE ON {b.deal} FROM {role}", f"REVOKE DELETE ON {b.deal} FROM {role}",
         f"GRANT UPDATE ({column}) ON {b.deal} TO {role}"),
        probes=(Probe((f"UPDATE {b.deal} SET {column} = {column}", f"UPDATE {b.deal} SET {other} = {other}"), role),),
    )  # fmt: skip


SECURITY = {
    "grants": DatabaseFamily(_grants, "security"),
    "plan": DatabaseFamily(_plan, "security"),
    "row_security": DatabaseFamily(_row_security, "security"),
    "row_updates": DatabaseFamily(_row_updates, "security"),
    "masking_view": DatabaseFamily(_masking_view, "security"),
    "column_update": DatabaseFamily(_column_update, "security"),
}
