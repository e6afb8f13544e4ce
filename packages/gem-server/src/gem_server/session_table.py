r"""Sessions: environments that clients have opened, whatever the protocol.

A protocol (the WebSocket of :mod:`gem_server.socket_protocol`, the routes of :mod:`gem_server.http_routes`, a protocol
of another framework) opens sessions in the server's :class:`SessionTable` and calls them::

    session = await table.open("game:Sudoku-v0", owner="")     # limits and the list of served ids apply
    observation, reward, terminated, truncated, info = await session.reset(seed=7)
    observation, reward, terminated, truncated, info = await session.step("\\boxed{1 2 3}")
    await session.close()

These coroutines decode the results. A protocol that passes JSON through uses :meth:`EnvSession.submit`, which costs
less.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem.env_spec import EnvSpec
from gem_server.env_session import EnvSession
from gem_server.errors import CapacityError, SequenceError, UnknownSessionError
from gem_server.metrics import ServerMetrics
from gem_server.open_request import OpenRequest
from gem_server.operations import CLOSE, MAKE
from gem_server.settings import ServingSettings
from gem_server.worker_pool import PooledWorker, WorkerPool

__all__ = ["SessionTable"]


class SessionTable:
    """All sessions of a server, by name and by key.

    Args:
        specs: the environments that clients may open, by id.
        settings: the limits.
        metrics: counters.
    """

    def __init__(self, specs: Mapping[str, EnvSpec], settings: ServingSettings, metrics: ServerMetrics) -> None:
        self.specs = dict(specs)
        self.settings = settings
        self.metrics = metrics
        self.under_way: dict[int, EnvSession] = {}
        """Sessions with a call under way, by key."""
        self.draining = False
        self.pool: WorkerPool
        """The workers, which report to :meth:`on_results` and :meth:`on_loss`; set before any session is opened."""
        self._encoded_specs = {env_id: spec.to_json() for env_id, spec in specs.items()}
        self._by_key: dict[int, EnvSession] = {}
        self._by_name: dict[str, EnvSession] = {}
        self._keys = itertools.count(1)
        self._unwanted: dict[int, PooledWorker] = {}  # environments that are being made for closed sessions
        self._at_end_of_turn: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._by_name)

    async def open(self, env_id: str, *, owner: str, **asked: Any) -> EnvSession:
        """Open a session and wait until its environment is made.

        Args:
            env_id: one of the served ids.
            owner: whose session it is: the name of the token, as :mod:`gem_server.access` gives it.
            **asked: further fields of :class:`OpenRequest`.

        Raises:
            CapacityError: if the server is full or shutting down.
            UnknownEnvironmentError: if the id is not served.
            GemError: an error of the environment's constructor.
        """
        session = self.open_now(OpenRequest(env_id, **asked), owner)
        await session.call(MAKE)
        return session

    def open_now(self, request: OpenRequest, owner: str, name: str | None = None) -> EnvSession:
        """Add a session without waiting; the caller submits ``MAKE`` as its call 0.

        Raises:
            CapacityError, UnknownEnvironmentError, ArgumentError, ArgumentTypeError: as :meth:`open`.
        """
        if self.draining:
            raise CapacityError("the server is shutting down; use another one")
        if len(self._by_name) >= self.settings.max_sessions:
            raise CapacityError(f"the server has all {self.settings.max_sessions} sessions open; try again later")
        name = name or secrets.token_hex(16)
        if name in self._by_name:
            raise SequenceError("a session of this name is open; attach to it instead")
        request.check(self.specs, self.settings)
        session = EnvSession(self, next(self._keys), name, owner, request, self._encoded_specs[request.env_id])
        self._by_key[session.key] = self._by_name[name] = session
        self.metrics.opened += 1
        return session

    def get(self, name: str, owner: str) -> EnvSession:
        """Return an open session of this owner.

        Raises:
            UnknownSessionError: if there is none.
        """
        session = self._by_name.get(name)
        if session is None or session.owner != owner:
            raise UnknownSessionError("no such session is open; it was closed, or reaped after too long without a call")
        return session

    def at_end_of_turn(self, call: Callable[[], None]) -> None:
        """Call a function when this turn of the event loop has handled all that arrived."""
        if not self._at_end_of_turn:  # one callback of the loop for all connections costs less than one for each
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._at_end_of_turn.append(call)

    def _end_turn(self) -> None:
        calls, self._at_end_of_turn = self._at_end_of_turn, []
        for call in calls:
            call()

    def drop(self, session: EnvSession) -> None:
        """Close a session; the worker closes its environment when no step is inside."""
        if not session.closed:
            session.end()
            self.forget(session)

    def forget(self, session: EnvSession) -> None:
        """Remove a session whose environment is closed or was never made."""
        if self._by_name.pop(session.name, None) is not None:
            self._by_key.pop(session.key, None)
            self.metrics.closed += 1
            if not session.closed:
                session.end()

    def close_when_made(self, key: int, worker: PooledWorker) -> None:
        """Close an environment as soon as its worker has made it."""
        self._unwanted[key] = worker

    def on_results(self, results: Sequence[tuple[int, int, bytes, Any]]) -> None:
        """Pass results of workers on to their sessions."""
        by_key = self._by_key
        for key, kind, text, account in results:
            session = by_key.get(key)
            if session is not None:
                session.take(kind, text, account)
            elif key in self._unwanted:
                worker = self._unwanted.pop(key)
                worker.submit(key, CLOSE, None)
                self.pool.release(worker, key)

    def on_loss(self, keys: set[int], cause: str) -> None:
        """Tell sessions that their environments ended."""
        for key in sorted(keys):
            self._unwanted.pop(key, None)
            session = self._by_key.get(key)
            if session is not None:
                session.lose(cause)

    def check_times(self) -> None:
        """Give up calls that take too long, and close sessions that nobody uses; called a few times a second."""
        now = time.monotonic()
        for session in list(self.under_way.values()):
            session.check_time(now)
        idle, orphaned = self.settings.idle_timeout, min(self.settings.idle_timeout, self.settings.reconnect_timeout)
        for session in list(self._by_name.values()):
            if not session.busy and now - session.last_used > (orphaned if session.orphaned else idle):
                self.metrics.reaped += 1
                self.drop(session)

    def close(self) -> None:
        """Close all sessions."""
        for session in list(self._by_name.values()):
            self.drop(session)
