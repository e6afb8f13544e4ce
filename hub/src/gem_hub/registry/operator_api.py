"""The API for operators: reports, the audit log, and grants of namespaces, which everybody may read (PEP 752)."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from starlette.routing import Route

from gem.discovery import official
from gem.ids import NAMESPACE_PATTERN, parse_id
from gem_hub.records import Strict
from gem_hub.registry.api import ApiCall, api_route
from gem_hub.registry.problems import Problem
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tables import grants, reports

__all__ = ["operator_routes"]

_MOST_LINES = 1000


class _Grant(Strict):
    account: str


def operator_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of operators, and those of namespaces."""
    return [
        api_route(services, "/api/v1/reports", "GET", _reports),
        api_route(services, "/api/v1/audit-log", "GET", _audit_log),
        api_route(services, "/api/v1/queue", "GET", _queue),
        api_route(services, "/api/v1/namespaces/{namespace}", "PUT", _grant),
        api_route(services, "/api/v1/namespaces/{namespace}", "DELETE", _withdraw),
        api_route(services, "/namespaces", "GET", _namespaces),
        api_route(services, "/namespace/{namespace}", "GET", _namespace),
    ]


def _reports(call: ApiCall) -> dict[str, Any]:
    call.needs_operator()
    query = select(reports).where(reports.c.id > _number(call, "after", 0)).order_by(reports.c.id).limit(_MOST_LINES)
    with call.services.database.read() as connection:
        return {"reports": [dict(row._mapping) for row in connection.execute(query)]}


def _audit_log(call: ApiCall) -> dict[str, Any]:
    call.needs_operator()
    after, most = _number(call, "after", 0), min(_number(call, "most", 100), _MOST_LINES)
    return {"lines": call.services.audit.lines(after, most, call.request.query_params.get("package", ""))}


def _queue(call: ApiCall) -> dict[str, Any]:
    call.needs_operator()
    return {"queue": call.services.queue.counts()}


def _grant(call: ApiCall) -> dict[str, Any]:
    credential, namespace, account = call.needs_operator(), _namespace_of(call), call.read(_Grant).account
    services = call.services
    row = services.accounts.find(account)
    if row is None or row.disabled:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no account {account[:60]!a}")
    holders = _granted(services).get(namespace, [])
    if holders == [account]:
        return {"namespace": namespace, "account": account, "changed": False}
    if holders:
        raise Problem(HTTPStatus.CONFLICT, f"the namespace {namespace!r} is granted to {', '.join(holders)}")
    if namespace in official.NAMESPACES:
        raise Problem(HTTPStatus.CONFLICT, f"the namespace {namespace!r} is that of GEM's own packages")
    others = _other_users(services, namespace, account)
    if others:
        raise Problem(
            HTTPStatus.CONFLICT,
            f"packages of others have ids in {namespace!r}: {', '.join(others[:5])}; they could release no more",
        )
    values = {
        "namespace": namespace,
        "account": account,
        "granted_by": credential.account,
        "created": int(services.clock()),
    }
    try:
        with services.database.change() as connection:
            connection.execute(insert(grants).values(values))
    except IntegrityError as error:
        raise Problem(HTTPStatus.CONFLICT, f"the namespace {namespace!r} was granted just now") from error
    call.log("namespace.grant", namespace, to=account)
    return {"namespace": namespace, "account": account, "changed": True}


def _withdraw(call: ApiCall) -> dict[str, Any]:
    call.needs_operator()
    namespace = _namespace_of(call)
    with call.services.database.change() as connection:
        gone = connection.execute(delete(grants).where(grants.c.namespace == namespace)).rowcount
    if not gone:
        raise Problem(HTTPStatus.NOT_FOUND, f"the namespace {namespace!r} is not granted over HTTP to anybody")
    call.log("namespace.withdraw", namespace)
    return {"namespace": namespace, "changed": True}


def _namespaces(call: ApiCall) -> dict[str, Any]:
    return {"namespaces": [_shown(name, holders) for name, holders in sorted(_granted(call.services).items())]}


def _namespace(call: ApiCall) -> dict[str, Any]:
    namespace = _namespace_of(call)
    holders = _granted(call.services).get(namespace)
    if holders is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"the namespace {namespace!r} is not granted to anybody")
    return _shown(namespace, holders)


def _shown(namespace: str, holders: list[str]) -> dict[str, Any]:
    return {"name": namespace, "owner": holders[0], "authorized": holders, "open": False}


def _granted(services: RegistryServices) -> dict[str, list[str]]:
    return {name: list(holders) for name, holders in services.policy().namespaces.items()}


def _other_users(services: RegistryServices, namespace: str, account: str) -> list[str]:
    """Return the packages with ids in a namespace that an account does not own."""
    ids = services.store.environment_ids()
    users = sorted({name for env_id, name in ids.items() if parse_id(env_id).namespace == namespace})
    return [name for name in users if account not in services.store.owners(name)]


def _namespace_of(call: ApiCall) -> str:
    namespace = str(call.request.path_params["namespace"])
    if len(namespace) > 64 or re.fullmatch(NAMESPACE_PATTERN, namespace) is None:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{namespace[:80]!a} is no namespace")
    return namespace


def _number(call: ApiCall, name: str, default: int) -> int:
    text = call.request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be a number, not {text[:40]!a}")
    return int(text)
