"""A server of an episode's own: what its superuser cannot do, and what is left after a kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="NOT TESTED: psycopg is not installed; it comes with gem-tools[postgres]")

import psycopg

from gem_tools.postgres import ClusterDatabase, PostgresError, PostgresStatementError, open_cluster
from gem_tools.postgres.confinement import can_confine
from gem_tools.postgres.programs import server_programs

pytestmark = [pytest.mark.slow(reason="it starts a database"), pytest.mark.xdist_group("postgres_databases")]


@pytest.fixture(autouse=True)
def needs_a_server() -> None:
    try:
        server_programs()
    except PostgresError as error:
        pytest.skip(str(error))
    if not can_confine():
        pytest.skip("the kernel has no Landlock")


@pytest.fixture
def database() -> Iterator[ClusterDatabase]:
    with contextlib.closing(open_cluster("tasks of ö")) as opened:
        yield opened


def eventually(holds: Any, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_superuser_stays_in_its_cluster(database: ClusterDatabase, tmp_path: Path) -> None:
    """Roles and databases as it likes, but neither programs, nor TCP, nor files of others; and it ends with close."""
    database.execute("CREATE ROLE helper LOGIN PASSWORD 'x' SUPERUSER")
    database.execute("CREATE DATABASE another")
    with psycopg.connect(database.url) as other:
        assert other.execute("SELECT current_user, current_database()").fetchone() == ("postgres", "tasks of ö")
    (tmp_path / "secret").write_text("x")
    tmp_path.chmod(0o777)
    for statement in (
        "COPY (SELECT 1) TO PROGRAM 'true'",
        f"COPY (SELECT 1) TO '{tmp_path}/leak'",
        f"SELECT pg_read_file('{tmp_path}/secret')",
        f"SELECT pg_ls_dir('{tmp_path}')",
        "SELECT pg_read_file('/etc/passwd')",
    ):
        with pytest.raises(PostgresStatementError):
            database.execute(statement)
    assert not (tmp_path / "leak").exists()
    home = Path(database.sockets)
    assert home.exists()
    database.close()
    database.close()
    assert not home.exists()


@pytest.mark.nightly
def test_a_forked_child_does_not_end_the_cluster(database: ClusterDatabase) -> None:
    """And the cluster ends although the child still lives."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        database.close()
        os.read(reading, 1)
        os._exit(0)
    try:
        assert database.execute("SELECT 1").rows == [("1",)]
        database.close()
        assert not Path(database.sockets).exists()
    finally:
        os.close(writing)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)


@pytest.mark.nightly
def test_a_cluster_ends_with_a_killed_process() -> None:
    """Its server and its files are gone."""
    script = (
        "from gem_tools.postgres import open_cluster\n"
        "import time\n"
        "held = open_cluster('tasks')\n"
        "print(held.sockets, held.execute('SELECT pg_backend_pid()').rows[0][0], flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        sockets, server = process.stdout.readline().split()
        assert Path(sockets).exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert eventually(lambda: not Path(sockets).exists() and not Path("/proc", server).exists())
    finally:
        process.kill()
        process.communicate()
