"""The process that owns a PostgreSQL server: ``python -m gem_tools.postgres.supervisor FOLDER``.

It makes a new cluster in a temporary folder, starts the server, and leaves its address in FOLDER. While anyone holds a
lease, it keeps databases ready and drops orphans. Some time after the last lease it stops the server and removes all
files. The kernel ends the server if this process is killed. The command returns when the server is ready; the process
goes on in the background.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_tools.postgres.databases import (
    CHANNEL,
    add_ready,
    count_databases,
    drop_orphans,
    held_leases,
    hide_neighbours,
    prepare_cluster,
)
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.homes import new_home, remove_abandoned_homes
from gem_tools.postgres.location import ADMIN, PROBER, ClusterAddress, private_folder, write_address
from gem_tools.postgres.server_process import START_SECONDS, connect_locally, start_process, stop_process

if TYPE_CHECKING:
    import psycopg

__all__ = ["main"]

_FEWEST_READY, _MOST_READY = 4, 32
"""Databases kept ready; a copy has 8 MB. Between the two, as many as are in use, which may end and begin together."""
_IDLE_SECONDS = 60.0
_LOOK_SECONDS = 0.5
"""Between two looks for processes that have ended."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "500",
    "shared_buffers": "128MB",
    "max_locks_per_transaction": "256",
    # Equal statements have equal results and plans.
    "autovacuum": "off",
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # So that a password costs microseconds; it protects an empty database on the loopback for minutes.
    "password_encryption": "md5",
}

_ACCESS = f"""local all {ADMIN},{PROBER} trust
local sameuser all trust
host sameuser all 127.0.0.1/32 md5
"""
"""An episode's role reaches the database of its own name alone, whatever it grants to whom.

Only the owner of the folder reaches the socket, and so needs no password.
"""


def main() -> int:
    """Start a server and return 0 when it is ready, in a child that goes on; or print the reason and return 1."""
    folder = Path(sys.argv[1])
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        if said != b"ready":
            sys.stderr.write(said.decode(errors="replace") or "the supervisor ended without a word")
            return 1
        return 0
    os.close(reading)
    os.setsid()  # with it, the kernel schedules the process apart from its first user
    with contextlib.suppress(OSError):  # without privileges, a lower priority is for ever
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    try:
        _supervise(folder, writing)
    except Exception as error:  # its last words go to the process that waits, if it still does
        with contextlib.suppress(OSError):
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        return 1
    return 0


def _supervise(folder: Path, pipe: int) -> None:
    private_folder(folder)
    with (folder / "supervisor.lock").open("w") as lock:
        _lock(lock.fileno())
        remove_abandoned_homes()
        home = new_home()
        server = None
        try:
            server, port = start_process(home, ADMIN, _ACCESS, _SETTINGS)
            address = ClusterAddress(str(home), port, os.getpid())
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            with connect_locally(home, port, ADMIN, "postgres") as admin:
                prepare_cluster(admin)
                with connect_locally(home, port, ADMIN, "gem_template") as template:
                    hide_neighbours(template)
                # A session of a database without a cache file of the catalogue writes one, and copies have it.
                connect_locally(home, port, ADMIN, "gem_template").close()
                write_address(folder, address)
                os.write(pipe, b"ready")
                os.close(pipe)
                _serve(admin, server, float(os.environ.get("GEM_POSTGRES_IDLE_SECONDS", _IDLE_SECONDS)))
        finally:
            write_address(folder, None)
            if server is not None:
                stop_process(server)
            shutil.rmtree(home, ignore_errors=True)


def _lock(file: int) -> None:
    """Wait for a supervisor that is about to end."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise PostgresError("another supervisor owns the folder and does not end") from None
            time.sleep(0.05)
        else:
            return


def _serve(admin: psycopg.Connection[Any], server: subprocess.Popen[bytes], idle_seconds: float) -> None:
    """Keep databases ready and drop orphans until nobody has held a lease for some time."""
    import psycopg

    own = 0
    admin.execute(f"LISTEN {CHANNEL}".encode())
    used = time.monotonic()
    while server.poll() is None:
        try:
            drop_orphans(admin, own)
            if held_leases(admin):
                used = time.monotonic()
                count = count_databases(admin)
                if count.ready < min(max(count.used, _FEWEST_READY), _MOST_READY):
                    add_ready(admin)
                    continue
            elif time.monotonic() - used > idle_seconds:
                return
        except psycopg.OperationalError:
            if admin.closed:
                return
        except psycopg.Error:
            pass  # a session that ends while its database is dropped; the next round tries again
        # The notification of a claim or a return; a process that was killed sends none.
        for _ in admin.notifies(timeout=_LOOK_SECONDS, stop_after=1):
            pass


if __name__ == "__main__":
    sys.exit(main())
