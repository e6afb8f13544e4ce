"""The IPv4 networks of this machine, which no container of a task may reach: :func:`own_networks`."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterable
from ipaddress import IPv4Network, collapse_addresses, ip_network
from pathlib import Path

from gem_terminal.errors import EngineError

__all__ = ["POOLS", "free_network", "own_networks", "routed_networks", "subnet_pools"]

POOLS = "GEM_TERMINAL_SUBNETS"
"""The environment variable with the networks, separated by commas, that Docker episodes take their subnets from."""
_POOLS = "10.249.0.0/16,172.30.0.0/16,192.168.128.0/17"
_LINK_LOCAL = IPv4Network("169.254.0.0/16")
"""RFC 3927; the metadata services of clouds, which hand out the credentials of the machine, are at 169.254.169.254."""
_LOOPBACK = IPv4Network("127.0.0.0/8")
_BRIDGE = "DEVTYPE=bridge"
_LOCAL_ADDRESS = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")


def own_networks(inside: IPv4Network | None = None) -> list[str]:
    """Return what a container must not reach: this machine, the containers on its bridges, and link-local addresses.

    The bridges of later episodes are in the list with the pools that their subnets come from, except pools in which the
    machine has a network of another kind. Other addresses and bridges that come later are not in the list. In its own
    loopback a container has 127.0.0.0/8 itself.

    Args:
        inside: the network of the container, where it reaches the other containers of its episode.
    """
    addresses = [ip_network(found) for found in _LOCAL_ADDRESS.findall(_read("/proc/net/fib_trie"))]
    devices = [(_description(device), network) for device, network in _routes()]
    bridges = [network for described, network in devices if network != inside and _BRIDGE in described]
    # A device that has gone meanwhile, and has no description, was the bridge of an episode.
    others = [network for described, network in devices if described and _BRIDGE not in described]
    elsewhere = [network for network in others if network.prefixlen]
    elsewhere += [IPv4Network(name) for name in _name_servers()]
    pools = [pool for pool in subnet_pools() if not any(pool.overlaps(network) for network in elsewhere)]
    own = [each for each in (*addresses, *bridges, *pools) if isinstance(each, IPv4Network)]
    refused = [each for each in collapse_addresses([*own, _LINK_LOCAL]) if not each.subnet_of(_LOOPBACK)]
    if inside is not None:  # the route to its own network precedes that to a pool, but not to a single address
        refused += [each for each in own if each.subnet_of(inside)]
    return [str(each) for each in dict.fromkeys(refused)]


def routed_networks() -> list[IPv4Network]:
    """Return the networks that this machine has routes to, without the default route, and its name servers."""
    servers = [IPv4Network(name) for name in _name_servers()]
    return [network for _, network in _routes() if network.prefixlen] + servers


def free_network(candidates: Iterable[str]) -> IPv4Network:
    """Return the first of some networks that overlaps with no network of this machine.

    Raises:
        EngineError: if each of them does.
    """
    taken = routed_networks()
    tried = []
    for text in candidates:
        network = IPv4Network(text)
        if not any(network.overlaps(other) for other in taken):
            return network
        tried.append(text)
    raise EngineError(f"this machine has routes into every network that episodes could use: {', '.join(tried)}")


def subnet_pools(prefix: int = 0) -> list[IPv4Network]:
    """Return the networks that Docker episodes take their subnets from.

    Args:
        prefix: the length of the prefix of a subnet, which each must be able to hold.

    Raises:
        EngineError: if the variable :data:`POOLS` is malformed.
    """
    text = os.environ.get(POOLS) or _POOLS
    try:
        pools = [IPv4Network(each.strip()) for each in text.split(",")]
    except ValueError as error:
        raise EngineError(f"{POOLS} must be IPv4 networks separated by commas, such as {_POOLS}: {error}") from error
    if prefix and any(pool.prefixlen > prefix for pool in pools):
        raise EngineError(f"{POOLS}: a network must hold {1 << (32 - prefix)} addresses or more, got {text!r}")
    return pools


def _description(device: str) -> str:
    """Return the kernel's description of a network device; empty if there is none of this name.

    It names a bridge to the end, while the folder ``bridge`` goes first when a bridge is removed.
    """
    return _read(f"/sys/class/net/{device}/uevent")


def _name_servers() -> list[str]:
    found = re.findall(r"^\s*nameserver\s+(\S+)", _read("/etc/resolv.conf"), re.MULTILINE)
    return [address for address in found if re.fullmatch(r"\d+(\.\d+){3}", address)]


def _routes() -> list[tuple[str, IPv4Network]]:
    """Return the device and the destination of each route."""
    found = []
    for line in _read("/proc/net/route").splitlines()[1:]:
        device, destination, _, _, _, _, _, mask, *_ = line.split()
        found.append((device, IPv4Network((_dotted(destination), _dotted(mask)))))
    return found


def _dotted(digits: str) -> str:
    """Return an address of ``/proc/net/route``, which has the machine's byte order."""
    return socket.inet_ntoa(struct.pack("=I", int(digits, 16)))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux, or a machine that hides it
        return ""
