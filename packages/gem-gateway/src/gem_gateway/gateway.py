"""The gateway: an HTTP server that takes the model calls of agent programs, a session for each episode."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from gem.arguments import integer
from gem.errors import ArgumentError, GemError
from gem_eval.clients import Sampling
from gem_eval.clients.json_text import encoded
from gem_gateway.budgets import CallBudget
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import CallAnswerer
from gem_gateway.dialects.base import CallDialect, CallSettings
from gem_gateway.dialects.chat import ChatDialect
from gem_gateway.dialects.completions import CompletionsDialect
from gem_gateway.dialects.gemini import GeminiDialect, gemini_call, gemini_model
from gem_gateway.dialects.messages import MessagesDialect
from gem_gateway.dialects.responses import ResponsesDialect
from gem_gateway.exchange import error_response, exchange
from gem_gateway.limits import CallPlace, ExchangeLimits
from gem_gateway.listener import CallServer
from gem_gateway.requests import CallPath, body_of, key_of, parsed_path
from gem_gateway.sessions import GatewaySession, key_digest
from gem_rollout.garbage import rare_collections

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Gateway"]

_DIALECTS: dict[str, CallDialect] = {
    "/chat/completions": ChatDialect(),
    "/completions": CompletionsDialect(),
    "/messages": MessagesDialect(),
    "/responses": ResponsesDialect(),
}
"""Endpoint → its dialect."""

_COUNT_PATH = "/messages/count_tokens"

_COUNT_FIELDS = {"messages": "input_tokens", "gemini": "totalTokens"}
"""Dialect → the field of an answer that says how many tokens a prompt has."""

_ALLOCATIONS = 20_000
"""Objects that there may be more before Python looks at the young ones for cycles. The conversations of calls have
none, and are some hundred objects each."""

_SHUTDOWN_SECONDS = 1.0
"""How long :meth:`Gateway.close` waits for answers that are being written."""


class Gateway:
    """Takes the model calls of agent programs and has them answered, a session for each episode.

    ::

        async with Gateway() as gateway:
            session = gateway.open(ClientAnswerer(client), budget=CallBudget(calls=100), name="episode 7")
            ...  # a program with session.base_url("chat") and session.api_key
            await session.close()

    It runs in the event loop that enters it, and takes part in no other.

    Args:
        host: address to listen on.
        port: 0 for any free one; afterwards the one that was found.
        socket_path: a Unix socket to listen on instead, for programs in a box without a network. What leads to it
            from inside the box decides what base URLs begin with, so that :attr:`origin` can be set.
        limits: of each exchange of a request and its answer.

    Attributes:
        sessions: the open ones by their id.
        opener: called with the key of a request that names no session in its path and opens none; returns a new
            session for it, or None. None, the default, refuses such requests.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        socket_path: str | Path | None = None,
        limits: ExchangeLimits | None = None,
    ) -> None:
        self.host = host
        self.port = integer("port", port, minimum=0, maximum=65535)
        self.socket_path = None if socket_path is None else Path(socket_path)
        self._limits = limits or ExchangeLimits()
        self.sessions: dict[str, GatewaySession] = {}
        self.opener: Callable[[str], GatewaySession | None] | None = None
        self._by_key: dict[bytes, GatewaySession] = {}
        self._origin = ""
        self._runner: web.ServerRunner | None = None
        self._collector = ExitStack()

    @property
    def origin(self) -> str:
        """What base URLs begin with, such as ``http://127.0.0.1:41234``."""
        return self._origin or f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @origin.setter
    def origin(self, origin: str) -> None:
        self._origin = origin.rstrip("/")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: if the address cannot be used.
        """
        limits = self._limits
        server = CallServer(self._handle, head_seconds=limits.head_seconds, connections=limits.connections)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        self._runner = runner
        self._collector.enter_context(rare_collections(_ALLOCATIONS))
        if self.socket_path is not None:
            await web.UnixSite(runner, str(self.socket_path)).start()
            return
        site = web.TCPSite(runner, self.host, self.port, backlog=4096)
        await site.start()
        self.port = runner.addresses[0][1]

    async def close(self) -> None:
        """Close all sessions, then stop listening and break off what is left. Calling it twice is fine."""
        await asyncio.gather(*(session.close() for session in list(self.sessions.values())))
        self._collector.close()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
            if self.socket_path is not None:
                self.socket_path.unlink(missing_ok=True)

    def open(
        self,
        answerer: CallAnswerer,
        *,
        name: str = "",
        model: str = "",
        api_key: str | None = None,
        budget: CallBudget | None = None,
        sampling: Sampling | None = None,
        settings: CallSettings | None = None,
        origin: str | None = None,
    ) -> GatewaySession:
        """Return a new session, which takes calls from now on.

        Args:
            answerer: answers the session's calls; closed with the session.
            name: of the episode, for people.
            model: what programs are told; by default the answerer's.
            api_key: None makes a secret one.
            budget: what the calls may use up together.
            sampling: what it sets takes precedence over the program's own sampling: an evaluation decides about the
                temperature, for example. Its ``max_tokens`` is the most that a program may ask for.
            settings: what programs may ask for.
            origin: what its base URLs begin with, for a program that reaches the gateway by :meth:`listening`.

        Raises:
            ArgumentError: if the key belongs to another open session.
        """
        session = GatewaySession(
            answerer,
            self.origin if origin is None else origin.rstrip("/"),
            self._forget,
            name=name,
            model=model,
            api_key=api_key,
            budget=budget,
            sampling=sampling,
            settings=settings,
        )
        if session.key_digest in self._by_key:
            raise ArgumentError("the key belongs to another open session of this gateway")
        self.sessions[session.id] = self._by_key[session.key_digest] = session
        return session

    @asynccontextmanager
    async def listening(self, listener: socket.socket, session: GatewaySession) -> AsyncIterator[None]:
        """Take the calls of one session from a further socket, and those of no other session there.

        It takes twice as many connections as a session has parallel calls, so that a program leaves descriptors to
        other sessions.

        Args:
            listener: a listening socket, also of another network namespace; closed at the end of the context.
            session: an open session.
        """
        limits = self._limits
        handle = partial(self._handle, only=session)
        connections = min(limits.connections, 2 * limits.parallel_calls)
        server = CallServer(handle, head_seconds=limits.head_seconds, connections=connections)
        accepting = await asyncio.get_running_loop().create_server(server, sock=listener)
        try:
            yield
        finally:
            accepting.close()
            await server.shutdown(_SHUTDOWN_SECONDS)

    def _forget(self, session: GatewaySession) -> None:
        self.sessions.pop(session.id, None)
        self._by_key.pop(session.key_digest, None)

    async def _handle(self, request: web.BaseRequest, *, only: GatewaySession | None = None) -> web.StreamResponse:
        path = parsed_path(request.raw_path)
        dialect, counts = _dialect_of(path)
        try:
            session = self._session(request, path, only)
            if dialect is None:
                return self._plain(request, session, path)
            self._check_method(request, "POST")
            if counts:
                return await self._count(request, session, dialect)
            return await exchange(request, session, dialect, self._limits)
        except (ModelCallError, GemError) as error:
            if not isinstance(error, ModelCallError):  # of an opener, whose record cannot be made, for example
                self._report(error)
                error = ModelCallError("internal", "the gateway failed to open a session")
            return error_response(error, dialect or _dialect_of_errors(path))

    def _session(self, request: web.BaseRequest, path: CallPath, only: GatewaySession | None) -> GatewaySession:
        """Return the session of a request, which may be limited to one.

        A key that opens another session is refused as one that opens none is, so that no program learns what else
        there is.
        """
        key = key_of(request)
        digest = key_digest(key)
        session = self.sessions.get(path.session) if path.session else self._by_key.get(digest)
        if session is None and not path.session and self.opener is not None and only is None:
            session = self.opener(key)
        if session is None or only not in (None, session) or not session.opened_by(digest):
            raise ModelCallError(
                "authentication", "the key opens no session here: it is wrong, or the session has ended"
            )
        return session

    def _report(self, error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler({"message": "a gateway failed", "exception": error})

    def _check_method(self, request: web.BaseRequest, method: str) -> None:
        if request.method != method:
            raise ModelCallError("method", f"{request.path[:100]} takes {method}, got {request.method[:20]}")

    def _plain(self, request: web.BaseRequest, session: GatewaySession, path: CallPath) -> web.Response:
        """Return the answer to a request that is no call."""
        endpoint = path.endpoint.removeprefix("/v1beta")
        if endpoint not in ("/models", f"/models/{session.model}"):
            raise ModelCallError(
                "not_found",
                f"there is nothing at {path.endpoint[:100]!r}; calls go to "
                f"{', '.join(_DIALECTS)} or /models/MODEL:generateContent",
            )
        self._check_method(request, "GET")
        entry = {"id": session.model, "object": "model", "created": 0, "owned_by": "gem"}
        # What only Anthropic's or only Google's clients look for stands beside what only OpenAI's do.
        entry |= {"type": "model", "display_name": session.model, "created_at": "1970-01-01T00:00:00Z"}
        google = gemini_model(session.model)
        if endpoint != "/models":
            return _json({**entry, **google})
        ends = {"first_id": session.model, "last_id": session.model, "has_more": False}
        return _json({"object": "list", "data": [entry], **ends, "models": [google]})

    async def _count(self, request: web.BaseRequest, session: GatewaySession, dialect: CallDialect) -> web.Response:
        """Return how many tokens a prompt has: exactly where the answerer can count, else an estimate."""
        place = CallPlace(session.calls, self._limits)
        try:
            session.check_budget()
            body, _ = await body_of(request, self._limits, place)
            call = dialect.read(body, session.settings)
            return _json({_COUNT_FIELDS[dialect.name]: await session.count_tokens(call)})
        finally:
            place.leave()


def _dialect_of(path: CallPath) -> tuple[CallDialect | None, bool]:
    """Return the dialect of a call, None for what is no call, and whether only its tokens are counted."""
    if path.endpoint == _COUNT_PATH:
        return _DIALECTS["/messages"], True
    known = _DIALECTS.get(path.endpoint)
    if known is not None:
        return known, False
    gemini = gemini_call(path.endpoint, path.query)
    return gemini, gemini is not None and gemini.counts


def _dialect_of_errors(path: CallPath) -> CallDialect:
    """Return the dialect in which a request is told that it is no call."""
    if path.endpoint.startswith("/v1beta/"):
        return GeminiDialect()
    return _DIALECTS["/messages" if path.endpoint.startswith("/messages") else "/chat/completions"]


def _json(body: dict[str, Any]) -> web.Response:
    return web.Response(body=encoded(body), content_type="application/json")
