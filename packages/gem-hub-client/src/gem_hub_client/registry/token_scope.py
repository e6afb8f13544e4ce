"""Where a token may go: to its own registry and the private hubs there, and never in the clear."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from gem_hub_client.errors import HubError

__all__ = ["check_safe", "is_loopback", "registry_of"]

_PRIVATE = re.compile(r"(https?://[^/?#@\\]+/(?:[^?#@\\]*/)??)private/[a-z0-9-]+/.*")
"""The first such folder in an address counts, and no user name may stand in front of the host."""


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
