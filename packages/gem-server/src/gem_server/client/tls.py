"""How clients trust servers behind ``https``: :func:`client_tls`."""

from __future__ import annotations

import os
import ssl
from functools import cache

from gem.errors import ArgumentError

__all__ = ["client_tls"]


def client_tls() -> ssl.SSLContext:
    """Return the settings of encrypted connections.

    A server's certificate must be signed by an authority of the system, or by one in the file (PEM) that the variable
    ``GEM_SERVER_CA_FILE`` names.

    Raises:
        ArgumentError: if the file cannot be used.
    """
    return _trusting(os.environ.get("GEM_SERVER_CA_FILE", ""))


@cache  # the system's authorities take 20 ms to load, and each connection needs them
def _trusting(path: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if path:
        try:
            context.load_verify_locations(path)
        except OSError as error:  # an ssl.SSLError is one too
            raise ArgumentError(f"cannot use the certificates in GEM_SERVER_CA_FILE={path}: {error}") from error
    return context
