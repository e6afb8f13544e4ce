"""The server's process: :func:`start_process` makes a cluster in a folder and starts its server."""

from __future__ import annotations

import ctypes
import os
import pwd
import random
import resource
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.programs import server_programs

if TYPE_CHECKING:
    import psycopg

__all__ = ["START_SECONDS", "connect_locally", "start_process", "stop_process"]

START_SECONDS = 120.0
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
"""The kernel then sends a signal when the parent ends; SIGQUIT makes the server end at once."""
_MOST_MEMORY = 2 << 30
"""Bytes of addresses of each session's process, so that a huge value is an error of its statement."""
_PORTS = (20_000, 32_000)
"""Below the ports that kernels choose for connections."""

_SETTINGS = {
    # The cluster lives as long as its process: nothing must survive a crash of the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1d",
    "timezone": "UTC",
    "lc_messages": "C",
    # An agent's statement fills neither disk nor log.
    "temp_file_limit": "262144",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}


def start_process(
    home: Path, superuser: str, access: str, settings: Mapping[str, str], *, confined: bool = False
) -> tuple[subprocess.Popen[bytes], int]:
    """Make a cluster below a folder and start its server, which ends with this thread; return it and its port.

    The server's socket lies in the folder.

    Args:
        home: an empty folder; it will belong to the server's user.
        superuser: the role that may do everything.
        access: the content of ``pg_hba.conf``. The superuser must be able to connect over the socket.
        settings: of the server, beside those for a cluster that nobody keeps.
        confined: whether the kernel keeps the server from starting programs, from TCP, and from files of others.

    Raises:
        PostgresError: if the server cannot be started, or confined.
    """
    programs = server_programs()
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # the server refuses to run as root
        ordinary = pwd.getpwnam("nobody")
        user = {"user": ordinary.pw_uid, "group": ordinary.pw_gid, "extra_groups": []}
        os.chown(home, ordinary.pw_uid, ordinary.pw_gid)
    data = home / "data"
    done = subprocess.run(  # noqa: S603  # the machine's own program
        [programs / "initdb", "-D", data, "--username", superuser, "--no-sync", "--no-locale", "--encoding=UTF8", "-A",
         "trust", "--no-instructions"],
        capture_output=True, cwd=home, check=False, timeout=START_SECONDS, **user,
    )  # fmt: skip
    if done.returncode:
        raise PostgresError(f"initdb failed: {done.stderr.decode(errors='replace')[-500:]}")
    (data / "pg_hba.conf").write_text(access)
    restrictions = [_die_with_parent]
    if confined:
        from gem_tools.postgres.confinement import confine  # before the fork, as a user who can import it

        restrictions.append(lambda: confine(programs, home))

    def restrict() -> None:
        for restriction in restrictions:
            restriction()

    for _ in range(20):
        port = random.SystemRandom().randint(*_PORTS)
        given = {**_SETTINGS, **settings, "port": str(port), "unix_socket_directories": str(home)}
        options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        with (home / "server.log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603  # the machine's own program
                [programs / "postgres", "-D", data, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home,
                preexec_fn=restrict, **user,
            )  # fmt: skip
        if _answers(server, home, port, superuser):
            return server, port
    raise PostgresError(f"the server does not start: {(home / 'server.log').read_text(errors='replace')[-500:]}")


def connect_locally(home: Path | str, port: int, user: str, database: str) -> psycopg.Connection[Any]:
    """Return a connection over the socket in a folder, on which each statement is committed at once."""
    import psycopg

    return psycopg.connect(host=str(home), port=port, user=user, dbname=database, autocommit=True)


def stop_process(server: subprocess.Popen[bytes]) -> None:
    """End a server at once."""
    server.send_signal(signal.SIGQUIT)
    try:
        server.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _die_with_parent() -> None:
    # Runs between fork and exec of a process with one thread, maybe as a user who can import nothing.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _answers(server: subprocess.Popen[bytes], home: Path, port: int, superuser: str) -> bool:
    import psycopg

    end = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            connect_locally(home, port, superuser, "postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.02)
        else:
            return True
    server.kill()
    server.wait()
    return False  # the port is taken, for example
