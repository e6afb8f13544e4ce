"""Builds the root of a container in a mount namespace of its own: :func:`build_root`.

The fork server imports this module, so it needs only the standard library and :mod:`gem_processes`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from gem_processes import linux
from gem_terminal.engines.namespace import loop_disk, saved_files, shared_folders

__all__ = ["EMPTY", "SYSTEM", "build_root"]

EMPTY = "empty"
"""An empty folder beside the root, which covers what a container must not see."""
SYSTEM = "system"
"""A small file system beside the root, with the folders ``dev`` and ``sys`` of the container."""
_DEVICES_IN = "devices"
_DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
_LINKS = (
    ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"), ("core", "/proc/kcore"), ("ptmx", "pts/ptmx"),
)  # fmt: skip
_SYSTEM_OPTIONS = "size=256k,nr_inodes=128,mode=755"
_RDONLY, _NOSUID, _NOEXEC, _REMOUNT = 1, 2, 8, 32  # MS_RDONLY and others of sys/mount.h


def build_root(
    place: str,
    size: int,
    files: int,
    disk: str,
    layers: list[str],
    shared: list[str],
    held: int,
    system: tuple[int, Sequence[tuple[str, str]]] | None,
    resolver: str,
    copy: int | None,
) -> None:
    """Build the root of a container, ``root`` in a folder, in its own mount namespace.

    Args:
        place: an empty folder; a file system that is mounted on it receives the container's files.
        size: the size limit in bytes, of files in memory.
        files: the limit on files and folders, in memory.
        disk: in place of files in memory, the file system to copy; see
            :mod:`~gem_terminal.engines.namespace.loop_disk`.
        layers: the folders of its image, topmost first.
        shared: the names of the layers of a snapshot above them, topmost first, which are mounted beside ``place``.
        held: bytes of the disk that these take.
        system: the size of ``/dev/shm`` in bytes, and the folders to bind below ``/sys``, each with its path there; the
            file system :data:`SYSTEM` then has both. None for an ordinary user, who may not create devices.
        resolver: the content of ``resolv.conf`` in that folder; none if empty.
        copy: a descriptor of a copy of another container's files, with which the container begins.
    """
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    large = False
    if disk and _mounted(disk, place):
        if held:
            with open(f"{place}/{shared_folders.RESERVE}", "wb") as reserve:  # noqa: PTH123  # pathlib is slower
                os.posix_fallocate(reserve.fileno(), 0, held)
    else:
        options = f"size={size - held},nr_inodes={files},mode=755"
        large = copy is not None and saved_files.with_large_pages(place, options)
        if copy is None:
            linux.mount("tmpfs", place, options)
    os.chdir(place)
    for name in ("upper", "work", "root", EMPTY):
        os.mkdir(name)  # noqa: PTH102  # pathlib is slower
    has_moved = copy is not None and saved_files.restore(copy, "upper")
    if large:
        saved_files.without_large_pages(place)
    beside = os.path.dirname(place)  # noqa: PTH120  # pathlib is slower
    if shared:
        shared_folders.restore_linked(beside, shared[0], "upper")
    layers = [*(shared_folders.folder_of_layer(beside, name) for name in shared), *layers]
    under = ":".join("".join(f"\\{letter}" if letter in "\\:," else letter for letter in layer) for layer in layers)
    # Folders of a snapshot can be moved like those of the container itself.
    moves = ",redirect_dir=on" if shared or has_moved else ""
    linux.mount("overlay", "root", f"lowerdir={under},upperdir=upper,workdir=work{moves}")
    if system is not None:
        _build_system(*system)
    if resolver:
        Path("resolv.conf").write_text(resolver, encoding="utf-8")
    os.chdir("/")


def _mounted(disk: str, place: str) -> bool:
    """Mount a disk; return False on a machine without loop devices, whose containers have their files in memory."""
    try:
        loop_disk.mount_copy(disk, place)
    except OSError:
        return False
    return True


def _build_system(shared_memory: int, binds: Sequence[tuple[str, str]]) -> None:
    """Mount the file system :data:`SYSTEM` in the working directory; arguments as of :func:`build_root`.

    The devices are the container's own, whose modes its root may change; those of the machine are for all.
    bubblewrap reads the table of mounts for each of its binds, so one with mounts below it is cheaper than many.
    """
    for folder in (_DEVICES_IN, SYSTEM):
        os.mkdir(folder)  # noqa: PTH102  # pathlib is slower
    linux.mount("tmpfs", SYSTEM, _SYSTEM_OPTIONS, _NOSUID)
    for name in ("dev", "dev/pts", "dev/shm", "sys"):
        os.mkdir(f"{SYSTEM}/{name}")  # noqa: PTH102  # the same
    for name, major, minor in _DEVICES:
        device, place = f"{_DEVICES_IN}/{name}", f"{SYSTEM}/dev/{name}"
        os.mknod(device, stat.S_IFCHR, os.makedev(major, minor))
        os.chmod(device, 0o666)  # noqa: PTH101, S103  # the same; all users have these
        os.mknod(place)
        linux.bind(device, place)
    for name, target in _LINKS:
        os.symlink(target, f"{SYSTEM}/dev/{name}")  # noqa: PTH211  # the same
    linux.mount("devpts", f"{SYSTEM}/dev/pts", "newinstance,ptmxmode=0666,mode=620", _NOSUID | _NOEXEC)
    linux.mount_tmpfs(f"{SYSTEM}/dev/shm", f"size={shared_memory},mode=1777")  # noqa: S108  # the container's own
    for source, target in binds:
        os.makedirs(f"{SYSTEM}{target}", exist_ok=True)  # noqa: PTH103  # the same
        linux.bind(source, f"{SYSTEM}{target}")
    linux.mount("tmpfs", SYSTEM, _SYSTEM_OPTIONS, _REMOUNT | _RDONLY | _NOSUID)
