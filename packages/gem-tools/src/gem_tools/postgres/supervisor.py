"""The process that owns a PostgreSQL server: ``python -m gem_tools.postgres.supervisor FOLDER``.

It makes a new cluster in a temporary folder, starts the server, and leaves its address in FOLDER. While anyone holds a
lease, it keeps databases ready and drops orphans. Some time after the last lease it stops the server and removes all
files. The kernel ends the server if this process is killed. The command returns when the server is ready; the process
goes on in the background.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import pwd
import random
import resource
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
    count_ready,
    drop_orphans,
    held_leases,
    hide_neighbours,
    prepare_cluster,
)
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.homes import new_home, remove_abandoned_homes
from gem_tools.postgres.location import ADMIN, PROBER, ClusterAddress, private_folder, write_address
from gem_tools.postgres.programs import server_programs

if TYPE_CHECKING:
    import psycopg

__all__ = ["main"]

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
"""The kernel then sends a signal when the parent ends; SIGQUIT makes the server end at once."""
_MOST_MEMORY = 2 << 30
"""Bytes of addresses of each session's process, so that a huge value is an error of its statement."""
_READY = 4
"""Databases kept ready; a copy has 8 MB."""
_IDLE_SECONDS = 60.0
_LOOK_SECONDS = 0.5
"""Between two looks for processes that have ended."""
_START_SECONDS = 120.0
_PORTS = (20_000, 32_000)
"""Below the ports that kernels choose for connections."""

_SETTINGS = {
    "max_connections": "500",
    "shared_buffers": "128MB",
    # The cluster lives as long as its process: nothing must survive a crash of the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1d",
    # Equal statements have equal results and plans.
    "autovacuum": "off",
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "timezone": "UTC",
    "lc_messages": "C",
    # An agent's statement fills neither disk nor log.
    "temp_file_limit": "262144",
    "max_locks_per_transaction": "256",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
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
    os.setsid()
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
            server, address = _start(home)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            with _connected(address, "postgres") as admin:
                prepare_cluster(admin)
                with _connected(address, "gem_template") as template:
                    hide_neighbours(template)
                write_address(folder, address)
                os.write(pipe, b"ready")
                os.close(pipe)
                _serve(admin, server, float(os.environ.get("GEM_POSTGRES_IDLE_SECONDS", _IDLE_SECONDS)))
        finally:
            write_address(folder, None)
            if server is not None:
                _stop(server)
            shutil.rmtree(home, ignore_errors=True)


def _lock(file: int) -> None:
    """Wait for a supervisor that is about to end."""
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise PostgresError("another supervisor owns the folder and does not end") from None
            time.sleep(0.05)
        else:
            return


def _start(home: Path) -> tuple[subprocess.Popen[bytes], ClusterAddress]:
    programs = server_programs()
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # the server refuses to run as root
        ordinary = pwd.getpwnam("nobody")
        user = {"user": ordinary.pw_uid, "group": ordinary.pw_gid, "extra_groups": []}
        os.chown(home, ordinary.pw_uid, ordinary.pw_gid)
    data = home / "data"
    done = subprocess.run(  # noqa: S603  # the machine's own program
        [programs / "initdb", "-D", data, "--username", ADMIN, "--no-sync", "--no-locale", "--encoding=UTF8", "-A",
         "trust", "--no-instructions"],
        capture_output=True, cwd=home, check=False, timeout=_START_SECONDS, **user,
    )  # fmt: skip
    if done.returncode:
        raise PostgresError(f"initdb failed: {done.stderr.decode(errors='replace')[-500:]}")
    (data / "pg_hba.conf").write_text(_ACCESS)
    for _ in range(20):
        port = random.SystemRandom().randint(*_PORTS)
        settings = {**_SETTINGS, "listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": home}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (home / "server.log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603  # the machine's own program
                [programs / "postgres", "-D", data, *options],
                stdout=log, stderr=log, cwd=home, preexec_fn=_die_with_parent, **user,
            )  # fmt: skip
        address = ClusterAddress(str(home), port, os.getpid())
        if _answers(server, address):
            return server, address
    raise PostgresError(f"the server does not start: {(home / 'server.log').read_text(errors='replace')[-500:]}")


def _die_with_parent() -> None:
    # Runs between fork and exec of a process with one thread, maybe as a user who can import nothing.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _answers(server: subprocess.Popen[bytes], address: ClusterAddress) -> bool:
    import psycopg

    end = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            _connected(address, "postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.02)
        else:
            return True
    server.kill()
    server.wait()
    return False  # the port is taken, for example


def _connected(address: ClusterAddress, database: str) -> psycopg.Connection[Any]:
    import psycopg

    return psycopg.connect(host=address.sockets, port=address.port, user=ADMIN, dbname=database, autocommit=True)


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
                if count_ready(admin) < _READY:
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


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGQUIT)
    try:
        server.wait(_START_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
