"""A task's database in PostgreSQL: :class:`PostgresWorkspace`."""

# ruff: noqa: S608  # the statements are made of names, quoted

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem.errors import GemError
from gem_envs_desk.mcp.database_text import TableText, shown_rows
from gem_envs_desk.mcp.snapshots import Probe, Snapshot, row_counts

if TYPE_CHECKING:
    from gem_envs_desk.mcp.content import DatabaseContent
    from gem_tools.postgres import PostgresSession

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


class PostgresWorkspace:
    """A database of its own with the content of a task.

    Raises:
        WorkspaceFaultError: if the server breaks later on.
    """

    dialect = "PostgreSQL"

    def __init__(self, content: DatabaseContent) -> None:
        from gem_tools.postgres import open_database

        self._database = open_database()
        self.fault: str | None = None
        """The reason that the workspace is of no use any more."""
        try:
            self._database.load("".join(f"{statement};\n" for statement in content.creates()))
            for table in content.tables:
                self._database.copy_rows(table.name, table.columns, table.rows)
            if content.after:
                self._database.load("".join(f"{statement};\n" for statement in content.after))
        except BaseException:
            self._database.close()
            raise

    @property
    def database_url(self) -> str:
        """For servers of tools that the user configures."""
        return self._database.url

    def run(self, sql: str, *, read_only: bool) -> str:
        """Execute one statement and return what the agent reads.

        Raises:
            GemError: if it fails; the message is for the agent.
        """
        from gem_tools.postgres import PostgresError

        try:
            result = self._database.execute(sql, read_only=read_only)
        except PostgresError as error:
            self.fault = str(error)
            raise
        return shown_rows(result.columns, result.rows, result.command)

    def list_tables(self) -> list[str]:
        """Return a line for each table and view."""
        kinds = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}
        return [f"{name} ({kinds[str(kind)]})" for name, kind, *_ in self._rows(self._database, _TABLES)]

    def describe(self, table: str) -> str:
        """Return columns, constraints, indexes, policies, triggers and privileges of a table.

        Raises:
            GemError: if it does not exist.
        """
        name = _literal(table)
        found = self._rows(
            self._database, f"SELECT oid, relrowsecurity FROM pg_class WHERE {_PUBLIC} AND relname = {name}"
        )
        if not found:
            raise GemError(f"there is no table {table!r}")
        oid, secured = found[0]

        def lines(select: str) -> list[str]:
            return [str(row[0]) for row in self._rows(self._database, f"{select} ORDER BY 1")]

        columns = self._rows(
            self._database,
            "SELECT attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' not null' ELSE ''"
            " END || COALESCE(CASE WHEN attgenerated <> '' THEN ' generated as ' ELSE ' default ' END ||"
            " pg_get_expr(adbin, adrelid), '') FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND"
            f" adnum = attnum WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        )
        return TableText(
            [str(row[0]) for row in columns],
            lines(f"SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = {oid}"),
            lines(f"SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = {oid}"),
            lines(
                f"SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal"
                f" UNION ALL SELECT pg_get_viewdef(oid) FROM pg_class WHERE oid = {oid} AND relkind IN ('v', 'm')"
            ),
            ["row security is enabled"] * (secured == "t")
            + lines(
                "SELECT 'policy ' || polname || ' for ' || polcmd::text || ' using ' || COALESCE(pg_get_expr(polqual,"
                f" polrelid), 'true') FROM pg_policy WHERE polrelid = {oid}"
            ),
            lines(
                "SELECT g.grantee::regrole::text || ': ' || string_agg(g.privilege_type, ', ' ORDER BY 1) FROM"
                f" pg_class c, aclexplode(c.relacl) g WHERE c.oid = {oid} AND g.grantee <> c.relowner GROUP BY"
                " g.grantee"
            ),
        ).shown()

    def answer(self, select: str) -> list[str]:
        """Return the first column of a query."""
        return ["NULL" if row[0] is None else str(row[0]) for row in self._rows(self._database, select)]

    def change(self, statement: str) -> None:
        """Execute a statement of the solution."""
        self._database.execute(statement)

    def snapshot(self, probes: Sequence[Probe]) -> Snapshot:
        """Return all that is compared; see :mod:`gem_envs_desk.mcp.snapshots`."""
        session = self._database.fresh_session()
        try:
            tables = self._rows(session, _TABLES)
            columns = self._rows(session, _COLUMNS)
            rows = {}
            for name, *_ in tables:
                names = ", ".join(_quoted(str(row[1])) for row in columns if row[0] == name)
                rows[name] = self._content(session, f"SELECT {names} FROM {_quoted(str(name))}")
            return {
                "tables": tables,
                "columns": columns,
                "rows": rows,
                "constraints": sorted(self._rows(session, _CONSTRAINTS), key=repr),
                "indexes": sorted(self._rows(session, _INDEXES)),
                "privileges": sorted(self._rows(session, _PRIVILEGES), key=repr),
                "schemas": sorted(self._rows(session, _SCHEMAS)),
                "behaviour": [self._behaviour(probe) for probe in probes],
            }
        finally:
            session.close()

    def close(self) -> None:
        """Give the database back."""
        self._database.close()

    def _behaviour(self, probe: Probe) -> list[Any]:
        from gem_tools.postgres import PostgresStatementError

        session = self._database.fresh_session(probe.role)
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

    def _rows(self, session: PostgresSession, select: str) -> list[tuple[str | None, ...]]:
        return session.execute(select, max_rows=_MOST_ROWS).rows


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("\0", "").replace("'", "''") + "'"
