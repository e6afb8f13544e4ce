"""The database of a registry: SQLite for one machine, PostgreSQL for several."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from gem_hub.errors import HubRefusal
from gem_hub.registry.tables import METADATA, SCHEMA, checks, state

__all__ = ["Database"]

_BUSY_SECONDS = 60
_OPTIONS: dict[str, Any] = {
    "pool_size": 8,  # a server of PostgreSQL has 100 connections by default, which several processes share
    "max_overflow": 4,
    "pool_timeout": _BUSY_SECONDS,
    "hide_parameters": True,  # errors reach the log, where digests and addresses do not belong
}

_CREATION = 0x67656D2D687562
_EXCLUSIVE = _CREATION + 1
"""The keys of the advisory locks under which one process of several creates the tables, or runs a block alone."""


class Database:
    """Opens a registry's database and creates its tables.

    Every commit is on disk when it returns: SQLite runs in WAL mode with ``synchronous=FULL``, and PostgreSQL flushes
    by default.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql+psycopg://…``.

    Raises:
        HubRefusal: if the address is invalid, the database cannot be reached, or its tables are of another version.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._thread_lock = threading.Lock()
        try:
            with self._beginning(), self.change() as connection:
                self._create(connection)
        except DBAPIError as error:
            self.close()
            shown = self.engine.url.render_as_string(hide_password=True)
            raise HubRefusal(f"{shown}: the database cannot be used: {error.orig}") from error
        except HubRefusal:
            self.close()
            raise

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that may write; it is committed at the end."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that only reads."""
        with self.engine.connect().execution_options(gem_reads=True) as connection:
            yield connection

    def add_to_counter(
        self, connection: Connection, table: Table, key: Mapping[str, Any], column: str, amount: int
    ) -> int:
        """Add to a counter, which need not exist, and return its new value."""
        statement = self._insert(table).values({**key, column: amount})
        upsert = statement.on_conflict_do_update(
            index_elements=list(key), set_={column: table.c[column] + statement.excluded[column]}
        )
        return int(connection.execute(upsert.returning(table.c[column])).scalar_one())

    def insert_if_absent(self, connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
        """Insert a row, unless one with the same key is there."""
        connection.execute(self._insert(table).values(dict(row)).on_conflict_do_nothing())

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let one thread of all processes run a block; the lock ends with its process."""
        with self._thread_lock:
            if self.engine.dialect.name == "postgresql":
                with self.engine.begin() as connection:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _EXCLUSIVE})
                    yield
            else:
                with FileLock(f"{self.engine.url.database}.lock"):
                    yield

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _beginning(self) -> AbstractContextManager[object]:
        """Return a lock under which one process of several takes SQLite to WAL mode, for which SQLite does not wait."""
        if self.engine.dialect.name == "postgresql":
            return nullcontext()
        return FileLock(f"{self.engine.url.database}.begin.lock")

    def _insert(self, table: Table) -> postgresql.Insert | sqlite.Insert:
        return postgresql.insert(table) if self.engine.dialect.name == "postgresql" else sqlite.insert(table)

    def _create(self, connection: Connection) -> None:
        if self.engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION})
        METADATA.create_all(connection)
        present = {column["name"] for column in inspect(connection).get_columns(checks.name)}
        if checks.c.account.name not in present:  # of a database that an earlier gem-hub made
            kind = checks.c.account.type.compile(self.engine.dialect)
            connection.execute(text(f"ALTER TABLE {checks.name} ADD COLUMN account {kind} NOT NULL DEFAULT ''"))
        found = connection.execute(select(state.c.value).where(state.c.key == "schema")).scalar_one_or_none()
        if found is None:
            connection.execute(insert(state).values(key="schema", value=str(SCHEMA)))
        elif found != str(SCHEMA):
            raise HubRefusal(f"the database has tables of version {found}, and this gem-hub knows version {SCHEMA}")


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            return create_engine(parsed, pool_pre_ping=True, **_OPTIONS)
        if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
            raise HubRefusal(
                f"{parsed.render_as_string()}: must be sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME"
            )
        path = Path(parsed.database)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
        engine = create_engine(parsed, connect_args={"timeout": _BUSY_SECONDS}, **_OPTIONS)
    except (ArgumentError, NoSuchModuleError) as error:
        raise HubRefusal(
            f"the database's address is invalid: {error}; write sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME"
        ) from error
    except ModuleNotFoundError as error:
        raise HubRefusal("PostgreSQL needs its driver; run: pip install 'gem-hub[postgres]'") from error
    except OSError as error:
        raise HubRefusal(f"{url}: the database cannot be made: {error.strerror or error}") from error
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own transactions begin too late; see _on_begin
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_SECONDS * 1000}"):
        connection.execute(f"PRAGMA {pragma}").close()


def _on_begin(connection: Connection) -> None:
    # A transaction that began as a reader cannot always become a writer, so writers say so at once.
    reads = connection.get_execution_options().get("gem_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
