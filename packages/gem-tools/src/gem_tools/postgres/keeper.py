"""The process that owns the server of one episode: ``python -m gem_tools.postgres.keeper``.

It prints the address of a new server in a line of JSON, and ends it when its input ends or says a byte, as it does when
the process at the other end is killed. The kernel ends the server if this process is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys

from gem_tools.postgres.confinement import can_confine
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.homes import new_home, remove_abandoned_homes
from gem_tools.postgres.server_process import start_process, stop_process

__all__ = ["SUPERUSER", "main"]

SUPERUSER = "postgres"
"""As most installations call it."""

_ACCESS = "local all all trust\n"
"""Only the owner of the folder reaches the socket."""

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "32MB",
    # Else it would need a folder of the whole machine.
    "dynamic_shared_memory_type": "mmap",
}


def main() -> int:
    """Keep a server until the input ends; return 1 if it cannot be started."""
    home = server = None
    try:
        if not can_confine():
            raise PostgresError("the kernel has no Landlock, which keeps an agent who is superuser in its database")
        remove_abandoned_homes()
        home = new_home()
        server, port = start_process(home, SUPERUSER, _ACCESS, _SETTINGS, confined=True)
        _say({"sockets": str(home), "port": port})
        os.read(0, 1)
    except (OSError, PostgresError) as error:
        _say({"error": str(error)})
        return 1
    finally:
        if server is not None:
            stop_process(server)
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
    return 0


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
