"""A web server for one hub: the features of a static host, and content negotiation.

It answers only GET and HEAD requests for files of the hub's folder, as :mod:`gem_hub.static_answers` says. For a
private folder, this server is sufficient; on the internet, put a web server or CDN in front of it, or use a static
host.
"""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any

from gem_hub import __version__
from gem_hub.errors import HubRefusal
from gem_hub.networks import network_of
from gem_hub.static_answers import StaticAnswers
from gem_hub.storage import HubFiles

__all__ = ["HubServer"]

_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class HubServer(ThreadingTCPServer):
    """Serves a hub until ``shutdown`` is called; a context manager that closes the socket.

    Args:
        hub: its folder or its files; changes take effect immediately.
        host: the name or address of the server.
        port: the port; 0 for any free port.
        fallback: the simple index for unknown names; empty for none.
        observe: receives the method, path and status of each answer.
        most: the largest number of connections at once; further ones are closed at once.
        most_of_one: the same for one address, or one network of IPv6.

    Raises:
        HubRefusal: if the fallback is not a valid address, or the port is not available.
    """

    daemon_threads = True
    allow_reuse_address = sys.platform != "win32"
    request_queue_size = 128

    def __init__(
        self,
        hub: Path | HubFiles,
        host: str = "127.0.0.1",
        port: int = 0,
        fallback: str = "",
        observe: Callable[[str, str, int], None] = lambda method, path, status: None,
        most: int = 512,
        most_of_one: int = 128,
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()
        self._held_lock = threading.Lock()
        self.pages = StaticAnswers(hub, fallback)
        self.fallback = self.pages.fallback
        self.observe = observe
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise HubRefusal(
                f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port, or 0 for any"
            ) from error

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or close the connection if there are too many."""
        network = network_of(client_address[0])
        if not self._hold(network):
            with suppress(OSError):
                request.setblocking(False)
                request.send(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free(network)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free(network_of(client_address[0]))

    def _hold(self, network: str) -> bool:
        """Count one more connection; False if there are too many, of this network or of all."""
        with self._held_lock:
            if self._held.total() >= self._most or self._held[network] >= self._most_of_one:
                return False
            self._held[network] += 1
            return True

    def _free(self, network: str) -> None:
        with self._held_lock:
            self._held[network] -= 1
            if not self._held[network]:
                del self._held[network]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect during an answer; report every other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _TimedReader(io.RawIOBase):
    """Reads from a connection until a deadline, however slowly bytes come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"
    server_version = f"gem-hub/{__version__}"
    sys_version = ""
    timeout = 30  # the seconds for a whole request, and for each block of an answer
    disable_nagle_algorithm = True
    wbufsize = -1  # send the header and body of a small answer together

    def setup(self) -> None:
        """Prepare the streams; the timeout of the base class would begin anew with every byte."""
        super().setup()
        self.rfile.close()
        self._reader = _TimedReader(self.connection)
        self.rfile = io.BufferedReader(self._reader)

    def handle_one_request(self) -> None:
        """Read a request within the time limit, and answer it."""
        self._reader.deadline = time.monotonic() + self.timeout
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Parse a request; the answer has a time limit of its own."""
        parsed = super().parse_request()
        self.connection.settimeout(self.timeout)
        return parsed

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body follows, which is never read
        answer = self.server.pages.answer(self.path, lambda name: self.headers.get_all(name, []))
        with answer.body:
            self._send(answer.status, answer.fields)
            if self.command != "HEAD":
                for chunk in answer.chunks():
                    self.wfile.write(chunk)

    def _send(self, status: HTTPStatus, fields: dict[str, str]) -> None:
        self.send_response_only(status)
        self.send_header("Server", self.server_version)
        self.send_header("Date", formatdate(usegmt=True))
        for name, value in fields.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.server.observe(self.command, ascii(self.path)[1:-1], status)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Requests that make no sense, which the base class answers; they are not reported."""
