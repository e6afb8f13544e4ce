"""A program without a jail: a process of its own, with what limits the system gives to everybody."""

from __future__ import annotations

import gc
import json
import math
import os
import socket
import sys

from . import interactive, script

__all__ = ["main"]


def main(arguments: str) -> None:
    """Take on the limits and become the program; never returns.

    Args:
        arguments: JSON: ``path`` (folders to import from), ``channel`` or ``program`` (descriptors), and ``memory``,
            ``disk``, ``open_files``, ``cpu_seconds`` and ``processes``.
    """
    given = json.loads(arguments)
    import site

    sys.path[:] = [os.getcwd(), *given["path"]]
    sys.argv = ["<python>"]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    _set_limits(given)
    script.connect_streams()
    for name in [name for name in sys.modules if name.partition(".")[0] == "inside"]:
        del sys.modules[name]
    gc.collect()
    if given["channel"] is not None:
        exit_code = interactive.serve_calls(socket.socket(fileno=given["channel"]))
    else:
        prelude, code = script.read_program(given["program"])
        exit_code = script.execute(script.new_main(), prelude, code, "<python>")
    os._exit(exit_code or script.finish())


def _set_limits(given: dict[str, float]) -> None:
    try:
        import resource
    except ImportError:  # not on this system; the warning has said so
        return
    limits = {
        "RLIMIT_AS": int(given["memory"]) + _address_space(),
        "RLIMIT_FSIZE": int(given["disk"]),
        "RLIMIT_NOFILE": int(given["open_files"]),
        "RLIMIT_CORE": 0,
    }
    if given["cpu_seconds"] is not None:
        limits["RLIMIT_CPU"] = math.ceil(given["cpu_seconds"])
    if sys.platform == "linux":
        # Everything that the user runs counts, so what there is already comes on top.
        limits["RLIMIT_NPROC"] = int(given["processes"]) + _threads_of_the_user()
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):  # macOS refuses some
            continue


def _address_space() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _threads_of_the_user() -> int:
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it has ended meanwhile
            continue
    return count
