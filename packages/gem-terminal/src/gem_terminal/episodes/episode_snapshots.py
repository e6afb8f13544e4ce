"""Snapshots of episodes: :class:`EpisodeSnapshot`, and those that the states of environments refer to."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem.fork_hooks import after_fork_in_child
from gem_terminal.episodes.task_session import SessionSnapshot
from gem_terminal.task import Task

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EpisodeSnapshot", "keep_snapshot", "kept_snapshot"]

_MOST_BYTES = 1 << 30
_MOST = 256
"""Snapshots that this process keeps for states; the oldest are dropped, and their states repeat the actions."""


@dataclass(frozen=True)
class EpisodeSnapshot:
    """An episode at one moment, from which ``TerminalEnv.restore`` continues any number of times.

    It has the files of the container, and the folder, variables, functions and options of the shell. It has no
    processes: :attr:`processes` counts those of the agent that were running and that a restored episode lacks.
    """

    task: Task
    state: Mapping[str, Any]
    """The state of the environment, without the files."""
    session: SessionSnapshot

    @property
    def processes(self) -> int:
        """Processes of the agent, other than its shell, that a restored episode lacks."""
        return self.session.processes

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return self.session.files.size

    def close(self) -> None:
        """Remove the files. A second call does nothing; a forgotten snapshot is closed."""
        self.session.files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_KEPT: OrderedDict[str, EpisodeSnapshot] = OrderedDict()
_LOCK = Lock()


def keep_snapshot(snapshot: EpisodeSnapshot) -> str | None:
    """Keep a snapshot for a state; return the name by which the state refers to it, or None if it is too large."""
    if snapshot.size > _MOST_BYTES:
        return None
    name = secrets.token_hex(16)
    with _LOCK:
        _KEPT[name] = snapshot
        while len(_KEPT) > _MOST or sum(each.size for each in _KEPT.values()) > _MOST_BYTES:
            _KEPT.popitem(last=False)  # not closed, since an environment may be about to continue from it
    return name


def kept_snapshot(name: str | None) -> EpisodeSnapshot | None:
    """Return the snapshot that a state refers to; None if this process does not have it (any more)."""
    with _LOCK:
        if name is None or name not in _KEPT:
            return None
        _KEPT.move_to_end(name)
        return _KEPT[name]


@after_fork_in_child
def _reset_after_fork() -> None:
    global _LOCK
    _LOCK = Lock()
    _KEPT.clear()  # a child repeats the actions in containers of its own
