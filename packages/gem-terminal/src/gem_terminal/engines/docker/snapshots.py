"""Snapshots of Docker containers: images that the engine commits. :class:`DockerSnapshot`."""

from __future__ import annotations

from collections.abc import Callable
from weakref import finalize

from gem_terminal.engines.base import ContainerSnapshot
from gem_terminal.engines.owner import ContainerOwner

__all__ = ["IN_USE", "DockerSnapshot", "is_abandoned", "repository_and_tag", "stored_name"]

_STORED = "gem-terminal-snapshot"
"""The name of the images of stored snapshots; the tag has the digest of the image and the name of the store."""
IN_USE = "gem-terminal-snapshot-in-use"
"""The name of the images of open snapshots that are stored too; the tag begins with the owner."""


def stored_name(image: str, store: str) -> str:
    """Return the name that an image has for a store."""
    return f"{_STORED}:{image.rpartition(':')[2]}-{store}"


def repository_and_tag(name: str) -> tuple[str, str]:
    """Return the two parts of the name of an image."""
    repository, _, tag = name.rpartition(":")
    return repository, tag


def is_abandoned(name: str) -> bool:
    """Return whether the owner of an open snapshot has ended, by the name of its image."""
    return ContainerOwner.has_ended(name.rpartition(":")[2].rpartition("-")[0])


class DockerSnapshot(ContainerSnapshot):
    """A committed image without a name. Its label names its owner, so that the reaper finds it after a ``kill -9``.

    The engine keeps contents, modes, owners, links and whole seconds of times, and of extended attributes only file
    capabilities. Holes of sparse files become zeros. A hard link separates from the others when its file is changed.
    The disk limit of a restored container begins anew. An image that is stored has names, one of each store and one of
    each open snapshot, and is removed with the last.

    Args:
        image: the image.
        size: bytes of the layer of the snapshot.
        closed: receives the image, or its name of this snapshot, when the snapshot is closed or forgotten.
        remove: removes the images and names in ``closed``.
    """

    def __init__(self, image: str, size: int, closed: set[str], remove: Callable[[], object]) -> None:
        self.image = image
        self.size = size
        self._closed = closed
        self._remove = remove
        # The garbage collector may call this in any thread, whatever locks it holds.
        self._closing = finalize(self, closed.add, image)

    @property
    def is_open(self) -> bool:
        return self._closing.alive

    def hold(self, name: str) -> None:
        """Take a name of the image, which alone goes when the snapshot is closed; an earlier one goes now."""
        _, _, (earlier,), _ = self._closing.detach() or (None, None, (self.image,), None)
        self._closing = finalize(self, self._closed.add, name)
        if earlier != self.image:
            self._closed.add(earlier)

    def close(self) -> None:
        if self.is_open:
            self._closing()
            self._remove()
