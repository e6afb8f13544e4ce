"""The common part of the JSON API: reading a request, the rights of its token, and the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any, TypeVar

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gem.ids import normalized_distribution
from gem_hub.events import Event
from gem_hub.networks import network_of
from gem_hub.package import WheelPackage
from gem_hub.records import NAME, Strict, reasons
from gem_hub.registry.forms import read_body
from gem_hub.registry.organisations.roles import Act
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import MINUTE
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import Credential

__all__ = ["ApiCall", "Handler", "api_route"]

_MOST_BODY = 64 * 2**10

Model = TypeVar("Model", bound=Strict)


@dataclass(frozen=True)
class ApiCall:
    """One request to the API."""

    services: RegistryServices
    request: Request
    body: dict[str, Any]
    address: str
    """The client's network address, as quotas count it."""

    @cached_property
    def credential(self) -> Credential:
        """The token of the request.

        Raises:
            Problem: 401 without a valid one.
        """
        return self.services.authenticate(self.request.headers.get("Authorization", ""), self.address)

    @property
    def package_name(self) -> str:
        """The package in the path, normalised.

        Raises:
            Problem: 404 if no package can have that name.
        """
        name = normalized_distribution(self.request.path_params["name"])
        if len(name) > 64 or NAME.fullmatch(name) is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no package {name[:80]!a}")
        return name

    def read(self, model: type[Model]) -> Model:
        """Return the body as a model.

        Raises:
            Problem: 400 if it is none.
        """
        try:
            return model.model_validate(self.body)
        except ValidationError as error:
            raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not as it must be: {reasons(error)[:1000]}") from error

    def needs(self, scope: str, package: str = "") -> Credential:
        """Return the token if it has a scope, and covers a package.

        Raises:
            Problem: 401 without a valid token, 403 if it lacks the right.
        """
        credential = self.credential
        if scope not in credential.scopes:
            raise Problem(HTTPStatus.FORBIDDEN, f"this token lacks the scope {scope!r}; use another one")
        if package and not credential.covers(package):
            raise Problem(HTTPStatus.FORBIDDEN, f"this token is for other packages than {package}; use another one")
        return credential

    def needs_operator(self) -> Credential:
        """Return the token if it is an operator's, without a limit to packages.

        Raises:
            Problem: 401 without a valid token, 403 if the account is no operator.
        """
        credential = self.needs("manage")
        if not self.services.is_operator(credential.account) or credential.packages is not None:
            raise Problem(HTTPStatus.FORBIDDEN, "only the operators of this registry may do that")
        return credential

    def existing(self) -> WheelPackage:
        """Return the package in the path.

        Raises:
            Problem: 404 if it does not exist.
        """
        package = self.services.store.package(self.package_name)
        if package is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no package {self.package_name!r}")
        return package

    def needs_owner(self, package: WheelPackage, act: Act) -> str:
        """Return the person as whom the token's account may do something to a package.

        That is the account itself if it owns the package or operates the hub, and else an organisation that owns the
        package, if the account's role in it allows the act.

        Raises:
            Problem: 401 without a valid token, 403 if it lacks the right.
        """
        credential = self.needs("manage", package.name)
        acting = self.services.organisations.acting_for(credential.account, package.owners, act)
        if acting is not None:
            return acting
        if not self.services.is_operator(credential.account):
            raise Problem(
                HTTPStatus.FORBIDDEN, f"{credential.account} does not own {package.name}; {package.owners[0]} does"
            )
        return credential.account

    def add_event(self, build: Callable[..., Event], by: str, **values: Any) -> dict[str, Any]:
        """Add an event; the store checks it by the rules of admission.

        Args:
            build: the kind of event.
            by: the person who requests it; the audit log has the token's account in any case.
            **values: its other fields.

        Raises:
            Problem: 400 if a value is impossible.
            HubRefusal: if the store refuses it.
        """
        try:
            event = build(name=self.package_name, by=by, **values)
        except ValidationError as error:
            raise Problem(HTTPStatus.BAD_REQUEST, reasons(error)[:1000]) from error
        changed = self.services.store.add_event(event)
        facts = {("change" if key == "action" else key): value for key, value in values.items()}
        self.log(f"package.{event.kind}", f"{event.name} {values.get('version', '')}".strip(), **facts)
        return {"name": event.name, "kind": event.kind, "changed": changed}

    def log(self, action: str, subject: str, account: str | None = None, **detail: Any) -> None:
        """Add a line to the audit log."""
        if account is not None:
            self.services.audit.add(action, subject, account, None, self.address, **detail)
            return
        credential = self.credential
        self.services.audit.add(action, subject, credential.person, credential.token_id, self.address, **detail)


Handler = Callable[[ApiCall], Any]
"""Returns the JSON value of the answer, or a whole answer."""


def api_route(
    services: RegistryServices,
    path: str,
    method: str,
    handler: Handler,
    status: HTTPStatus = HTTPStatus.OK,
    most_body: int = _MOST_BODY,
) -> Route:
    """Return a route whose handler runs in a thread.

    Args:
        services: the registry.
        path: the path, with parameters as Starlette has them.
        method: the HTTP method.
        handler: makes the answer.
        status: the status of the answer.
        most_body: the bytes that a request may have.
    """

    async def endpoint(request: Request) -> Response:
        body = await _read_json(request, services, most_body) if method != "GET" else {}
        answer = await anyio.to_thread.run_sync(partial(_call, services, request, body, handler))
        if isinstance(answer, Response):
            return answer
        return JSONResponse(answer, status, {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})

    return Route(path, endpoint, methods=[method])


def _call(services: RegistryServices, request: Request, body: dict[str, Any], handler: Handler) -> Any:
    address = network_of(request.client.host if request.client is not None else "unknown")
    if request.method not in ("GET", "HEAD"):
        most = services.settings.quotas.requests_per_minute
        services.counters.spend("request", address, most, MINUTE, "requests a minute")
    return handler(ApiCall(services, request, body, address))


async def _read_json(request: Request, services: RegistryServices, most: int) -> dict[str, Any]:
    content = bytearray()
    async for chunk in read_body(request, most, services.limits):
        content.extend(chunk)
    if not content:
        return {}
    try:
        value = json.loads(content.decode())  # json would guess other encodings, which proxies in front do not read
    except (ValueError, RecursionError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must be JSON") from error
    if not isinstance(value, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
    return value
