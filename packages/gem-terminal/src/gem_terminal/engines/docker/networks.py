"""The bridge networks of Docker episodes: one for each, with a small subnet of its own.

Docker's own pools of addresses hold about thirty networks, so each network names its subnet: sixteen addresses from
pools with thousands of them. Docker separates the bridges from each other. A machine's own addresses, which Docker
leaves open to every container, are refused by routes in the network namespace of the container. That needs root on
the machine of the engine.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from gem_terminal.engines.docker.namespaces import in_namespace_of
from gem_terminal.engines.host_networks import POOLS, own_networks, routed_networks, subnet_pools
from gem_terminal.engines.netlink import listening_socket, refuse_destinations
from gem_terminal.errors import EngineError

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["BridgeNetwork", "create_network", "listen", "refuse_own_networks"]

_LENGTH = 28
"""Bits of a subnet's prefix: thirteen containers, the bridge, and two reserved addresses."""
_TRIES = 64
"""Subnets tried of each pool; a taken one costs a question to the engine."""


@dataclass(frozen=True)
class BridgeNetwork:
    """The network of one episode."""

    id: str
    name: str
    subnet: IPv4Network
    is_borrowed: bool = False
    """Whether it belongs to another container, which removes it."""


def create_network(client: DockerClient, labels: dict[str, str], *, internal: bool = False) -> BridgeNetwork:
    """Create a network with a free subnet.

    Args:
        client: the connection to the engine.
        labels: of the network.
        internal: whether no traffic leaves it.

    Raises:
        EngineError: if no subnet is free, or the pools are malformed.
        docker.errors.DockerException: if the engine refuses for another reason.
    """
    from docker.errors import APIError
    from docker.types import IPAMConfig, IPAMPool

    taken = routed_networks()
    chooser = random.Random(os.urandom(16))  # no secret
    for pool in subnet_pools(_LENGTH):
        for _ in range(_TRIES):
            offset = chooser.randrange(1 << (_LENGTH - pool.prefixlen)) << (32 - _LENGTH)
            subnet = IPv4Network((int(pool.network_address) + offset, _LENGTH))
            if any(subnet.overlaps(other) for other in taken):
                continue
            name = f"gem-terminal-{chooser.randbytes(8).hex()}"
            try:
                made = client.api.create_network(
                    name,
                    driver="bridge",
                    ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(subnet))]),
                    labels=labels,
                    internal=internal,
                )
            except APIError as error:
                if "overlap" in str(error.explanation).lower():  # another process was quicker
                    continue
                raise
            return BridgeNetwork(made["Id"], name, subnet)
    raise EngineError(
        "no subnet is free for the network of an episode; remove networks that nobody needs (docker network prune), or "
        f"name other pools in {POOLS}"
    )


def refuse_own_networks(pid: int, inside: IPv4Network) -> bool:
    """Refuse the addresses of this machine in the network namespace of a container.

    Args:
        pid: the process id of the container's first process; 0 if the engine is on another machine.
        inside: the network of the container.

    Returns:
        Whether that could be done: it needs root, and the engine on this machine.

    Raises:
        EngineError: if the kernel refuses the routes.
    """
    if not pid or os.geteuid() != 0:
        return False
    try:
        _in_network_of(pid, lambda: refuse_destinations(own_networks(inside)))
    except OSError as error:
        raise EngineError(f"the machine's addresses cannot be refused in a container: {error}") from error
    return True


def listen(pid: int, port: int) -> socket.socket:
    """Return a socket that listens on 127.0.0.1 in the network namespace of a container.

    Args:
        pid: the process id of the container's first process; 0 if the engine is on another machine.
        port: the port.

    Raises:
        EngineError: if this process is not root on the machine of the engine, or the port is taken.
    """
    if not pid or os.geteuid() != 0:
        raise EngineError(
            "sockets in a container, for allowed_hosts or an agent program, need a trainer that is root on the machine "
            "of the Docker engine; run it there, or use engine='namespace'"
        )
    found: list[socket.socket] = []
    try:
        _in_network_of(pid, lambda: found.append(listening_socket(port)))
    except OSError as error:
        raise EngineError(f"nothing can listen on port {port} of a container: {error}") from error
    return found[0]


def _in_network_of(pid: int, do: Callable[[], object]) -> None:
    """Call a function in the network namespace of a process; raises its OSError."""
    from gem_processes import linux

    in_namespace_of(pid, "net", linux.CLONE_NEWNET, do)
