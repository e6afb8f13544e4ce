"""The programs of PostgreSQL's server on this machine: :func:`server_programs`."""

from __future__ import annotations

import shutil
from pathlib import Path

from gem_tools.postgres.errors import PostgresError

__all__ = ["server_programs"]

_DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian keeps the server's programs, off the path, in a folder for each version."""


def server_programs() -> Path:
    """Return the folder of ``initdb`` and ``postgres``, of the newest version off the path.

    Raises:
        PostgresError: if they are not installed.
    """
    found = shutil.which("initdb")
    if found is not None and (folder := Path(found).resolve().parent).joinpath("postgres").exists():
        return folder
    versions = [path.parent for path in _DEBIAN.glob("*/bin/initdb") if path.with_name("postgres").exists()]
    if not versions:
        raise PostgresError(
            "PostgreSQL's server is not installed: initdb is neither on the path nor below /usr/lib/postgresql. "
            "Install it (apt-get install postgresql), or choose SQLite with engine='sqlite'"
        )
    return max(versions, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])
