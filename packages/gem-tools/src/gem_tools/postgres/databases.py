"""The databases of a cluster: ready ones, those of episodes, and those to drop. SQL of the superuser.

A row of the table ``episodes`` in the database ``postgres`` describes a database, and the role of the same name that
owns it. The row is there before the database is, so that whatever a killed process leaves half made is found. A lease
is a number on which the session of a process holds an advisory lock: PostgreSQL frees it when the process ends, in
whatever way, so no process identifier is compared and nothing must be cleaned up by the process.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from gem_tools.postgres.location import PROBER

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "CHANNEL",
    "SHARED_ROLES",
    "DatabaseCount",
    "ReadyDatabase",
    "add_ready",
    "claim",
    "count_databases",
    "drop_orphans",
    "give_back",
    "held_leases",
    "hide_neighbours",
    "prepare_cluster",
]

CHANNEL = "gem_episodes"
"""Notified when a database was claimed or given back."""

SHARED_ROLES = ("reader", "clerk", "auditor", "analyst", "support", "manager")
"""Roles without a login in every cluster, to which tasks grant privileges.

Roles belong to the cluster, not to a database, so no episode may create or alter one. But a grant on a table belongs to
the table's database, and so these few can serve all episodes at once.
"""

_TEMPLATE = "gem_template"
_SESSIONS = 12
"""Maximum number of connections of an episode's role."""

_SCHEMA = """CREATE TABLE episodes (
    name text PRIMARY KEY, password text NOT NULL, lease bigint, state text NOT NULL DEFAULT 'making'
)"""

_HIDDEN = (
    # The names of other episodes' databases, and what their sessions do.
    "REVOKE SELECT ON pg_database, pg_stat_activity, pg_stat_database, pg_stat_ssl, pg_stat_gssapi, pg_locks,"
    " pg_stat_database_conflicts, pg_db_role_setting, pg_shdepend, pg_shdescription, pg_roles, pg_user, pg_group,"
    " pg_auth_members FROM PUBLIC",
    "REVOKE EXECUTE ON FUNCTION pg_stat_get_activity(int), pg_lock_status() FROM PUBLIC",
)


class ReadyDatabase(NamedTuple):
    """A database for an episode."""

    name: str
    """Of the database and of the role that owns it."""
    password: str


class DatabaseCount(NamedTuple):
    """The databases of a cluster by state."""

    ready: int
    used: int


def prepare_cluster(admin: psycopg.Connection[Any]) -> None:
    """Set up a new cluster: the table of databases, the template, the shared roles."""
    admin.execute(_SCHEMA)
    admin.execute("REVOKE CONNECT, TEMPORARY ON DATABASE postgres, template1 FROM PUBLIC")
    for role in SHARED_ROLES:
        admin.execute(f"CREATE ROLE {role} NOLOGIN".encode())
    admin.execute(f"CREATE ROLE {PROBER} LOGIN NOINHERIT IN ROLE {', '.join(SHARED_ROLES)}".encode())
    admin.execute(f"CREATE DATABASE {_TEMPLATE} IS_TEMPLATE true".encode())


def hide_neighbours(template: psycopg.Connection[Any]) -> None:
    """Take from the template, and so from its copies, the views that show other episodes."""
    for statement in _HIDDEN:
        template.execute(statement.encode())


def add_ready(admin: psycopg.Connection[Any], lease: int | None = None) -> ReadyDatabase:
    """Make a database with its role; the caller may claim it at once by a lease."""
    name = f"e{secrets.token_hex(8)}"
    password = secrets.token_hex(16)
    admin.execute("INSERT INTO episodes (name, password, lease) VALUES (%s, %s, %s)", (name, password, lease))
    limits = f"NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION CONNECTION LIMIT {_SESSIONS}"
    admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}' {limits}".encode())
    # A copy of the files costs a third of a copy through the log of writes, where no write waits for the disk.
    strategy = " STRATEGY file_copy" if admin.info.server_version >= 150000 else ""
    admin.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {name}{strategy}".encode())
    admin.execute(f"GRANT CONNECT ON DATABASE {name} TO {PROBER}".encode())
    admin.execute(f"REVOKE CONNECT, TEMPORARY ON DATABASE {name} FROM PUBLIC".encode())
    admin.execute("UPDATE episodes SET state = %s WHERE name = %s", ("ready" if lease is None else "used", name))
    return ReadyDatabase(name, password)


def claim(admin: psycopg.Connection[Any], lease: int) -> ReadyDatabase:
    """Return a database that belongs to the lease from now on: a ready one, or else a new one."""
    found = admin.execute(
        "UPDATE episodes SET state = 'used', lease = %s WHERE name ="
        " (SELECT name FROM episodes WHERE state = 'ready' LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING name, password",
        (lease,),
    ).fetchone()
    made = add_ready(admin, lease) if found is None else ReadyDatabase(*found)
    admin.execute(f"NOTIFY {CHANNEL}".encode())
    return made


def give_back(admin: psycopg.Connection[Any], name: str) -> None:
    """Leave a database to the supervisor, which drops it."""
    admin.execute("UPDATE episodes SET state = 'done' WHERE name = %s", (name,))
    admin.execute(f"NOTIFY {CHANNEL}".encode())


def held_leases(admin: psycopg.Connection[Any]) -> set[int]:
    """Return the leases whose processes run."""
    rows = admin.execute(
        "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
        " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = 'postgres')"
    )
    return {row[0] for row in rows}


def count_databases(admin: psycopg.Connection[Any]) -> DatabaseCount:
    """Return the number of databases that wait for an episode, and of those in use."""
    counts = dict(admin.execute("SELECT state, count(*) FROM episodes GROUP BY state").fetchall())
    return DatabaseCount(counts.get("ready", 0), counts.get("used", 0))


def drop_orphans(admin: psycopg.Connection[Any], own_lease: int) -> int:
    """Drop the databases that were given back or whose lease nobody holds, with their roles; return their number.

    Args:
        admin: a session of the superuser.
        own_lease: the caller's, which makes the ready ones; a half-made one of another process is an orphan.
    """
    # The leases are read after the rows: a process takes its lease before it writes a row.
    rows = admin.execute("SELECT name, lease, state FROM episodes WHERE state <> 'ready'").fetchall()
    held = held_leases(admin) | {own_lease}
    gone = [name for name, lease, state in rows if state == "done" or lease not in held]
    for name in gone:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        admin.execute(f"DROP ROLE IF EXISTS {name}".encode())
        admin.execute("DELETE FROM episodes WHERE name = %s", (name,))
    return len(gone)
