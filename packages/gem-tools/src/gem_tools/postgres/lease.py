"""This process's share of the cluster: :func:`open_database`.

A process has one connection of the superuser, which holds its lease and claims databases. It opens when the first
database is needed, and closes with the process or by :func:`release_lease`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.fork_hooks import after_fork_in_child
from gem_tools.postgres.databases import ReadyDatabase, claim, give_back
from gem_tools.postgres.episode_database import EpisodeDatabase
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.location import ADMIN, ClusterAddress, cluster_folder, private_folder, read_address
from gem_tools.postgres.programs import server_programs
from gem_tools.postgres.session import import_psycopg, silence

if TYPE_CHECKING:
    import psycopg

__all__ = ["open_database", "release_lease", "require_postgres", "stop_server"]

_START_SECONDS = 180


def open_database() -> EpisodeDatabase:
    """Return an empty database of an episode, with a role of its own. Safe in any thread.

    Raises:
        PostgresError: if PostgreSQL or psycopg is not installed, or the server cannot be started.
    """
    return _process.open()


def release_lease() -> None:
    """Close this process's connection; the supervisor drops the databases that it still had. The next use opens one."""
    _process.close()


@cache
def require_postgres() -> None:
    """Do nothing where databases can be had; the answer is looked for once.

    Raises:
        PostgresError: if PostgreSQL or psycopg is not installed.
    """
    import_psycopg()
    server_programs()


def stop_server() -> None:
    """End the server of this user, whoever uses it, and wait until its files are gone. Without a server, do nothing."""
    import filelock

    release_lease()
    folder = cluster_folder()
    address = read_address(folder)
    if address is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(address.supervisor, signal.SIGTERM)
    with filelock.FileLock(folder / "supervisor.lock", timeout=_START_SECONDS):
        pass


class _ProcessLease:
    """The lease of this process; a forked child begins with none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._admin: psycopg.Connection[Any] | None = None
        self._address: ClusterAddress | None = None
        self._lease = 0
        after_fork_in_child(self._forget)

    def open(self) -> EpisodeDatabase:
        import_psycopg()
        import psycopg

        with self._lock:
            for is_last in (False, False, True):
                admin, address = self._connection()
                try:
                    ready = claim(admin, self._lease)
                    break
                except psycopg.Error as error:  # the server stops just now, or was killed
                    self._drop_connection()
                    if is_last:
                        raise PostgresError(f"the PostgreSQL server gives no database: {error}") from error
        try:
            return EpisodeDatabase(address, ready, self._give_back)
        except PostgresError:
            self._give_back(ready)
            raise

    def close(self) -> None:
        with self._lock:
            self._drop_connection()

    def _give_back(self, ready: ReadyDatabase) -> None:
        """Leave a database to the supervisor; without a connection it finds the database by itself."""
        import psycopg

        with self._lock:
            if self._admin is not None:
                try:
                    give_back(self._admin, ready.name)
                except psycopg.Error:
                    self._drop_connection()

    def _connection(self) -> tuple[psycopg.Connection[Any], ClusterAddress]:
        if self._admin is None or self._admin.closed or self._address is None:
            folder = cluster_folder()
            private_folder(folder)
            found = _connect(read_address(folder))
            if found is None:
                found = _started(folder)
            self._admin, self._address = found
            self._lease = secrets.randbits(62) + 1
            self._admin.execute("SELECT pg_advisory_lock(%s)", (self._lease,))
        return self._admin, self._address

    def _drop_connection(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()

    def _forget(self) -> None:
        """Leave the parent's session alone: what a child sent on the shared socket would end it."""
        self._lock = threading.Lock()
        admin, self._admin = self._admin, None
        if admin is not None and not admin.closed:
            silence(admin.fileno())


def _connect(address: ClusterAddress | None) -> tuple[psycopg.Connection[Any], ClusterAddress] | None:
    import psycopg

    if address is None:
        return None
    try:
        admin = psycopg.connect(
            host=address.sockets, port=address.port, user=ADMIN, dbname="postgres", autocommit=True, connect_timeout=30
        )
    except psycopg.OperationalError:
        return None
    return admin, address


def _started(folder: Path) -> tuple[psycopg.Connection[Any], ClusterAddress]:
    """Start a server, unless another process just does, and return a connection to it."""
    import filelock

    with filelock.FileLock(folder / "start.lock", timeout=_START_SECONDS):
        found = _connect(read_address(folder))
        if found is not None:
            return found
        done = subprocess.run(  # noqa: S603  # this interpreter
            [sys.executable, "-m", "gem_tools.postgres.supervisor", str(folder.absolute())],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_START_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise PostgresError(f"the PostgreSQL server cannot be started: {done.stderr.strip()[-1000:]}")
        found = _connect(read_address(folder))
        if found is None:
            raise PostgresError(f"the PostgreSQL server in {folder} does not answer; its last user may have ended it")
        return found


_process = _ProcessLease()
