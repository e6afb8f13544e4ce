"""What a worker keeps for one client: :class:`WorkerSession`, with its requests, containers and lease."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any

from gem.errors import GemError
from gem_terminal.engines.base import Channel, Container, ContainerSnapshot
from gem_terminal.errors import ContentError, EngineError, EngineFullError, TaskError
from gem_terminal_remote.workers.frames import CHUNK, encode
from gem_terminal_remote.workers.held import HeldObject
from gem_terminal_remote.workers.operations import RemoteOperation
from gem_terminal_remote.workers.scratch import SessionFiles

__all__ = ["SessionObjects", "WorkerSession"]

_LOGGER = logging.getLogger(__name__)
_MOST_REQUESTS = 4096
_MOST_ANSWERS = 256 << 20
"""Bytes of answers that a client has not confirmed."""
_MOST_DOWNLOADS = 2 << 30


class SessionObjects:
    """The containers, channels, snapshots and results of a session, by the numbers that its client knows.

    Numbers count within a session, so a client cannot name what another one has.
    """

    def __init__(self) -> None:
        self.containers: dict[int, HeldObject[Container]] = {}
        self.channels: dict[int, HeldObject[Channel]] = {}
        self.snapshots: dict[int, HeldObject[ContainerSnapshot]] = {}
        self.references: set[str] = set()
        """Images that were prepared for this client; no others can be named."""
        self.numbers = count(1)
        self._channels_of: dict[int, set[int]] = {}
        self._downloads: dict[int, bytes] = {}
        self._lock = Lock()
        self._closed = False

    def add(self, kind: str, value: Any, of: int | None = None) -> int:
        """Keep an object and return its number; an object that comes after the end of the session is closed.

        Args:
            kind: ``"container"``, ``"channel"`` or ``"snapshot"``.
            value: the object.
            of: the number of the container of a channel.

        Raises:
            EngineError: if the session has ended, or the container of the channel was removed.
        """
        number = next(self.numbers)
        held: HeldObject[Any] = HeldObject(value, f"{kind} {number}")
        with self._lock:
            gone = self._closed or (of is not None and of not in self.containers)
            if not gone:
                self._table(kind)[number] = held
                if of is not None:
                    self._channels_of.setdefault(of, set()).add(number)
        if gone:
            held.end(lambda one: one.remove() if isinstance(one, Container) else one.close())
            raise EngineError("the session has ended, or its container was removed")
        return number

    def _table(self, kind: str) -> dict[int, Any]:
        tables: dict[str, dict[int, Any]] = {"container": self.containers, "channel": self.channels}
        return tables.get(kind, self.snapshots)

    def keep(self, data: bytes) -> int:
        """Keep a result that is too large for one message; :meth:`part` returns it."""
        number = next(self.numbers)
        with self._lock:
            if sum(map(len, self._downloads.values())) + len(data) > _MOST_DOWNLOADS:
                raise EngineError(f"more than {_MOST_DOWNLOADS >> 30} GiB wait for this client")
            self._downloads[number] = data
        return number

    def part(self, number: int, offset: int) -> bytes:
        """Return a part of a result; after the last part the result is forgotten."""
        with self._lock:
            if number not in self._downloads:
                raise EngineError(f"there is no result {number}")
            data = self._downloads[number]
            if offset + CHUNK >= len(data):
                del self._downloads[number]
            return data[offset : offset + CHUNK]

    def remove_container(self, number: int) -> None:
        """Remove a container with its channels. A second call does nothing."""
        with self._lock:
            held = self.containers.pop(number, None)
            channels = self._channels_of.pop(number, set())
        if held is not None:
            held.end(lambda container: container.remove(), lambda container: container.kill_all())
        for channel in channels:
            self.close_channel(channel)

    def close_channel(self, number: int) -> None:
        """Close a channel. A second call does nothing."""
        with self._lock:
            held = self.channels.pop(number, None)
            for others in self._channels_of.values():
                others.discard(number)
        if held is not None:
            held.end(lambda channel: channel.close())

    def close_snapshot(self, number: int) -> None:
        """Close a snapshot. A second call does nothing."""
        with self._lock:
            held = self.snapshots.pop(number, None)
        if held is not None:
            held.end(lambda snapshot: snapshot.close())

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            self._closed = True
        for kind, close in (
            (self.containers, self.remove_container),
            (self.channels, self.close_channel),
            (self.snapshots, self.close_snapshot),
        ):
            for number in list(kind):
                try:
                    close(number)
                except (GemError, OSError) as error:
                    _LOGGER.warning("the end of a session left something: %s", error)
        self._downloads.clear()


@dataclass
class _Request:
    answer: bytes | None = None


class WorkerSession:
    """One client's requests and what they made.

    A request is carried out once and answered until the client confirms the answer, so a lost connection loses
    nothing. The session ends with its lease, when nothing has come from the client for that long.

    Args:
        owner: the user that the client's token names.
        files: the client's uploads.
        threads: the most requests at a time.
        carry_out: does what an operation asks, and returns the result and its payload.
    """

    def __init__(
        self,
        owner: str,
        files: SessionFiles,
        threads: int,
        carry_out: Callable[[WorkerSession, Any, bytes, Callable[[dict[str, Any]], None]], tuple[Any, bytes]],
    ) -> None:
        self.name = secrets.token_urlsafe(24)
        self.owner = owner
        self.files = files
        self.objects = SessionObjects()
        self.heard = time.monotonic()
        self._carry_out = carry_out
        self._lock = Lock()
        self._requests: dict[int, _Request] = {}
        self._bytes = 0
        self._send: Callable[[bytes], None] | None = None
        self._hang_up: Callable[[], None] = lambda: None
        self._closed = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gem-terminal worker")

    def attach(self, send: Callable[[bytes], None], hang_up: Callable[[], None]) -> None:
        """Use a new connection; an older one is closed."""
        with self._lock:
            before, self._send, self._hang_up = self._hang_up, send, hang_up
            self.heard = time.monotonic()
        before()

    def detach(self, send: Callable[[bytes], None]) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            if self._send is send:
                self._send, self._hang_up = None, lambda: None

    def is_heard(self, send: Callable[[bytes], None]) -> bool:
        """Renew the lease if a message came over the connection in use; return whether it did."""
        with self._lock:
            if self._send is not send:
                return False
            self.heard = time.monotonic()
            return True

    def received(self, operation: RemoteOperation, payload: bytes) -> None:
        """Carry out a request in a thread of its own; one that came before is not carried out again.

        Raises:
            EngineError: if the client has too many requests, or does not confirm their answers.
        """
        with self._lock:
            for number in operation.answered:
                confirmed = self._requests.pop(number, None)
                self._bytes -= len(confirmed.answer or b"") if confirmed is not None else 0
            known = self._requests.get(operation.number)
            if known is None:
                if len(self._requests) >= _MOST_REQUESTS or self._bytes > _MOST_ANSWERS:
                    raise EngineError(f"more than {_MOST_REQUESTS} requests, or their answers, wait for this client")
                self._requests[operation.number] = request = _Request()
                if not self._closed:
                    self._pool.submit(self._work, request, operation, payload)
                return
        if known.answer is not None:
            self.send(known.answer)

    def send(self, message: bytes) -> None:
        """Send a message, if there is a connection."""
        with self._lock:
            send = self._send
        if send is not None:
            send(message)

    def close(self, reason: str) -> None:
        """End the session with all its containers. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            hang_up = self._hang_up
        _LOGGER.info("a session ends: %s", reason)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.objects.close()
        self.files.close()
        hang_up()

    def _work(self, request: _Request, operation: Any, payload: bytes) -> None:
        number = operation.number

        def tell(stage: dict[str, Any]) -> None:
            self.send(encode({"number": number, "stage": stage}))

        try:
            result, data = self._carry_out(self, operation, payload, tell)
            head: dict[str, Any] = {"number": number, "result": result}
            if len(data) > CHUNK:
                head |= {"download": self.objects.keep(data), "size": len(data)}
                data = data[:CHUNK]
            answer = encode(head, data)
        except Exception as error:  # the client must hear of every failure
            answer = encode({"number": number, "error": _error(operation, error)})
        with self._lock:
            request.answer = answer
            self._bytes += len(answer)
        with suppress(OSError):
            self.send(answer)


def _error(operation: Any, error: Exception) -> dict[str, Any]:
    if isinstance(error, ContentError):
        return {"kind": "content", "message": str(error)}
    if isinstance(error, EngineFullError):
        return {"kind": "full", "message": str(error)}
    if isinstance(error, TaskError):
        return {"kind": "task", "message": str(error), "need": error.need}
    if isinstance(error, (GemError, OSError)):
        return {"kind": "engine", "message": str(error)}
    _LOGGER.error("%s failed", operation.op, exc_info=error)
    return {"kind": "engine", "message": f"{operation.op} failed on the worker: {type(error).__name__}: {error}"}
