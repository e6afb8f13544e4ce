"""The client's end of a connection to a worker: :class:`WorkerLink`."""

from __future__ import annotations

import atexit
import itertools
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gem_terminal.engines.base import ProgressStage
from gem_terminal.errors import ContentError, EngineError, EngineFullError, TaskError
from gem_terminal_remote.workers.frames import CHUNK, LONGEST_MESSAGE, PATH, PROTOCOL, chunks, decode, encode

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

__all__ = ["WorkerAnswer", "WorkerLink"]

_CONNECTS_IN = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two attempts to connect; each doubles them."""
_LONGEST_BEAT = 2.0
"""Seconds after which the worker hears of an idle client, and tells its load."""
_SILENCES = 5
"""Beats without an answer after which a connection counts as lost."""
_GOING_AWAY, _POLICY = 1001, 1008
"""Codes of RFC 6455 with which a worker ends a session for good."""


class WorkerAnswer(NamedTuple):
    """What came back for a request."""

    result: Any
    payload: bytes
    epoch: int
    """The session to which numbers in the result belong."""


class _Call:
    """A request that waits for its answer."""

    def __init__(self, message: bytes, epoch: int, patient: bool) -> None:
        self.message = message
        self.epoch = epoch
        self.patient = patient
        self.arrived: SimpleQueue[tuple[dict[str, Any], bytes, int] | EngineError] = SimpleQueue()


class WorkerLink:
    """A session with a worker, over a connection that is made again when it is lost.

    Requests that wait when the connection is lost are sent again, and the worker carries out each of them once. The
    session is lost when the worker does not know it any more, or cannot be reached for ``reconnect`` seconds; what it
    had then raises errors, and the next request begins another one.

    Args:
        address: ``ws://host:port`` or ``wss://host:port``.
        token: the worker's.
        reconnect: seconds.
    """

    def __init__(self, address: str, token: str, reconnect: float) -> None:
        self.address = address
        self.epoch = 0
        """Counts the sessions; numbers of objects belong to one of them."""
        self.load: tuple[int, int] | None = None
        """The containers of other clients and the most of all, as the worker told last."""
        self._token = token
        self._reconnect = reconnect
        self._forgotten: deque[tuple[int, dict[str, Any]]] = deque()
        self._numbers = itertools.count(1)
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._calls: dict[int, _Call] = {}
        self._answered: list[int] = []
        self._connection: ClientConnection | None = None
        self._session: str | None = None
        self._problem = ""
        self._broken = False
        """Whether an attempt to connect again has failed."""
        self._beat = _LONGEST_BEAT
        self._heard = 0.0
        self._thread: threading.Thread | None = None

    def reset_after_fork(self) -> None:
        """Begin anew in a forked child; the session and the connection are the parent's."""
        connection = self._connection
        atexit.unregister(self.close)
        self.epoch += 1
        self._forgotten.clear()
        self._begin()
        if connection is not None:
            connection.socket.close()

    def forget(self, epoch: int, request: dict[str, Any]) -> None:
        """Let a request be sent at some time; for finalizers, which must take no locks."""
        self._forgotten.append((epoch, request))

    def call(
        self,
        op: str,
        payload: bytes = b"",
        *,
        epoch: int | None = None,
        progress: Callable[[ProgressStage], None] | None = None,
        **fields: Any,
    ) -> WorkerAnswer:
        """Send a request and return its answer.

        Args:
            op: the operation.
            payload: what goes with it.
            epoch: the session that the numbers in ``fields`` belong to; None for a request to any. Those to any fail
                at once while the worker cannot be reached; the others wait for it to come back.
            progress: receives the stages.
            fields: of the operation.

        Raises:
            EngineError, TaskError: what the engine of the worker raised; or the session is lost.
        """
        if len(payload) > CHUNK:
            upload = None
            for chunk in chunks(payload):
                upload = self.call("append", chunk, epoch=epoch, **({"upload": upload} if upload else {})).result
            fields["upload"], payload = upload, b""
        self._send_forgotten()
        head, data, at = self._answer(self._sent(op, fields, payload, epoch), progress)
        if "download" in head:
            parts, size = [data], len(data)
            while size < head["size"]:
                part = self.call("download", epoch=at, download=head["download"], offset=size).payload
                if not part:
                    raise EngineError(f"the worker {self.address} cut an answer short")
                parts.append(part)
                size += len(part)
            data = b"".join(parts)
        return WorkerAnswer(head.get("result"), data, at)

    def close(self) -> None:
        """End the session; the worker removes what it has. A second call does nothing."""
        atexit.unregister(self.close)
        with self._changed:
            self._closed = True
            connection, thread = self._connection, self._thread
            self._changed.notify_all()
        if connection is not None:
            with suppress(Exception):
                connection.send(encode({"bye": True}))
                connection.close()
        if thread is not None:
            thread.join()
        with self._changed:
            self._lose("its session was closed")
            self._closed = False

    # Requests

    def _sent(self, op: str, fields: dict[str, Any], payload: bytes, epoch: int | None) -> _Call:
        with self._changed:
            if self._closed:
                raise EngineError(f"the engine of {self.address} is closed")
            if epoch is not None and epoch != self.epoch:
                raise self._lost()
            if epoch is None and self._broken:
                raise EngineError(f"the worker {self.address} cannot be reached: {self._problem}")
            number = next(self._numbers)
            answered, self._answered = self._answered[:1000], self._answered[1000:]
            head = {"number": number, "op": op, "answered": answered, **fields}
            call = self._calls[number] = _Call(encode(head, payload), self.epoch, epoch is not None)
            if self._thread is None:
                atexit.register(self.close)
                self._thread = threading.Thread(target=self._work, name="gem-terminal worker link", daemon=True)
                self._thread.start()
            connection = self._connection
        if connection is not None:
            self._send(connection, call.message)
        return call

    def _answer(
        self, call: _Call, progress: Callable[[ProgressStage], None] | None
    ) -> tuple[dict[str, Any], bytes, int]:
        while True:
            arrived = call.arrived.get()
            if isinstance(arrived, EngineError):
                raise arrived
            head = arrived[0]
            if "stage" in head:
                if progress is not None:
                    progress(ProgressStage(**head["stage"]))
            elif "error" in head:
                raise _error(head["error"])
            else:
                return arrived

    def _send_forgotten(self) -> None:
        while True:
            try:
                epoch, request = self._forgotten.popleft()
            except IndexError:
                return
            with suppress(EngineError):
                self._sent(request["op"], {**request, "op": request["op"]}, b"", epoch)

    def _send(self, connection: ClientConnection, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed, OSError):  # the thread of the link sends it again
            connection.send(message)

    # The thread of the link

    def _work(self) -> None:
        try:
            self._keep_connected()
        except Exception as error:  # whatever it was, nobody must wait for ever
            with self._changed:
                self._lose(f"{type(error).__name__}: {error}")
        finally:
            with self._changed:
                self._thread = self._connection = None
                left = bool(self._calls) and not self._closed
                if left:  # requests that came while this thread was ending
                    self._thread = threading.Thread(target=self._work, name="gem-terminal worker link", daemon=True)
                    self._thread.start()

    def _keep_connected(self) -> None:
        pause, given_up_at = _FIRST_PAUSE, 0.0
        while not self._closed:
            with ExitStack() as opened:
                try:
                    connection = self._connect(opened)
                except _RefusedError as error:
                    with self._changed:
                        is_known = self._session is not None
                        self._lose(str(error), but_new=is_known)
                    if not is_known:
                        return
                    continue  # what waits for any session gets another one; the worker has nothing of the last one
                except (OSError, EngineError) as error:
                    with self._changed:
                        self._problem, self._broken = str(error), True
                        if self._session is None or time.monotonic() >= given_up_at:
                            self._lose(str(error))
                            return
                        self._fail_all(str(error), kept=lambda call: call.patient)
                        self._changed.wait_for(lambda: self._closed, pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                    continue
                try:
                    for_good = self._listen(connection)
                finally:
                    with self._changed:
                        self._connection = None
                    _cut(connection)
                if for_good:
                    with self._changed:
                        self._lose(for_good)
                    return
                pause, given_up_at = _FIRST_PAUSE, time.monotonic() + self._reconnect

    def _connect(self, opened: ExitStack) -> ClientConnection:
        """Return a connection that goes on with the session, or begins one; requests that wait are sent on it."""
        from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
        from websockets.sync.client import connect

        tls = None
        if self.address.startswith("wss:"):
            from gem_server.client.tls import client_tls

            tls = client_tls()
        try:
            connection = opened.enter_context(
                connect(
                    self.address + PATH,
                    additional_headers={"Authorization": f"Bearer {self._token}"},
                    ssl=tls,
                    compression=None,
                    proxy=None,
                    user_agent_header=None,
                    open_timeout=_CONNECTS_IN,
                    ping_interval=None,
                    close_timeout=1.0,
                    max_size=LONGEST_MESSAGE,
                )
            )
        except InvalidStatus as error:
            said = (error.response.body or b"").decode(errors="replace").strip()[:300]
            raise _RefusedError(f"it refuses with status {error.response.status_code}: {said}") from error
        except InvalidURI as error:
            raise _RefusedError(str(error)) from error
        except (InvalidHandshake, EOFError) as error:
            raise EngineError(f"no worker answers there: {error}") from error
        try:
            self._greet(connection)
        except BaseException:
            _cut(connection)
            raise
        return connection

    def _greet(self, connection: ClientConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            connection.send(encode({"protocol": PROTOCOL, "session": self._session}))
            head, _ = decode(connection.recv(_CONNECTS_IN, decode=False))
        except (ConnectionClosed, TimeoutError, ValueError) as error:
            raise EngineError(f"the worker does not greet: {error}") from error
        if "refused" in head:
            raise _RefusedError(str(head["refused"]))
        with self._changed:
            self._session = head["session"]
            self._beat = min(_LONGEST_BEAT, float(head["lease"]) / 6)
            self._heard = time.monotonic()
            self._note_load(head)
            self._problem, self._broken = "", False
            self._connection = connection
            waiting = [call.message for _, call in sorted(self._calls.items())]
            self._changed.notify_all()
        for message in waiting:
            self._send(connection, message)

    def _listen(self, connection: ClientConnection) -> str:
        """Take answers until the connection is lost; return why the session is lost too, or nothing."""
        from websockets.exceptions import ConnectionClosed

        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(connection, ended), daemon=True)
        watcher.start()
        next_beat = 0.0
        try:
            while not self._closed:
                now = time.monotonic()
                if now >= next_beat:
                    connection.send(encode({}))
                    next_beat = now + self._beat
                    self._send_forgotten()
                try:
                    message = connection.recv(max(next_beat - time.monotonic(), 0.001), decode=False)
                except TimeoutError:
                    continue
                self._heard = time.monotonic()
                self._take(*decode(message))
        except ConnectionClosed as error:
            frame = error.rcvd
            if frame is not None and frame.code in (_GOING_AWAY, _POLICY):
                return frame.reason or "the worker ended the session"
        except (OSError, ValueError):
            pass
        finally:
            ended.set()
            watcher.join()
        return ""

    def _watch(self, connection: ClientConnection, ended: threading.Event) -> None:
        """Cut a connection on which nothing comes, so that threads that read or write on it go on."""
        while not ended.wait(self._beat):
            if time.monotonic() - self._heard > _SILENCES * self._beat:
                _cut(connection)
                return

    def _take(self, head: dict[str, Any], payload: bytes) -> None:
        with self._changed:
            self._note_load(head)
            number = head.get("number")
            call, epoch = self._calls.get(number) if isinstance(number, int) else None, self.epoch
            if call is None:
                return
            if "stage" not in head:
                del self._calls[number]  # type: ignore[arg-type]  # an int, or there would be no call
                self._answered.append(number)  # type: ignore[arg-type]
        call.arrived.put((head, payload, epoch))

    def _note_load(self, head: dict[str, Any]) -> None:
        if "load" in head:
            others, most = head["load"]
            self.load = int(others), int(most)

    def _lose(self, why: str, but_new: bool = False) -> None:
        self._problem, self._broken, self._session = why, False, None
        self._fail_all(why, kept=(lambda call: not call.patient) if but_new else None)
        self.epoch += 1
        self._answered.clear()

    def _fail_all(self, why: str, kept: Callable[[_Call], bool] | None = None) -> None:
        for number, call in list(self._calls.items()):
            if kept is None or not kept(call):
                del self._calls[number]
                call.arrived.put(EngineError(f"the worker {self.address} cannot be used: {why}"))

    def _lost(self) -> EngineError:
        return EngineError(f"the container is gone with its worker {self.address}: {self._problem}")


class _RefusedError(Exception):
    """The worker answers, and wants nothing of this client or this session."""


def _cut(connection: ClientConnection) -> None:
    """End a connection without another word, whatever a thread that reads or writes on it is doing."""
    with suppress(OSError):
        connection.socket.shutdown(socket.SHUT_RDWR)


def _error(said: dict[str, Any]) -> Exception:
    message = str(said.get("message", ""))
    if said.get("kind") == "full":
        return EngineFullError(message)
    if said.get("kind") == "content":
        return ContentError(message)
    if said.get("kind") == "task":
        return TaskError(message, said.get("need"))
    return EngineError(message)
