"""The API for webhooks: those of a package for its owners, and those of the whole hub for operators."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

from pydantic import Field
from sqlalchemy import delete, func, insert, select
from starlette.routing import Route

from gem_hub.errors import HubRefusal
from gem_hub.records import Strict
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.problems import Problem
from gem_hub.registry.row_numbers import ROW_NUMBER
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.webhooks.destinations import checked_url
from gem_hub.registry.webhooks.sender import hub_serial
from gem_hub.registry.webhooks.tables import webhooks

__all__ = ["webhook_routes"]

_MOST = 10
"""Webhooks of a package, or of the whole hub."""


class _NewWebhook(Strict):
    url: str = Field(max_length=500)


def webhook_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of webhooks."""
    return [
        route
        for base in ("/api/v1/packages/{name}/webhooks", "/api/v1/webhooks")
        for route in (
            api_route(services, base, "GET", _list),
            api_route(services, base, "POST", _add, HTTPStatus.CREATED),
            api_route(services, f"{base}/{ROW_NUMBER}", "DELETE", _remove),
        )
    ]


def _package(call: ApiCall) -> str:
    """Return the package whose webhooks the token may see and change; empty for those of the whole hub."""
    if "name" not in call.request.path_params:
        call.needs_operator()
        return ""
    package = call.existing()
    call.needs_owner(package, "owners")
    return package.name


def _list(call: ApiCall) -> dict[str, Any]:
    keys = ("id", "url", "created", "position", "attempts", "enabled", "message")
    query = select(webhooks).where(webhooks.c.package == _package(call)).order_by(webhooks.c.id)
    with call.services.database.read() as connection:
        return {"webhooks": [{key: getattr(row, key) for key in keys} for row in connection.execute(query)]}


def _add(call: ApiCall) -> dict[str, Any]:
    package, services = _package(call), call.services
    try:
        url = checked_url(call.read(_NewWebhook).url, services.settings.webhook_networks)
    except HubRefusal as refusal:
        raise Problem(HTTPStatus.BAD_REQUEST, str(refusal)) from refusal
    row = {
        "package": package,
        "url": url,
        "secret": f"gem_hook_{secrets.token_urlsafe(32)}",
        "account_id": call.credential.account_id,
        "created": int(services.clock()),
        "position": hub_serial(services.store),
    }
    count = select(func.count()).select_from(webhooks).where(webhooks.c.package == package)
    with services.database.change() as connection:
        if connection.execute(count).scalar_one() >= _MOST:
            raise Problem(HTTPStatus.CONFLICT, f"there are {_MOST} webhooks already; remove one first")
        number = connection.execute(insert(webhooks).values(row).returning(webhooks.c.id)).scalar_one()
    call.log("webhook.add", package, webhook=number, url=url)
    return {"id": number, "url": url, "secret": row["secret"]}


def _remove(call: ApiCall) -> dict[str, Any]:
    package, number = _package(call), call.request.path_params["number"]
    where = (webhooks.c.id == number, webhooks.c.package == package)
    with call.services.database.change() as connection:
        if not connection.execute(delete(webhooks).where(*where)).rowcount:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no webhook {number} here")
    call.log("webhook.remove", package, webhook=number)
    return {"removed": number}
