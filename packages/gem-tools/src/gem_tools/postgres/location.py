"""The folder in which the processes of a user find the running server, and the note that leads to it."""

from __future__ import annotations

import json
import os
import platform
import stat
from pathlib import Path
from typing import Any, NamedTuple

from gem_tools.postgres.errors import PostgresError

__all__ = ["ADMIN", "PROBER", "ClusterAddress", "cluster_folder", "private_folder", "read_address", "write_address"]

ADMIN = "gem"
"""The superuser, who can connect over the server's socket alone, whose folder only its owner may enter."""

PROBER = "prober"
"""The login for looks at a database with the rights of a shared role; it owns nothing."""

_NOTE = "server.json"


class ClusterAddress(NamedTuple):
    """Where a server listens."""

    sockets: str
    """The folder of its socket."""
    port: int
    """Of the socket, and on 127.0.0.1."""
    supervisor: int
    """The process that owns it."""


def cluster_folder() -> Path:
    """Return the folder of this user's cluster on this machine: ``GEM_POSTGRES_DIR``, or one in the cache folder."""
    named = os.environ.get("GEM_POSTGRES_DIR")
    if named:
        return Path(named)
    # Several machines may share a home.
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gem" / f"postgres-{platform.node()}"


def private_folder(folder: Path) -> None:
    """Make a folder that only this user may enter.

    Raises:
        PostgresError: if it belongs to somebody else, who could put another server there.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat(follow_symlinks=False)
    except OSError as error:
        raise PostgresError(f"the folder of the PostgreSQL server, {folder}, cannot be made: {error}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PostgresError(
            f"the folder of the PostgreSQL server, {folder}, belongs to user {found.st_uid}, not to {os.getuid()}; "
            "name another one by GEM_POSTGRES_DIR"
        )


def read_address(folder: Path) -> ClusterAddress | None:
    """Return the address that the supervisor has written, or None. The server may be gone."""
    try:
        note: dict[str, Any] = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        return ClusterAddress(str(note["sockets"]), int(note["port"]), int(note["supervisor"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_address(folder: Path, address: ClusterAddress | None) -> None:
    """Write the address in one step, or remove it."""
    note = folder / _NOTE
    if address is None:
        note.unlink(missing_ok=True)
        return
    new = folder / f"{_NOTE}.{os.getpid()}"
    new.write_text(json.dumps(address._asdict()), encoding="utf-8")
    new.replace(note)
