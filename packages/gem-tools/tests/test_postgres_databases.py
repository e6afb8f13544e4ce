"""Databases of episodes in a real PostgreSQL: isolation, bounds, and what is left after a kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="NOT TESTED: psycopg is not installed; it comes with gem-tools[postgres]")

import psycopg

from gem_tools.postgres import (
    SHARED_ROLES,
    PostgresError,
    PostgresStatementError,
    open_database,
    release_lease,
    stop_server,
)
from gem_tools.postgres.location import ADMIN, cluster_folder, read_address
from gem_tools.postgres.programs import server_programs

pytestmark = [pytest.mark.slow(reason="it starts a database"), pytest.mark.xdist_group("postgres_databases")]


FIRST_USER = "import os; os.nice(10); from gem_tools.postgres import open_database; open_database().close()"


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of these tests alone, which a process of low priority starts."""
    try:
        server_programs()
    except PostgresError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_POSTGRES_DIR", str(tmp_path_factory.mktemp("cluster ö")))
        release_lease()  # of another server, if tests of other files have used one
        try:
            subprocess.run([sys.executable, "-c", FIRST_USER], check=True)
            yield
        finally:
            stop_server()


def admin() -> psycopg.Connection[Any]:
    address = read_address(cluster_folder())
    assert address is not None
    return psycopg.connect(host=address.sockets, port=address.port, user=ADMIN, dbname="postgres", autocommit=True)


def eventually(holds: Any, seconds: float = 60.0) -> bool:
    """Return whether a condition comes true: the supervisor works at its own pace."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def used_databases(connection: psycopg.Connection[Any]) -> set[str]:
    rows = connection.execute("SELECT name FROM episodes WHERE state NOT IN ('ready', 'making')").fetchall()
    return {row[0] for row in rows}


def refused(database: Any, statement: str, **options: Any) -> str:
    with pytest.raises(PostgresStatementError) as caught:
        database.execute(statement, **options)
    return str(caught.value)


def test_an_episode_reaches_no_other() -> None:
    """Its role has no rights in the cluster, sees no other database by name, and cannot connect to one."""
    one, other = open_database(), open_database()
    try:
        other.execute("CREATE TABLE secret (x integer)")
        other.execute("GRANT ALL ON secret TO PUBLIC")
        other.execute(f"GRANT CONNECT ON DATABASE {other.name} TO PUBLIC")
        for statement in (
            "CREATE ROLE intruder",
            "CREATE DATABASE another",
            "SELECT datname FROM pg_database",
            "SELECT rolname FROM pg_roles",
            "SELECT * FROM pg_stat_activity",
            "SELECT pg_stat_get_activity(NULL)",
            f"GRANT {SHARED_ROLES[0]} TO {SHARED_ROLES[1]}",
            f"ALTER ROLE {SHARED_ROLES[0]} NOLOGIN",
            f"SET ROLE {SHARED_ROLES[0]}",
            f"DROP DATABASE {other.name}",
            "ALTER SYSTEM SET fsync = on",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('/etc/passwd')",
            "CREATE EXTENSION dblink",
        ):
            assert refused(one, statement), statement
        assert "secret" not in str(one.execute("SELECT relname FROM pg_class WHERE relname = 'secret'").rows)
        # By its own password, and in spite of the grant.
        elsewhere = one.url.rpartition("/")[0] + f"/{other.name}"
        with pytest.raises(psycopg.OperationalError, match="pg_hba"):
            psycopg.connect(elsewhere)
        with psycopg.connect(one.url) as own:
            assert own.execute("SELECT 1").fetchone() == (1,)
    finally:
        one.close()
        other.close()


def test_a_call_is_one_statement_that_is_committed() -> None:
    """No second statement, no open transaction, and no write where only reading is allowed."""
    database = open_database()
    try:
        assert "multiple commands" in refused(database, "SELECT 1; CREATE TABLE t (x integer)")
        assert "read-only" in refused(database, "CREATE TABLE t (x integer)", read_only=True)
        database.execute("COMMIT", read_only=True)
        assert "read-only" in refused(database, "CREATE TABLE t (x integer)", read_only=True)
        assert "transaction" in refused(database, "BEGIN")
        assert "COPY" in refused(database, "COPY (SELECT 1) TO STDOUT")
        assert database.execute("CREATE TABLE t (x integer)").command == "CREATE TABLE"
        assert database.execute("INSERT INTO t VALUES (1) RETURNING x").rows == [("1",)]
        assert "NUL" in refused(database, "SELECT '\0'")
        assert "Unicode" in refused(database, "SELECT '\ud800'")
        with contextlib.closing(database.fresh_session()) as session:
            assert session.execute("SELECT x FROM t").rows == [("1",)]
    finally:
        database.close()


def test_a_statement_has_bounds() -> None:
    """Time, even where the statement catches its cancellation, and rows."""
    database = open_database()
    stubborn = (
        "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$"
    )
    try:
        assert "too long" in refused(database, "SELECT pg_sleep(60)", seconds=0.05)
        assert "too long" in refused(database, stubborn, seconds=0.05)
        found = database.execute("SELECT * FROM generate_series(1, 100000)", read_only=True, max_rows=10)
        assert [row[0] for row in found.rows] == [str(number) for number in range(1, 12)]
        assert database.execute("SELECT 1", read_only=True).rows == [("1",)]
    finally:
        database.close()


def test_a_forked_child_leaves_the_databases_of_its_parent_alone() -> None:
    """It neither ends their sessions nor gives them back."""
    database = open_database()
    try:
        child = os.fork()
        if not child:
            database.close()
            release_lease()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert database.execute("SELECT 1").rows == [("1",)]
        with admin() as connection:
            assert database.name in used_databases(connection)
    finally:
        database.close()


def test_nothing_is_left_after_kill_9() -> None:
    """Databases, roles and connections of a killed process, also those of its own children, are gone."""
    script = (
        "from gem_tools.postgres import open_database\n"
        "import psycopg, time\n"
        "held = [open_database() for _ in range(3)]\n"
        "held[0].execute('CREATE TABLE t AS SELECT 1 AS x')\n"
        "other = psycopg.connect(held[0].url)\n"
        "print(*(one.name for one in held), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        names = process.stdout.readline().split()
        assert len(names) == 3
        with admin() as connection:

            def left(query: str) -> set[str]:
                return {row[0] for row in connection.execute(query).fetchall()} & set(names)

            assert left("SELECT datname FROM pg_database") == left("SELECT rolname FROM pg_roles") == set(names)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert eventually(lambda: not left("SELECT name FROM episodes"))
            assert not left("SELECT datname FROM pg_database")
            assert not left("SELECT rolname FROM pg_roles")
            assert not left("SELECT usename FROM pg_stat_activity")
    finally:
        process.kill()
        process.communicate()


def test_episodes_open_side_by_side() -> None:
    """Thirty-two at once have databases of their own; all are dropped after their end."""
    opened: list[Any] = []
    errors: list[BaseException] = []

    def open_one() -> None:
        try:
            opened.append(open_database())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert not errors
        assert len({database.name for database in opened}) == 32
        for database in opened:
            database.execute("CREATE TABLE t (x integer)")
    finally:
        for database in opened:
            database.close()
    with admin() as connection:
        assert eventually(lambda: not used_databases(connection))


def test_as_many_databases_are_ready_as_are_open() -> None:
    """Episodes that end and begin together find them, with a cache of the catalogue that no session had to write."""
    opened = [open_database() for _ in range(6)]
    try:
        with admin() as connection:

            def ready() -> set[str]:
                found = connection.execute(
                    "SELECT oid FROM episodes JOIN pg_database ON datname = name WHERE state = 'ready'"
                )
                return {str(oid) for (oid,) in found.fetchall()}

            assert eventually(lambda: len(ready()) >= len(opened))
            address = read_address(cluster_folder())
            assert address is not None
            folders = Path(address.sockets) / "data" / "base"
            assert all((folders / oid / "pg_internal.init").exists() for oid in ready())
    finally:
        for database in opened:
            database.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only a privileged process can raise its priority")
def test_the_server_does_not_have_the_priority_of_its_first_user() -> None:
    """The one that started it has ended, and others wait for the server."""
    address = read_address(cluster_folder())
    assert address is not None
    assert os.getpriority(os.PRIO_PROCESS, address.supervisor) == 0
    with contextlib.closing(open_database()) as database:
        server = int(database.execute("SELECT pg_backend_pid()").rows[0][0] or 0)
        assert os.getpriority(os.PRIO_PROCESS, server) == 0


@pytest.mark.nightly
def test_a_killed_supervisor_takes_its_server_along() -> None:
    """The next episode has a new one, which has removed the folder of the other."""
    database = open_database()
    address = read_address(cluster_folder())
    assert address is not None
    os.kill(address.supervisor, signal.SIGKILL)

    def is_gone() -> bool:
        try:
            psycopg.connect(host=address.sockets, port=address.port, user=ADMIN, dbname="postgres").close()
        except psycopg.OperationalError:
            return True
        return False

    assert eventually(is_gone)
    with pytest.raises((PostgresError, PostgresStatementError)):
        database.execute("SELECT 1")
    database.close()
    again = open_database()
    assert again.execute("SELECT 1").rows == [("1",)]
    assert not Path(address.sockets).exists()
    again.close()
