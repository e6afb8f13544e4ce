"""To which addresses a registry sends anything: public ones, and those that its operator allows.

A user names the host, so a request to it is a way into the operator's own network (SSRF). What is allowed is listed
here, rather than what is not. The addresses of a host are looked up once, all of them must be allowed, and the
connection goes to one of just these: a name that changes its meaning in between leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from gem_hub.errors import HubRefusal

__all__ = ["Destination", "checked_url", "is_allowed", "resolve"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Destination = tuple[str, int]
"""An address in numbers, and a port."""

_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
_SPECIAL_IPV6 = tuple(map(ipaddress.ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""Parts of it that are no hosts, or that stand for an IPv4 address (Teredo, 6to4); RFC 6890 and its registry."""


def is_allowed(address: str, extra: Sequence[str] = ()) -> bool:
    """Return whether something may be sent to an address: a public one, or one in the networks of the operator.

    Args:
        address: in numbers.
        extra: networks such as ``"10.1.0.0/16"``.
    """
    try:
        parsed: Address = ipaddress.ip_address(address)
    except ValueError:
        return False
    if any(parsed in network for network in map(ipaddress.ip_network, extra) if network.version == parsed.version):
        return True
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed.is_global and not parsed.is_multicast
    return parsed in _GLOBAL_IPV6 and not any(parsed in network for network in _SPECIAL_IPV6)


def checked_url(url: str, extra: Sequence[str] = ()) -> str:
    """Return the address of a webhook as it is stored.

    Args:
        url: ``https://HOST/…``; ``http`` where the operator allows networks of his own.
        extra: those networks.

    Raises:
        HubRefusal: if it has another form.
    """
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        port, host = None, ""
    printable = url.isascii() and url.isprintable() and not set(url) & set(" \"'<>\\^`{|}")
    if not printable or len(url) > 500 or not host or "@" in parts.netloc or parts.fragment or port == 0:
        raise HubRefusal(f"{url[:100]!a} is no address for a webhook; write https://HOST/PATH, without a user name")
    if parts.scheme != "https" and not (extra and parts.scheme == "http"):
        raise HubRefusal(f"{url[:100]!a} is not encrypted; write https://HOST/PATH")
    return url


def resolve(
    url: str, extra: Sequence[str] = (), lookup: Callable[..., Sequence[tuple[object, ...]]] = socket.getaddrinfo
) -> list[Destination]:
    """Return where to connect for a webhook: all addresses of its host, to be tried in their order.

    Args:
        url: from :func:`checked_url`.
        extra: the networks that the operator allows.
        lookup: as :func:`socket.getaddrinfo`.

    Raises:
        HubRefusal: if the host has no address, or one that nothing may be sent to.
    """
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = [str(entry[4][0]) for entry in lookup(parts.hostname, port, type=socket.SOCK_STREAM)]  # type: ignore[index]
    except (OSError, UnicodeError) as error:
        raise HubRefusal(f"{parts.hostname}: has no address: {error}") from error
    refused = [address for address in found if not is_allowed(address, extra)]
    if refused or not found:
        raise HubRefusal(f"{parts.hostname}: is at an address that nothing is sent to")
    return [(address, port) for address in dict.fromkeys(found)]
