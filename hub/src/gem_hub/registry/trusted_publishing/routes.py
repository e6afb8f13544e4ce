"""The endpoints of trusted publishing: those that PyPI and uv use, their discovery (PEP 807), and the publishers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from packaging.utils import canonicalize_name
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gem_hub.networks import network_of
from gem_hub.records import NAME
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import MINUTE
from gem_hub.registry.row_numbers import ROW_NUMBER
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.trusted_publishing.errors import IdentityRefused, IssuerUnreachable
from gem_hub.registry.trusted_publishing.exchange import TokenExchange
from gem_hub.registry.trusted_publishing.identity import Verifier
from gem_hub.registry.trusted_publishing.issuers import issuers_of

__all__ = ["publisher_routes"]

_THREADS = 8
_LARGEST = 64 * 1024
"""Bytes of a request."""
_UPLOAD_PATHS = ("/upload/", "/upload")
_PRIVATE = {"Cache-Control": "no-store"}
_PYTP = "application/vnd.pypi.pytp.v1+json"

Answer = Callable[[TokenExchange, Request, Any, str], Response]


def publisher_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of trusted publishing.

    Without a public address in the settings the exchange of tokens answers 404: a token must be bound to this hub, and
    what a request says of the hub's name is no evidence.
    """
    host = urlsplit(services.settings.address).netloc.lower()
    # Threads of their own: while an issuer answers slowly, everything else goes on.
    threads = anyio.CapacityLimiter(_THREADS)
    exchange = TokenExchange(services, Verifier(issuers_of(services.settings.issuers), host))

    def route(path: str, methods: list[str], answer: Answer, public: bool = False) -> Route:
        async def endpoint(request: Request) -> Response:
            if public and not host:
                raise Problem(
                    HTTPStatus.NOT_FOUND, "this registry has no trusted publishing; its operator sets 'address'"
                )
            body = await _body(request)
            work = partial(_answered, services, exchange, answer, request, body)
            return await anyio.to_thread.run_sync(work, limiter=threads)

        return Route(path, endpoint, methods=methods)

    of_package = "/api/v1/packages/{name}/publishers"
    return [
        route("/.well-known/pytp", ["GET"], _discover, public=True),
        route("/_/oidc/audience", ["GET"], _audience, public=True),
        route("/_/oidc/mint-token", ["POST"], _mint, public=True),
        route("/_/oidc/burn-token", ["POST"], _burn, public=True),
        route(of_package, ["GET"], partial(_list, services)),
        route(of_package, ["POST"], partial(_add, services)),
        route(f"{of_package}/{ROW_NUMBER}", ["DELETE"], partial(_remove, services)),
    ]


def _answered(
    services: RegistryServices, exchange: TokenExchange, answer: Answer, request: Request, body: Any
) -> Response:
    address = network_of(request.client.host if request.client is not None else "unknown")
    if request.method not in ("GET", "HEAD"):
        quota = services.settings.quotas.requests_per_minute
        services.counters.spend("request", address, quota, MINUTE, "requests a minute")
    try:
        return answer(exchange, request, body, address)
    except IdentityRefused as refusal:
        return _refusal(refusal)


def _refusal(refusal: IdentityRefused) -> Response:
    """Return problem details (RFC 9457, PEP 807) with the members that PyPI's clients read."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    headers = dict(_PRIVATE)
    if isinstance(refusal, IssuerUnreachable):
        status, headers = HTTPStatus.SERVICE_UNAVAILABLE, {**_PRIVATE, "Retry-After": "30"}
    detail = str(refusal)
    document = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": refusal.code,
        "message": detail,
        "errors": [{"code": refusal.code, "description": detail}],
    }
    return JSONResponse(document, status, headers, "application/problem+json")


def _discover(exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    if request.query_params.get("discover") not in _UPLOAD_PATHS:
        raise Problem(HTTPStatus.NOT_FOUND, f"discover must be the path of uploads, {_UPLOAD_PATHS[0]}")
    origin = f"https://{exchange.verifier.audience}"
    document = {
        "audience-endpoint": f"{origin}/_/oidc/audience",
        "token-mint-endpoint": f"{origin}/_/oidc/mint-token",
        "features": ["multi-use-token"],
        "default-features": ["multi-use-token"],
    }
    return JSONResponse(document, headers=_PRIVATE, media_type=_PYTP)


def _audience(exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    return JSONResponse({"audience": exchange.verifier.audience}, headers=_PRIVATE)


def _mint(exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    if not isinstance(body, dict):
        raise IdentityRefused("request-malformed", 'the request must be {"token": "…"}')
    wanted = body.get("packages")
    if wanted is not None and not (isinstance(wanted, list) and all(isinstance(name, str) for name in wanted)):
        raise IdentityRefused("request-malformed", "packages must be a list of names")
    if body.get("features") not in (None, ["multi-use-token"]):
        raise IdentityRefused("feature", "this registry mints tokens with the feature multi-use-token only")
    names = None if wanted is None else {canonicalize_name(name) for name in wanted}
    minted = exchange.mint(body.get("token"), names, address)
    document = {"success": True, "token": minted.token, "expires": minted.expires, "packages": minted.packages}
    return JSONResponse(document, headers=_PRIVATE)


def _burn(exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    token = body.get("token") if isinstance(body, dict) else bearer.strip() if scheme.lower() == "bearer" else None
    # The answer is the same for every token, so that nobody learns which ones are valid.
    if isinstance(token, str):
        exchange.burn(token, address)
    return JSONResponse({"success": True}, headers=_PRIVATE)


def _list(services: RegistryServices, exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    credential = services.authenticate(request.headers.get("Authorization", ""), address)
    return JSONResponse({"publishers": exchange.of(_package(request), credential)}, headers=_PRIVATE)


def _add(services: RegistryServices, exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    credential = services.authenticate(request.headers.get("Authorization", ""), address)
    added = exchange.add(_package(request), body, credential, address)
    return JSONResponse(added, HTTPStatus.CREATED, _PRIVATE)


def _remove(services: RegistryServices, exchange: TokenExchange, request: Request, body: Any, address: str) -> Response:
    credential = services.authenticate(request.headers.get("Authorization", ""), address)
    if not exchange.remove(_package(request), request.path_params["number"], credential, address):
        raise Problem(HTTPStatus.NOT_FOUND, "there is no such publisher")
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=_PRIVATE)


def _package(request: Request) -> str:
    name = canonicalize_name(request.path_params["name"])
    if NAME.fullmatch(name) is None or len(name) > 64:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name[:80]!a} is no name of a package")
    return name


async def _body(request: Request) -> Any:
    """Return the JSON value of a request, whatever type it announces; None for an empty one."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _LARGEST:
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request has more than {_LARGEST:,} bytes")
    if not content:
        return None
    try:
        return json.loads(bytes(content))
    except (ValueError, RecursionError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "the request is no JSON") from error
