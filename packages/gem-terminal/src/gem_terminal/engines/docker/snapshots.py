"""Snapshots of Docker containers: images that the engine commits. :class:`DockerSnapshot`."""

from __future__ import annotations

from collections.abc import Callable
from weakref import finalize

from gem_terminal.engines.base import ContainerSnapshot

__all__ = ["DockerSnapshot"]


class DockerSnapshot(ContainerSnapshot):
    """A committed image without a name. Its label names its owner, so that the reaper finds it after a ``kill -9``.

    The engine keeps contents, modes, owners, links and whole seconds of times, and of extended attributes only file
    capabilities. Holes of sparse files become zeros. A hard link separates from the others when its file is changed.
    The disk limit of a restored container begins anew. An image that was stored has a name, and stays.

    Args:
        image: the image.
        size: bytes of the layer of the snapshot.
        closed: receives the image when the snapshot is closed or forgotten.
        remove: removes the images in ``closed``.
    """

    def __init__(self, image: str, size: int, closed: set[str], remove: Callable[[], object]) -> None:
        self.image = image
        self.size = size
        self._remove = remove
        # The garbage collector may call this in any thread, whatever locks it holds.
        self._closing = finalize(self, closed.add, image)

    @property
    def is_open(self) -> bool:
        return self._closing.alive

    def keep(self) -> None:
        """Leave the image to the engine when the snapshot is closed."""
        self._closing.detach()
        self._closing = finalize(self, _leave, self.image)
        self._remove = _leave

    def close(self) -> None:
        if self.is_open:
            self._closing()
            self._remove()


def _leave(*_: object) -> None:
    """Do nothing, in place of a removal."""
