"""One delivery: a signed POST request to a checked address, of bounded size and time, that follows no redirect."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from gem_hub.errors import HubRefusal
from gem_hub.registry.webhooks.destinations import Destination, resolve

__all__ = ["SECONDS", "deliver", "signature"]

SECONDS = 10.0
"""For the whole delivery, from the connection to the status line."""

_LEAST = 0.1
"""Seconds for an address when those before it have used up the time."""


def signature(secret: str, moment: int, body: bytes) -> str:
    """Return the value of ``Gem-Hub-Signature``: the time, and an HMAC-SHA256 over it and the body.

    A receiver computes the same over ``TIME.BODY``, compares in constant time, and refuses times of long ago.
    """
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def deliver(
    url: str, secret: str, delivery: str, body: bytes, moment: int, extra: Sequence[str] = (), seconds: float = SECONDS
) -> None:
    """Send a message.

    Args:
        url: the webhook's address.
        secret: its secret.
        delivery: the message's identity, the same at each attempt.
        body: the message.
        moment: the time in seconds since 1970.
        extra: the networks that the operator allows besides public addresses.
        seconds: the time for all of it.

    Raises:
        HubRefusal: if nothing may be sent there, or it was not answered by a status of 200 to 299.
    """
    parts = urlsplit(url)
    connection = _Connection(parts.hostname or "", resolve(url, extra), parts.scheme == "https", seconds)
    fields = {
        "Content-Type": "application/json",
        "User-Agent": "gem-hub-webhook/1",
        "Gem-Hub-Delivery": delivery,
        "Gem-Hub-Signature": signature(secret, moment, body),
        "Connection": "close",
    }
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    # A server that sends a byte now and then would never meet the time limit of the socket.
    limit = threading.Timer(seconds, connection.abort)
    limit.start()
    try:
        connection.request("POST", target, body, {**fields, "Host": parts.netloc})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:  # of a socket that was shut down
        raise HubRefusal(f"{parts.hostname}: {type(error).__name__}: {error}"[:200]) from error
    finally:
        limit.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise HubRefusal(f"{parts.hostname}: answered {status}")


class _Connection(http.client.HTTPConnection):
    """A connection to the first of some addresses in numbers that answers, with the certificate of a host."""

    def __init__(self, host: str, destinations: Sequence[Destination], tls: bool, seconds: float) -> None:
        super().__init__(host, destinations[0][1], timeout=seconds)
        self._host, self._destinations, self._tls, self._seconds = host, destinations, tls, seconds

    def connect(self) -> None:
        *others, last = self._destinations
        ends = time.monotonic() + self._seconds
        for destination in others:
            try:
                plain = socket.create_connection(destination, max(ends - time.monotonic(), _LEAST))
                break
            except OSError:  # such as of a server that listens at one of the addresses of localhost
                continue
        else:
            plain = socket.create_connection(last, max(ends - time.monotonic(), _LEAST))
        plain.settimeout(self._seconds)
        self.sock = plain
        if self._tls:
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self._host)

    def abort(self) -> None:
        """End the connection from another thread."""
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
