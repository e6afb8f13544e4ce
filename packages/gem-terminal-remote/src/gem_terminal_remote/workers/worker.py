"""A process that offers its container engine to trainers on other machines: :class:`EngineWorker`."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gem.arguments import integer, real
from gem.errors import ArgumentError
from gem_terminal.engines.base import Engine
from gem_terminal.errors import EngineError
from gem_terminal_remote.workers.carrying import OperationRunner
from gem_terminal_remote.workers.frames import LONGEST_MESSAGE, PATH, PROTOCOL, encode, split
from gem_terminal_remote.workers.operations import RemoteOperation, parse_greeting, parse_operation
from gem_terminal_remote.workers.scratch import SessionFiles, WorkerScratch
from gem_terminal_remote.workers.session import WorkerSession

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

__all__ = ["EngineWorker"]

_LOGGER = logging.getLogger(__name__)
_PROTOCOL_LOGGER = logging.getLogger(f"{__name__}.protocol")
_PROTOCOL_LOGGER.setLevel(logging.CRITICAL)  # or everybody who sends garbage fills the log with tracebacks
_GREETS_IN = 10.0
"""Seconds for the handshake and the first message."""
_THREADS = 2
"""Calls at a time for each container that the worker may have."""
_MOST_THREADS = 1024


class EngineWorker:
    """Serves an engine over WebSockets to clients with a token.

    Each client has a session. Its containers, snapshots and uploads end with it: when the client closes it, or when
    nothing was heard from the client for ``lease`` seconds, connected or not. Clients see nothing of each other but
    how many containers there are, and images of the same content are built once for all.

    Args:
        engine: the engine; the worker closes it.
        tokens: each of them names a user. At least one.
        capacity: the most containers of all clients at a time.
        lease: seconds.
        most_sessions: the most sessions at a time.
        most_files: the size limit of the uploads of one client in bytes.
        bases: whether clients may add base images, which all clients share.
        host_network: whether clients may give containers the network of this machine.
        scratch: the folder for uploads; None for the cache folder of this user.

    Raises:
        ArgumentError: for a value out of range, or no token.
    """

    def __init__(
        self,
        engine: Engine,
        tokens: Sequence[str],
        *,
        capacity: int = 64,
        lease: float = 60.0,
        most_sessions: int = 64,
        most_files: int = 8 << 30,
        bases: bool = False,
        host_network: bool = False,
        scratch: Path | None = None,
    ) -> None:
        from gem_server.access import AccessControl

        if not tokens:
            raise ArgumentError("a worker needs a token: who reaches it starts containers")
        self._access = AccessControl(tokens)
        self._lease = real("lease", lease, minimum=0.1, maximum=86400.0)
        self._most_sessions = integer("most_sessions", most_sessions, minimum=1)
        self._most_files = integer("most_files", most_files, minimum=0)
        self._runner = OperationRunner(
            engine, integer("capacity", capacity, minimum=1), bases=bases, host_network=host_network
        )
        self._runner.containers = self.containers
        self._threads = min(_THREADS * capacity + 8, _MOST_THREADS)
        self._sessions: dict[str, WorkerSession] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server: Any = None
        self._scratch = WorkerScratch(scratch)

    def containers(self) -> int:
        """Return the number of containers of all clients."""
        return sum(len(session.objects.containers) for session in list(self._sessions.values()))

    def sessions(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions)

    def start(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listen in threads of their own, and return the port.

        Raises:
            OSError: if that fails.
        """
        from websockets.sync.server import serve

        self._server = serve(
            self._serve,
            host,
            port,
            ssl=tls,
            process_request=self._admit,
            compression=None,
            server_header=None,
            logger=_PROTOCOL_LOGGER,
            open_timeout=_GREETS_IN,
            ping_interval=None,
            close_timeout=1.0,
            max_size=LONGEST_MESSAGE,
        )
        threading.Thread(target=self._server.serve_forever, name="gem-terminal listener", daemon=True).start()
        threading.Thread(target=self._watch, name="gem-terminal leases", daemon=True).start()
        bound: int = self._server.socket.getsockname()[1]
        return bound

    def close(self) -> None:
        """End all sessions, with their containers, and the engine. A second call does nothing."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        if self._server is not None:
            self._server.shutdown(reason="the worker is shutting down")
        for session in sessions:
            session.close("the worker is shutting down")
        self._runner.engine.close()
        self._scratch.close()

    def _watch(self) -> None:
        """End the sessions whose lease has ended."""
        while not self._stopped.wait(min(self._lease / 4, 1.0)):
            now = time.monotonic()
            with self._lock:
                ended = [each for each in self._sessions.values() if now - each.heard > self._lease]
                for session in ended:
                    del self._sessions[session.name]
            for session in ended:
                threading.Thread(
                    target=session.close, args=(f"nothing was heard for {self._lease:g} seconds",), daemon=True
                ).start()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a handshake with another path or without a token."""
        from gem_server.errors import AccessDeniedError

        if request.path != PATH:
            return connection.respond(HTTPStatus.NOT_FOUND, f"a worker of gem-terminal answers at {PATH}\n")
        try:
            self._owner(request)
        except AccessDeniedError as error:
            return connection.respond(HTTPStatus.UNAUTHORIZED, f"{error}\n")
        return None

    def _owner(self, request: Request) -> str:
        return self._access.owner(request.path, {name.lower(): value for name, value in request.headers.raw_items()})

    def _serve(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        def send(message: bytes) -> None:
            with suppress(ConnectionClosed, OSError):  # the next connection gets it
                connection.send(message)

        def hang_up() -> None:
            with suppress(OSError):
                connection.socket.shutdown(2)  # whatever a thread that reads or writes is doing

        session = None
        try:
            session = self._greet(connection, send, hang_up)
            if session is None:
                return
            while True:
                message = connection.recv(decode=False)
                if not session.is_heard(send):
                    return  # the session has another connection
                head, payload = split(message)
                if head == b"{}":
                    send(encode({"load": self._load(session)}))
                elif head == b'{"bye":true}':
                    self._end(session)
                    return
                elif (operation := _operation(head, send)) is not None:
                    session.received(operation, payload)
        except (ConnectionClosed, TimeoutError):
            return
        except (ValueError, EngineError) as error:
            _LOGGER.warning("a client of %s is refused: %.300s", connection.remote_address, error)
            connection.close(1008, str(error)[:100].encode("ascii", "replace").decode())
        finally:
            if session is not None:
                session.detach(send)

    def _greet(self, connection: ServerConnection, send: Any, hang_up: Any) -> WorkerSession | None:
        """Return the session that a connection begins or goes on with; None if there is none."""
        assert connection.request is not None
        owner = self._owner(connection.request)
        message = connection.recv(_GREETS_IN, decode=False)
        greeting = parse_greeting(split(message)[0])
        refusal, session = "", None
        with self._lock:
            if greeting.protocol != PROTOCOL:
                refusal = f"the worker speaks version {PROTOCOL} of the protocol, and the client {greeting.protocol}"
            elif greeting.session is not None:
                session = self._sessions.get(greeting.session)
                if session is None or session.owner != owner:
                    refusal = "the worker does not have this session: its lease has ended, or the worker began anew"
            elif self._stopped.is_set() or len(self._sessions) >= self._most_sessions:
                refusal = f"the worker has {self._most_sessions} sessions, and takes no more"
            else:
                files = SessionFiles(self._scratch.folder, self._most_files)
                session = WorkerSession(owner, files, self._threads, self._runner)
                self._sessions[session.name] = session
            if session is not None and not refusal:
                session.attach(send, hang_up)
        if session is None or refusal:
            send(encode({"refused": refusal}))
            return None
        send(encode({"session": session.name, "lease": self._lease, "load": self._load(session)}))
        return session

    def _end(self, session: WorkerSession) -> None:
        with self._lock:
            self._sessions.pop(session.name, None)
        session.close("the client said goodbye")

    def _load(self, session: WorkerSession) -> list[int]:
        """Return the containers of the other clients, and the most of all."""
        return [self.containers() - len(session.objects.containers), self._runner.most]


def _operation(head: bytes, send: Any) -> RemoteOperation | None:
    """Return the request of a message; answer one that has a number and is malformed otherwise.

    Raises:
        ValueError: if it does not even have a number.
    """
    try:
        return parse_operation(head)
    except ValidationError as error:
        try:
            number = json.loads(head)["number"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError("the message is no request") from error
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        said = f"the worker takes no such request: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        send(encode({"number": number, "error": {"kind": "engine", "message": said}}))
        return None
