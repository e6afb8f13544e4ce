"""A PostgreSQL server of the machine's programs, in a folder of its own: :func:`postgres_server`."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 120


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs, which Debian keeps off the path; None without one."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in versions), key=lambda path: float(path.parent.name), default=None)


@contextlib.contextmanager
def postgres_server(folder: Path, port: int) -> Iterator[dict[str, str]]:
    """Run a server until the end of the block; yield the variables by which clients find it.

    The server refuses to run as root, so root starts it as another user.

    Args:
        folder: the folder of the programs.
        port: a port of 127.0.0.1 that is free.
    """
    user: dict[str, Any] = {}
    home = Path(tempfile.mkdtemp(prefix="gem-postgres-"))
    name = pwd.getpwuid(os.getuid()).pw_name
    if os.getuid() == 0:
        ordinary = pwd.getpwnam("nobody")
        user = {"user": ordinary.pw_uid, "group": ordinary.pw_gid, "extra_groups": []}
        os.chown(home, ordinary.pw_uid, ordinary.pw_gid)
        name = ordinary.pw_name

    def run(program: str, *arguments: str) -> None:
        command = [str(folder / program), "-D", str(home / "data"), *arguments]
        log = home / f"{program}.log"
        with log.open("wb") as file:
            done = subprocess.run(command, stdout=file, stderr=file, cwd=home, timeout=SECONDS, check=False, **user)
        assert done.returncode == 0, log.read_text()

    try:
        run("initdb", "--username", name, "--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8")
        settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={home} -c fsync=off"
        run("pg_ctl", "start", "-w", "-s", "-o", settings, "-l", str(home / "server.log"))
        try:
            yield {
                "PGHOST": "127.0.0.1",
                "PGPORT": str(port),
                "PGUSER": name,
                "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
            }
        finally:
            run("pg_ctl", "stop", "-w", "-s", "-m", "immediate")
    finally:
        shutil.rmtree(home)
