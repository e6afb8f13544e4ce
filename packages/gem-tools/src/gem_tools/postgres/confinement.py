"""What a server may do whose superuser is an agent: :func:`confine`."""

from __future__ import annotations

import platform
from pathlib import Path

from gem_processes.landlock import EXECUTE, MAKE_SOCKET, READ, READ_FILE, SCRATCH, WRITE_FILE, Ruleset, abi
from gem_processes.linux import no_new_privileges

__all__ = ["can_confine", "confine"]

_READABLE = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/dev/urandom")
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", f"/lib/ld-linux-{platform.machine()}.so.1")


def can_confine() -> bool:
    """Return whether the kernel can confine a server."""
    return abi() > 0


def confine(programs: Path, home: Path) -> None:
    """Restrict this process and all that it starts, before it becomes the server.

    A superuser can start programs (``COPY … TO PROGRAM``), read and write files, and load code. The kernel then leaves
    it the server's program, the libraries of the machine, and the files of the cluster. From Linux 6.7 it has no TCP.

    Args:
        programs: the folder of the server's programs.
        home: the folder of the cluster and of its socket.
    """
    no_new_privileges()
    rules = Ruleset(min(abi(), 7))
    for path in (*_READABLE, str(programs.parent)):
        rules.allow_path(path, READ)
    rules.allow_path(str(home), (SCRATCH & ~EXECUTE) | MAKE_SOCKET)
    rules.allow_path("/dev/null", READ_FILE | WRITE_FILE)
    for path in (str(programs / "postgres"), *_LOADERS):
        rules.allow_path(path, READ_FILE | EXECUTE)
    rules.restrict()
