"""The registry as an ASGI application: uploads, the API for accounts and packages, and the files of the hub."""

from __future__ import annotations

import errno
import logging
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus

import anyio.to_thread
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gem_hub.errors import HubRefusal
from gem_hub.networks import network_of
from gem_hub.registry.account_api import account_routes
from gem_hub.registry.downloads import DownloadCounter
from gem_hub.registry.operator_api import operator_routes
from gem_hub.registry.organisations.private_hubs import PrivateHubs, PrivateServices, private_route
from gem_hub.registry.organisations.routes import organisation_routes
from gem_hub.registry.package_api import package_routes
from gem_hub.registry.problems import Problem, problem_answer
from gem_hub.registry.result_api import result_routes
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import TOKEN
from gem_hub.registry.trusted_publishing.routes import publisher_routes
from gem_hub.registry.uploads import upload_routes
from gem_hub.registry.webhooks.routes import webhook_routes
from gem_hub.static_answers import StaticAnswer, StaticAnswers
from gem_hub_client.errors import HubError

__all__ = ["registry_app"]

_LOG = logging.getLogger("gem_hub.registry")


def registry_app(
    services: RegistryServices, observe: Callable[[str, str, int], None] = lambda method, path, status: None
) -> Starlette:
    """Return the application of a registry.

    Args:
        services: the registry.
        observe: receives the method, path and status of each answer; a token in a path is left out.
    """
    app = _application(
        [
            *upload_routes(services),
            *publisher_routes(services),
            *account_routes(services),
            *package_routes(services),
            *organisation_routes(services),
            *result_routes(services),
            *operator_routes(services),
            *webhook_routes(services),
            private_route(PrivateHubs(services, _private_app)),
        ],
        StaticAnswers(services.store.files, services.fallback),
        services.downloads if services.settings.downloads else None,
    )
    app.add_middleware(_Observed, observe=observe)
    return app


def _private_app(services: PrivateServices) -> Starlette:
    """Return the application of an organisation's private hub."""
    routes = [*upload_routes(services), *package_routes(services, private=True), *result_routes(services)]
    return _application(routes, StaticAnswers(services.store.files))


def _application(routes: Sequence[Route], pages: StaticAnswers, downloads: DownloadCounter | None = None) -> Starlette:
    """Return an application with some routes, and the files of a hub at all other addresses."""

    async def static(request: Request) -> Response:
        target = request.scope.get("raw_path", b"/").decode("latin-1")
        answer = await anyio.to_thread.run_sync(lambda: pages.answer(target, request.headers.getlist))
        if downloads is not None and request.method == "GET" and target.startswith("/files/"):
            network = network_of(request.client.host if request.client is not None else "unknown")
            agent = request.headers.get("User-Agent", "")
            await anyio.to_thread.run_sync(downloads.saw, target, answer.status, agent, network)
        return _StaticResponse(answer)

    return Starlette(
        routes=[
            *routes,
            Route("/api/{rest:path}", _no_such_endpoint, methods=["GET", "POST", "PUT", "DELETE"]),
            Route("/{path:path}", static, methods=["GET"]),
        ],
        exception_handlers={
            Problem: _on_problem,
            HTTPException: _on_http_exception,
            HubRefusal: _on_refusal,
            HubError: _on_damage,
            OSError: _on_damage,
            OperationalError: _on_damage,
            PoolTimeoutError: _on_damage,
            ClientDisconnect: _on_disconnect,
            Exception: _on_defect,
        },
    )


class _StaticResponse(Response):
    """Sends a static answer block by block."""

    def __init__(self, answer: StaticAnswer) -> None:
        super().__init__(None, answer.status, answer.fields)
        if "Content-Length" not in answer.fields:
            del self.headers["Content-Length"]
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._answer.body:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                chunks = self._answer.chunks()
                while chunk := await anyio.to_thread.run_sync(next, chunks, b""):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class _Observed:
    """Refuses addresses that hold a token, which would end in logs and histories, and tells of each answer."""

    def __init__(self, app: ASGIApp, observe: Callable[[str, str, int], None]) -> None:
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = TOKEN.sub("gem_…", ascii(scope["path"])[1:-1])
        method = ascii(scope["method"])[1:-1]

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._observe(method, path, message["status"])
            await send(message)

        if TOKEN.search(scope["path"]) or TOKEN.search(scope.get("query_string", b"").decode("latin-1")):
            detail = "a token belongs into the header Authorization, not into an address; revoke this one"
            answer = problem_answer(Request(scope), Problem(HTTPStatus.BAD_REQUEST, detail))
            await answer(scope, receive, observed)
            return
        await self._app(scope, receive, observed)


async def _no_such_endpoint(request: Request) -> Response:
    raise Problem(HTTPStatus.NOT_FOUND, "there is no such endpoint")


def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_answer(request, error)


def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = {
        HTTPStatus.METHOD_NOT_ALLOWED: f"{ascii(request.method)[1:-1]} is not possible here",
    }.get(status, error.detail)
    return problem_answer(request, Problem(status, detail, error.headers))


def _on_refusal(request: Request, error: Exception) -> Response:
    return problem_answer(request, Problem(HTTPStatus.CONFLICT, str(error)))


def _on_damage(request: Request, error: Exception) -> Response:
    """Answer for a full disk, a damaged hub or a database that is not there; the operator reads the cause."""
    number = secrets.token_hex(4)
    _LOG.error("%s: %s: %s", number, type(error).__name__, error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        problem = Problem(HTTPStatus.INSUFFICIENT_STORAGE, "the registry's disk is full; ask its operator")
    else:
        detail = f"the registry cannot do that now; tell its operator the number {number}"
        problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, {"Retry-After": "30"})
    return problem_answer(request, problem)


def _on_disconnect(request: Request, error: Exception) -> Response:
    return Response(status_code=HTTPStatus.BAD_REQUEST)  # the client has gone and does not see it


def _on_defect(request: Request, error: Exception) -> Response:
    return problem_answer(request, Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the registry failed; tell its operator"))
