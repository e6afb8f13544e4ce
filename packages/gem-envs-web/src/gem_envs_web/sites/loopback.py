"""A web server for episodes on the loopback interface: :class:`EpisodeServer`.

Each episode has a token in its addresses that cannot be guessed, so that many share a server and none sees another.
"""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from gem.errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EpisodeServer", "ServedEpisode", "WebResponse"]

_SECONDS = 30
"""How long a client may be silent."""
_LARGEST_FORM = 1 << 20
"""Bytes of a form that is posted."""


class WebResponse(NamedTuple):
    """What a request is answered with."""

    status: HTTPStatus
    text: str
    """HTML if the status is 200, else a line that says why not."""
    location: str = ""
    """The address that the browser goes on to, below that of the episode."""


class ServedEpisode(ABC):
    """The server's side of one episode."""

    start: str
    """The address of the first page, below that of the episode."""

    def __init__(self) -> None:
        self.address = ""
        """The address of the first page for a browser, once a server has the episode."""
        self.lock = threading.Lock()
        """Held while a request is answered."""

    @abstractmethod
    def respond(self, address: str, form: Mapping[str, str] | None, base: str) -> WebResponse:
        """Answer a request, one at a time.

        Args:
            address: the rest of the path and the query string, below the address of the episode.
            form: what was posted; None for GET.
            base: what stands before the addresses of this episode's pages.

        Raises:
            ArgumentError, LookupError: if there is no such page.
        """

    @abstractmethod
    def result(self) -> float | None:
        """Return the reward, or None as long as the task is not decided."""

    def answered(self, answer: str) -> float:
        """Return the reward of ending with an answer.

        Raises:
            ArgumentError: if the task ends in another way.
        """
        raise ArgumentError("this website takes no answer")


class EpisodeServer:
    """A web server with any number of episodes; a context manager.

    Args:
        port: the port on the loopback interface; 0 for any free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._episodes: dict[str, ServedEpisode] = {}
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="gem-episode-server", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, episode: ServedEpisode) -> str:
        """Take an episode in; return the address of its first page."""
        key = secrets.token_urlsafe(16)
        self._episodes[key] = episode
        episode.address = f"{self.address}/{key}/{episode.start}"
        return episode.address

    def forget(self, episode: ServedEpisode) -> None:
        """Serve an episode no longer."""
        for key, served in list(self._episodes.items()):
            if served is episode:
                del self._episodes[key]

    def close(self) -> None:
        """End the server; a second call does nothing."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, path: str, form: Mapping[str, str] | None) -> WebResponse:
        """Answer a request for ``/TOKEN/ADDRESS``."""
        _, key, address = (*path.split("/", 2), "", "")[:3]
        episode = self._episodes.get(key)
        if episode is None:
            return WebResponse(HTTPStatus.NOT_FOUND, "there is no such session\n")
        try:
            with episode.lock:
                found = episode.respond(address or episode.start, form, f"/{key}/")
        except (ArgumentError, LookupError) as error:
            return WebResponse(HTTPStatus.NOT_FOUND, f"{error}\n")
        return found._replace(location=f"/{key}/{found.location}") if found.location else found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """Browsers that may knock at once; the library's five are too few for a batch of episodes on a busy machine."""

    def __init__(self, address: tuple[str, int], owner: EpisodeServer) -> None:
        self.owner = owner
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    timeout = _SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._send(self.server.owner.answer(self.path, None))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit() and int(length) <= _LARGEST_FORM):
            self.close_connection = True
            self._send(WebResponse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form is too large\n"))
            return
        body = self.rfile.read(int(length)).decode(errors="replace")
        try:
            form = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=1000))
        except ValueError:
            self._send(WebResponse(HTTPStatus.BAD_REQUEST, "the form has too many fields\n"))
            return
        self._send(self.server.owner.answer(self.path, form))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name of the base class)
        """Print nothing."""

    def _send(self, answer: WebResponse) -> None:
        body = answer.text.encode(errors="replace")
        self.send_response(answer.status)
        kind = "text/html" if answer.status is HTTPStatus.OK else "text/plain"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")  # the address holds the token
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(body)
