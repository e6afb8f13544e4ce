"""Which addresses count as one client."""

from __future__ import annotations

import ipaddress

__all__ = ["network_of"]


def network_of(address: str) -> str:
    """Return the address whose requests are counted together: an IPv6 client has a /64 network of its own."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address
