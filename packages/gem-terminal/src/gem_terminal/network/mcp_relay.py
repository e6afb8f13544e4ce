"""Connects stdin and stdout with a port: ``python mcp_relay.py PORT``, for clients that start local programs.

A client of MCP starts it in place of a server that runs in a container; see :mod:`gem_terminal.network.mcp_servers`.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

__all__: list[str] = []


def _relay(port: int) -> None:
    connection = socket.create_connection(("127.0.0.1", port))

    def received() -> None:
        while data := connection.recv(1 << 16):
            os.write(1, data)
        os._exit(0)  # the main thread waits for input that no server reads any more

    threading.Thread(target=received, daemon=True).start()
    while data := os.read(0, 1 << 16):
        connection.sendall(data)


if __name__ == "__main__":
    _relay(int(sys.argv[1]))
