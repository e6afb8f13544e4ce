"""The jail around a fork server: a file system of its own, no network, no other processes, no privileges.

What it shows is read-only: the system's libraries and programs, the interpreter and the packages it was told of.
``/box`` is where each execution gets a scratch of its own; ``/tmp`` and its like lead there. An interpreter may itself
lie below one of those: :func:`scratch_binds` says what an execution binds into its scratch.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem.processes import linux

__all__ = ["BOX", "HOME", "SCRATCH", "ScratchBind", "enter", "scratch_binds"]

BOX = "/box"
HOME = f"{BOX}/home"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
_SETTINGS = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
SCRATCH = {"/tmp": f"{BOX}/tmp", "/var/tmp": f"{BOX}/var-tmp", "/dev/shm": f"{BOX}/shm"}  # noqa: S108 - of an execution alone
"""Folders that every user may write to on a usual system, and the place of each inside."""
_SHOWN = "/shown"
"""Where the server keeps what lies below one of those, for executions to bind it."""
_DEVICES = ("null", "zero", "full", "random", "urandom")

_USERS = (0x47454D, 65534)
"""User ids for executions when the trainer is root, whose processes no limit on processes would hold."""

_ISOLATED = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP


class ScratchBind(NamedTuple):
    """A folder that lies below a scratch folder of the system, such as ``/tmp``."""

    path: str
    """What it is called outside."""
    source: str
    """Where the server keeps it."""
    target: str
    """Where it belongs in the scratch of an execution."""


def enter(shown: Sequence[str], hidden: Iterable[str]) -> None:
    """Confine this process for good. Its children are the first of a new process namespace.

    Args:
        shown: files and folders, real paths, to be seen inside beside the system's.
        hidden: folders below those that must look empty.

    Raises:
        OSError: if the kernel or the administrator does not allow it; the message names the step.
    """
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    root = os.geteuid() == 0
    if root:
        linux.unshare(_ISOLATED)
        _build(shown, hidden)
        _leave_root()
        _own_user_namespace(own)
        linux.unshare(linux.CLONE_NEWPID)
    else:
        _own_user_namespace(own)
        linux.unshare(_ISOLATED | linux.CLONE_NEWPID)
        _build(shown, hidden)
    os.close(own)
    linux.no_new_privileges()


def _leave_root() -> None:
    os.setgroups([])
    for user in _USERS:
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError as error:
            # In a container that has few users of its own; root is then no real root either.
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


def _build(shown: Sequence[str], hidden: Iterable[str]) -> None:
    linux.make_private()
    # The old root moves to /old, so that what was mounted over here is seen there as it was.
    linux.mount_tmpfs("/tmp", "mode=755,size=64k,nr_inodes=16")  # noqa: S108 - hidden from nobody else
    for name in ("/tmp/old", "/tmp/new"):  # noqa: S108
        os.mkdir(name)
    linux.pivot_root("/tmp", "/tmp/old")  # noqa: S108
    os.chdir("/")
    linux.mount_tmpfs("/new", "mode=755,size=1m,nr_inodes=4096")
    binds = scratch_binds(shown)
    for path in (*_SYSTEM, *_SETTINGS, *shown):
        _show(path, _place(path, binds))
    for path in hidden:
        place = f"/new{_place(path, binds)}"
        if os.path.isdir(place):
            linux.mount_tmpfs(place, "mode=755,size=4k,nr_inodes=2")
            linux.read_only(place)
    _devices()
    for folder in (BOX, "/var"):
        os.makedirs(f"/new{folder}", exist_ok=True)
    for name, scratch in SCRATCH.items():
        os.symlink(scratch, f"/new{name}")
    for bind in binds:
        os.makedirs(f"/new{bind.target}", exist_ok=True)
        linux.bind(f"/new{bind.source}", f"/new{bind.target}")
    os.chdir("/new")
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")
    linux.read_only("/", recursive=False, devices=True)


def scratch_binds(shown: Iterable[str]) -> list[ScratchBind]:
    """Return what must be bound into the scratch of an execution, for it to be seen where it lies outside.

    Args:
        shown: see :func:`enter`.
    """
    binds: list[ScratchBind] = []
    for path in shown:
        if _place(path, binds) != path:
            continue  # within another
        for name, scratch in SCRATCH.items():
            if path.startswith(f"{name}/"):
                binds.append(ScratchBind(path, f"{_SHOWN}/{len(binds)}", scratch + path[len(name) :]))
    return binds


def _place(path: str, binds: Iterable[ScratchBind]) -> str:
    """Where a path is shown in the server's file system."""
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
    for name in _DEVICES:
        _touch(f"/new/dev/{name}")
        linux.bind(f"/old/dev/{name}", f"/new/dev/{name}")


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
