"""A task's database in PostgreSQL: :class:`PostgresWorkspace`."""

# ruff: noqa: S608  # the statements are made of names, quoted

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem_envs_desk.mcp.served_database import ServedDatabase
from gem_envs_desk.mcp.snapshots import Probe, Snapshot, row_counts

if TYPE_CHECKING:
    from gem_envs_desk.mcp.content import DatabaseContent
    from gem_tools.postgres import EpisodeDatabase, PostgresSession

__all__ = ["PostgresWorkspace"]

_PUBLIC = "relnamespace = 'public'::regnamespace"
_MOST_ROWS = 20_000
"""Of a table; no task has so many."""

_TABLES = f"""SELECT relname, relkind, relrowsecurity, relforcerowsecurity FROM pg_class
 WHERE {_PUBLIC} AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1"""
_COLUMNS = f"""SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> ''
 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.{_PUBLIC} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2"""
_NAMES = """(SELECT string_agg(a.attname, ',' ORDER BY p.place) FROM unnest({keys}) WITH ORDINALITY AS p (number, place)
 JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = p.number)"""
_CONSTRAINTS = f"""SELECT conrelid::regclass::text, contype, {_NAMES.format(keys="conkey", table="conrelid")},
 CASE confrelid WHEN 0 THEN '' ELSE confrelid::regclass::text END,
 {_NAMES.format(keys="confkey", table="confrelid")}, confdeltype, confupdtype, convalidated, condeferrable
 FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'f', 'c', 'x')
 AND conrelid <> 0"""
_INDEXES = f"""SELECT regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE (UNIQUE )?INDEX .* ON ', '\\1')
 FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.{_PUBLIC}
 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))"""
# regrole prints a role's name without a look at a table that is hidden; the owner's own rights are no news.
_PRIVILEGES = f"""SELECT c.relname, '', g.grantee::regrole::text, g.privilege_type, g.is_grantable
 FROM pg_class c, aclexplode(c.relacl) g WHERE c.{_PUBLIC} AND g.grantee <> c.relowner
 UNION ALL SELECT c.relname, a.attname, g.grantee::regrole::text, g.privilege_type, g.is_grantable
 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) g
 WHERE c.{_PUBLIC} AND NOT a.attisdropped AND g.grantee <> c.relowner
 UNION ALL SELECT n.nspname, '(schema)', g.grantee::regrole::text, g.privilege_type, g.is_grantable
 FROM pg_namespace n, aclexplode(n.nspacl) g WHERE n.nspname = 'public' AND g.grantee <> n.nspowner"""
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"


class PostgresWorkspace(ServedDatabase):
    """A database of its own with the content of a task.

    Args:
        content: the content.

    Raises:
        gem_tools.postgres.PostgresError: if there is no PostgreSQL.
    """

    def __init__(self, content: DatabaseContent) -> None:
        from gem_tools.postgres import open_database

        self._own: EpisodeDatabase = open_database()
        super().__init__(self._own)
        try:
            self._own.load("".join(f"{statement};\n" for statement in content.creates()))
            for table in content.tables:
                self._own.copy_rows(table.name, table.columns, table.rows)
            if content.after:
                self._own.load("".join(f"{statement};\n" for statement in content.after))
        except BaseException:
            self._own.close()
            raise

    def change(self, statement: str) -> None:
        """Execute a statement of the solution."""
        self._own.execute(statement)

    def snapshot(self, probes: Sequence[Probe]) -> Snapshot:
        """Return all that is compared; see :mod:`gem_envs_desk.mcp.snapshots`."""
        session = self._own.fresh_session()
        try:
            tables = _rows(session, _TABLES)
            columns = _rows(session, _COLUMNS)
            rows = {}
            for name, *_ in tables:
                names = ", ".join(_quoted(str(row[1])) for row in columns if row[0] == name)
                rows[name] = self._content(session, f"SELECT {names} FROM {_quoted(str(name))}")
            return {
                "tables": tables,
                "columns": columns,
                "rows": rows,
                "constraints": sorted(_rows(session, _CONSTRAINTS), key=repr),
                "indexes": sorted(_rows(session, _INDEXES)),
                "privileges": sorted(_rows(session, _PRIVILEGES), key=repr),
                "schemas": sorted(_rows(session, _SCHEMAS)),
                "behaviour": [self._behaviour(probe) for probe in probes],
            }
        finally:
            session.close()

    def _behaviour(self, probe: Probe) -> list[Any]:
        from gem_tools.postgres import PostgresStatementError

        session = self._own.fresh_session(probe.role)
        shown: list[Any] = []
        try:
            with session.undone() as run:
                for statement in probe.statements:
                    try:
                        shown.append(row_counts(run(statement).rows))
                    except PostgresStatementError as error:
                        shown.append(error.code)
        finally:
            session.close()
        return shown

    def _content(self, session: PostgresSession, select: str) -> Any:
        from gem_tools.postgres import PostgresStatementError

        try:
            return row_counts(session.execute(select, max_rows=_MOST_ROWS).rows)
        except PostgresStatementError as error:
            return error.code


def _rows(session: PostgresSession, select: str) -> list[tuple[str | None, ...]]:
    return session.execute(select, max_rows=_MOST_ROWS).rows


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
