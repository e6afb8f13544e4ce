"""Reads a hub's files from a web server or a folder, never more than requested."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from gem_hub_client.errors import HubError, MissingFileError
from gem_hub_client.registry.token_scope import registry_of
from gem_hub_client.sanitize import sanitize

__all__ = ["FolderSource", "HubSource", "Reply", "Validators", "WebSource", "settled_time"]

TIMEOUT = 10.0
"""Seconds without a byte after which a server counts as gone."""
_SLOWEST = 20_000
"""The smallest speed in bytes per second; a slower transfer is cancelled."""
_BLOCK = 1 << 16


class Validators(NamedTuple):
    """What a server said of a file, to ask later whether it has changed."""

    etag: str = ""
    modified: str = ""


class Reply(NamedTuple):
    """A small file; ``content`` is None where it has not changed since the validators were given."""

    content: bytes | None
    validators: Validators


class HubSource(Protocol):
    """The source of a hub's files. Paths are relative to ``root.json``; the caller must check them."""

    def read(self, path: str, limit: int, known: Validators | None = None, timeout: float = TIMEOUT) -> Reply:
        """Return a file of at most ``limit`` bytes.

        Raises:
            MissingFileError: if there is none.
            HubError: if it cannot be read, or is larger.
        """

    def copy(self, path: str, target: BinaryIO, size: int, progress: Callable[[int], None]) -> None:
        """Write a file into ``target``, ``size`` bytes of it and one more at most.

        ``progress`` gets the length of each block.

        Raises:
            HubError: as for :meth:`read`.
        """


class FolderSource:
    """A hub in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, path: str, limit: int, known: Validators | None = None, timeout: float = TIMEOUT) -> Reply:
        with self._open(path) as file:
            return Reply(_limited(file.read(limit + 1), limit, str(self.folder / path)), Validators())

    def copy(self, path: str, target: BinaryIO, size: int, progress: Callable[[int], None]) -> None:
        with self._open(path) as file:
            _pump(file.read, target, size, progress, str(self.folder / path), (OSError,))

    def _open(self, path: str) -> BinaryIO:
        try:
            return (self.folder / path).open("rb")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingFileError(f"{self.folder / path}: there is no such file") from error
        except (OSError, ValueError) as error:
            raise HubError(f"{self.folder / path}: cannot be read: {error}") from error


def settled_time(headers: Mapping[str, str]) -> str:
    """Return Last-Modified; empty if the file may change once more in the second that it names.

    A server that knows seconds alone would answer 304 after such a change. RFC 9110, section 8.8.2.2, has the rule: the
    answer's Date is at least a second later. What is no date is a text that the server compares.
    """
    from email.utils import parsedate_to_datetime

    modified = headers.get("Last-Modified", "")
    try:
        changed = parsedate_to_datetime(modified)
    except ValueError:
        return modified
    try:
        return modified if (parsedate_to_datetime(headers.get("Date", "")) - changed).total_seconds() >= 1 else ""
    except (ValueError, TypeError):  # no Date, or one of them without a zone
        return ""


class WebSource:
    """A hub on a web server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def read(self, path: str, limit: int, known: Validators | None = None, timeout: float = TIMEOUT) -> Reply:
        headers = {}
        if known is not None and known.etag:
            headers["If-None-Match"] = known.etag
        elif known is not None and known.modified:
            headers["If-Modified-Since"] = known.modified
        response = self._open(path, headers, timeout)
        if response is None:
            return Reply(None, known or Validators())
        with response:
            content = _Collected()
            self._receive(response, content, limit, lambda length: None, path)
            validators = Validators(response.headers.get("ETag", ""), settled_time(response.headers))
        return Reply(_limited(bytes(content), limit, self.url + path), validators)

    def copy(self, path: str, target: BinaryIO, size: int, progress: Callable[[int], None]) -> None:
        response = self._open(path, {}, TIMEOUT)
        assert response is not None  # only a conditional request is answered by 304
        with response:
            self._receive(response, target, size, progress, path)

    def negotiate(self, path: str, accept: str, limit: int) -> tuple[str, bytes]:
        """Return the Content-Type and the content of at most ``limit`` bytes that a client with this Accept field gets.

        Raises:
            HubError: as for :meth:`HubSource.read`.
        """
        response = self._open(path, {"Accept": accept}, TIMEOUT)
        with response:
            content = _Collected()
            self._receive(response, content, limit, lambda length: None, path)
            kind = str(response.headers.get("Content-Type", ""))
        return kind, _limited(bytes(content), limit, self.url + path)

    def content_type(self, path: str) -> str:
        """Return the Content-Type of a file, which is not loaded; empty if the server names none.

        Raises:
            HubError: if it cannot be had.
        """
        with self._open(path, {}, TIMEOUT, "HEAD") as response:
            return str(response.headers.get("Content-Type", ""))

    def _receive(self, response: Any, target: Any, size: int, progress: Callable[[int], None], path: str) -> None:
        from http.client import HTTPException

        # Not read(), which waits for a whole block, and so for hours where a byte comes every few seconds.
        _pump(response.read1, target, size, progress, self.url + path, (OSError, HTTPException))

    def _open(self, path: str, headers: dict[str, str], timeout: float, method: str = "GET") -> Any:
        """Return the response; None for a 304."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        from gem_hub_client import __version__

        # Without compression, so that sizes and digests are those of what comes through the wire.
        common = {"User-Agent": f"gem-hub-client/{__version__}", "Accept-Encoding": "identity"}
        address = self.url + path
        request = Request(address, headers={**common, **headers}, method=method)  # noqa: S310  # http(s) alone: see Hub
        director = _opener()
        if is_private := bool(registry_of(self.url + path)):
            from gem_hub_client.registry.client import opener
            from gem_hub_client.registry.credentials import reading_login

            if (login := reading_login(self.url + path)) is not None:
                request.add_unredirected_header("Authorization", f"Bearer {login.token}")
                director = opener()  # a token goes through no redirect, and no proxy reads it
        try:
            return director.open(request, timeout=timeout)
        except HTTPError as error:
            error.close()
            if error.code == 304 and headers:
                return None
            # Buckets answer 403 for a missing file to those who may not list them.
            kind = MissingFileError if error.code in (403, 404, 410) else HubError
            advice = (
                "; a private hub needs a token of a member with the scope 'read': gem hub login" if is_private else ""
            )
            raise kind(
                f"{self.url}{path}: the server answers {error.code} {sanitize(str(error.reason))}{advice}"
            ) from error
        except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
            raise HubError(
                f"{self.url}{path}: cannot be reached: {sanitize(str(getattr(error, 'reason', error)))}"
            ) from error


class _Collected(bytearray):
    """A buffer with the one method of a file that is needed."""

    write = bytearray.extend


def _opener() -> Any:
    """Return what opens URLs: http and https with the user's proxies, and no way from https back to http."""
    from urllib import request

    class NoDowngrade(request.HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            scheme = newurl.partition(":")[0].lower()
            if scheme != "https" and (scheme != "http" or req.type == "https"):
                raise HubError(f"{req.full_url}: the server redirects to {newurl!r}, which is not safe to follow")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    opener = request.OpenerDirector()
    # build_opener would add file: and ftp: as well.
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        NoDowngrade(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _pump(
    read: Callable[[int], bytes],
    target: Any,
    size: int,
    progress: Callable[[int], None],
    name: str,
    failures: tuple[type[Exception], ...],
) -> None:
    """Copy at most ``size`` bytes and one more, by which the caller sees that there would have been more."""
    deadline = time.monotonic() + 3 * TIMEOUT + size / _SLOWEST
    left = size + 1
    while left:
        try:
            block = read(min(left, _BLOCK))
        except failures as error:
            raise HubError(f"{name}: the transfer broke off: {sanitize(str(error)) or type(error).__name__}") from error
        if not block:
            return
        target.write(block)
        progress(len(block))
        left -= len(block)
        if time.monotonic() > deadline:
            raise HubError(f"{name}: the server sends less than {_SLOWEST // 1000} kB a second; try again later")


def _limited(content: bytes, limit: int, name: str) -> bytes:
    if len(content) > limit:
        raise HubError(f"{name}: is larger than the {limit:,} bytes that such a file may have")
    return content
