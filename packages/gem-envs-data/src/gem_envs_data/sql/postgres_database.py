"""A database of an episode in PostgreSQL, with the interface of :class:`SqliteDatabase`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gem_envs_data.sql.content import Content
from gem_envs_data.sql.results import MOST_ROWS, Dump, SqlResult, StatementError, normal_dump

if TYPE_CHECKING:
    from gem_tools.postgres import PostgresSession

__all__ = ["PostgresDatabase"]

_READING = ("SELECT", "SHOW", "EXPLAIN", "VALUES", "TABLE")
_MOST_ROWS = 20_000
"""Of a table."""
_NUMBERS: dict[str, Callable[[str], Any]] = {
    "smallint": int, "integer": int, "bigint": int, "numeric": Decimal, "real": float, "double precision": float,
}  # fmt: skip
_COLUMNS = """SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class c
 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum"""


class PostgresDatabase:
    """The database of one episode, with a role of its own; see :mod:`gem_tools.postgres`.

    Args:
        content: what it holds in the beginning.

    Raises:
        gem_tools.postgres.PostgresError: if PostgreSQL or a library is missing, or the server cannot be started.
    """

    def __init__(self, content: Content) -> None:
        from gem_tools.postgres import open_database

        self.has_written = False
        """Whether the last statement could write."""
        self._database = open_database()
        try:
            self._database.load("".join(f"{statement};\n" for statement in content.create_statements()))
            for name, rows in content.tables.items():
                self._database.copy_rows(name, list(rows[0]), [tuple(row.values()) for row in rows])
        except BaseException:
            self._database.close()
            raise

    def execute(self, statement: str) -> SqlResult:
        """Execute one statement, and commit it.

        Raises:
            StatementError: if it fails or exceeds a bound; the message is for the agent.
        """
        from gem_tools.postgres import PostgresStatementError

        self.has_written = not statement.lstrip(" \t\r\n(").upper().startswith(_READING)
        try:
            result = self._database.execute(statement, read_only=not self.has_written, max_rows=MOST_ROWS)
        except PostgresStatementError as error:
            raise StatementError(str(error)) from None
        count = result.command.rpartition(" ")[2]
        return SqlResult(
            result.columns, list(result.rows), (int(count) if count.isdigit() else 0) if self.has_written else None
        )

    def dump(self) -> Dump:
        """Return the content of all tables."""
        session = self._database.fresh_session()
        try:
            tables: dict[str, list[tuple[str, str]]] = {}
            for name, column, kind in session.execute(_COLUMNS, max_rows=_MOST_ROWS).rows:
                tables.setdefault(str(name), []).append((str(column), str(kind)))
            return normal_dump({name: _content(session, name, columns) for name, columns in tables.items()})
        finally:
            session.close()

    def close(self) -> None:
        """Give the database back."""
        self._database.close()


def _content(session: PostgresSession, table: str, columns: list[tuple[str, str]]) -> Any:
    from gem_tools.postgres import PostgresStatementError

    names = ", ".join(_quoted(name) for name, _ in columns)
    try:
        rows = session.execute(f"SELECT {names} FROM {_quoted(table)}", max_rows=_MOST_ROWS).rows  # noqa: S608  # quoted
    except PostgresStatementError as error:  # the agent has hidden its own rows
        return [name for name, _ in columns], [[error.code] * len(columns)]
    convert = [_NUMBERS.get(kind, str) for _, kind in columns]
    return [name for name, _ in columns], [
        [None if value is None else use(value) for use, value in zip(convert, row, strict=True)] for row in rows
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
