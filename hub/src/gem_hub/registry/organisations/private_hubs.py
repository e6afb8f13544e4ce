"""The private packages of organisations: each organisation has a hub of its own, which only its members reach.

A private package is in no file of the public hub: not in its records, its catalogue, its index, its log or its pages.
So nothing that is derived from those, and no mirror of them, can show it. The private hubs lie in the registry's own
folder, which is never served, and below ``/private/ORGANISATION/`` everything is a 404 but for a token that may read
it, whether there is such an organisation or not. A browser, which sends a token only where it is asked for one, gets a
401 in place of each of these.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import anyio.to_thread
from packaging.requirements import Requirement
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gem.ids import normalized_distribution
from gem_hub.networks import network_of
from gem_hub.policy import HubPolicy
from gem_hub.records import Release
from gem_hub.registry.accounts import ACCOUNT_NAME
from gem_hub.registry.audit_log import AuditLog
from gem_hub.registry.organisations.roles import may
from gem_hub.registry.problems import Problem, problem_answer
from gem_hub.registry.queue import ConformanceQueue
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tables import private_checks
from gem_hub.registry.tokens import Credential
from gem_hub.site.build import FOLDERS
from gem_hub.site.refresh import SiteRefresher
from gem_hub.store import Store

__all__ = ["PREFIX", "PrivateHubs", "PrivateServices", "private_route", "private_services"]

PREFIX = "/private/"

_UPLOADS = ("upload", "upload/")
_UNKNOWN = (
    "there is nothing here for you; a token of a member with the scope 'read' shows an organisation's private hub"
)
_CACHING = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Accept"}
"""No cache that several people share may keep an answer; each client asks again before it uses its own copy."""
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="private packages"'}
"""Makes a browser ask for a name and a password. No other address has this realm, so that it sends them to none."""


class _PrivateLog(AuditLog):
    """Writes lines whose subject says in which private hub something happened."""

    def __init__(self, services: RegistryServices, organisation: str) -> None:
        super().__init__(services.database, services.clock)
        self._prefix = f"{PREFIX.strip('/')}/{organisation}/"

    def add(self, action: str, subject: str, *arguments: Any, **named: Any) -> None:
        super().add(action, f"{self._prefix}{subject}", *arguments, **named)


class PrivateServices(RegistryServices):
    """The parts of one organisation's private hub: a store of its own, and the accounts and counters of the registry.

    Args:
        public: the registry.
        organisation: the name of an organisation.
    """

    def __init__(self, public: RegistryServices, organisation: str) -> None:
        self._public = public
        self.organisation = organisation
        self.store = Store(private_folder(public, organisation))
        self.settings, self.clock, self.limits = public.settings, public.clock, public.limits
        self.fallback = public.fallback  # in which new names are looked up; unknown ones are not sent there
        self.conformance_note = public.conformance_note
        self.database, self.accounts, self.tokens = public.database, public.accounts, public.tokens
        self.organisations, self.counters = public.organisations, public.counters
        self.audit = _PrivateLog(public, organisation)
        self.queue = ConformanceQueue(self.database, self.clock, table=private_checks, only=organisation)

    @cached_property
    def folder(self) -> Path:
        """The registry's folder, in which uploads wait."""
        return self._public.folder

    def policy(self) -> HubPolicy:
        """Return the policy of the private hub; namespaces that are granted in the public one are free here."""
        return HubPolicy.of(self.store.files)

    def requirements_of(self, release: Release) -> list[str]:
        """Return the packages of this private hub that a release requires."""
        required = {Requirement(line).name for line in release.metadata.requires_dist}
        names = {*release.hub_requires, *map(normalized_distribution, required)}
        return sorted(names.intersection(self.store.packages()))

    def is_operator(self, account: str) -> bool:
        """Return False: the registry's operators have their command line, and an organisation operates nothing."""
        return False

    def authenticate(self, header: str, address: str) -> Credential:
        """Return the organisation's credential for a member's token, with the scopes that the member's role leaves.

        Raises:
            Problem: 404 if the token is not a member's.
        """
        credential = self._public.authenticate(header, address)
        role = self.organisations.role(self.organisation, credential.account)
        if not may(role, "read"):
            raise Problem(HTTPStatus.NOT_FOUND, _UNKNOWN)
        acts = {"read": may(role, "read"), "publish": may(role, "publish"), "manage": may(role, "yank")}
        scopes = frozenset(scope for scope in credential.scopes if acts[scope])
        origin = f"member:{credential.account}"
        return replace(credential, account=self.organisation, scopes=scopes, origin=origin)

    def check_visible(self, request: Request, rest: str) -> None:
        """Check that a request's token may see the private hub, or may upload to it.

        A token for some packages sees nothing, because the catalogue and the index list all of them.

        Raises:
            Problem: 404 if it may not, 429 after too many wrong tokens.
        """
        header = request.headers.get("Authorization", "")
        # A browser that was given a token would also send it with the form of a stranger's page, which has an origin.
        if not header or (request.method not in ("GET", "HEAD") and "Origin" in request.headers):
            raise Problem(HTTPStatus.NOT_FOUND, _UNKNOWN)
        address = network_of(request.client.host if request.client is not None else "unknown")
        try:
            credential = self.authenticate(header, address)
        except Problem as problem:
            if problem.status is HTTPStatus.UNAUTHORIZED:
                raise Problem(HTTPStatus.NOT_FOUND, _UNKNOWN) from problem
            raise
        reads = "read" in credential.scopes and credential.packages is None
        uploads = "publish" in credential.scopes and request.method == "POST" and rest in _UPLOADS
        if not reads and not uploads:
            raise Problem(HTTPStatus.NOT_FOUND, _UNKNOWN)


def private_folder(services: RegistryServices, organisation: str = "") -> Path:
    """Return the folder of an organisation's private hub, or the one in which all of them lie."""
    return Path(services.folder, "private", organisation)


def private_services(services: RegistryServices) -> Iterator[PrivateServices]:
    """Yield the private hubs of a registry that have been used."""
    folder = private_folder(services)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if ACCOUNT_NAME.fullmatch(path.name) is not None:
            yield PrivateServices(services, path.name)


class _OpenedHub(NamedTuple):
    app: ASGIApp
    pages: SiteRefresher
    writing: threading.Lock
    """Held while pages are written."""


class PrivateHubs:
    """The private hubs of a registry, opened when they are first asked for. Pages are written when somebody reads them.

    Args:
        services: the registry.
        build: returns the application of a private hub.
    """

    def __init__(self, services: RegistryServices, build: Any) -> None:
        self._services = services
        self._build = build
        self._opened: dict[str, _OpenedHub] = {}
        self._lock = threading.Lock()

    def admit(self, request: Request, organisation: str, rest: str) -> ASGIApp:
        """Return the application of an organisation's private hub for a request that may see it.

        Raises:
            Problem: 404 if it may not, or there is none.
        """
        if ACCOUNT_NAME.fullmatch(organisation) is None:
            raise Problem(HTTPStatus.NOT_FOUND, _UNKNOWN)
        services = PrivateServices(self._services, organisation)
        services.check_visible(request, rest)
        with self._lock:
            opened = self._opened.get(organisation)
            if opened is None:
                if not services.store.files.exists("root.json"):
                    services.store.rebuild()
                services.store.complete()  # what a killed process began
                opened = _OpenedHub(self._build(services), SiteRefresher(services.store), threading.Lock())
                self._opened[organisation] = opened
        if request.method in ("GET", "HEAD") and (rest in ("", "index.html") or rest.partition("/")[0] in FOLDERS):
            with opened.writing:
                opened.pages.refresh()
        return opened.app


def private_route(hubs: PrivateHubs) -> Route:
    """Return the route of all private hubs."""
    return Route(f"{PREFIX}{{organisation}}/{{rest:path}}", _PrivateEndpoint(hubs))


class _PrivateEndpoint:
    """Sends a request to the application of a private hub, which sees the path below it."""

    def __init__(self, hubs: PrivateHubs) -> None:
        self._hubs = hubs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        organisation, rest = (str(scope["path_params"][key]) for key in ("organisation", "rest"))

        async def private(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(k, v) for k, v in message["headers"] if k.lower().decode() not in ("cache-control", "vary")]
                fields = [(key.encode(), value.encode()) for key, value in _CACHING.items()]
                message = {**message, "headers": [*kept, *fields]}
            await send(message)

        try:
            app = await anyio.to_thread.run_sync(self._hubs.admit, request, organisation, rest)
        except Problem as problem:
            if problem.status is HTTPStatus.NOT_FOUND and _comes_from_a_browser(request):
                problem = Problem(HTTPStatus.UNAUTHORIZED, _UNKNOWN, _CHALLENGE)
            await problem_answer(request, problem)(scope, receive, private)
            return
        raw = scope.get("raw_path", b"").split(b"/", 3)[3]
        below = {**scope, "path": f"/{rest}", "raw_path": b"/" + raw, "root_path": ""}
        below.pop("path_params", None)
        await app(below, receive, private)


def _comes_from_a_browser(request: Request) -> bool:
    """Return whether somebody looks at a page; installers ask for other forms first."""
    return request.method == "GET" and request.headers.get("Accept", "").startswith("text/html")
