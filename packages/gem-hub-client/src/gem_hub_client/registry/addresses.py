"""Addresses of registries, in one spelling each, and where a token may go."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from gem_hub_client.config import Hub, hub_at, hubs
from gem_hub_client.errors import HubError

__all__ = ["check_safe", "default_registry", "is_loopback", "registry_address", "registry_of"]

_PRIVATE = re.compile(r"(https?://[^/?#@\\]+/(?:[^?#@\\]*/)??)private/[a-z0-9-]+/.*")
"""The first such folder in an address counts, and no user name may stand in front of the host."""

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


def registry_of(address: str) -> str:
    """Return the registry whose tokens open an address below an organisation's private hub; empty for any other.

    Args:
        address: of a hub or of a file in it; ``https://hub.example/private/acme/…`` belongs to ``https://hub.example/``.
    """
    match = _PRIVATE.fullmatch(address)
    return match[1] if match is not None else ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_safe(address: str) -> None:
    """Refuse an address at which others could read a token.

    Raises:
        HubError: if it is neither https nor on this machine.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise HubError(f"{address} is not encrypted, so no token is sent there; use https://")


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
