"""A module that connects when it is imported."""

import socket
from contextlib import suppress

from planted_envs.healthy import Sums

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection, suppress(OSError):
    connection.connect(("192.0.2.1", 9))  # an address for documentation (RFC 5737), to which nothing is sent


class ConnectingImport(Sums):
    """Importing its module connects to another machine."""
