"""Starts a program with limits. :mod:`gem_hub.sandbox` runs this file as a script; it must not import modules of GEM.

Its one argument is JSON: ``{"command": [...], "environment": {...}, "folder": "...", "limits": {"CPU": seconds, …},
"mounts": null | {"writable": "...", "hidden": [...]}}``. With ``mounts`` it stands in namespaces of its own as their
root. Then, before it becomes the program, it makes everything but one folder read-only, puts nothing in the place of
what is hidden, and gives up the rights to undo that. A user namespace that the program makes below cannot undo it
either: mounts that it inherits are locked (mount_namespaces(7)).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from typing import Any

_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_BIND, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x1000, 0x40000
_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_READ_ONLY = 0x1
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1
_EINVAL = 22


def main(order: dict[str, Any]) -> None:
    """Execute the program."""
    if order["mounts"] is not None:
        _close_file_system(**order["mounts"])
        _wait_for_child()
    os.chdir(order["folder"])
    for name, value in order["limits"].items():
        _limit(getattr(resource, f"RLIMIT_{name}"), value)
    os.execve(order["command"][0], order["command"], order["environment"])  # noqa: S606  # no shell is wanted


def _wait_for_child() -> None:
    """Continue in a child; this process stays as the first of its process namespace, and reaps orphans."""
    child = os.fork()
    if child == 0:
        return
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)  # the remaining processes die with the namespace


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _close_file_system(writable: str, hidden: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: str, kind: str | None, flags: int) -> None:
        _checked(libc.mount(source.encode(), target.encode(), kind and kind.encode(), flags, None), f"mount {target}")

    def set_read_only(target: str, flags: int, read_only: bool) -> None:
        # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
        bits = struct.pack("<4Q", *((_READ_ONLY, 0) if read_only else (0, _READ_ONLY)), 0, 0)
        path = target.encode()
        result = libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, flags, bits, len(bits))
        _checked(result, f"mount_setattr {target}")

    mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    mount(writable, writable, None, _MS_BIND)
    set_read_only("/", _AT_RECURSIVE, True)
    set_read_only(writable, 0, False)
    for folder in hidden:
        if os.path.isdir(folder):  # noqa: PTH112  # pathlib would cost a third of the start
            mount("none", folder, "tmpfs", _MS_NOSUID | _MS_NODEV)
        else:
            mount("/dev/null", folder, None, _MS_BIND)
    mount("none", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV)  # noqa: S108  # for locks
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:  # enable 127.0.0.1 and nothing else
        fcntl.ioctl(link, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
    # Without a bounding set, a namespace's root has no privileges after the next exec (capabilities(7)).
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            if ctypes.get_errno() != _EINVAL:
                _checked(-1, "prctl")
            break  # there are no more capabilities
    _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except (OSError, ValueError) as error:
        print(f"gem-hub sandbox: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(125)
