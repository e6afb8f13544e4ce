"""The environment server: :class:`EnvironmentServer` joins listener, sessions, workers and routes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem import registry
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_server.access import AccessControl
from gem_server.connection import ClientConnection, HttpAnswer, PlainRequest, SocketHandler, denied
from gem_server.errors import AccessDeniedError
from gem_server.http_routes import ROUTES, AboutServer, HttpService
from gem_server.metrics import CONTENT_TYPE, ServerMetrics, rendered
from gem_server.openapi import document
from gem_server.session_table import SessionTable
from gem_server.settings import ServingSettings
from gem_server.socket_protocol import SessionSocket
from gem_server.text_additions import chosen_subprotocol
from gem_server.worker_pool import WorkerPool

__all__ = ["EnvironmentServer", "SocketFactory", "served_specs"]

SOCKET_PATH = "/v1/socket"
_CHECK_EVERY = 0.25  # seconds between two looks at limits of time

SocketFactory = Callable[[PlainRequest, str], SocketHandler]
"""Takes the request of an upgrade and the owner that its token names, and returns the handler of the connection."""


def served_specs(targets: Sequence[str]) -> dict[str, EnvSpec]:
    """Return the specs of ids and namespaces.

    Args:
        targets: ids (``game:Sudoku-v0``), or namespaces (``game``), which stand for all their ids.

    Raises:
        ArgumentError: if there is none, or a namespace is empty.
        GemError: errors of :func:`gem.spec` are passed on.
    """
    found: dict[str, EnvSpec] = {}
    for target in targets:
        specs = [registry.spec(target)] if ":" in target else registry.all_specs(target)
        if not specs:
            raise ArgumentError(f"nothing installed provides the namespace {target!r}; 'gem list' shows what there is")
        found.update((spec.id, spec) for spec in specs)
    if not found:
        raise ArgumentError("name at least one environment or namespace to serve")
    return found


class EnvironmentServer(AboutServer):
    """Serves environments over WebSocket and HTTP on one port, from worker processes.

    ::

        server = EnvironmentServer(served_specs(["game"]), tokens=[token])
        await server.start("127.0.0.1", 8080)
        …
        await server.stop()

    A protocol of another framework adds itself before ``start``: :meth:`add_socket` for WebSockets of a path,
    :meth:`add_routes` for HTTP paths. It opens sessions in :attr:`sessions`
    (:class:`gem_server.session_table.SessionTable`), where all limits apply; requests reach it only after the check of
    their token, whose owner it is given.

    Args:
        specs: the environments by id.
        tokens: bearer tokens of equal right; none for a server that asks for none.
        settings: limits.
    """

    def __init__(
        self, specs: Mapping[str, EnvSpec], tokens: Sequence[str] = (), settings: ServingSettings | None = None
    ) -> None:
        self.settings = settings or ServingSettings()
        self.access = AccessControl(tokens, self.settings.origins, self.settings.hosts)
        self.metrics = ServerMetrics()
        self.sessions = SessionTable(specs, self.settings, self.metrics)
        self.max_message = self.settings.max_message
        self.request_timeout = self.settings.request_timeout
        self.metrics_type = CONTENT_TYPE
        self._http = HttpService(self.sessions, self.access, self)
        self._sockets: dict[str, SocketFactory] = {SOCKET_PATH: self._session_socket}
        self._prefixes: dict[str, Callable[[PlainRequest, str], Any]] = {}
        self._public: set[str] = set()
        self._connections: set[ClientConnection] = set()
        self._listener: asyncio.Server | None = None
        self._timer: asyncio.Task[None] | None = None

    def add_socket(self, path: str, factory: SocketFactory) -> None:
        """Hand WebSockets of a path to a handler of another protocol."""
        self._sockets[path] = factory

    def add_routes(self, prefix: str, answer: Callable[[PlainRequest, str], Any], *, needs_token: bool = True) -> None:
        """Hand HTTP requests below a path to a coroutine function: request and owner → :class:`HttpAnswer`.

        Args:
            prefix: ``/play`` stands for itself and everything below ``/play/``.
            answer: the coroutine function.
            needs_token: False for pages that anybody may load, such as those in which a token is typed.
        """
        self._prefixes[prefix] = answer
        if not needs_token:
            self._public.add(prefix)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Start workers and listener; return the port.

        Raises:
            OSError: if the address cannot be listened on.
        """
        settings = self.settings
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: ClientConnection(self), host, port, ssl=tls, backlog=1024, start_serving=False
        )
        pool = WorkerPool(
            settings.workers,
            settings.threads,
            list(self.sessions.specs.values())[:200],
            self.sessions.on_results,
            self.sessions.on_loss,
        )
        self.sessions.pool = pool
        await pool.start()
        await self._listener.start_serving()
        self._timer = loop.create_task(self._check_times())
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    async def drain(self) -> None:
        """Refuse new sessions, and wait for the open ones as long as the settings allow."""
        self.sessions.draining = True
        deadline = asyncio.get_running_loop().time() + self.settings.drain_timeout
        while len(self.sessions) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """Close all sessions and connections, and end the workers."""
        self.sessions.draining = True
        if self._timer is not None:
            self._timer.cancel()
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.close()
        self.sessions.close()
        await asyncio.sleep(0)  # the last messages leave
        await self.sessions.pool.close()
        for connection in list(self._connections):
            connection.abort()

    async def _check_times(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            self.sessions.check_times()

    # For ClientConnection

    def admit(self, connection: ClientConnection) -> bool:
        """Note a new connection; False if there are too many."""
        if len(self._connections) >= self.settings.max_connections:
            return False
        self.metrics.connections += 1
        self._connections.add(connection)
        return True

    def leave(self, connection: ClientConnection) -> None:
        """Note the end of a connection."""
        self._connections.discard(connection)

    def socket_handler(self, request: PlainRequest) -> SocketHandler | HttpAnswer:
        """Return the handler of a WebSocket upgrade, or the answer that refuses it."""
        factory = self._sockets.get(request.path)
        if factory is None:
            return _not_found(request)
        try:
            return factory(request, self._owner(request))
        except AccessDeniedError as error:
            return denied(error)

    def early_refusal(self, request: PlainRequest) -> HttpAnswer | None:
        """Refuse without reading the body what needs a token and has none, and bodies that are too large."""
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length[:20]) > self.max_message:
            return HttpAnswer.of(
                {"error": {"kind": "TooLarge", "message": f"a body may have {self.max_message} bytes"}}, 413
            )
        if self._is_public(request):
            return None
        try:
            self._owner(request, redeem=False)
        except AccessDeniedError as error:
            return denied(error)
        return None

    async def answer(self, request: PlainRequest) -> HttpAnswer:
        """Return the answer to a request."""
        try:
            owner = "" if self._is_public(request) else self._owner(request)
            for prefix, answer in self._prefixes.items():
                if request.path == prefix or request.path.startswith(f"{prefix}/"):
                    result: HttpAnswer = await answer(request, owner)
                    return result
            allowed = []
            for route in ROUTES:
                parameters = route.match(request.path)
                if parameters is not None:
                    if route.method == request.method or (request.method == "HEAD" and route.method == "GET"):
                        return await self._http.answer(route, parameters, request, owner)
                    allowed.append(route.method)
            if allowed:
                message = f"{request.path[:100]} takes {', '.join(allowed)}"
                body = HttpAnswer.of({"error": {"kind": "MethodNotAllowed", "message": message}}, 405)
                return HttpAnswer(body.status, body.body, headers=(("Allow", ", ".join(allowed)),))
            return _not_found(request)
        except AccessDeniedError as error:
            return denied(error)
        except Exception as error:  # a fault of ours must not end the connection without a word
            asyncio.get_running_loop().call_exception_handler({"message": "a request failed", "exception": error})
            return HttpAnswer.of({"error": {"kind": "InternalError", "message": "the server failed"}}, 500)

    def _owner(self, request: PlainRequest, redeem: bool = True) -> str:
        try:
            return self.access.owner(request.target, request.headers, redeem)
        except AccessDeniedError:
            self.metrics.denied += 1
            raise

    def _is_public(self, request: PlainRequest) -> bool:
        path = request.path
        if any(not route.needs_token and route.path == path for route in ROUTES):
            return True
        return any(path == prefix or path.startswith(f"{prefix}/") for prefix in self._public)

    def _session_socket(self, request: PlainRequest, owner: str) -> SocketHandler:
        offered = [word.strip() for word in request.headers.get("sec-websocket-protocol", "").split(",")]
        return SessionSocket(self.sessions, owner, chosen_subprotocol(offered))

    # For HttpService

    def not_ready(self) -> str:
        if self.sessions.draining:
            return "shutting down"
        if len(self.sessions) >= self.settings.max_sessions:
            return "all sessions are in use"
        return "" if self.sessions.pool.workers else "no worker process is ready"

    def metrics_text(self) -> str:
        workers = self.sessions.pool
        return rendered(
            [
                *self.metrics.samples(),
                ("gem_sessions", "gauge", "Open sessions.", {"": len(self.sessions)}),
                ("gem_sessions_limit", "gauge", "Sessions that may be open.", {"": self.settings.max_sessions}),
                ("gem_calls_under_way", "gauge", "Calls without a result yet.", {"": len(self.sessions.under_way)}),
                ("gem_open_connections", "gauge", "Open connections.", {"": len(self._connections)}),
                ("gem_workers", "gauge", "Worker processes.", {"": len(workers.workers)}),
                (
                    "gem_workers_lost_total",
                    "counter",
                    "Worker processes that ended unasked.",
                    {"": workers.lost_workers},
                ),
            ]
        )

    def openapi(self) -> dict[str, Any]:
        return document()


def _not_found(request: PlainRequest) -> HttpAnswer:
    message = f"there is nothing at {request.path[:100]}; /openapi.json lists what there is"
    return HttpAnswer.of({"error": {"kind": "NotFound", "message": message}}, 404)
