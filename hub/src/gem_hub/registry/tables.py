"""The tables of a registry's database.

The hub's own files stay the truth about packages. The database holds what no reader of the hub may see, or what has to
change: accounts, digests of tokens, the conformance queue, counters, reports and the audit log.

Times are whole seconds since 1970 in UTC.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

__all__ = [
    "METADATA",
    "SCHEMA",
    "accounts",
    "audit_log",
    "checks",
    "grants",
    "invites",
    "private_checks",
    "reports",
    "state",
    "tokens",
    "usage",
]

SCHEMA = 1
"""The version of the tables; a registry refuses a database of another one."""

METADATA = MetaData()

state = Table("registry_state", METADATA, Column("key", String(40), primary_key=True), Column("value", Text))

accounts = Table(
    "accounts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("address", String(64), nullable=False, default=""),
    Column("disabled", BigInteger),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("label", String(100), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    Column("packages", JSON(none_as_null=True)),
    Column("origin", String(200), nullable=False, default="account"),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("used", BigInteger),
    Column("revoked", BigInteger),
)

invites = Table(
    "invites",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("created_by", String(100), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used_by", String(40)),
)

grants = Table(
    "namespace_grants",
    METADATA,
    Column("namespace", String(64), primary_key=True),
    Column("account", String(40), nullable=False),
    Column("granted_by", String(100), nullable=False),
    Column("created", BigInteger, nullable=False),
)


def _queue(name: str, *key: str) -> Table:
    """Return a table of releases on which the kit has to run."""
    return Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True),
        Column("name", String(64), nullable=False),
        Column("version", String(200), nullable=False),
        Column("sha256", String(64), nullable=False),
        Column("state", String(10), nullable=False),
        Column("attempts", Integer, nullable=False, default=0),
        Column("owner", String(200)),
        Column("lease", BigInteger),
        Column("changed", BigInteger, nullable=False),
        Column("message", Text, nullable=False, default=""),
        Column("account", String(100), nullable=False, server_default=""),
        UniqueConstraint(*key),
        Index(f"{name}_state", "state", "id"),
        Index(f"{name}_name", "name"),
    )


checks = _queue("conformance_queue", "sha256")
"""``lease`` is the time before which no other worker takes the release; ``account`` published it."""

private_checks = _queue("private_conformance_queue", "account", "sha256")
"""The same for private packages; ``account`` is the organisation. Several hubs may have one file."""

reports = Table(
    "reports",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("package", String(64), nullable=False),
    Column("account", String(40), nullable=False),
    Column("kind", String(30), nullable=False),
    Column("summary", Text, nullable=False),
    Column("link", Text, nullable=False, default=""),
)

usage = Table(
    "usage",
    METADATA,
    Column("what", String(120), primary_key=True),
    Column("period", BigInteger, primary_key=True),
    Column("amount", BigInteger, nullable=False),
)
"""Counters for quotas; ``period`` is the second in which it begins."""

audit_log = Table(
    "audit_log",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("account", String(100), nullable=False),
    Column("token_id", Integer),
    Column("address", String(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("subject", String(300), nullable=False),
    Column("detail", JSON, nullable=False),
    sqlite_autoincrement=True,
)
"""One line for each change and each refusal. Triggers reject every UPDATE and DELETE."""

for _verb in ("UPDATE", "DELETE"):
    event.listen(
        audit_log,
        "after_create",
        DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER audit_log_no_{_verb.lower()} BEFORE {_verb} ON audit_log "
            "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
        ).execute_if(dialect="sqlite"),
    )
for _statement in (
    "CREATE OR REPLACE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
    "CREATE TRIGGER audit_log_rows BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW "
    "EXECUTE FUNCTION audit_log_append_only()",
    "CREATE TRIGGER audit_log_all BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT "
    "EXECUTE FUNCTION audit_log_append_only()",
):
    _ddl = DDL(_statement).execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]
    event.listen(audit_log, "after_create", _ddl)
