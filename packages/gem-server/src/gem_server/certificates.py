"""How servers prove who they are: :func:`server_tls`."""

from __future__ import annotations

import ssl

from gem.errors import ArgumentError

__all__ = ["server_tls"]


def server_tls(certificate: str, key: str | None) -> ssl.SSLContext:
    """Return the settings of encrypted connections for a server.

    Args:
        certificate: the file of the certificate chain, PEM.
        key: the file of its key, PEM; None if the chain's file has it.

    Raises:
        ArgumentError: if the files cannot be used.
    """
    settings = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        settings.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ArgumentError(f"cannot use the certificate {certificate}: {error}") from error
    # OpenSSL sends the tickets of TLS 1.3 after the handshake. Where one thread reads a connection while another writes
    # it, as websockets' threads do, they meet the first messages, and about one connection in a thousand hung. No
    # client of ours resumes a session.
    settings.num_tickets = 0
    return settings
