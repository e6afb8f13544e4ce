"""A lock between processes: :func:`exclusive`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["exclusive"]

_FOREVER = 2e6
"""Seconds; three weeks, and within the range of SQLite, which counts milliseconds in 32 bits."""


@contextmanager
def exclusive(path: Path, timeout: float | None = None) -> Iterator[None]:
    """Hold a lock while the block runs; it ends with the process that holds it, in whichever way that ends.

    It is the write lock of an empty SQLite database, which works alike on every system and needs no further library
    (SQLite, "File Locking And Concurrency"). Threads of one process exclude each other as processes do.

    Args:
        path: the file of the lock, in a folder that exists; it stays there.
        timeout: seconds to wait for another holder; None for as long as it takes.

    Raises:
        TimeoutError: if another process holds it for longer.
        OSError: if the file cannot be made or locked.
    """
    try:
        connection = sqlite3.connect(path, timeout=_FOREVER if timeout is None else timeout, isolation_level=None)
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            kind = TimeoutError if "locked" in str(error) else OSError
            raise kind(f"{path}: {error}") from error
        yield
    finally:
        connection.close()
