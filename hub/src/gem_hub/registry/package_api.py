"""The API for packages: their state, owners, yanks, deprecations and reports."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from sqlalchemy import insert
from starlette.routing import Route

from gem_hub.events import Deprecate, Lift, Owner, Quarantine, Reason, Undeprecate, Unyank, Yank
from gem_hub.package import WheelPackage
from gem_hub.records import Strict
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.downloads import GRAIN
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import DAY
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tables import reports

__all__ = ["package_routes"]


class _Why(Strict):
    reason: Reason


class _Lifting(Strict):
    reason: Reason = "the operator has ended it"


class _Report(Strict):
    kind: Literal["malware", "spam", "dependency-confusion", "other"]
    summary: str = Field(min_length=1, max_length=5000)
    link: str = Field(default="", max_length=2000)

    @field_validator("link")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        if value and (urlsplit(value).scheme not in ("http", "https") or not value.isprintable()):
            raise ValueError("must be a web address")
        return value


def package_routes(services: RegistryServices, private: bool = False) -> list[Route]:
    """Return the routes of packages.

    Args:
        services: the registry, or the private hub of an organisation.
        private: whether the packages belong to an organisation for ever, and nobody but its members sees them; then
            owners, quarantines and reports have no routes.
    """
    package = "/api/v1/packages/{name}"

    def route(path: str, method: str, handler: Callable[[ApiCall], Any], status: HTTPStatus = HTTPStatus.OK) -> Route:
        return api_route(services, f"{package}{path}", method, handler, status)

    common = [
        route("", "GET", _show),
        route("/deprecation", "PUT", _deprecate),
        route("/deprecation", "DELETE", _undeprecate),
        route("/{version}/yank", "PUT", _yank),
        route("/{version}/yank", "DELETE", _unyank),
    ]
    if private:
        return common
    return [
        *common,
        route("/downloads", "GET", _downloads),
        route("/owners/{account}", "PUT", lambda call: _change_owner(call, "add")),
        route("/owners/{account}", "DELETE", lambda call: _change_owner(call, "remove")),
        route("/quarantine", "PUT", _quarantine),
        route("/quarantine", "DELETE", _lift),
        route("/reports", "POST", _report, HTTPStatus.ACCEPTED),
    ]


def _show(call: ApiCall) -> dict[str, Any]:
    package = call.existing()
    may_change = _may_change(call, package)
    return {
        "name": package.name,
        "owners": package.owners,
        "status": package.status,
        "reason": package.reason,
        "releases": [
            {
                "version": release.version,
                "filename": release.filename,
                "sha256": release.sha256,
                "published": release.published,
                "publisher": release.publisher,
                "yanked": package.yanked.get(release.version),
                "conformance": _conformance(call, package, release.version, release.sha256, may_change),
            }
            for release in package.releases
        ],
    }


def _downloads(call: ApiCall) -> dict[str, Any]:
    package = call.existing()
    days = call.services.downloads.of(package.name)
    return {"name": package.name, "counted": call.services.settings.downloads, "grain": GRAIN, "days": days}


def _may_change(call: ApiCall, package: WheelPackage) -> bool:
    if "Authorization" not in call.request.headers:
        return False
    account = call.credential.account
    acting = call.services.organisations.acting_for(account, package.owners, "publish")
    return acting is not None or call.services.is_operator(account)


def _conformance(
    call: ApiCall, package: WheelPackage, version: str, sha256: str, may_change: bool
) -> dict[str, Any] | None:
    """Return the state of a release in the queue, and its result; only its owners see why a run failed."""
    shown = package.shown_conformance(version)
    queued = call.services.queue.state_of(sha256)
    if shown is None and queued is None:
        return None
    told: dict[str, Any] = dict(shown.counts()) if shown is not None else {}
    if queued is not None:
        told["queue"] = queued["state"]
        if may_change and queued["message"]:
            told["message"] = queued["message"]
    return told


def _change_owner(call: ApiCall, action: Literal["add", "remove"]) -> dict[str, Any]:
    package, owner = call.existing(), call.request.path_params["account"]
    by = call.needs_owner(package, "owners")
    if action == "add":
        # Anybody could register a name without an account, and would then own the package.
        row = call.services.accounts.find(owner)
        if row is None or row.disabled:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no account {owner[:60]!a}")
    return call.add_event(Owner, by, action=action, owner=owner)


def _yank(call: ApiCall) -> dict[str, Any]:
    by = call.needs_owner(call.existing(), "yank")
    return call.add_event(Yank, by, version=_version(call), reason=call.read(_Why).reason)


def _unyank(call: ApiCall) -> dict[str, Any]:
    by = call.needs_owner(call.existing(), "yank")
    return call.add_event(Unyank, by, version=_version(call))


def _version(call: ApiCall) -> str:
    version, package = call.request.path_params["version"], call.existing()
    if all(release.version != version for release in package.releases):
        known = ", ".join(release.version for release in package.releases[:10])
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no {package.name} {version[:60]!a}; there are {known}")
    return str(version)


def _deprecate(call: ApiCall) -> dict[str, Any]:
    by = call.needs_owner(call.existing(), "deprecate")
    return call.add_event(Deprecate, by, reason=call.read(_Why).reason)


def _undeprecate(call: ApiCall) -> dict[str, Any]:
    by = call.needs_owner(call.existing(), "deprecate")
    return call.add_event(Undeprecate, by)


def _quarantine(call: ApiCall) -> dict[str, Any]:
    credential = call.needs_operator()
    call.existing()
    return call.add_event(Quarantine, credential.account, reason=call.read(_Why).reason)


def _lift(call: ApiCall) -> dict[str, Any]:
    credential = call.needs_operator()
    call.existing()
    return call.add_event(Lift, credential.account, reason=call.read(_Lifting).reason)


def _report(call: ApiCall) -> dict[str, Any]:
    credential, package, report = call.needs("manage"), call.existing(), call.read(_Report)
    services = call.services
    most = services.settings.quotas.reports_per_day
    services.counters.spend("report", credential.account, most, DAY, "reports a day")
    row = {
        "created": int(services.clock()),
        "package": package.name,
        "account": credential.account,
        **report.model_dump(),
    }
    with services.database.change() as connection:
        number = connection.execute(insert(reports).values(row).returning(reports.c.id)).scalar_one()
    call.log("package.report", package.name, report=number, kind=report.kind)
    return {"report": number}
