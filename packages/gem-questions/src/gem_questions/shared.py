"""One copy of each opened file for all environments of a process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from gem.fork_hooks import after_fork_in_child

if TYPE_CHECKING:
    from gem_questions.tables import RowTable

__all__ = ["expanded", "fingerprint", "shared"]

_open: WeakValueDictionary[Hashable, RowTable] = WeakValueDictionary()
_lock = threading.Lock()


@after_fork_in_child
def _begin_in_child() -> None:
    # Another thread of the parent may have held the lock, and does not exist here to release it.
    global _lock
    _lock = threading.Lock()


def shared(key: Hashable, opening: Callable[[], RowTable]) -> RowTable:
    """Return the open table of a key, or open it. It closes when its last user is gone."""
    with _lock:
        table = _open.get(key)
        if table is None:
            _open[key] = table = opening()
        return table


def fingerprint(path: Path) -> Hashable:
    """Return a value that changes when a file is replaced: path, time in nanoseconds and size in bytes."""
    status = path.stat()
    return str(path.resolve()), status.st_mtime_ns, status.st_size


def expanded(path: str) -> Path:
    """Return a path with a leading ``~`` replaced by the home folder, if there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
