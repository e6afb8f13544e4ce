"""A PostgreSQL server of the tests: a fresh cluster behind a Unix socket, which goes with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

USERS = ("postgres", "nobody")
"""Accounts for the server, which refuses to run as root."""


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def postgres_server() -> Iterator[Callable[[], str]]:
    """Run a server for the duration of a block; yield a function that makes a database and returns its address."""
    pytest.importorskip("psycopg", reason="NOT TESTED: psycopg is not installed; it comes with gem-hub[postgres]")
    from sqlalchemy import create_engine

    folder_of_programs = programs()
    assert folder_of_programs is not None
    user = next(entry for entry in pwd.getpwall() if entry.pw_name in USERS) if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="gempg"))
    try:
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user is not None else {}
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        initdb = [folder_of_programs / "initdb", "-D", folder / "data", "-U", "gem", "-A", "trust", "--no-sync"]
        subprocess.run(initdb, cwd=folder, check=True, stdout=subprocess.DEVNULL, **as_user)  # type: ignore[call-overload]
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        control = [folder_of_programs / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-o", options, "-w"]
        subprocess.run([*control, "start"], cwd=folder, check=True, stdout=subprocess.DEVNULL, **as_user)  # type: ignore[call-overload]
        try:
            numbers = count()
            base = f"postgresql+psycopg://gem@/{{}}?host={folder}"

            def new_database() -> str:
                name = f"registry{next(numbers)}"
                engine = create_engine(base.format("postgres"), isolation_level="AUTOCOMMIT")
                with engine.connect() as connection:
                    connection.exec_driver_sql(f"CREATE DATABASE {name}")
                engine.dispose()
                return base.format(name)

            yield new_database
        finally:
            stop = [*control, "-m", "immediate", "stop"]
            subprocess.run(stop, cwd=folder, check=True, stdout=subprocess.DEVNULL, **as_user)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder)
