"""Addresses of registries, in one spelling each."""

from __future__ import annotations

from urllib.parse import urlsplit

from gem_hub_client.config import Hub, hub_at, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.registry.token_scope import check_safe

__all__ = ["default_registry", "registry_address"]

_PORTS = {"https": 443, "http": 80}


def registry_address(address: str) -> str:
    """Return the address of a registry in one spelling: scheme and host in lower case, no default port, a final slash.

    Raises:
        HubError: if it is no http or https address, or not safe for a token.
    """
    hub = hub_at(address)
    if not hub.remote:
        raise HubError(f"{address!r} is a folder, not a registry; write https://…")
    return _normalized(hub)


def default_registry() -> str | None:
    """Return the address that commands take without ``--hub``; None if there is none.

    That is the first hub in use which is reached over a network, and else the only one with a login.
    """
    hub = next((hub for hub in hubs() if hub.remote), None)
    if hub is not None:
        return _normalized(hub)
    from gem_hub_client.registry.credentials import logins

    known = [*logins()]
    return known[0] if len(known) == 1 else None


def _normalized(hub: Hub) -> str:
    parts = urlsplit(hub.location)
    try:
        port = parts.port
    except ValueError as error:
        raise HubError(f"{hub.location}: the port is no number of a port") from error
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    address = f"{parts.scheme}://{place}{parts.path}"
    check_safe(address)
    return address
