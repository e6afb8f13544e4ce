"""A task's database in SQLite, for machines without PostgreSQL: :class:`SqliteWorkspace`."""

# ruff: noqa: S608  # the statements are made of names, quoted

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem.counts import counted
from gem.errors import GemError
from gem_envs_desk.mcp.database_text import TableText, shown_rows
from gem_envs_desk.mcp.snapshots import Probe, Snapshot, row_counts

if TYPE_CHECKING:
    from gem_envs_desk.mcp.content import DatabaseContent

__all__ = ["SqliteStatementError", "SqliteWorkspace"]

_MOST_STEPS = 2_000_000
"""Instructions of a statement; a count, so that a result does not depend on the machine."""
_STEPS_BETWEEN = 10_000
_MOST_PAGES = 4096
_MOST_ROWS = 200
_LONGEST_VALUE = 100_000
_LONGEST_STATEMENT = 100_000

_REFUSED = frozenset(
    (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT)
)
_READING_PRAGMAS = frozenset(
    ("table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info", "index_xinfo")
)
_REFUSED_FUNCTIONS = frozenset(("load_extension", "random", "randomblob", "readfile", "writefile", "fts3_tokenizer"))


class SqliteStatementError(GemError):
    """A statement failed; the message tells the agent why."""


class SqliteWorkspace:
    """A database in memory with the content of a task."""

    dialect = "SQLite"
    database_url = ""
    """There is none: the database lives in this process."""

    def __init__(self, content: DatabaseContent) -> None:
        self.fault: str | None = None
        connection = self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA max_page_count = {_MOST_PAGES}")
        if sys.version_info >= (3, 11):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("BEGIN")
        for statement in content.creates():
            connection.execute(statement)
        for table in content.tables:
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", table.rows)
        for statement in content.after:
            connection.execute(statement)
        connection.execute("COMMIT")
        self._left = 0
        self._reads_only = False
        self._refused = ""

    def run(self, sql: str, *, read_only: bool) -> str:
        """Execute one statement and return what the agent reads.

        Raises:
            SqliteStatementError: if it fails or exceeds a bound.
        """
        before = self._connection.total_changes
        columns, rows = self._execute(sql, read_only)
        return shown_rows(columns, rows, f"{counted(self._connection.total_changes - before, 'row')} changed")

    def list_tables(self) -> list[str]:
        """Return a line for each table and view."""
        return [f"{name} ({kind})" for name, kind in self._tables()]

    def describe(self, table: str) -> str:
        """Return columns, foreign keys, indexes and triggers of a table.

        Raises:
            GemError: if it does not exist.
        """
        found = self._connection.execute("SELECT sql FROM sqlite_master WHERE name = ? AND type <> 'index'", (table,))
        definition = found.fetchone()
        if definition is None:
            raise GemError(f"there is no table {table!r}")
        others = self._connection.execute(
            "SELECT type, sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY name", (table,)
        ).fetchall()
        columns = self._connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        return TableText(
            [f"{name} {kind}{' not null' if needed else ''}" for _, name, kind, needed, *_ in columns],
            [],
            [sql for kind, sql in others if kind == "index"],
            [definition[0], *(sql for kind, sql in others if kind == "trigger")],
            [],
            [],
        ).shown()

    def change(self, statement: str) -> None:
        """Execute a statement of the solution."""
        self._execute(statement, False)

    def snapshot(self, probes: Sequence[Probe]) -> Snapshot:
        """Return all that is compared; see :mod:`gem_envs_desk.mcp.snapshots`."""
        connection = self._connection
        tables = self._tables()
        columns: list[Any] = []
        rows: dict[str, Any] = {}
        keys: list[Any] = []
        indexes: list[Any] = []
        for name, kind in tables:
            quoted = _quoted(name)
            info = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
            columns += sorted((name, row[1].lower(), _type(row[2]), row[3], row[5], row[6]) for row in info)
            order = ", ".join(_quoted(row[1]) for row in sorted(info, key=lambda row: str(row[1]).lower()))
            rows[name] = self._content(f"SELECT {order} FROM {quoted}")
            if kind == "view":
                continue
            groups: dict[int, list[Any]] = {}
            for number, _, other, own, theirs, on_update, on_delete, _ in connection.execute(
                f"PRAGMA foreign_key_list({quoted})"
            ):
                groups.setdefault(number, [name, other, on_update, on_delete]).append((own, theirs))
            keys += groups.values()
            for _, index, unique, origin, partial in connection.execute(f"PRAGMA index_list({quoted})").fetchall():
                if origin == "pk":
                    continue
                parts = connection.execute(f"PRAGMA index_xinfo({_quoted(index)})").fetchall()
                shape = [(part[2], part[3]) for part in parts if part[5]]
                where = ""
                if partial:
                    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
                    where = re.split(r"\bwhere\b", sql, maxsplit=1, flags=re.IGNORECASE)[1]
                # A unique constraint is an index of its own to SQLite, so the two are not told apart.
                indexes.append((name, unique, shape, re.sub(r"[\s()\"]+", "", where).lower()))
        return {
            "tables": tables,
            "columns": columns,
            "rows": rows,
            "constraints": sorted(keys, key=repr),
            "indexes": sorted(indexes, key=repr),
            "behaviour": [self._behaviour(probe) for probe in probes],
        }

    def close(self) -> None:
        """Discard the database."""
        self._connection.close()

    def _tables(self) -> list[tuple[str, str]]:
        found = self._connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'"
            " ESCAPE '\\' ORDER BY name"
        )
        return [(str(name), str(kind)) for name, kind in found]

    def _behaviour(self, probe: Probe) -> list[Any]:
        self._connection.execute("SAVEPOINT probe")
        try:
            return [self._content(statement, read_only=False) for statement in probe.statements]
        finally:
            self._connection.execute("ROLLBACK TO probe")
            self._connection.execute("RELEASE probe")

    def _content(self, select: str, *, read_only: bool = True) -> Any:
        try:
            return row_counts(self._execute(select, read_only, most=20_000)[1])
        except SqliteStatementError as error:
            return "constraint" if "constraint" in str(error) else "error"

    def _execute(self, sql: str, read_only: bool, most: int = _MOST_ROWS) -> tuple[list[str], list[Any]]:
        connection = self._connection
        if len(sql) > _LONGEST_STATEMENT:
            raise SqliteStatementError(f"a statement has at most {_LONGEST_STATEMENT:,} characters")
        self._left, self._reads_only, self._refused = _MOST_STEPS // _STEPS_BETWEEN, read_only, ""
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._progress, _STEPS_BETWEEN)
        try:
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(most + 1)
            columns = [column[0] for column in cursor.description or ()]
            cursor.close()
            return columns, rows
        except (sqlite3.Error, sqlite3.Warning) as error:
            if "interrupted" in str(error):
                raise SqliteStatementError("the statement takes too long, and was stopped") from None
            raise SqliteStatementError(self._refused or str(error)) from None
        except (UnicodeError, ValueError, OverflowError, MemoryError) as error:
            raise SqliteStatementError(f"the statement cannot be read: {type(error).__name__}") from None
        finally:
            connection.set_authorizer(None)
            connection.set_progress_handler(None, 0)

    def _progress(self) -> bool:
        self._left -= 1
        return self._left < 0

    def _authorize(self, operation: int, one: str | None, two: str | None, base: str | None, by: str | None) -> int:
        if operation in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if operation == sqlite3.SQLITE_FUNCTION:
            if (two or "").lower() not in _REFUSED_FUNCTIONS:
                return sqlite3.SQLITE_OK
            self._refused = f"the function {two} is not available here"
        elif operation == sqlite3.SQLITE_PRAGMA:
            if (one or "").lower() in _READING_PRAGMAS:
                return sqlite3.SQLITE_OK
            self._refused = f"PRAGMA {one} is not available here"
        elif operation in _REFUSED:
            self._refused = "this statement is not available here; each statement is committed at once"
        elif self._reads_only:
            self._refused = "this tool only reads; use execute"
        else:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(declared: str) -> str:
    return re.sub(r"\s+", "", declared).lower()
