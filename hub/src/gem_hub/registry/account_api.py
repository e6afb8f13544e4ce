"""The API for accounts and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.routing import Route

from gem_hub.records import PackageName, Strict
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import DAY
from gem_hub.registry.row_numbers import ROW_NUMBER
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import SCOPES, Credential

__all__ = ["account_routes"]

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]


class _NewAccount(Strict):
    name: str = Field(max_length=100)
    invite: str | None = Field(default=None, max_length=100)


class _NewToken(Strict):
    label: Label
    scopes: list[Literal["publish", "manage", "read"]] = Field(default=["publish"], min_length=1, max_length=3)
    packages: list[PackageName] | None = Field(default=None, min_length=1, max_length=100)
    days: int | None = Field(default=None, ge=1, le=3650)


class _NewInvite(Strict):
    days: int = Field(default=14, ge=1, le=365)


def account_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of accounts and tokens."""
    return [
        api_route(services, "/api/v1/accounts", "POST", _register, HTTPStatus.CREATED),
        api_route(services, "/api/v1/me", "GET", _me),
        api_route(services, "/api/v1/tokens", "GET", _own_tokens),
        api_route(services, "/api/v1/tokens", "POST", _mint, HTTPStatus.CREATED),
        api_route(services, "/api/v1/tokens/current", "DELETE", _revoke_current),
        api_route(services, f"/api/v1/tokens/{ROW_NUMBER}", "DELETE", _revoke),
        api_route(services, "/api/v1/invites", "POST", _invite, HTTPStatus.CREATED),
    ]


def _register(call: ApiCall) -> dict[str, Any]:
    services, wanted = call.services, call.read(_NewAccount)
    mode = services.settings.registration
    if mode == "closed":
        raise Problem(HTTPStatus.FORBIDDEN, "this registry creates no accounts over HTTP; ask its operator")
    quotas = services.settings.quotas
    services.counters.spend("account", call.address, quotas.accounts_per_day, DAY, "new accounts a day")
    taken = services.known_persons()
    number = services.accounts.register(wanted.name, call.address, taken, wanted.invite, mode == "invite")
    token, token_number = services.tokens.mint(number, "first token", SCOPES)
    call.log("account.create", wanted.name, account=wanted.name, token=token_number, mode=mode)
    return {"account": wanted.name, "token": token}


def _me(call: ApiCall) -> dict[str, Any]:
    credential = call.credential
    return {
        "account": credential.account,
        "operator": call.services.is_operator(credential.account),
        "scopes": sorted(credential.scopes),
        "packages": None if credential.packages is None else sorted(credential.packages),
        "token": credential.token_id,
        "origin": credential.origin,
        "expires": credential.expires,
    }


def _own_tokens(call: ApiCall) -> dict[str, Any]:
    credential = call.needs("manage")
    tokens = call.services.tokens.of(credential.account_id)
    return {"tokens": [token for token in tokens if _may_manage(credential, token)]}


def _may_manage(credential: Credential, token: Mapping[str, Any]) -> bool:
    """Return whether a credential may see and revoke a token of its account: one for no other packages than its own."""
    if credential.packages is None or token["id"] == credential.token_id:
        return True
    return token["packages"] is not None and {*token["packages"]} <= credential.packages


def _mint(call: ApiCall) -> dict[str, Any]:
    credential, wanted = call.needs("manage"), call.read(_NewToken)
    _check_no_more_rights(credential, wanted)
    services = call.services
    seconds: float | None = None if wanted.days is None else wanted.days * DAY
    if credential.expires is not None:
        left = credential.expires - services.clock()
        seconds = left if seconds is None else min(seconds, left)
    if len(services.tokens.of(credential.account_id)) >= services.settings.quotas.tokens:
        most = services.settings.quotas.tokens
        raise Problem(
            HTTPStatus.FORBIDDEN, f"{credential.account} has {most} tokens, and no more are allowed; revoke one"
        )
    packages = wanted.packages
    if packages is None and credential.packages is not None:
        packages = sorted(credential.packages)
    token, number = services.tokens.mint(credential.account_id, wanted.label, wanted.scopes, packages, seconds)
    call.log("token.create", f"token {number}", scopes=sorted(wanted.scopes), packages=packages)
    return {"id": number, "token": token, "scopes": sorted(wanted.scopes), "packages": packages}


def _check_no_more_rights(credential: Credential, wanted: _NewToken) -> None:
    if credential.origin != "account":
        raise Problem(HTTPStatus.FORBIDDEN, "the token of a trusted publisher makes no other tokens")
    if not set(wanted.scopes) <= credential.scopes:
        raise Problem(HTTPStatus.FORBIDDEN, f"this token lacks {sorted({*wanted.scopes} - credential.scopes)} itself")
    if credential.packages is not None and not set(wanted.packages or ()) <= credential.packages:
        raise Problem(HTTPStatus.FORBIDDEN, f"this token is itself limited to {sorted(credential.packages)}")


def _revoke_current(call: ApiCall) -> dict[str, Any]:
    credential = call.credential
    call.services.tokens.revoke(credential.token_id, credential.account_id)
    call.log("token.revoke", f"token {credential.token_id}")
    return {"revoked": credential.token_id}


def _revoke(call: ApiCall) -> dict[str, Any]:
    number, credential = call.request.path_params["number"], call.needs("manage")
    own = call.services.tokens.of(credential.account_id)
    known = {token["id"] for token in own if _may_manage(credential, token)}
    if number not in known or not call.services.tokens.revoke(number, credential.account_id):
        message = f"{credential.account} has no valid token {number} that this one may revoke"
        raise Problem(HTTPStatus.NOT_FOUND, message)
    call.log("token.revoke", f"token {number}")
    return {"revoked": number}


def _invite(call: ApiCall) -> dict[str, Any]:
    credential, wanted = call.needs_operator(), call.read(_NewInvite)
    code = call.services.accounts.invite(credential.account, wanted.days * DAY)
    call.log("invite.create", "", days=wanted.days)
    return {"invite": code}
