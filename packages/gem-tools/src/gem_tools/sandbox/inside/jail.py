"""The jail around a fork server: a file system of its own, no network, no other processes, no privileges.

What it shows is read-only: the system's libraries and programs, the interpreter and the packages it was told of.
``/box`` is where each execution gets a scratch of its own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from gem.processes import linux

__all__ = ["BOX", "HOME", "enter"]

BOX = "/box"
HOME = f"{BOX}/home"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
_SETTINGS = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")

_USERS = (0x47454D, 65534)
"""User ids for executions when the trainer is root, whose processes no limit on processes would hold."""

_ISOLATED = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP


def enter(shown: Iterable[str], hidden: Iterable[str]) -> None:
    """Confine this process for good. Its children are the first of a new process namespace.

    Args:
        shown: files and folders, real paths, to be seen inside beside the system's.
        hidden: folders below those that are to look empty.

    Raises:
        OSError: if the kernel or the administrator does not allow it; the message names the step.
    """
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    root = os.geteuid() == 0
    if root:
        linux.unshare(_ISOLATED)
        _build(shown, hidden)
        _become_somebody()
        _own_user_namespace(own)
        linux.unshare(linux.CLONE_NEWPID)
    else:
        _own_user_namespace(own)
        linux.unshare(_ISOLATED | linux.CLONE_NEWPID)
        _build(shown, hidden)
    os.close(own)
    linux.no_new_privileges()


def _become_somebody() -> None:
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


def _build(shown: Iterable[str], hidden: Iterable[str]) -> None:
    linux.make_private()
    # The old root moves to /old, so that what was mounted over here is seen there as it was.
    linux.mount_tmpfs("/tmp", "mode=755,size=64k,nr_inodes=16")  # noqa: S108 - hidden from nobody else
    for name in ("/tmp/old", "/tmp/new"):  # noqa: S108
        os.mkdir(name)
    linux.pivot_root("/tmp", "/tmp/old")  # noqa: S108
    os.chdir("/")
    linux.mount_tmpfs("/new", "mode=755,size=1m,nr_inodes=4096")
    for path in (*_SYSTEM, *_SETTINGS, *shown):
        _show(path)
    for path in hidden:
        if os.path.isdir(f"/new{path}"):
            linux.mount_tmpfs(f"/new{path}", "mode=755,size=4k,nr_inodes=2")
            linux.read_only(f"/new{path}")
    _devices()
    os.makedirs(f"/new{BOX}")
    os.makedirs("/new/var", exist_ok=True)
    for name in ("/new/tmp", "/new/var/tmp"):
        if not os.path.lexists(name):  # the interpreter itself may lie there
            os.symlink(f"{BOX}/tmp", name)  # noqa: S108 - of an execution alone
    os.symlink(f"{BOX}/shm", "/new/dev/shm")
    os.chdir("/new")
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")
    linux.read_only("/", recursive=False, devices=True)


def _show(path: str) -> None:
    source, target = f"/old{path}", f"/new{path}"
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
