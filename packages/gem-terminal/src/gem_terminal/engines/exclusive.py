"""A lock among the threads and processes of a machine: :func:`exclusive`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gem_terminal.engines.base import Progress, ProgressStage, report_stage

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["exclusive"]


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


def _locked(path: Path, progress: Progress | None) -> BaseFileLock | None:
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            report_stage(progress, ProgressStage("waiting for another thread or process that builds images"))
            lock.acquire()
    except (OSError, NotImplementedError):  # a read-only folder, or a file system without locks
        return None
    return lock
