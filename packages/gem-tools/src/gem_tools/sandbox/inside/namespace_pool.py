"""The network and IPC namespaces of executions: :class:`NamespacePool`.

Executions take them in turns, because the kernel takes long to make and to remove them: nothing stays in them when all
processes of an execution have ended, but for traces of connections. These keep a port from its next user for a minute,
and count in the kernel's statistics of the namespace, so that a network that had any serves no other execution.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from gem_processes import linux

__all__ = ["NamespacePool"]

_MOST_SPARE = 64
"""Pairs of namespaces that wait for another execution."""
_SETTINGS = {
    "tcp_rmem": "4096 65536 131072",
    "tcp_wmem": "4096 16384 65536",
    "tcp_max_tw_buckets": "1024",
}
"""What connections of an execution may hold at most: bytes received and to be sent, in sum no more than what a full
socket counts for (:data:`.watchdog.SOCKET_MEMORY`), and connections that have ended. By default the kernel gives them
up to 10 MiB each."""
_STATISTICS = {socket.AF_INET: ("snmp",), socket.AF_INET6: ("snmp6", "rt6_stats")}
"""Files of a network namespace that count every packet, those without a route, and the routes of IPv6 that a socket has
looked up."""


class NamespacePool:
    """Makes the namespaces of executions, and keeps those that can serve another one.

    Args:
        processes: a descriptor of ``/proc``.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._spare: list[dict[int, int]] = []
        self.families: tuple[socket.AddressFamily, ...] = ()
        """Those of the internet in which each network namespace has an address, 127.0.0.1 or ::1, with bounded buffers.
        None where the kernel's settings cannot be written, as in most containers."""
        with suppress(OSError):
            linux.unshare(linux.CLONE_NEWNET)
            self._connect()
            families = (socket.AF_INET, socket.AF_INET6) if linux.has_ipv6(processes) else (socket.AF_INET,)
            self._unused = self._statistics(families)
            self.families = families

    def take(self) -> dict[int, int]:
        """Return descriptors of namespaces by their ``CLONE_NEW…`` flags.

        Raises:
            OSError: if the kernel has no further ones.
        """
        if self._spare:
            return self._spare.pop()
        linux.unshare(linux.CLONE_NEWNET | linux.CLONE_NEWIPC)
        if self.families:
            self._connect()
        names = {linux.CLONE_NEWNET: "self/ns/net", linux.CLONE_NEWIPC: "self/ns/ipc"}
        return {kind: os.open(name, os.O_RDONLY, dir_fd=self._processes) for kind, name in names.items()}

    def give_back(self, namespaces: dict[int, int]) -> None:
        """Keep the namespaces of an ended execution for another one, or let go of them."""
        if len(self._spare) < _MOST_SPARE and not self._was_used(namespaces[linux.CLONE_NEWNET]):
            self._spare.append(namespaces)
        else:
            for descriptor in namespaces.values():
                os.close(descriptor)

    def _connect(self) -> None:
        """Bound the connections of this process's network namespace, and enable its loopback."""
        for name, value in _SETTINGS.items():
            file = os.open(f"sys/net/ipv4/{name}", os.O_WRONLY, dir_fd=self._processes)
            try:
                os.write(file, value.encode())
            finally:
                os.close(file)
        linux.enable_loopback()

    def _was_used(self, network: int) -> bool:
        """Return whether a network namespace has had a packet."""
        if not self.families:
            return False
        linux.setns(network, linux.CLONE_NEWNET)
        return self._statistics(self.families) != self._unused

    def _statistics(self, families: tuple[socket.AddressFamily, ...]) -> list[bytes]:
        return [self._read(f"self/net/{name}") for family in families for name in _STATISTICS[family]]

    def _read(self, path: str) -> bytes:
        file = os.open(path, os.O_RDONLY, dir_fd=self._processes)
        try:
            return os.read(file, 1 << 14)
        finally:
            os.close(file)
