"""Changes in the network namespace of this thread: refused destinations, and listening sockets.

The kernel's interface is rtnetlink(7). The spawner imports this module, so it needs the standard library alone.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable

__all__ = ["listening_socket", "refuse_destinations"]

_RTM_NEWROUTE, _NLMSG_ERROR = 24, 2
_REQUEST, _ACKNOWLEDGE, _CREATE = 0x1, 0x4, 0x400
_RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_UNIVERSE, _RTN_UNREACHABLE, _RTA_DST = 254, 4, 0, 7, 1
_BACKLOG = 128


def refuse_destinations(networks: Iterable[str]) -> None:
    """Let connections to IPv4 networks fail with "No route to host".

    The routes stay as long as the network namespace. A process without CAP_NET_ADMIN cannot remove them, and the kernel
    applies an unreachable route before it looks at the device that a socket is bound to (``fib_table_lookup``).

    Args:
        networks: such as ``"192.0.2.7/32"``. A longer prefix precedes a shorter one, as in all routing.

    Raises:
        OSError: if the kernel refuses a route.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        for number, network in enumerate(networks, 1):
            address, _, length = network.partition("/")
            route = struct.pack(
                "=BBBBBBBBI", socket.AF_INET, int(length), 0, 0,
                _RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_UNIVERSE, _RTN_UNREACHABLE, 0,
            ) + struct.pack("=HH", 8, _RTA_DST) + socket.inet_aton(address)  # fmt: skip
            head = struct.pack("=IHHII", 16 + len(route), _RTM_NEWROUTE, _REQUEST | _ACKNOWLEDGE | _CREATE, number, 0)
            kernel.send(head + route)
            answer = kernel.recv(4096)
            kind, code = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
            if kind != _NLMSG_ERROR or code:
                raise OSError(-code, f"the route to {network} cannot be refused: {os.strerror(-code)}")


def listening_socket(port: int) -> socket.socket:
    """Return a socket that listens on a port of 127.0.0.1. It stays in this namespace, whoever accepts from it."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
