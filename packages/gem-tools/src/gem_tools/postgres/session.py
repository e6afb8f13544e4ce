"""A session in which an agent executes statements, with bounds: :class:`PostgresSession`."""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gem.errors import GemError
from gem.fork_hooks import after_fork_in_child
from gem_tools.postgres.errors import PostgresError

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGresult

__all__ = ["MOST_ROWS", "PostgresSession", "PostgresStatementError", "TextRows", "silence"]

MOST_ROWS = 200
"""Rows of a result that a caller gets by default."""
STATEMENT_SECONDS = 10.0
"""Time limit of a statement; a count of steps, as SQLite has it, does not exist in PostgreSQL."""
_GRACE_SECONDS = 2.0
"""After which a statement that catches its cancellation loses its session."""
_MOST_BYTES = 128 << 20
_SLOW_SECONDS = 0.2
"""No faster statement can fill a disk, so only slower ones are followed by a look at the size."""
_LONGEST_STATEMENT = 100_000
_TOO_LONG = "the statement takes too long, and was stopped"
_COPIES = (3, 4, 8)
"""``PGRES_COPY_OUT``, ``_IN`` and ``_BOTH`` of libpq, whose results stay until the client copies."""
_SINGLE_ROW = 9
"""``PGRES_SINGLE_TUPLE``."""
_CANCELLED = "57014"
"""SQLSTATE of a statement that was cancelled."""


class PostgresStatementError(GemError):
    """A statement failed; the message tells the agent why."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """SQLSTATE, five characters; empty if the server never saw the statement."""


class TextRows(NamedTuple):
    """What a statement returned, with values in PostgreSQL's text form."""

    columns: list[str]
    rows: list[tuple[str | None, ...]]
    """At most one more than the caller asked for."""
    command: str
    """The tag of the command, such as ``UPDATE 3``."""


class PostgresSession:
    """A connection, on which every statement is a call of its own: one statement, committed, within a time.

    A forked child has no part in it.

    Args:
        most_bytes: the size of the database above which a slow statement is the last one.
        **parameters: of libpq, such as ``host`` and ``dbname``, or ``conninfo``, a URL.

    Raises:
        PostgresError: if psycopg is missing or the server cannot be reached.
    """

    def __init__(self, *, most_bytes: int = _MOST_BYTES, **parameters: Any) -> None:
        self._most_bytes = most_bytes
        self._parameters = parameters
        self._open: list[psycopg.Connection[Any]] = []
        self._connected_anew()
        self._close = weakref.finalize(self, _close_all, self._open)
        self._close.atexit = False
        after_fork_in_child(self._forget)

    def execute(
        self,
        statement: str,
        *,
        read_only: bool = False,
        seconds: float = STATEMENT_SECONDS,
        max_rows: int = MOST_ROWS,
    ) -> TextRows:
        """Execute one statement and commit it.

        Args:
            statement: one statement; the protocol admits no second one.
            read_only: execute it in a transaction that cannot write, and that nothing outlives.
            seconds: its time limit.
            max_rows: number of rows to return; one more is returned if there are more.

        Raises:
            PostgresStatementError: if it fails, or takes too long; the message is for the agent.
            PostgresError: if the server is gone.
        """
        if len(statement) > _LONGEST_STATEMENT:
            raise PostgresStatementError(f"a statement has at most {_LONGEST_STATEMENT:,} characters")
        try:
            command = statement.encode()
        except UnicodeEncodeError:
            raise PostgresStatementError("the statement is not valid Unicode") from None
        if b"\0" in command:
            raise PostgresStatementError("a statement cannot hold the character NUL")
        if not read_only:
            return self._run(command, seconds, max_rows)
        self._run(b"BEGIN READ ONLY", seconds, inside=True)
        try:
            return self._run(command, seconds, max_rows, inside=True)
        finally:
            with contextlib.suppress(PostgresStatementError):
                self._run(b"ROLLBACK", seconds, inside=True)

    @contextlib.contextmanager
    def undone(self) -> Iterator[Callable[[str], TextRows]]:
        """Yield a function that executes statements in one transaction, which is undone in the end.

        After a statement that fails, the next one finds what was there before it.
        """

        def run(statement: str) -> TextRows:
            self._run(b"SAVEPOINT before", STATEMENT_SECONDS, inside=True)
            try:
                return self._run(statement.encode(), STATEMENT_SECONDS, inside=True)
            except PostgresStatementError:
                self._run(b"ROLLBACK TO before", STATEMENT_SECONDS, inside=True)
                raise

        self._run(b"BEGIN", STATEMENT_SECONDS, inside=True)
        try:
            yield run
        finally:
            with contextlib.suppress(PostgresStatementError):
                self._run(b"ROLLBACK", STATEMENT_SECONDS, inside=True)

    def load(self, script: str) -> None:
        """Execute several statements of our own in one transaction."""
        self._session.execute(script.encode())

    def copy_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of our own."""
        from psycopg import sql

        into = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        with self._session.cursor() as cursor, cursor.copy(into) as copy:
            for row in rows:
                copy.write_row(row)

    def close(self) -> None:
        """End the session. A second call does nothing."""
        _close_all(self._open)

    def _connected(self) -> psycopg.Connection[Any]:
        import_psycopg()
        import psycopg

        try:
            return psycopg.connect(autocommit=True, prepare_threshold=None, **self._parameters)
        except psycopg.Error as error:
            raise PostgresError(f"the PostgreSQL server cannot be reached: {str(error).strip()}") from error

    def _run(self, command: bytes, seconds: float, max_rows: int = MOST_ROWS, *, inside: bool = False) -> TextRows:
        from psycopg.pq import ExecStatus, TransactionStatus

        session = self._session
        begun = time.monotonic()
        results, is_stopped = self._results(command, seconds, max_rows, may_stop=inside)
        took = time.monotonic() - begun
        if not results:
            self._connected_anew()
            raise PostgresStatementError(
                _TOO_LONG if is_stopped else "the statement ended the session; there is a new one"
            )
        last = results[-1]
        if last.status in _COPIES:
            self._connected_anew()
            raise PostgresStatementError("COPY from or to the client is not available; use INSERT or SELECT")
        if last.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY):
            message, code = _failure_of(last)
            is_enough = code == _CANCELLED and len(results) > max_rows
            self._leave_transaction(inside)
            if not is_enough:
                raise PostgresStatementError(_TOO_LONG if is_stopped and code == _CANCELLED else message, code)
        answer = _text_rows(results, max_rows)
        if not inside:
            if session.pgconn.transaction_status != TransactionStatus.IDLE:
                self._leave_transaction(inside=False)
                raise PostgresStatementError("a transaction cannot outlive a call; each statement is committed at once")
            if took > _SLOW_SECONDS:
                self._check_size()
        return answer

    def _results(self, command: bytes, seconds: float, max_rows: int, *, may_stop: bool) -> tuple[list[PGresult], bool]:
        """Return one result for each row and the last one, none if the session has ended; and whether its time was up.

        Args:
            command: the statement.
            seconds: its time limit.
            max_rows: rows to keep.
            may_stop: whether to stop the statement when it has returned enough rows: not where it may write.
        """
        import psycopg

        pgconn = self._session.pgconn
        is_stopped = False
        results: list[PGresult] = []
        try:
            pgconn.send_query_params(command, None)
            pgconn.set_single_row_mode()  # else the client would hold all rows of a careless statement
            while pgconn.flush():
                _wait(pgconn.socket, 1.0, writing=True)
            end = time.monotonic() + seconds
            while True:
                while pgconn.is_busy():
                    if not _wait(pgconn.socket, end - time.monotonic()):
                        if is_stopped:  # it catches its cancellation
                            self._terminate()
                            return [], True
                        pgconn.get_cancel().cancel()
                        is_stopped, end = True, time.monotonic() + _GRACE_SECONDS
                        continue
                    pgconn.consume_input()
                result = pgconn.get_result()
                if result is None:
                    return results, is_stopped
                if len(results) > max_rows and result.status == _SINGLE_ROW:
                    if may_stop:
                        pgconn.get_cancel().cancel()
                        may_stop = False
                    continue
                results.append(result)
                if result.status in _COPIES:
                    return results, is_stopped
        except psycopg.Error:
            return [], is_stopped

    def _leave_transaction(self, inside: bool) -> None:
        from psycopg.pq import TransactionStatus

        pgconn = self._session.pgconn
        if not inside and pgconn.transaction_status != TransactionStatus.IDLE:
            pgconn.exec_(b"ROLLBACK")

    def _check_size(self) -> None:
        result = self._session.pgconn.exec_(b"SELECT pg_catalog.pg_database_size(pg_catalog.current_database())")
        size = int(result.get_value(0, 0) or b"0") if result.ntuples else 0
        if size > self._most_bytes:
            raise PostgresError(
                f"the database of the episode has grown to {size >> 20} MB; {self._most_bytes >> 20} are allowed"
            )

    @property
    def _session(self) -> psycopg.Connection[Any]:
        if not self._open:
            raise PostgresError("the session of the episode has ended")
        return self._open[0]

    def _connected_anew(self) -> None:
        _close_all(self._open)
        self._open.append(self._connected())

    def _terminate(self) -> None:
        with contextlib.closing(self._connected()) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (self._session.pgconn.backend_pid,))

    def _forget(self) -> None:
        for session in self._open:
            if not session.closed:
                silence(session.fileno())


def _close_all(sessions: list[psycopg.Connection[Any]]) -> None:
    while sessions:
        sessions.pop().close()


def import_psycopg() -> None:
    """Import the client library.

    Raises:
        PostgresError: if it is not installed.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise PostgresError(
            "PostgreSQL needs the library psycopg: pip install 'gem-tools[postgres]', or choose SQLite with "
            f"engine='sqlite' ({error})"
        ) from error


def silence(file: int) -> None:
    """Put the null device in the place of a socket that a forked child shares with its parent.

    What the child sent when it closes its copy of the connection would end the parent's session.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.dup2(nothing, file, inheritable=False)
    finally:
        os.close(nothing)


def _wait(socket: int, seconds: float, *, writing: bool = False) -> bool:
    """Return whether a socket is ready within a time."""
    waiting = select.poll()
    waiting.register(socket, select.POLLOUT if writing else select.POLLIN)
    return bool(waiting.poll(max(0.0, seconds) * 1000))


def _text_rows(results: Sequence[PGresult], max_rows: int) -> TextRows:
    last = results[-1]
    places = range(results[0].nfields)
    columns = [(results[0].fname(place) or b"").decode(errors="replace") for place in places]
    rows = [
        tuple(
            None if (value := result.get_value(0, place)) is None else value.decode(errors="replace")
            for place in places
        )
        for result in results
        if result.status == _SINGLE_ROW
    ]
    return TextRows(columns, rows[: max_rows + 1], (last.command_status or b"").decode())


def _failure_of(result: PGresult) -> tuple[str, str]:
    """Return message and SQLSTATE."""
    from psycopg.pq import DiagnosticField

    def part(field: DiagnosticField) -> str:
        return (result.error_field(field) or b"").decode(errors="replace")

    message = part(DiagnosticField.MESSAGE_PRIMARY) or result.error_message.decode(errors="replace").strip()
    more = [part(field) for field in (DiagnosticField.MESSAGE_DETAIL, DiagnosticField.MESSAGE_HINT)]
    return ". ".join([message, *(text.rstrip(".") for text in more if text)]), part(DiagnosticField.SQLSTATE)
