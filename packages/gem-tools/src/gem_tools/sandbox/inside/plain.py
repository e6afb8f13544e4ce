"""A program without a jail: a separate process with the limits that every system supports."""

from __future__ import annotations

import gc
import json
import math
import os
import socket
import sys

from gem_processes import rlimits
from gem_tools.sandbox.inside import allowed_imports, interactive, script

__all__ = ["main"]


def main() -> None:
    """Apply the limits and execute the program; never returns.

    The argument of the command is JSON with ``path`` (import path), ``allowed`` (see :mod:`.allowed_imports`),
    ``channel`` or ``program`` (descriptors), and ``memory``, ``disk``, ``open_files``, ``cpu_seconds`` and
    ``processes``.
    """
    given = json.loads(sys.argv[1])
    import site

    sys.path[:] = [os.getcwd(), *given["path"]]
    allowed_imports.install(**given["allowed"])
    sys.argv = ["<python>"]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    _set_limits(given)
    script.connect_streams()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("gem", "gem_tools")]:
        del sys.modules[name]
    gc.collect()
    main = None
    if given["channel"] is not None:
        exit_code = interactive.serve_calls(socket.socket(fileno=given["channel"]))
    else:
        prelude, code = script.read_program(given["program"])
        main = script.new_main(code)
        exit_code = script.execute(main, prelude, code, "<python>")
    failed = script.finish(main)
    os._exit(exit_code or failed)


def _set_limits(given: dict[str, float]) -> None:
    limits = {
        "RLIMIT_AS": given["memory"] + rlimits.address_space(),
        "RLIMIT_FSIZE": given["disk"],
        "RLIMIT_NOFILE": given["open_files"],
        "RLIMIT_CORE": 0,
    }
    if given["cpu_seconds"] is not None:
        limits["RLIMIT_CPU"] = math.ceil(given["cpu_seconds"])
    if sys.platform == "linux":
        # The limit counts all processes of the user, so the existing ones are added.
        limits["RLIMIT_NPROC"] = given["processes"] + _threads_of_the_user()
    rlimits.lower_limits(limits)


def _threads_of_the_user() -> int:
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # the process has ended meanwhile
            continue
    return count
