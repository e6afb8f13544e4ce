"""The jail of a fork server: its own file system and network, no other processes, no privileges.

The file system is read-only. It contains the system's libraries and programs, the interpreter and the given packages,
and a ``/proc`` of the fork server's processes, over which each execution mounts one of its own.
Each execution gets its own scratch folder in ``/box``; ``/tmp`` and similar folders link to it. An interpreter may
lie below such a folder, so :func:`scratch_binds` returns the folders to bind into the scratch folder.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem_processes import linux

__all__ = [
    "BOX",
    "HOME",
    "PROGRAMS",
    "SCRATCH",
    "SETTINGS",
    "SYSTEM",
    "USERS",
    "ScratchBind",
    "bind_into_scratch",
    "enclose",
    "enter",
    "inhabit",
    "scratch_binds",
    "separate",
]

BOX = "/box"
HOME = f"{BOX}/home"

PROGRAMS = (
    *(f"/usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share")),
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"),
)
"""The system's own programs and libraries. Administrators put applications into other folders of ``/usr``."""
SETTINGS = (
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/fonts", "/etc/mime.types", "/etc/services"),
    *("/etc/protocols", "/etc/terminfo", "/etc/python3", f"/etc/python3.{sys.version_info[1]}"),
)
"""What the interpreter and its library read of the system's settings; none of it is about users or secrets."""
SYSTEM = (*PROGRAMS, *SETTINGS)
"""What every jail shows of the system, as far as the system has it."""
SCRATCH = {"/tmp": f"{BOX}/tmp", "/var/tmp": f"{BOX}/var-tmp", "/dev/shm": f"{BOX}/shm"}  # noqa: S108 - only in an execution
"""World-writable folders of a usual system, and their places inside the jail."""
_SHOWN = "/shown"
"""The server's place for folders below these, from which executions bind them."""
_DEVICES = ("null", "zero", "full", "random", "urandom")
_DESCRIPTORS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}

USERS = (0x47454D, 65534)
"""User ids for executions if the trainer is root, because root ignores the limit on processes."""

_SHARED = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS
"""Namespaces that a fork server enters; each execution enters one of control groups, from its own group."""
_ISOLATED = _SHARED | linux.CLONE_NEWCGROUP


class ScratchBind(NamedTuple):
    """A folder that lies below a scratch folder of the system, for example below ``/tmp``."""

    path: str
    """Its path outside the jail."""
    source: str
    """Its path in the server."""
    target: str
    """Its path in the scratch folder of an execution."""


def enter(shown: Sequence[str], hidden: Iterable[str]) -> None:
    """Confine this process permanently, but for ``/proc``.

    Its next child is the first process of a new process namespace and must call :func:`inhabit`.

    Args:
        shown: real paths of files and folders that are visible in addition to the system's.
        hidden: files and folders below these that appear empty.

    Raises:
        OSError: if the kernel or the administrator does not allow it; the message names the step.
    """
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    root = os.geteuid() == 0
    if root:
        linux.unshare(_SHARED)
        _build(shown, hidden, inhabited=False)
        _leave_root()
        _own_user_namespace(own)
        linux.unshare(linux.CLONE_NEWPID)
    else:
        _own_user_namespace(own)
        linux.unshare(_SHARED | linux.CLONE_NEWPID)
        _build(shown, hidden, inhabited=False)
    os.close(own)
    linux.no_new_privileges()


def inhabit() -> None:
    """Give the first process of the namespace that :func:`enter` made a ``/proc`` of this namespace, or an empty one.

    The kernel allows none in a container that covers parts of its own ``/proc``.
    """
    linux.unshare(linux.CLONE_NEWNS)
    try:
        linux.mount_processes("/proc")
    except OSError:
        linux.mount_tmpfs("/proc", "mode=755,size=4k,nr_inodes=2")


def separate() -> None:
    """Move this process into new namespaces; its next child is the first of a process namespace: see :func:`enclose`.

    Raises:
        OSError: if the kernel or the administrator does not allow it; the message names the step.
    """
    if os.geteuid() == 0:
        linux.unshare(_ISOLATED | linux.CLONE_NEWPID)
        return
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    _own_user_namespace(own)
    linux.unshare(_ISOLATED | linux.CLONE_NEWPID)
    os.close(own)


def enclose(shown: Sequence[str]) -> None:
    """Confine this process, the first of its process namespace, permanently.

    Unlike :func:`enter`, the jail has the addresses 127.0.0.1 and, where the kernel has IPv6, ::1.

    Args:
        shown: see :func:`enter`.

    Raises:
        OSError: see :func:`separate`.
    """
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    linux.enable_loopback()
    _build(shown, (), inhabited=True)
    if os.geteuid() == 0:
        _leave_root()
        _own_user_namespace(own)
    os.close(own)
    linux.no_new_privileges()


def _leave_root() -> None:
    os.setgroups([])
    for user in USERS:
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError as error:
            # A container may have only a few user ids; its root is then not the real root either.
            if error.errno != errno.EINVAL:
                raise
        else:
            break
    linux.make_dumpable()


def _own_user_namespace(own: int) -> None:
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        file = os.open(name, os.O_WRONLY, dir_fd=own)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def _build(shown: Sequence[str], hidden: Iterable[str], *, inhabited: bool) -> None:
    linux.make_private()
    # The old root moves to /old. It keeps showing the files that later mounts cover here.
    linux.mount_tmpfs("/tmp", "mode=755,size=64k,nr_inodes=16")  # noqa: S108 - hidden only here
    for name in ("/tmp/old", "/tmp/new"):  # noqa: S108
        os.mkdir(name)
    linux.pivot_root("/tmp", "/tmp/old")  # noqa: S108
    os.chdir("/")
    linux.mount_tmpfs("/new", "mode=755,size=1m,nr_inodes=4096")
    binds = scratch_binds(shown)
    for path in (*SYSTEM, *shown):
        _show(path, _place(path, binds))
    _name_loopback()
    _touch("/new/empty")
    for path in hidden:
        place = f"/new{_place(path, binds)}"
        if os.path.isdir(place):
            linux.mount_tmpfs(place, "mode=755,size=4k,nr_inodes=2")
            linux.read_only(place)
        elif os.path.isfile(place):
            linux.bind("/new/empty", place)
            linux.read_only(place)
    os.unlink("/new/empty")
    _devices()
    os.mkdir("/new/proc")
    if inhabited:
        linux.mount_processes("/new/proc")
    else:  # the kernel allows a new /proc only beside one that shows everything; inhabit covers it
        linux.bind("/old/proc", "/new/proc")
    for folder in (BOX, "/var"):
        os.makedirs(f"/new{folder}", exist_ok=True)
    for name, scratch in SCRATCH.items():
        os.symlink(scratch, f"/new{name}")
    for bind in binds:
        bind_into_scratch(bind, "/new")
    os.chdir("/new")
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")
    linux.read_only("/", recursive=False, devices=True)


def scratch_binds(shown: Iterable[str]) -> list[ScratchBind]:
    """Return the folders to bind into the scratch folder of an execution, so that they keep their outside paths.

    Args:
        shown: see :func:`enter`.
    """
    binds: list[ScratchBind] = []
    for path in shown:
        if _place(path, binds) != path:
            continue  # inside another one
        for name, scratch in SCRATCH.items():
            if path.startswith(f"{name}/"):
                binds.append(ScratchBind(path, f"{_SHOWN}/{len(binds)}", scratch + path[len(name) :]))
    return binds


def bind_into_scratch(bind: ScratchBind, root: str = "") -> None:
    """Bind a file or folder into the scratch folder.

    Args:
        bind: what to bind.
        root: the root of the file system.
    """
    source, target = root + bind.source, root + bind.target
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _touch(target)
    linux.bind(source, target)


def _place(path: str, binds: Iterable[ScratchBind]) -> str:
    """Return the place of a path in the server's file system."""
    for bind in binds:
        if path == bind.path or path.startswith(f"{bind.path}/"):
            return bind.source + path[len(bind.path) :]
    return path


def _show(path: str, place: str) -> None:
    source, target = f"/old{path}", f"/new{place}"
    if os.path.lexists(target):
        return
    if os.path.islink(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target)
    elif os.path.isfile(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _touch(target)
    else:
        return
    linux.bind(source, target)
    linux.read_only(target)


def _devices() -> None:
    os.makedirs("/new/dev")
    for name, target in _DESCRIPTORS.items():
        os.symlink(target, f"/new/dev/{name}")
    for name in _DEVICES:
        _touch(f"/new/dev/{name}")
        linux.bind(f"/old/dev/{name}", f"/new/dev/{name}")


def _name_loopback() -> None:
    """Let programs find their own addresses by the names that they use for them, without the names of this network.

    ``localhost`` has one address on each machine: with two, chance decides which of its servers with which port
    ``asyncio.start_server`` lists first.
    """
    path = "/new/etc/hosts"
    if os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _touch(path)
    os.chmod(path, 0o644)  # programs have another user
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1 localhost {os.uname().nodename}\n::1 ip6-localhost ip6-loopback\n")


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
