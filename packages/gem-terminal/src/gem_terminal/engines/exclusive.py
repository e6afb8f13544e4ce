"""Locks among the threads and processes of a machine: :func:`exclusive`, and those for builds of images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

from gem_terminal.engines.base import Progress, ProgressStage, report_stage

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["PLACES", "building", "exclusive", "no_building"]

PLACES = 4
"""Builds at a time on a machine."""
_PLACE, _ALIKE = "building.", "alike."
_BEGINNINGS = 64
"""Locks for images that begin alike; two beginnings that share one wait without need."""


@contextmanager
def exclusive(path: Path, progress: Progress | None) -> Iterator[None]:
    """Hold the lock of a path, after waiting for its other holders.

    Without write access to the file there is no lock: processes may then do the same work twice, which is harmless.
    """
    lock = _locked(path, progress)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


@contextmanager
def building(folder: Path, beginning: str, progress: Progress | None) -> Iterator[None]:
    """Hold one of the machine's few places for builds, alone among the images that begin alike.

    Args:
        folder: where the locks are.
        beginning: see :func:`~gem_terminal.engines.contexts.beginning_of`.
        progress: receives that this thread waits.
    """
    with exclusive(folder / f"{_ALIKE}{int(beginning, 16) % _BEGINNINGS}", progress), _place(folder, progress):
        yield


@contextmanager
def no_building(folder: Path, progress: Progress | None) -> Iterator[None]:
    """Hold all places for builds, after waiting for all builds of the machine."""
    with ExitStack() as places:
        for number in range(PLACES):
            places.enter_context(exclusive(folder / f"{_PLACE}{number}", progress))
        yield


@contextmanager
def _place(folder: Path, progress: Progress | None) -> Iterator[None]:
    for number in range(PLACES):
        lock = _locked(folder / f"{_PLACE}{number}", None, waits=False)
        if lock is not None:
            try:
                yield
            finally:
                lock.release()
            return
    with exclusive(folder / f"{_PLACE}{get_ident() % PLACES}", progress):  # all taken, or there are no locks
        yield


def _locked(path: Path, progress: Progress | None, *, waits: bool = True) -> BaseFileLock | None:
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not waits:
                return None
            report_stage(progress, ProgressStage("waiting for another thread or process that builds images"))
            lock.acquire()
    except (OSError, NotImplementedError):  # a read-only folder, or a file system without locks
        return None
    return lock
