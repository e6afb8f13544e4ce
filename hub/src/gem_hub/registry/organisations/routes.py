"""The API for organisations."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pydantic import Field
from starlette.routing import Route

from gem_hub.records import Strict
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.organisations.roles import Role
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import DAY
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import Credential

__all__ = ["organisation_routes"]


class _NewOrganisation(Strict):
    name: str = Field(max_length=100)


class _Membership(Strict):
    role: Role


def organisation_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of organisations."""
    one = "/api/v1/organisations/{organisation}"
    return [
        api_route(services, "/api/v1/organisations", "POST", _create, HTTPStatus.CREATED),
        api_route(services, "/api/v1/organisations", "GET", _own),
        api_route(services, one, "GET", _members),
        api_route(services, f"{one}/membership", "POST", _accept),
        api_route(services, f"{one}/members/{{account}}", "PUT", _invite),
        api_route(services, f"{one}/members/{{account}}", "DELETE", _remove),
    ]


def _manager(call: ApiCall) -> Credential:
    """Return the token if it may manage its whole account: one for some packages has no say in who acts for others."""
    credential = call.needs("manage")
    if credential.packages is not None or credential.origin != "account":
        raise Problem(HTTPStatus.FORBIDDEN, "a token for some packages cannot manage organisations; use another one")
    return credential


def _create(call: ApiCall) -> dict[str, Any]:
    credential, wanted, services = _manager(call), call.read(_NewOrganisation), call.services
    most = services.settings.quotas.organisations_per_day
    services.counters.spend("organisation", credential.account, most, DAY, "new organisations a day")
    services.organisations.create(wanted.name, credential.account_id, services.known_persons())
    call.log("organisation.create", wanted.name)
    return {"organisation": wanted.name, "role": "owner"}


def _own(call: ApiCall) -> dict[str, Any]:
    return call.services.organisations.of(_manager(call).account)


def _members(call: ApiCall) -> dict[str, Any]:
    credential, name = _manager(call), call.request.path_params["organisation"]
    return {"organisation": name, **call.services.organisations.members(name, credential.account)}


def _invite(call: ApiCall) -> dict[str, Any]:
    credential, role = _manager(call), call.read(_Membership).role
    name, account = call.request.path_params["organisation"], call.request.path_params["account"]
    outcome = call.services.organisations.invite(name, account, role, credential.account)
    if outcome != "unchanged":
        call.log(f"organisation.{'invite' if outcome == 'invited' else 'role'}", name, member=account, role=role)
    return {"organisation": name, "account": account, "role": role, "outcome": outcome}


def _accept(call: ApiCall) -> dict[str, Any]:
    credential, name = _manager(call), call.request.path_params["organisation"]
    role = call.services.organisations.accept(name, credential.account)
    call.log("organisation.join", name, role=role)
    return {"organisation": name, "account": credential.account, "role": role}


def _remove(call: ApiCall) -> dict[str, Any]:
    credential = _manager(call)
    name, account = call.request.path_params["organisation"], call.request.path_params["account"]
    call.services.organisations.remove(name, account, credential.account)
    call.log("organisation.leave" if account == credential.account else "organisation.remove", name, member=account)
    return {"organisation": name, "account": account, "removed": True}
