"""Requests of odd forms: other spellings, methods and conditions for what is private, and two requests in one."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from registry_server import RegistryClient, RunningRegistry, join, running_registry, toy_wheel, upload_form

SECRET = "zebra-worlds"

pytestmark = pytest.mark.slow(reason="a registry with a private hub begins")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry with the private zebra-worlds 0.1.0 of acme, published by olga."""
    folder = tmp_path_factory.mktemp("odd")
    with running_registry(folder / "hub") as running:
        olga = running.account("olga")
        assert olga.send("POST", "/api/v1/organisations", {"name": "acme"}).status == 201
        join(running, "acme", "milo", "member", by="olga")
        body, content_type = upload_form(toy_wheel(folder / "dist", SECRET), {})
        assert olga.send("POST", "/private/acme/upload/", body, Content_Type=content_type).status == 200
        yield running


def asked(client: RegistryClient, method: str, path: str, fields: dict[str, str]) -> tuple[int, bytes, list[str]]:
    """Return status, content and fields of an answer, but for its date."""
    answer = client.send(method, path, None, **fields)
    shown = [f"{name}: {value}" for name, value in answer.fields.items() if name.lower() != "date"]
    return answer.status, answer.body, shown


PAGE = "/private/{name}/envs/zebra-worlds.json"
ODD: dict[str, tuple[str, str, dict[str, str]]] = {
    "HEAD": ("HEAD", PAGE, {}),
    "OPTIONS": ("OPTIONS", PAGE, {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}),
    "TRACE": ("TRACE", PAGE, {}),
    "a method of one's own": ("SEARCH", PAGE, {}),
    "another method inside": ("POST", PAGE, {"X_HTTP_Method_Override": "GET"}),
    "any version but none": ("GET", PAGE, {"If_None_Match": "*"}),
    "a part": ("GET", PAGE, {"Range": "bytes=0-0"}),
    "a part of a version": ("GET", PAGE, {"Range": "bytes=0-0", "If_Range": '"x"'}),
    "an old one": ("GET", PAGE, {"If_Modified_Since": "Thu, 01 Jan 2099 00:00:00 GMT"}),
    "only if it is": ("GET", PAGE, {"If_Match": "*"}),
    "packed": ("GET", PAGE, {"Accept_Encoding": "gzip, br"}),
    "an escaped letter": ("GET", "/private/{escaped}/envs/zebra-worlds.json", {}),
    "capitals": ("GET", "/private/{name}/envs/Zebra_Worlds.json", {}),
    "two slashes": ("GET", "/private//{name}/envs/zebra-worlds.json", {}),
    "two slashes at the beginning": ("GET", "//private/{name}/envs/zebra-worlds.json", {}),
    "an escaped slash": ("GET", "/private/{name}%2Fenvs%2Fzebra-worlds.json", {}),
    "a way round": ("GET", "/simple/../private/{name}/envs/zebra-worlds.json", {}),
    "a parameter": ("GET", "/private/{name};x=y/envs/zebra-worlds.json", {}),
    "a dot behind it": ("GET", "/private/{name}./envs/zebra-worlds.json", {}),
    "NUL": ("GET", "/private/{name}%00/envs/zebra-worlds.json", {}),
    "a backslash": ("GET", "/private\\{name}\\envs\\zebra-worlds.json", {}),
    "the address of a proxy": ("GET", PAGE, {"X_Forwarded_For": "127.0.0.1", "X_Original_URL": "/private/acme/"}),
    "somebody in a field": ("GET", PAGE, {"X_Forwarded_User": "olga", "Cookie": "account=olga"}),
    "an empty login": ("GET", PAGE, {"Authorization": "Basic Og=="}),
    "a login of another kind": ("GET", PAGE, {"Authorization": "Digest username=olga"}),
}


def spelled(path: str, organisation: str) -> str:
    """Return a path with an organisation in it."""
    return path.format(name=organisation, escaped=f"%{ord(organisation[0]):x}{organisation[1:]}")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("who", ["stranger", "sven"])
def test_no_way_of_asking_tells_that_something_private_is_there(registry: RunningRegistry, who: str, odd: str) -> None:
    """The answer is byte for byte that of an organisation that does not exist, and never the package."""
    client = registry.stranger if who == "stranger" else registry.account(who)
    method, path, fields = ODD[odd]
    status, content, shown = asked(client, method, spelled(path, "acme"), fields)
    nowhere = asked(client, method, spelled(path, "none"), fields)
    assert (status, content.replace(b"acme", b"none"), shown) == nowhere
    assert status >= 400
    assert b"0.1.0" not in content


def test_who_knows_the_version_of_a_private_page_learns_nothing(registry: RunningRegistry) -> None:
    """The ETag of a page, kept by somebody who has left, is answered as for everybody outside."""
    path = spelled(PAGE, "acme")
    milo = registry.account("milo")
    etag = milo.send("GET", path).fields["ETag"]
    assert milo.send("GET", path, If_None_Match=etag).status == 304
    for client in (registry.stranger, registry.account("sven")):
        assert client.send("GET", path, If_None_Match=etag).status == 404


SMUGGLED = b"GET /private/acme/root.json HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"0\r\n\r\n"
POSTS: dict[str, tuple[bytes, bytes]] = {
    "a length and chunks": (
        b"Content-Length: %d\r\nTransfer-Encoding: chunked" % len(CHUNKED + SMUGGLED),
        CHUNKED + SMUGGLED,
    ),
    "two lengths": (b"Content-Length: 0\r\nContent-Length: %d" % len(SMUGGLED), SMUGGLED),
    "a length of parts": (b"Content-Length: +0", SMUGGLED),
    "chunks of another name": (b"Transfer-Encoding: xchunked", SMUGGLED),
    "a blank before the colon": (b"Content-Length : 0", SMUGGLED),
    "a field that goes on": (b"X: y\r\n Content-Length: 0", SMUGGLED),
    "a size of a chunk beyond all": (b"Transfer-Encoding: chunked", b"f" * 40 + b"\r\n" + SMUGGLED),
}
"""The fields of a request to upload, and what follows them."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", POSTS)
def test_two_requests_in_one_are_no_way_past_a_proxy(registry: RunningRegistry, kind: str) -> None:
    """At most one answer comes, so that a proxy in front and the registry count alike, and the registry goes on."""
    with socket.create_connection(("127.0.0.1", registry.port), timeout=60) as connection:
        fields, rest = POSTS[kind]
        connection.sendall(b"POST /upload/ HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n\r\n" + rest)
        connection.shutdown(socket.SHUT_WR)
        told = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    statuses = [int(line.split()[1]) for line in told.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert len(statuses) <= 1, told[:500]
    assert not {*statuses} & {500, 502, 503}, told[:500]
    assert registry.stranger.send("GET", "/root.json").status == 200


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", ["/", "/root.json", "/simple/", "/api/v1/packages/none", "/upload/", "/no-such"])
def test_no_answer_repeats_the_host_that_a_request_names(registry: RunningRegistry, path: str) -> None:
    """A cache in front cannot be made to keep a page that leads elsewhere."""
    fields = {"X_Forwarded_Host": "evil.example", "Forwarded": "host=evil.example", "X_Forwarded_Proto": "evil"}
    answer = registry.stranger.send("GET", path, None, Host="evil.example", **fields)
    assert b"evil" not in answer.body
    assert not [value for value in answer.fields.values() if "evil" in value]
