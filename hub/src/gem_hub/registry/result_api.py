"""The API for results: publishing one, and decisions on it.

A result is its publisher's own, also where that is a member of the organisation that owns the package: the person's key
signs it. Decisions are made in the name of the organisation. A private package has the same routes in its private hub.
"""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import Any

from pydantic import Field, JsonValue, ValidationError
from starlette.routing import Route

from gem_hub.events import Reason, Result, ResultDecision
from gem_hub.package import WheelPackage
from gem_hub.records import Digest, Strict, VersionText, reasons
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import DAY
from gem_hub.registry.services import RegistryServices
from gem_hub_client.results.packed_episodes import MOST_PACKED_BYTES
from gem_hub_client.results.record import PAYLOAD_LIMIT

__all__ = ["result_routes"]

_MOST_BODY = 2 * (PAYLOAD_LIMIT + MOST_PACKED_BYTES)
"""Bytes of a request: base64 of both, and what is around it."""
_MOST_A_DAY = 200
"""Results that an account may publish a day."""


class _Publication(Strict):
    version: VersionText
    sha256: Digest
    envelope: dict[str, JsonValue]
    episodes: str = Field(default="", max_length=_MOST_BODY)
    """The recorded lines, gzipped, in base64; empty if they lie elsewhere."""


class _Decision(Strict):
    reason: Reason = "looked at"


def result_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of results.

    Args:
        services: the registry, or the private hub of an organisation.
    """
    results = "/api/v1/packages/{name}/results"
    return [
        api_route(services, results, "POST", _publish, HTTPStatus.CREATED, most_body=_MOST_BODY),
        api_route(services, f"{results}/{{id}}/admission", "PUT", lambda call: _decide(call, "admit")),
        api_route(services, f"{results}/{{id}}", "DELETE", lambda call: _decide(call, "withdraw")),
    ]


def _publish(call: ApiCall) -> dict[str, Any]:
    # Anybody's result may stand on a package, so the token need not cover it.
    credential, package, sent = call.needs("publish"), call.existing(), call.read(_Publication)
    call.services.counters.spend("result", credential.person, _MOST_A_DAY, DAY, "results a day")
    try:
        packed = base64.b64decode(sent.episodes, validate=True) if sent.episodes else None
        event = Result(
            name=package.name,
            by=credential.person,
            version=sent.version,
            sha256=sent.sha256,
            envelope=sent.envelope,
        )
    except (ValidationError, binascii.Error) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"this is no result: {reasons(error)[:1000]}") from error
    call.services.store.add_result(event, packed)
    call.log("package.result", f"{package.name} {sent.version}", result=event.id)
    state = "admitted" if event.by in package.owners else "unreviewed"
    return {"name": package.name, "id": event.id, "state": state}


def _decide(call: ApiCall, action: str) -> dict[str, Any]:
    by = _acting(call, call.needs("manage").account, call.existing())
    result = call.request.path_params["id"]
    return call.add_event(ResultDecision, by, result=result, action=action, reason=call.read(_Decision).reason)


def _acting(call: ApiCall, account: str, package: WheelPackage) -> str:
    """Return the organisation that owns the package if the account may decide on results for it, or the account."""
    return call.services.organisations.acting_for(account, package.owners, "results") or account
