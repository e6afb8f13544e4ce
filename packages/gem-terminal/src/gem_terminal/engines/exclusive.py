"""One at a time, among the threads and processes of a machine: :func:`alone`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gem_terminal.engines.base import Progress, ProgressStage, tell

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["alone"]


@contextmanager
def alone(path: Path, progress: Progress | None) -> Iterator[None]:
    """Wait until nobody else holds the lock of this path, and hold it.

    Where the file cannot be written nothing is held: what is then done twice costs time and does no harm.
    """
    lock = _locked(path, progress)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _locked(path: Path, progress: Progress | None) -> BaseFileLock | None:
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            tell(progress, ProgressStage("waiting for another thread or process that makes images"))
            lock.acquire()
    except (OSError, NotImplementedError):  # a folder that is read-only, or a file system that knows no locks
        return None
    return lock
