"""Reading files from a hub's server: which answers mean that there is no such file, and how much is read."""

from __future__ import annotations

import io
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from gem_hub_client.errors import HubError, MissingFileError
from gem_hub_client.transport import FolderSource, HubSource, Validators, WebSource, settled_time

if TYPE_CHECKING:
    from conftest import HubServer

SIZE = 20
EITHER = pytest.mark.parametrize("kind", [FolderSource, WebSource])


def source_of(kind: type[HubSource], hub: HubServer) -> HubSource:
    (hub.folder / "file").write_bytes(b"x" * SIZE)
    return FolderSource(hub.folder) if kind is FolderSource else WebSource(hub.url)


def answering(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410, 429, 500, 503])
def test_a_bucket_says_403_of_a_file_that_is_not_there(hub_server: HubServer, status: int) -> None:
    """As to all who may not list it; other refusals say nothing about whether the file is there."""
    hub_server.instead["/file"] = answering(status)
    with pytest.raises(HubError, match=f"the server answers {status}") as caught:
        WebSource(hub_server.url).read("file", SIZE)
    assert isinstance(caught.value, MissingFileError) == (status in (403, 404, 410))


def test_only_who_has_a_file_may_be_told_that_it_has_not_changed(hub_server: HubServer) -> None:
    """A 304 without a condition in the request is an error, not an empty file."""
    hub_server.instead["/file"] = answering(304)
    known = Validators(etag='"1"')
    assert WebSource(hub_server.url).read("file", SIZE, known) == (None, known)
    with pytest.raises(HubError, match="304"):
        WebSource(hub_server.url).read("file", SIZE)
    with pytest.raises(HubError, match="304"):
        WebSource(hub_server.url).read("file", SIZE, Validators())


@EITHER
def test_a_file_may_be_as_large_as_its_limit_and_no_larger(hub_server: HubServer, kind: type[HubSource]) -> None:
    """One byte more is an error that states the limit."""
    source = source_of(kind, hub_server)
    assert source.read("file", SIZE).content == b"x" * SIZE
    with pytest.raises(HubError, match=f"larger than the {SIZE - 1} bytes"):
        source.read("file", SIZE - 1)


@EITHER
@pytest.mark.parametrize(("size", "copied"), [(SIZE + 5, SIZE), (SIZE, SIZE), (SIZE - 5, SIZE - 4), (0, 1)])
def test_a_copy_has_at_most_one_byte_too_many(
    hub_server: HubServer, kind: type[HubSource], size: int, copied: int
) -> None:
    """By which the caller sees that there would have been more; the progress adds up to the copied bytes."""
    target, seen = io.BytesIO(), list[int]()
    source_of(kind, hub_server).copy("file", target, size, seen.append)
    assert len(target.getvalue()) == sum(seen) == copied


@EITHER
def test_a_file_that_is_not_there_is_told_from_one_that_cannot_be_read(
    hub_server: HubServer, kind: type[HubSource]
) -> None:
    """Also below a file, and for a folder of the hub."""
    source = source_of(kind, hub_server)
    for path in ("nothing", "file/below"):
        with pytest.raises(MissingFileError):
            source.read(path, SIZE)
    with pytest.raises(HubError):
        source.read("\0", SIZE)


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/passwd", "data:,x"])
def test_a_redirection_leads_to_the_web_alone(hub_server: HubServer, target: str) -> None:
    """Never to files of this machine or to another protocol."""
    hub_server.instead["/file"] = answering(302, Location=target)
    with pytest.raises(HubError, match=r"not safe to follow|not allowed|cannot be reached|answers 302"):
        WebSource(hub_server.url).read("file", SIZE)


def test_a_server_that_sends_too_slowly_is_left(hub_server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the transfer allows its size at the smallest speed and a grace; here it jumps beyond both."""
    source: Any = source_of(WebSource, hub_server)
    clock = iter((0.0, 31.0))
    monkeypatch.setattr("gem_hub_client.transport.time.monotonic", lambda: next(clock, 31.0))
    with pytest.raises(HubError, match="less than 20 kB a second"):
        source.copy("file", io.BytesIO(), SIZE, lambda length: None)


@pytest.mark.parametrize(
    ("modified", "date", "kept"),
    [
        ("Sun, 29 Nov 2026 10:00:00 GMT", "Sun, 29 Nov 2026 10:00:00 GMT", False),
        ("Sun, 29 Nov 2026 10:00:00 GMT", "Sun, 29 Nov 2026 10:00:01 GMT", True),
        ("Sun, 29 Nov 2026 10:00:01 GMT", "Sun, 29 Nov 2026 10:00:00 GMT", False),
        ("Sun, 29 Nov 2026 10:00:00 GMT", "", False),
        ("Sun, 29 Nov 2026 10:00:00 GMT", "Sun, 29 Nov 2026 10:00:01 -0000", False),
        ("a text", "Sun, 29 Nov 2026 10:00:00 GMT", True),
    ],
)
def test_a_time_that_may_come_twice_tells_no_version(modified: str, date: str, kept: bool) -> None:
    """A file that was changed in the second of the answer may change once more in it, unseen by If-Modified-Since."""
    assert settled_time({"Last-Modified": modified, "Date": date}) == (modified if kept else "")
