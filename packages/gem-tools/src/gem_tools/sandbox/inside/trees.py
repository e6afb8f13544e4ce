"""Folders that a program has left, whatever lies in them: measured and removed by descriptor, without recursion.

Paths would end at PATH_MAX, and recursion at Python's own limit; a program can nest folders deeper than either.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from typing import Any

__all__ = ["DEEPEST", "remove_tree", "tree_usage"]

DEEPEST = 64
"""Levels of folders within which usage is measured; each takes a descriptor meanwhile."""
_AT_ONCE = 1024
"""Entries of a folder that are removed before it is read anew."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def tree_usage(folder: str, most_bytes: float, most_files: float) -> tuple[float, float]:
    """Return the bytes and the number of files in a folder; links are not followed.

    The count ends where either is exceeded, so that its time is bounded. What lies deeper than :data:`DEEPEST` levels
    cannot be measured and counts as infinite.
    """
    size = files = 0
    opened: list[tuple[int, Any]] = []

    def enter(name: str, parent: int | None) -> None:
        with suppress(OSError):  # it has just been removed, or its rights keep this user out, as they keep others
            descriptor = os.open(name, _FOLDER, dir_fd=parent)
            opened.append((descriptor, os.scandir(descriptor)))

    def leave() -> None:
        descriptor, entries = opened.pop()
        entries.close()
        os.close(descriptor)

    try:
        enter(folder, None)
        while opened:
            descriptor, entries = opened[-1]
            entry = next(entries, None)
            if entry is None:
                leave()
                continue
            files += 1
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                size += 512 * found.st_blocks
                if stat.S_ISDIR(found.st_mode):
                    if len(opened) > DEEPEST:
                        return float("inf"), float("inf")
                    enter(entry.name, descriptor)
            if size > most_bytes or files > most_files:
                break
        return size, files
    finally:
        while opened:
            leave()


def remove_tree(folder: str) -> None:
    """Remove a folder, whatever lies in it and whatever rights its folders have; what cannot be removed stays.

    Nothing may write to it meanwhile. A folder that is not empty is moved up into the folder itself and emptied later,
    so that any depth takes two descriptors.
    """
    with suppress(OSError):
        os.chmod(folder, 0o700)
    try:
        top = os.open(folder, _FOLDER)
    except OSError:
        return
    names = (f".{os.urandom(8).hex()}-{number}" for number in count())
    try:
        waiting = _empty(top, top, names)
        while waiting:
            name = waiting.pop()
            with suppress(OSError):
                _grant(name, top)
                descriptor = os.open(name, _FOLDER, dir_fd=top)
                try:
                    waiting += _empty(descriptor, top, names)
                finally:
                    os.close(descriptor)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(folder)


def _empty(folder: int, top: int, names: Iterator[str]) -> list[str]:
    """Remove what lies in a folder; return the names in the top folder of the folders that are not empty yet."""
    waiting: list[str] = []
    seen: set[str] = set()
    while True:
        with os.scandir(folder) as entries:
            found = list(islice((entry for entry in entries if entry.name not in seen), _AT_ONCE))
        if not found:
            return waiting
        for entry in found:
            with suppress(OSError):
                if (left := _remove(entry, folder, top, names)) is not None:
                    waiting.append(left)
                    seen.add(left)
            seen.add(entry.name)  # it is gone, or cannot be removed


def _remove(entry: os.DirEntry[str], folder: int, top: int, names: Iterator[str]) -> str | None:
    """Remove an entry of a folder, or move it to the top folder; return its name there."""
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.name, dir_fd=folder)
        return None
    with suppress(OSError):
        os.rmdir(entry.name, dir_fd=folder)
        return None
    if folder == top:
        return entry.name
    _grant(entry.name, folder)  # a folder that moves is written to
    name = next(names)
    os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
    return name


def _grant(name: str, parent: int) -> None:
    """Give this user all rights to a folder, which is no link."""
    with suppress(OSError):
        os.chmod(name, 0o700, dir_fd=parent)
