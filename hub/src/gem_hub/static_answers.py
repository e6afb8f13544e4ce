"""The answers of a static host to requests for a hub's files, apart from any socket.

Both servers of a hub send them: :mod:`gem_hub.serve`, and the registry of :mod:`gem_hub.registry`. Types and caching
are those of :mod:`gem_hub.hosting`, so that a hub behaves alike on every server.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from gem.ids import normalized_distribution
from gem_hub.errors import HubRefusal
from gem_hub.hosting import Settings, headers
from gem_hub.negotiation import FORMS, chosen_form
from gem_hub.records import NAME, reasons
from gem_hub.storage import HubFiles, files_of

__all__ = ["StaticAnswer", "StaticAnswers"]

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}
"""Media types by file extension, for files without a rule in ``_headers``; the machine's own table varies."""

_SEGMENT = re.compile(r"(?!\.)[A-Za-z0-9_.!+@~-]{1,255}")
"""The pattern of a hub's file names. None begins with a dot, which marks private files."""

_LONGEST_PATH = 2000
_CHUNK = 1 << 16

RequestFields = Callable[[str], list[str]]
"""Returns all values of a request's header field."""


class _Span(NamedTuple):
    """The bytes ``first`` up to ``stop`` of a file."""

    first: int
    stop: int


@dataclass(frozen=True)
class StaticAnswer:
    """One answer. The server closes ``body``, and leaves it out after a HEAD request."""

    status: HTTPStatus
    fields: dict[str, str]
    body: BinaryIO
    size: int = 0
    """The number of bytes of ``body`` to send, from its current position."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes to send."""
        left = self.size
        while left and (chunk := self.body.read(min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk


class StaticAnswers:
    """Answers requests for the files of one hub.

    Args:
        hub: its folder or its files; changes take effect immediately.
        fallback: the simple index for unknown names; empty for none.

    Raises:
        HubRefusal: if the fallback is not a valid address.
    """

    def __init__(self, hub: Path | HubFiles, fallback: str = "") -> None:
        self.files = files_of(hub)
        self.fallback = _fallback(fallback)
        self._rules = list(_rules(headers().decode()))

    def answer(self, target: str, fields: RequestFields) -> StaticAnswer:
        """Answer a GET or HEAD request.

        Args:
            target: the path of the request as it was sent, with its query.
            fields: the header fields of the request.
        """
        parts = _parts(target)
        return _Request(self, "/" + "/".join(parts or ()), fields).answer(parts)

    def rules(self, url: str) -> dict[str, str]:
        """Return the rules of ``_headers`` for an address; later rules win."""
        found: dict[str, str] = {}
        for pattern, fields in self._rules:
            if pattern.fullmatch(url):
                found.update(fields)
        return found


@dataclass(frozen=True)
class _Request:
    site: StaticAnswers
    url: str
    fields: RequestFields

    def answer(self, parts: list[str] | None) -> StaticAnswer:
        if parts is None:
            return self._missing()
        if parts[:1] == ["simple"] and parts[-1] == "" and len(parts) <= 3:
            return self._simple(parts)
        path = "/".join([*parts[:-1], parts[-1] or "index.html"])
        if (file := self.site.files.open_public(path)) is not None:
            return self._file(path, file)
        if parts[-1] and (parts[:-1] == ["simple"] or self.site.files.is_public_folder(path)):
            return self._redirect(HTTPStatus.MOVED_PERMANENTLY, f"{parts[-1]}/")
        return self._missing()

    def _simple(self, parts: list[str]) -> StaticAnswer:
        """Answer a request for an installer's page, ``simple/`` or ``simple/NAME/``."""
        name = parts[1] if len(parts) == 3 else ""
        normal = normalized_distribution(name)
        if name != normal and NAME.fullmatch(normal):
            return self._redirect(HTTPStatus.MOVED_PERMANENTLY, f"../{normal}/")
        folder = "/".join(parts[:-1])
        page = self.site.files.open_public(f"{folder}/index.html")
        if page is None:
            # A package with records lacks a page only while, or because, the hub is damaged. Then an untrusted package
            # of the same name must not replace it.
            asked = NAME.fullmatch(name) and self.site.fallback
            if asked and not self.site.files.is_public_folder(f"releases/{name}"):
                return self._redirect(HTTPStatus.FOUND, f"{self.site.fallback}{name}/")
            return self._text(HTTPStatus.NOT_FOUND, "There is no such package in this hub.")
        vary = {"Vary": "Accept"}
        form = chosen_form(", ".join(self.fields("Accept")))
        if form is None:
            page.close()
            return self._text(HTTPStatus.NOT_ACCEPTABLE, f"This page is available as {', '.join(FORMS)}.", vary)
        path = f"{folder}/{FORMS[form]}"
        if FORMS[form] != "index.html":
            page.close()
            page = self.site.files.open_public(path)
        content_type = f"{form}; charset=utf-8" if form == "text/html" else form
        return self._missing() if page is None else self._file(path, page, {"Content-Type": content_type, **vary})

    def _file(self, path: str, file: BinaryIO, fields: dict[str, str] | None = None) -> StaticAnswer:
        by_name = {"Content-Type": TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")}
        return self._content(file, {**by_name, **self.site.rules(self.url), **(fields or {})})

    def _content(self, file: BinaryIO, fields: dict[str, str]) -> StaticAnswer:
        """Return a file, a part of it, or a 304."""
        if self.url.startswith(("/files/", "/catalog/")):  # named by its digest, and too large to be read twice
            tag = hashlib.sha256(self.url.encode()).hexdigest()
            size = file.seek(0, 2)
        else:
            with file:
                content = file.read()
            tag, size = hashlib.sha256(content).hexdigest(), len(content)
            file = BytesIO(content)
        etag = f'"{tag[:32]}"'
        fields = {**fields, "ETag": etag, "Accept-Ranges": "bytes"}
        if _names(self._field("If-None-Match"), etag):
            return StaticAnswer(HTTPStatus.NOT_MODIFIED, fields, file)
        wanted = self._field("Range")
        if not wanted or self._field("If-Range", etag) != etag:
            span: _Span | None = _Span(0, size)
            status = HTTPStatus.OK
        else:
            status, span = _part(wanted, size)
        if span is None:
            file.close()
            return self._text(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                f"The file has {size} bytes.",
                {"Content-Range": f"bytes */{size}"},
            )
        if status is HTTPStatus.PARTIAL_CONTENT:
            fields["Content-Range"] = f"bytes {span.first}-{span.stop - 1}/{size}"
        file.seek(span.first)
        length = span.stop - span.first
        return StaticAnswer(status, {**fields, "Content-Length": str(length)}, file, length)

    def _field(self, name: str, default: str = "") -> str:
        return next(iter(self.fields(name)), default)

    def _redirect(self, status: HTTPStatus, location: str) -> StaticAnswer:
        fields = {**self.site.rules(self.url), "Location": location, "Content-Length": "0"}
        return StaticAnswer(status, fields, BytesIO())

    def _missing(self) -> StaticAnswer:
        """Answer that the file does not exist, with the page of ``gem hub site`` for people."""
        page = self.site.files.open_public("404.html")
        if page is None and self.url == "/":
            told = "This hub has no pages for people yet; its operator can write them with: gem hub site"
            return self._text(HTTPStatus.NOT_FOUND, told)
        if page is None:
            return self._text(HTTPStatus.NOT_FOUND, "There is no such file in this hub.")
        with page:
            return self._short(HTTPStatus.NOT_FOUND, page.read(), {"Content-Type": TYPES[".html"]})

    def _text(self, status: HTTPStatus, text: str, fields: dict[str, str] | None = None) -> StaticAnswer:
        """Answer with a sentence."""
        return self._short(status, f"{text}\n".encode(), {"Content-Type": TYPES[".txt"], **(fields or {})})

    def _short(self, status: HTTPStatus, body: bytes, fields: dict[str, str]) -> StaticAnswer:
        """Answer without caching: a missing file may exist next time."""
        fields = {
            **self.site.rules(self.url),
            "Cache-Control": "no-cache",
            **fields,
            "Content-Length": str(len(body)),
        }
        return StaticAnswer(status, fields, BytesIO(body), len(body))


def _fallback(address: str) -> str:
    if "@" in urlsplit(address).netloc:
        raise HubRefusal("the fallback holds a user name or password, which every client would be told; name another")
    try:
        return Settings(fallback=address).fallback
    except ValueError as error:
        raise HubRefusal(reasons(error)) from error


def _rules(text: str) -> Iterator[tuple[re.Pattern[str], dict[str, str]]]:
    """Yield the rules of a ``_headers`` file, in which ``*`` matches any text and ``:name`` one segment."""
    for block in text.strip().split("\n\n"):
        path, *lines = block.splitlines()
        pattern = re.sub(r":\w+", "[^/]+", re.escape(path).replace(r"\*", ".*"))
        yield re.compile(pattern), dict(line.strip().split(": ", 1) for line in lines)


def _parts(target: str) -> list[str] | None:
    """Return the segments of a request's path, the last one empty for a folder; None for an impossible path."""
    path = target.partition("?")[0]
    if not path.startswith("/") or len(path) > _LONGEST_PATH:
        return None
    *folders, last = unquote_to_bytes(path[1:]).decode("latin-1").split("/")
    if all(map(_SEGMENT.fullmatch, folders)) and (not last or _SEGMENT.fullmatch(last)):
        return [*folders, last]
    return None


def _names(header: str, etag: str) -> bool:
    """Return whether ``If-None-Match`` contains a tag; weak tags count (RFC 9110, section 13.1.2)."""
    known = [item.strip().removeprefix("W/") for item in header.split(",")]
    return etag in known or known == ["*"]


def _part(header: str, size: int) -> tuple[HTTPStatus, _Span | None]:
    """Return the status and the bytes for a ``Range``; no bytes for an unsatisfiable one.

    An invalid header, or one with several ranges, gets the whole file (RFC 9110, section 14.2).
    """
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", header.strip(), re.ASCII)
    if match is None or not any(match.groups()):
        return HTTPStatus.OK, _Span(0, size)
    if not match[1]:
        span = _Span(max(size - int(match[2]), 0), size)
    else:
        span = _Span(int(match[1]), min(int(match[2] or size) + 1, size))
        if match[2] and int(match[2]) < int(match[1]):
            return HTTPStatus.OK, _Span(0, size)
    return HTTPStatus.PARTIAL_CONTENT, span if span.first < span.stop else None
