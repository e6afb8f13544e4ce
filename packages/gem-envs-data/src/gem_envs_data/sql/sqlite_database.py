"""A database of an episode in SQLite, in memory, with bounds on what a statement can do.

Every bound is a count, never a time, so that the same statements have the same results on every machine. A statement
runs at most :data:`MOST_STEPS` instructions of SQLite's virtual machine; no text or row is longer than
:data:`LONGEST_VALUE`; the database has at most :data:`MOST_PAGES` pages. The authorizer refuses whatever leaves the
database
(ATTACH, VACUUM INTO, extensions, virtual tables, most PRAGMAs), transactions, triggers, temporary tables, and chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from gem_envs_data.sql.content import Content
from gem_envs_data.sql.results import MOST_ROWS, Dump, SqlResult, StatementError, normal_dump

__all__ = ["LONGEST_VALUE", "MOST_PAGES", "MOST_STEPS", "SqliteDatabase", "image_of"]

MOST_STEPS = 2_000_000
LONGEST_VALUE = 4_000
"""Bytes."""
LONGEST_STATEMENT = 20_000
"""Bytes."""
MOST_PAGES = 2048
"""Of 4096 bytes."""
_STEPS_BETWEEN = 10_000

_READING_PRAGMAS = frozenset(
    ("table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info", "index_xinfo")
)
_REFUSED_FUNCTIONS = frozenset(
    ("load_extension", "random", "randomblob", "current_date", "current_time", "current_timestamp", "readfile",
     "writefile", "edit", "sqlite_version", "sqlite_source_id", "last_insert_rowid", "changes", "total_changes",
     "fts3_tokenizer")
)  # fmt: skip
_CLOCKS = frozenset(("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"))

_READS = frozenset((apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE))
_WRITES = frozenset(
    (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE, apsw.SQLITE_CREATE_TABLE, apsw.SQLITE_DROP_TABLE,
     apsw.SQLITE_ALTER_TABLE, apsw.SQLITE_CREATE_INDEX, apsw.SQLITE_DROP_INDEX, apsw.SQLITE_CREATE_VIEW,
     apsw.SQLITE_DROP_VIEW, apsw.SQLITE_REINDEX)
)  # fmt: skip
_NOT_HERE = "this statement is not available here"


def image_of(content: Content) -> bytes:
    """Return the file image of a database with this content."""
    connection = apsw.Connection(":memory:")
    connection.execute("BEGIN")
    for statement in content.create_statements():
        connection.execute(statement)
    for name, rows in content.tables.items():
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {name} ({', '.join(rows[0])}) VALUES ({marks})",  # noqa: S608  # our names
                               [tuple(row.values()) for row in rows])  # fmt: skip
    connection.execute("COMMIT")
    image: bytes = connection.serialize("main")
    connection.close()
    return image


class SqliteDatabase:
    """The database of one episode.

    Args:
        image: the file image with which it begins.
    """

    def __init__(self, image: bytes) -> None:
        connection = self._connection = apsw.Connection(":memory:")
        connection.deserialize("main", image)
        connection.execute(
            f"PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA max_page_count = {MOST_PAGES}"
        )
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        for limit, most in (
            (apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE),
            (apsw.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT),
            (apsw.SQLITE_LIMIT_ATTACHED, 0),
            (apsw.SQLITE_LIMIT_COLUMN, 200),
            (apsw.SQLITE_LIMIT_COMPOUND_SELECT, 100),
            (apsw.SQLITE_LIMIT_EXPR_DEPTH, 200),
            (apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
            (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            connection.limit(limit, most)
        connection.authorizer = self._authorize
        connection.exec_trace = self._trace
        connection.set_progress_handler(self._progress, _STEPS_BETWEEN)
        self._left = 0
        self._refused = ""
        self._statement = ""
        self.has_written = False
        """Whether the last statement could write."""

    def execute(self, statement: str) -> SqlResult:
        """Execute one statement.

        Raises:
            StatementError: if it fails or exceeds a bound; the message is for the agent.
        """
        self._left = MOST_STEPS // _STEPS_BETWEEN
        self._refused, self._statement, self.has_written = "", statement, False
        try:
            before = self._connection.total_changes()
            cursor = self._connection.cursor()
            cursor.execute(statement)
            try:
                columns = [name for name, _ in cursor.get_description()]
            except apsw.ExecutionCompleteError:  # a statement without rows, or one that found none
                columns = []
            rows: list[Sequence[Any]] = []
            for row in cursor:
                rows.append(row)
                if len(rows) > MOST_ROWS:
                    break
            cursor.close(True)
            return SqlResult(columns, rows, self._connection.total_changes() - before if self.has_written else None)
        except apsw.InterruptError:
            raise StatementError("the statement takes too long, and was stopped") from None
        except apsw.ExecTraceAbort:
            raise StatementError("give one statement at a time") from None
        except apsw.Error as error:
            raise StatementError(self._refused or str(error).removeprefix("SQLError: ")) from None
        except (UnicodeError, ValueError, OverflowError, MemoryError) as error:
            raise StatementError(f"the statement cannot be read: {type(error).__name__}") from None

    def dump(self) -> Dump:
        """Return the content of all tables."""
        connection = self._connection
        connection.authorizer = connection.exec_trace = None
        connection.set_progress_handler(None)
        try:
            names = [
                name
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                )
            ]
            tables = {}
            for name in names:
                quoted = name.replace('"', '""')
                columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{quoted}")')]
                tables[name] = columns, list(connection.execute(f'SELECT * FROM "{quoted}"'))  # noqa: S608
            return normal_dump(tables)
        finally:
            connection.authorizer, connection.exec_trace = self._authorize, self._trace
            connection.set_progress_handler(self._progress, _STEPS_BETWEEN)

    def close(self) -> None:
        """Discard the database."""
        self._connection.close(True)

    def _progress(self) -> bool:
        self._left -= 1
        return self._left < 0

    def _trace(self, cursor: Any, sql: str, bindings: Any) -> bool:
        # The engine shows one statement after the other; the first one must be all there is.
        return not self._statement.strip()[len(sql.strip()) :].strip("; \t\r\n")

    def _authorize(self, operation: int, one: str | None, two: str | None, base: str | None, by: str | None) -> int:
        if operation in _READS:
            return int(apsw.SQLITE_OK)
        if operation in _WRITES:
            self.has_written = True
            return int(apsw.SQLITE_OK)
        if operation == apsw.SQLITE_FUNCTION:
            if (two or "").lower() not in _REFUSED_FUNCTIONS and not self._reads_clock(two or ""):
                return int(apsw.SQLITE_OK)
            self._refused = f"the function {two} is not available here"
        elif operation == apsw.SQLITE_PRAGMA:
            if (one or "").lower() in _READING_PRAGMAS:
                return int(apsw.SQLITE_OK)
            self._refused = f"PRAGMA {one} is not available here"
        elif operation in (apsw.SQLITE_TRANSACTION, apsw.SQLITE_SAVEPOINT):
            self._refused = "there are no transactions here; each statement is committed at once"
        else:
            self._refused = _NOT_HERE
        return int(apsw.SQLITE_DENY)

    def _reads_clock(self, function: str) -> bool:
        # Episodes must repeat; a date function without the words for the present is a function of its arguments.
        return function.lower() in _CLOCKS and ("now" in self._statement.lower() or "()" in self._statement)
