"""The form of the legacy upload protocol (``multipart/form-data``), read as a stream into a file with limits.

The protocol is the "legacy upload API" of the Python Package Index, which twine, uv and hatch speak.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from gem_hub.registry.problems import Problem

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

__all__ = ["FormLimits", "UploadForm", "read_body", "read_form"]

_DIGESTS = ("sha256_digest", "blake2_256_digest", "md5_digest")


@dataclass(frozen=True)
class FormLimits:
    """The limits of a form."""

    file_bytes: int = 100 * 2**20
    fields_bytes: int = 4 * 2**20
    """All names and values of fields together."""
    parts: int = 4000
    grace_seconds: float = 30.0
    """The time that a body may take in addition to what it needs at the lowest rate."""
    bytes_per_second: int = 16 * 2**10
    """The lowest rate of a body, over its whole time."""


@dataclass
class UploadForm:
    """A form that was read to its end."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    filename: str = ""
    size: int = 0
    digests: dict[str, str] = field(default_factory=dict)
    """Field of the protocol → the digest of the file that was received."""

    def one(self, name: str) -> str:
        """Return the value of a field; empty without it.

        Raises:
            Problem: 400 if it is there more than once.
        """
        values = self.fields.get(name, [""])
        if len(values) > 1:
            raise Problem(HTTPStatus.BAD_REQUEST, f"the field {name!r} is there {len(values)} times; send it once")
        return values[0]


async def read_form(request: Request, target: Path, limits: FormLimits) -> UploadForm:
    """Read an upload's form, and write its file ``content`` to a path.

    Args:
        request: the request, whose body was not touched yet.
        target: the file to write; it is there afterwards only if the form holds a file.
        limits: the limits.

    Raises:
        Problem: 400 for a malformed form, 408 for a slow client, 413 for a large form, 415 for another kind.
        ClientDisconnect: if the client has gone.
    """
    kind, options = parse_options_header(request.headers.get("Content-Type"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "an upload is a form of the type multipart/form-data with a boundary; use uv publish, twine or hatch",
        )
    with target.open("xb") as file:
        reader = _FormReader(file, limits)
        try:
            parser = MultipartParser(boundary, reader.callbacks())
            async for chunk in read_body(request, limits.file_bytes + limits.fields_bytes, limits):
                parser.write(chunk)
            parser.finalize()
        except (FormParserError, ValueError, UnicodeError) as error:
            raise Problem(HTTPStatus.BAD_REQUEST, f"the form is malformed: {ascii(str(error))[1:200]}") from error
    if not reader.ended:
        raise Problem(HTTPStatus.BAD_REQUEST, "the form ends before its last boundary; send it again")
    return reader.form()


async def read_body(request: Request, most: int, limits: FormLimits) -> AsyncIterator[bytes]:
    """Yield a request's body as it comes.

    Args:
        request: the request.
        most: its largest size in bytes; what is beyond is neither kept nor read to its end.
        limits: the lowest rate.

    Raises:
        Problem: 408 for a slow client, 413 for a larger body.
        ClientDisconnect: if the client has gone.
    """
    declared = request.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    began, received = time.monotonic(), 0
    while True:
        left = limits.grace_seconds + received / limits.bytes_per_second - (time.monotonic() - began)
        try:
            message = await asyncio.wait_for(request.receive(), max(left, 0.001))
        except asyncio.TimeoutError as error:
            raise Problem(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the body came with less than {limits.bytes_per_second} bytes a second; try a faster connection",
                {"Connection": "close"},
            ) from error
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        received += len(chunk)
        if received > most:
            raise _too_large(most)
        if chunk:
            yield chunk
        if not message.get("more_body", False):
            return


def _too_large(most: int) -> Problem:
    size = f"{most / 2**20:,.0f} MiB" if most >= 2**20 else f"{most} bytes"
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the request has more than {size}; let an environment fetch its data when it is needed",
        {"Connection": "close"},
    )


class _FormReader:
    """Takes what the parser finds: fields into memory, the file onto the disk."""

    def __init__(self, file: BinaryIO, limits: FormLimits) -> None:
        self._file = file
        self._limits = limits
        self._form = UploadForm()
        self._parts = 0
        self._field_bytes = 0
        self._header = (bytearray(), bytearray())
        self._disposition = b""
        self._name = ""
        self._value: bytearray | None = None
        self._is_content = False
        self._hashes: tuple[Any, ...] = (
            hashlib.sha256(),
            hashlib.blake2b(digest_size=32),
            hashlib.md5(usedforsecurity=False),
        )
        self.ended = False

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def form(self) -> UploadForm:
        """Return the form with the digests of its file."""
        self._form.digests = {name: digest.hexdigest() for name, digest in zip(_DIGESTS, self._hashes, strict=True)}
        return self._form

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > self._limits.parts:
            raise Problem(HTTPStatus.BAD_REQUEST, f"the form has more than {self._limits.parts} fields")
        self._header, self._disposition = (bytearray(), bytearray()), b""

    def _end_header(self) -> None:
        name, value = self._header
        if name.strip().lower() == b"content-disposition":
            self._disposition = bytes(value)
        self._header = (bytearray(), bytearray())

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if not self._name:
            raise Problem(HTTPStatus.BAD_REQUEST, "a part of the form has no name")
        self._is_content = self._name == "content" and b"filename" in options
        if self._is_content:
            if self._form.filename:
                raise Problem(HTTPStatus.BAD_REQUEST, "the form has several files; upload one at a time")
            self._form.filename = options[b"filename"].decode("utf-8", "replace") or "(empty)"
        # Other files, such as signatures that no installer reads, are left out.
        self._value = None if b"filename" in options else bytearray()
        self._count(len(self._name))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_content:
            chunk = data[start:end]
            self._form.size += len(chunk)
            if self._form.size > self._limits.file_bytes:
                raise _too_large(self._limits.file_bytes)
            for digest in self._hashes:
                digest.update(chunk)
            self._file.write(chunk)
        else:
            self._count(end - start)
            if self._value is not None:
                self._value.extend(data[start:end])

    def _end(self) -> None:
        if self._value is not None:
            text = self._value.decode("utf-8", "replace")
            self._form.fields.setdefault(self._name, []).append(text)
        self._value, self._is_content = None, False

    def _finish(self) -> None:
        self.ended = True

    def _count(self, size: int) -> None:
        self._field_bytes += size
        if self._field_bytes > self._limits.fields_bytes:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the form's fields have more than {self._limits.fields_bytes} bytes together; shorten the readme",
                {"Connection": "close"},
            )
