"""How a connection whose other end has vanished is found by the kernel: :func:`keep_alive`."""

from __future__ import annotations

import socket
from typing import Any

__all__ = ["keep_alive"]

_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds of silence before the first probe and between probes, and how many are lost before the connection is."""


def keep_alive(connected: Any) -> None:
    """Have the kernel close a TCP connection within a minute after its other host has gone.

    Args:
        connected: a socket, or what an event loop gives of one.
    """
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
