"""The database that tools work on: :class:`ServedDatabase`."""

# ruff: noqa: S608  # the statements are made of names, quoted

from __future__ import annotations

from typing import TYPE_CHECKING

from gem.errors import GemError
from gem_envs_desk.mcp.database_text import TableText, shown_rows

if TYPE_CHECKING:
    from gem_tools.postgres import ClusterDatabase, EpisodeDatabase

__all__ = ["ServedDatabase"]

_MOST_ROWS = 20_000
"""Of a look at the catalogue."""
_NAMED = """pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"""
_TABLES = f"""SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, c.relkind
 FROM {_NAMED} ORDER BY 1"""
_TABLE = f"""SELECT c.oid, c.relrowsecurity FROM {_NAMED} AND {{name}} IN (c.relname, n.nspname || '.' || c.relname)
 ORDER BY n.nspname <> 'public', n.nspname LIMIT 1"""


class ServedDatabase:
    """A database in PostgreSQL, as the typed tools and servers of the user reach it.

    Args:
        database: the database; it ends with this object.
        seconds: time limit of a statement.
    """

    dialect = "PostgreSQL"

    def __init__(self, database: EpisodeDatabase | ClusterDatabase, seconds: float = 10.0) -> None:
        self.database = database
        self._seconds = seconds
        self.fault: str | None = None
        """The reason that the workspace is of no use any more."""

    @property
    def database_url(self) -> str:
        """For servers of tools that the user configures."""
        return self.database.url

    def run(self, sql: str, *, read_only: bool) -> str:
        """Execute one statement and return what the agent reads.

        Raises:
            GemError: if it fails; the message is for the agent.
        """
        from gem_tools.postgres import PostgresError

        try:
            result = self.database.execute(sql, read_only=read_only, seconds=self._seconds)
        except PostgresError as error:
            self.fault = str(error)
            raise
        return shown_rows(result.columns, result.rows, result.command)

    def list_tables(self) -> list[str]:
        """Return a line for each table and view."""
        kinds = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}
        return [f"{name} ({kinds[str(kind)]})" for name, kind in self._rows(_TABLES)]

    def describe(self, table: str) -> str:
        """Return columns, constraints, indexes, policies, triggers and privileges of a table.

        Args:
            table: its name; with its schema, if that is not the first one that has a table of the name.

        Raises:
            GemError: if it does not exist.
        """
        found = self._rows(_TABLE.format(name=_literal(table)))
        if not found:
            raise GemError(f"there is no table {table!r}")
        oid, secured = found[0]

        def lines(select: str) -> list[str]:
            return [str(row[0]) for row in self._rows(f"{select} ORDER BY 1")]

        columns = self._rows(
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

    def close(self) -> None:
        """End the database."""
        self.database.close()

    def _rows(self, select: str) -> list[tuple[str | None, ...]]:
        return self.database.execute(select, max_rows=_MOST_ROWS).rows


def _literal(text: str) -> str:
    return "'" + text.replace("\0", "").replace("'", "''") + "'"
