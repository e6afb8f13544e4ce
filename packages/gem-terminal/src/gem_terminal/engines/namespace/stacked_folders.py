"""Walks stacked folders as an overlay shows them: :func:`walk`.

The topmost folder may change meanwhile, by a hostile process: no link in it is followed, and its folders are entered
one by one. The layers below it are snapshots, which do not change. What an overlay notes in its upper folder is read
here: deleted files (character devices 0/0), replaced folders and moved ones (extended attributes; overlayfs.rst of
Linux).

The fork server imports this module, so it needs only the standard library.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

__all__ = ["MARK_MOVED", "MARK_REPLACED", "FoundEntry", "attributes_of", "is_deletion", "opened_as", "walk"]

MARK_REPLACED = "trusted.overlay.opaque"
"""The attribute of a folder that hides the folder of the same path below it."""
MARK_MOVED = "trusted.overlay.redirect"
"""The attribute of a folder that continues one of another path below it."""
_OWN = "trusted.overlay."
_TOP = -1


class FoundEntry(NamedTuple):
    """A file, folder, link, device or mark of a deletion. Its descriptors are open until the next entry is taken."""

    path: str
    """Relative to the stacked folders, which are themselves the first entry, with an empty path."""
    status: os.stat_result
    folder: int
    """A descriptor of a folder around it."""
    name: str
    """Its path in that folder."""
    opened: int = -1
    """A descriptor of a folder itself."""
    is_replaced: bool = False
    """Whether a folder hides the one of its path below all layers."""
    moved: str | None = None
    """The path below all layers that a folder continues, if it is another one than its own; it begins with a slash."""


class _Folder(NamedTuple):
    path: str
    top: os.stat_result | None
    """What it is in the topmost folder; None if it is not there."""
    places: Mapping[int, str]
    """The numbers of the layers that have it, and its path in each."""
    below: str | None
    """Its path below all layers; None if nothing below counts."""
    names: Iterator[str]
    outer: int | None = None
    """A descriptor to go on with, after a folder that was entered through the merged view."""


class _Walk:
    def __init__(
        self,
        top: int | None,
        layers: Sequence[int],
        wanted: Callable[[str], bool],
        merged: int | None,
        bases: Sequence[int],
    ) -> None:
        self._top, self._layers, self._wanted, self._merged, self._bases = top, layers, wanted, merged, bases
        self._here = -1 if top is None else os.dup(top)

    def entries(self) -> Iterator[FoundEntry]:
        first = self._layers[0] if self._top is None else self._top
        top = None if self._top is None else os.fstat(self._top)
        places = dict.fromkeys(range(len(self._layers)), "")
        yield FoundEntry("", os.fstat(first), first, ".", first)
        folders = [self._entered("", top, places, "")]
        try:
            while folders:
                name = next(folders[-1].names, None)
                if name is None:
                    self._leave(folders.pop(), folders)
                    continue
                path = _joined(folders[-1].path, name)
                if self._wanted(path):
                    with suppress(FileNotFoundError):  # deleted at this moment
                        yield from self._each(path, name, folders)
        finally:
            if self._here >= 0:
                os.close(self._here)

    def _entered(self, path: str, top: os.stat_result | None, places: Mapping[int, str], below: str | None) -> _Folder:
        names: set[str] = set()
        if top is not None:
            names.update(_names(self._here))
        for layer, place in places.items():
            inner = os.open(place or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._layers[layer])
            try:
                names.update(_names(inner))
            finally:
                os.close(inner)
        return _Folder(path, top, places, below, iter(sorted(names)))

    def _leave(self, folder: _Folder, around: Sequence[_Folder]) -> None:
        if folder.outer is not None:
            os.close(self._here)
            self._here = folder.outer
        elif folder.top is not None and around:
            assert around[-1].top is not None
            above = _parent(self._here, around[-1].top)
            os.close(self._here)
            self._here = above

    def _each(self, path: str, name: str, folders: list[_Folder]) -> Iterator[FoundEntry]:
        """Yield the entry of a name, and enter it if it is a folder."""
        around = folders[-1]
        places: dict[int, str] = {}
        first: tuple[int, str, os.stat_result, int] | None = None
        top: os.stat_result | None = None
        below = None if around.below is None else _joined(around.below, name)
        plain, last, elsewhere, hidden = below, name, None, False
        try:
            for layer in range(_TOP, len(self._layers)):
                descriptor = self._here if layer == _TOP else self._layers[layer]
                if elsewhere is not None:
                    place, hidden, elsewhere = _located(descriptor, elsewhere)
                    if place is not None:
                        places[layer] = place
                    if hidden:
                        break
                    continue
                if layer == _TOP:
                    if around.top is None:
                        continue
                    at = last
                elif layer in around.places:
                    at = _joined(around.places[layer], last)
                else:
                    continue
                status = _status(at, descriptor)
                if status is None:
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    if first is None:
                        if not is_deletion(status) or self._hides_something(around, name):
                            yield FoundEntry(path, status, descriptor, at)
                        return
                    hidden = True
                    break
                opened = opened_as(at, descriptor, os.O_DIRECTORY)
                if opened is None:
                    return
                status = os.fstat(opened)
                if layer == _TOP:
                    top = status
                else:
                    places[layer] = at
                replaced, moved = _marks(opened)
                if first is None:
                    first = descriptor, at, status, opened
                else:
                    os.close(opened)
                if replaced:
                    hidden = True
                    break
                if moved is not None and moved.startswith("/"):
                    elsewhere = moved.strip("/")
                elif moved is not None:
                    last = moved
                    below = None if around.below is None else _joined(around.below, moved)
            if first is None:
                return
            if hidden:
                below = None
            elif elsewhere is not None:
                below = elsewhere
            is_moved = below is not None and below != plain
            descriptor, at, status, opened = first
            if is_moved and self._merged is not None:
                yield FoundEntry(path, status, descriptor, at, opened, is_replaced=True)
                folders.append(self._entered_merged(path))
                return
            yield FoundEntry(
                path, status, descriptor, at, opened, hidden and plain is not None, f"/{below}" if is_moved else None
            )
            if top is not None:
                os.close(self._here)
                self._here, first = opened, None
            folders.append(self._entered(path, top, places, below))
        finally:
            if first is not None:
                os.close(first[3])

    def _hides_something(self, around: _Folder, name: str) -> bool:
        """Return whether a mark of a deletion is needed. An overlay shows one by its name where nothing is below."""
        if around.below is None:
            return False
        return not self._layers or _exists(self._bases, _joined(around.below, name))

    def _entered_merged(self, path: str) -> _Folder:
        """Enter a folder through the merged view, since a part of it lies elsewhere below all layers."""
        assert self._merged is not None
        outer, here = self._here, os.dup(self._merged)
        for word in path.split("/"):
            inner = opened_as(word, here, os.O_DIRECTORY)
            os.close(here)
            if inner is None:
                raise OSError(errno.ESTALE, "the folders change too fast")
            here = inner
        self._here = here
        return self._entered(path, os.fstat(here), {}, None)._replace(outer=outer)


def walk(
    top: int | None,
    layers: Sequence[int],
    wanted: Callable[[str], bool],
    merged: int | None = None,
    bases: Sequence[int] = (),
) -> Iterator[FoundEntry]:
    """Yield the entries of stacked folders, each folder before its content.

    Args:
        top: a descriptor of the topmost folder, in which processes may change anything meanwhile; None for none.
        layers: descriptors of the folders below it, topmost first.
        wanted: says whether the entry of a path, and what is in it, is wanted.
        merged: a descriptor of what the overlay shows, of which the content of moved folders is taken; without it they
            have their marks.
        bases: descriptors of what lies below all layers, topmost first. Marks of deletions in several folders count
            only where they hide something in these.

    Raises:
        OSError: with ``ESTALE`` if folders are moved meanwhile.
    """
    return _Walk(top, layers, wanted, merged, bases).entries()


def is_deletion(status: os.stat_result) -> bool:
    """Return whether an entry says that the file below it is deleted."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def attributes_of(opened: int) -> dict[str, bytes]:
    """Return the extended attributes of a file or folder without those that an overlay wrote."""
    return {name: os.getxattr(opened, name) for name in os.listxattr(opened) if not name.startswith(_OWN)}


def opened_as(name: str, folder: int, flags: int) -> int | None:
    """Open a file or folder for reading; None if another kind has just replaced it."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOATIME | flags, dir_fd=folder)
    except NotADirectoryError:
        return None
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ELOOP):
            return None
        raise


def _marks(opened: int) -> tuple[bool, str | None]:
    replaced, moved = False, None
    for name in os.listxattr(opened):
        if name == MARK_REPLACED:
            replaced = os.getxattr(opened, name) == b"y"
        elif name == MARK_MOVED:
            moved = os.fsdecode(os.getxattr(opened, name))
    return replaced, moved


def _located(layer: int, path: str) -> tuple[str | None, bool, str]:
    """Look up a path of the folders that are stacked from a layer on.

    Returns:
        Its path in this layer, if it is a folder there; whether it hides what lies below; and its path below.
    """
    here, below, hides, missing = "", "", False, False
    for word in path.split("/"):
        here, below = _joined(here, word), _joined(below, word)
        if missing:
            continue
        status = _status(here, layer)
        if status is None:
            missing = True
            continue
        if not stat.S_ISDIR(status.st_mode):
            return None, True, below
        opened = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=layer)
        try:
            replaced, moved = _marks(opened)
        finally:
            os.close(opened)
        hides = hides or replaced
        if moved is not None:
            hides = hides and not moved.startswith("/")
            below = moved.strip("/") if moved.startswith("/") else _joined(below.rpartition("/")[0], moved)
    return None if missing else here, hides, below


def _exists(layers: Sequence[int], path: str) -> bool:
    """Return whether stacked folders have a path."""
    for layer in layers:
        around, _, name = path.rpartition("/")
        place, hides, below = _located(layer, around) if around else ("", False, "")
        status = None if place is None else _status(_joined(place, name), layer)
        if status is not None:
            return not is_deletion(status)
        if hides:
            return False
        path = _joined(below, name)
    return False


def _status(path: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _parent(folder: int, expected: os.stat_result) -> int:
    """Return a descriptor of the folder around a folder.

    Raises:
        OSError: with ``ESTALE`` if a process has moved the folder since.
    """
    found = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    if not os.path.samestat(os.fstat(found), expected):
        os.close(found)
        raise OSError(errno.ESTALE, "the folders change too fast")
    return found
