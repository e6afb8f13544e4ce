"""The sessions of an environment, one for each episode: :class:`EpisodeSessions`."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any
from weakref import WeakSet

from gem.core import Info
from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines import Engine, checked_engine_name, engine_by_name
from gem_terminal.episodes.episode_snapshots import EpisodeSnapshot
from gem_terminal.episodes.session_pools import SessionSpec, session_pool
from gem_terminal.episodes.task_session import TaskSession
from gem_terminal.episodes.warm_pool import WarmPool
from gem_terminal.errors import EngineError
from gem_terminal.recording import EpisodeRecording
from gem_terminal.warnings_once import warn_once

__all__ = ["EpisodeSessions"]

_UNENFORCED = (
    "the {engine} engine does not limit {limits} of containers on this machine (gem terminal engines): one can take "
    "what the others and this process need. Run as root, or as a user who may write to control groups, or use Docker"
)

_HOST_NETWORK = (
    "network='host' gives the agent the network of this machine: it reaches services on 127.0.0.1, abstract sockets, "
    "and parallel episodes reach each other"
)


class EpisodeSessions:
    """Takes the sessions of one environment from the pool of its engine, one for each episode.

    Args:
        engine: the engine, or its name.
        warm: the number of sessions made ahead, from the second on.
        recordings: the folder of recordings, or whether there are any.
    """

    def __init__(self, engine: str | Engine, warm: int, recordings: Path | str | bool | None) -> None:
        self._engine = engine if isinstance(engine, Engine) else checked_engine_name(engine)
        self._warm = warm
        self._recordings = recordings
        self._taken = 0
        self.pool: WarmPool[SessionSpec, TaskSession] | None = None
        self.session: TaskSession | None = None
        """The session of this episode."""
        self.snapshot: EpisodeSnapshot | None = None
        """From which the next session begins, in place of the image."""
        self.kept: tuple[int, str | None] | None = None
        """The turn and the name of the last snapshot for a state."""

    @cached_property
    def engine(self) -> Engine:
        """The engine, chosen on first use."""
        return self._engine if isinstance(self._engine, Engine) else engine_by_name(self._engine)

    def take(
        self, spec: SessionSpec, spec_of: Callable[[int], SessionSpec], count: int, rng: Random | None
    ) -> TaskSession:
        """Begin a session.

        Args:
            spec: of the session.
            spec_of: returns the spec of a task.
            count: the number of tasks among which the environment draws.
            rng: the generator with which it draws the next one, which stays as it is; None if the caller chooses.

        Raises:
            EngineError: if the container does not start.
        """
        if self.pool is None:
            self.pool = session_pool(self.engine)
            _IN_USE.add(self)
            if missing := self.engine.unenforced:
                warn_once(_UNENFORCED.format(engine=self.engine.name, limits=", ".join(missing)))
        self._taken += 1
        if spec.task.limits.host_network:
            warn_once(_HOST_NETWORK)
        try:
            session = self.pool.take(self, spec, list(map(spec_of, self._ahead(count, rng))))
        except OSError as error:
            raise EngineError(f"no container can be started: {error}") from error
        session.begin()
        if self._recordings:
            folder = None if self._recordings is True else Path(self._recordings)
            session.recording = EpisodeRecording(folder, spec.task.name)
        self.session = session
        return session

    def recording_info(self, *, ended: bool) -> Info:
        """Return what the info of the reset, or of the last turn, says of the recording."""
        if self.session is None or self.session.recording is None:
            return {}
        return {**self.session.recording.info(ended=ended)}

    def release(self) -> None:
        """End the session."""
        self.session = self.snapshot = self.kept = None
        if self.pool is not None:
            self.pool.release(self)

    def leave(self) -> None:
        """End the session, and those made ahead."""
        self.session = None
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.leave(self)

    def __getstate__(self) -> dict[str, Any]:
        """Exclude the sessions: a copy takes its own."""
        state = {**self.__dict__, "session": None, "pool": None, "snapshot": None, "kept": None}
        state.pop("engine", None)
        return state

    def _ahead(self, count: int, rng: Random | None) -> list[int]:
        """Return the indices of the next tasks; none before the second episode."""
        if self._taken == 1:
            return []
        if count == 1:
            return [0] * self._warm
        if rng is None:
            return []
        rng = copy(rng)
        return [rng.randrange(count) for _ in range(self._warm)]


_IN_USE: WeakSet[EpisodeSessions] = WeakSet()


@after_fork_in_child
def _reset_after_fork() -> None:
    """Drop the parent's sessions in a forked child, whose environments take their own."""
    for client in _IN_USE:
        client.session = client.pool = client.snapshot = client.kept = None
