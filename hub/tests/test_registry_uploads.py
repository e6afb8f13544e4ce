"""Uploads over HTTP: what is accepted, what is refused and how, and what hostile clients get."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import socket
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from registry_server import (
    BOUNDARY,
    RegistryClient,
    RunningRegistry,
    multipart,
    running_registry,
    toy_wheel,
    upload_form,
)
from toy_hub import publish_and_die

from gem_hub.archive import ArchiveLimits
from gem_hub.records import Release
from gem_hub.registry.forms import FormLimits
from gem_hub.registry.recovery import recover
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tokens import digest_of, is_token, new_token
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry for files of at most one megabyte."""
    limits = FormLimits(file_bytes=MEGABYTE, fields_bytes=64 * 2**10, grace_seconds=5)
    with running_registry(tmp_path_factory.mktemp("registry") / "hub", limits=limits) as running:
        yield running
        assert [answer for answer in running.answers if answer[2] == 500] == []
        wait_until_clear(running)


def wait_until_clear(registry: RunningRegistry) -> None:
    """Wait until the server has removed the files of all uploads, which a client that hangs up does not see."""
    deadline = time.monotonic() + 60
    while left := [*registry.services.uploads.iterdir()]:
        assert time.monotonic() < deadline, left


@pytest.fixture
def alice(registry: RunningRegistry) -> RegistryClient:
    return registry.account("alice")


def test_an_upload_is_searchable_and_installable_at_once(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer names the release; its page, its file and the search feed are there, and its check is queued."""
    wheel = toy_wheel(tmp_path, "treasure-hunt", readme="Find the treasure.")
    answer = alice.upload(wheel)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (answer.status, answer.json) == (
        200,
        {
            "name": "treasure-hunt",
            "version": "0.1.0",
            "sha256": sha256,
            "state": "published",
            "conformance": "queued",
        },
    )
    page = registry.stranger.send("GET", "/simple/treasure-hunt/", Accept="application/vnd.pypi.simple.v1+json").json
    (file,) = page["files"]
    assert file["hashes"]["sha256"] == sha256
    got = registry.stranger.send(
        "GET", f"/simple/treasure-hunt/{file['url']}".replace("simple/treasure-hunt/../../", "")
    )
    assert got.body == wheel.read_bytes()
    monkeypatch.setenv("GEM_HUB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GEM_HUB", f"http://127.0.0.1:{registry.port}/")
    from click.testing import CliRunner

    found = CliRunner().invoke(hub_command, ["search", "treasure", "--json"])
    assert "treasure-hunt" in found.output, found.output


def test_the_same_bytes_again_are_a_success(alice: RegistryClient, tmp_path: Path) -> None:
    """A client that lost the answer repeats its upload; other bytes for the version are a conflict."""
    wheel = toy_wheel(tmp_path / "1", "lost-answer")
    assert alice.upload(wheel).json["state"] == "published"
    assert alice.upload(wheel).json["state"] == "already published"
    other = alice.upload(toy_wheel(tmp_path / "2", "lost-answer", readme="Other bytes."))
    assert (other.status, "raise the version" in other.reason) == (409, True)


def test_an_upload_that_a_killed_process_began_is_found_when_it_is_acknowledged(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """The record was there, and catalogue and pages were not: the answer to the repeated upload waits for them."""
    wheel = toy_wheel(tmp_path, "half-written")
    publish_and_die(registry.services.store.files, wheel)
    assert alice.upload(wheel).json["state"] == "already published"
    assert registry.services.store.rebuild(check=True) == []


def test_a_registry_completes_first_what_a_killed_process_began(tmp_path: Path) -> None:
    """What it serves from its first answer on is the whole hub, though nobody uploads anything."""
    store = Store(tmp_path / "hub")
    store.rebuild()
    publish_and_die(tmp_path / "hub", toy_wheel(tmp_path, "half-written"))
    services = RegistryServices(store, RegistrySettings())
    try:
        recover(services)
    finally:
        services.close()
    assert store.rebuild(check=True) == []


def test_a_release_gets_no_further_file(alice: RegistryClient, tmp_path: Path) -> None:
    """Another wheel of a version, such as one with a build number, is a conflict however young the release is."""
    wheel = toy_wheel(tmp_path / "1", "second-file")
    assert alice.upload(wheel).status == 200
    second = toy_wheel(tmp_path / "2", "second-file", readme="Other bytes.")
    numbered = second.rename(second.with_name("second_file-0.1.0-2-py3-none-any.whl"))
    answer = alice.upload(numbered)
    assert (answer.status, "raise the version" in answer.text) == (409, True)


def test_attestations_go_to_the_module_that_keeps_them_while_the_release_is_young(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come with the release or soon after, from its owner, as a list; afterwards nothing is added."""
    kept: list[tuple[str, Any]] = []

    def keep(store: Store, release: Release, attestations: list[Any]) -> int:
        kept.append((release.version, attestations))
        return len(attestations)

    monkeypatch.setattr("gem_hub.registry.uploads.keep", keep)
    later = [0.0]
    with running_registry(tmp_path / "hub", clock=lambda: time.time() + later[0]) as registry:
        alice, wheel = registry.account("alice"), toy_wheel(tmp_path, "alpha-envs")
        assert alice.upload(wheel, attestations='[{"version": 1}]').status == 200
        assert alice.upload(wheel, attestations="[]").status == 200
        assert kept == [("0.1.0", [{"version": 1}]), ("0.1.0", [])]
        for wrong in ("{}", "[", "[" * 100_000):
            assert alice.upload(wheel, attestations=wrong).status == 400
        assert registry.account("bob").upload(wheel, attestations="[]").status == 200
        later[0] = 15 * 86_400
        answer = alice.upload(wheel, attestations="[]")
        assert (answer.status, "older than 14 days" in answer.reason) == (400, True)
        assert alice.upload(wheel).json["state"] == "already published"
        assert len(kept) == 2


def test_only_owners_release_and_a_stranger_is_told_whom_to_ask(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """The refusal is a 403 with the owners in the status line and the body."""
    assert alice.upload(toy_wheel(tmp_path, "owned-envs")).status == 200
    answer = registry.account("bob").upload(toy_wheel(tmp_path, "owned-envs", "0.2.0"))
    assert answer.status == 403
    for text in (answer.reason, answer.text):
        assert "belongs to alice" in text


@pytest.mark.parametrize(
    ("accept", "expected"),
    [("", "text/plain"), ("application/json", "text/plain"), ("application/problem+json", "application/problem+json")],
)
def test_the_reason_stands_in_status_line_and_body(
    alice: RegistryClient, tmp_path: Path, accept: str, expected: str
) -> None:
    """Clients that show only one of them show the reason; problem details go to those that accept them."""
    wheel = toy_wheel(tmp_path, "broken-envs", files={"evil.pth": "import os"})
    body, content_type = upload_form(wheel)
    answer = alice.send("POST", "/upload/", body, Content_Type=content_type, Accept=accept)
    assert answer.status == 400
    assert "evil.pth" in answer.reason
    assert answer.reason.isascii()
    assert answer.fields.get_content_type() == expected
    detail = answer.json["detail"] if expected.endswith("json") else answer.text
    assert "would be run at every start of Python" in detail


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer x", "Basic !!!", "Basic eDp5", "Digest a", "Bearer é"])
def test_no_token_is_a_401_before_anything_else(registry: RunningRegistry, tmp_path: Path, authorization: str) -> None:
    """Neither an absent nor a wrong token learns anything of the wheel."""
    body, content_type = upload_form(toy_wheel(tmp_path, "no-token-envs", files={"evil.pth": "x"}))
    fields = {"Authorization": authorization} if authorization else {}
    answer = registry.stranger.send("POST", "/upload/", body, Content_Type=content_type, **fields)
    assert (answer.status, "evil.pth" in answer.text) == (401, False)
    assert "Basic" in answer.fields["WWW-Authenticate"]


def test_a_password_needs_the_user_of_tokens(alice: RegistryClient, tmp_path: Path) -> None:
    """With another user name than __token__ a password is none."""
    body, content_type = upload_form(toy_wheel(tmp_path, "user-envs"))
    secret = base64.b64encode(f"alice:{alice.token}".encode()).decode()
    answer = alice.send("POST", "/upload/", body, Content_Type=content_type, Authorization=f"Basic {secret}")
    assert answer.status == 401


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"_action": "doc_upload"}, 400, ":action"),
        ({"_action": None}, 400, ":action"),
        ({"filetype": "bdist_egg"}, 400, "is no wheel"),
        ({"sha256_digest": "0" * 64}, 400, "sha256_digest"),
        ({"blake2_256_digest": "0" * 64}, 400, "blake2_256_digest"),
        ({"md5_digest": "0" * 32}, 400, "md5_digest"),
        ({"name": "other-envs"}, 400, "other-envs"),
        ({"name": "claims-envs\r\nX-Injected: yes"}, 400, "is about"),
        ({"name": "../../etc/passwd"}, 400, "is about"),
        ({"name": "\x00" * 100}, 400, "is about"),
        ({"version": "0.2.0"}, 400, "0.2.0"),
        ({"version": "not a version"}, 400, "not a version"),
        (
            {"name": None, "version": None, "sha256_digest": None, "md5_digest": None, "filetype": None},
            200,
            "published",
        ),
    ],
)
def test_what_the_form_says_must_be_what_the_wheel_is(
    alice: RegistryClient, tmp_path: Path, changes: dict[str, str | None], status: int, told: str
) -> None:
    """Fields that contradict the file are refused; fields that are missing are read from the wheel."""
    answer = alice.upload(toy_wheel(tmp_path, "claims-envs"), **changes)
    assert (answer.status, told in answer.text) == (status, True), answer.text
    assert "X-Injected" not in answer.fields


@pytest.mark.parametrize(
    "filename",
    [
        "../../claims_envs-0.1.0-py3-none-any.whl",
        "/etc/claims_envs-0.1.0-py3-none-any.whl",
        "..\\\\claims_envs-0.1.0-py3-none-any.whl",
        "claims_envs-0.1.0-py3-none-any.whl\x00.txt",
        "claims_envs-0.1.0-py3-none-any.whl\u2028",
        "a" * 3000 + ".whl",
        "",
        ".",
        "claims_envs-0.1.0.tar.gz",
    ],
)
def test_file_names_that_are_paths_or_tricks_are_refused(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path, filename: str
) -> None:
    """The gate sees the name as it was sent, and nothing is written under it."""
    content = toy_wheel(tmp_path, "claims-envs").read_bytes()
    before = sorted(registry.services.store.folder.rglob("*"))
    body, content_type = multipart([(":action", "file_upload")], [("content", filename, content)])
    answer = alice.send("POST", "/upload/", body, Content_Type=content_type)
    assert answer.status == 400, answer.text
    after = sorted(registry.services.store.folder.rglob("*"))
    assert [path for path in after if path.is_file() and path not in before and "registry.db" not in path.name] == []


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", "multipart/form-data; boundary=x", 400),
        (b"--x", "multipart/form-data; boundary=x", 400),
        (b"--x\r\n\r\n", "multipart/form-data; boundary=x", 400),
        (b"--y\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x\r\n" + b"A: b\r\n" * 100 + b"\r\nv\r\n--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x\r\n" + b"A" * 9000 + b": b\r\n\r\nv\r\n--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 415),
        (b"x", "multipart/form-data; boundary=", 415),
        (b"x", "multipart/form-data; boundary=" + "b" * 500, 400),
        (b"x", "\xff\xfe", 415),
    ],
)  # fmt: skip
def test_malformed_forms_are_refused(alice: RegistryClient, body: bytes, content_type: str, status: int) -> None:
    """Each gets an answer of its own kind, and no failure of the registry."""
    assert alice.send("POST", "/upload/", body, Content_Type=content_type).status == status


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [
                b"--" + BOUNDARY.encode(), b"--", b"\r\n", b"\r", b"\n", b'Content-Disposition: form-data; name="',
                b'"; filename="', b'"', b"content", b":action", b"file_upload", b"\x00", b"\xff", b";", b":",
                b"PK\x03\x04", b"a" * 70,
            ]
        ),
        max_size=40,
    )
)  # fmt: skip
def test_any_body_gets_a_refusal(registry: RunningRegistry, pieces: list[bytes]) -> None:
    """Whatever the pieces of a form are put together to, the answer is a 4xx."""
    client = registry.account("alice")
    media_type = f"multipart/form-data; boundary={BOUNDARY}"
    assert 400 <= client.send("POST", "/upload/", b"".join(pieces), Content_Type=media_type).status < 500


@pytest.mark.parametrize("chunked", [False, True])
def test_an_oversized_upload_is_cut_while_it_comes(
    registry: RunningRegistry, alice: RegistryClient, chunked: bool
) -> None:
    """A body of a gigabyte is refused after little more than the limit, with or without a declared length."""
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        head, _ = multipart([(":action", "file_upload")], [("content", "a_b-1-py3-none-any.whl", b"")])
        yield head[: head.index(b"\r\n--" + BOUNDARY.encode() + b"--")]
        while sent < 2**30:
            sent += 2**16
            yield bytes(2**16)

    connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=60)
    fields = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Authorization": f"Bearer {alice.token}"}
    fields |= {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(2**30)}
    status = 413
    try:
        connection.request("POST", "/upload/", endless(), fields, encode_chunked=chunked)
    except (BrokenPipeError, ConnectionResetError):
        status = 0  # it hung up while we were sending
    else:
        status = connection.getresponse().status
    finally:
        connection.close()
    assert status in (0, 413)
    assert sent < 64 * MEGABYTE  # what fits into the buffers of the connection and a little more
    wait_until_clear(registry)
    deadline = time.monotonic() + 60
    while registry.answers[-1:] != [("POST", "/upload/", 413)]:  # noted after the client was hung up on
        assert time.monotonic() < deadline, registry.answers[-1:]


def test_bytes_after_the_form_count_as_well(alice: RegistryClient, tmp_path: Path) -> None:
    """What follows the last boundary, which no parser looks at, ends at the limit too; so do bodies of the API."""
    form, content_type = upload_form(toy_wheel(tmp_path, "epilogue-envs"))

    def followed() -> Iterator[bytes]:
        yield form
        for _ in range(64):
            yield bytes(2**16)

    with suppress(ConnectionError):
        answer = alice.send("POST", "/upload/", followed(), Content_Type=content_type)
        assert answer.status == 413
    assert alice.send("GET", "/api/v1/packages/epilogue-envs").status == 404
    spaces = alice.send("POST", "/api/v1/tokens", iter([b" " * 40_000] * 2))
    assert spaces.status == 413


def test_a_form_without_its_end_is_no_upload(alice: RegistryClient, tmp_path: Path) -> None:
    """However much of the last boundary is missing, the file may be incomplete."""
    form, content_type = upload_form(toy_wheel(tmp_path, "endless-envs"))
    for missing in (3, 4, 5, 10, len(BOUNDARY) + 8, len(BOUNDARY) + 30):
        answer = alice.send("POST", "/upload/", form[:-missing], Content_Type=content_type)
        assert answer.status == 400, missing
    assert alice.send("GET", "/api/v1/packages/endless-envs").status == 404


def test_large_files_and_large_fields_are_told_apart(alice: RegistryClient, tmp_path: Path) -> None:
    """A file over the limit, fields over theirs, and too many fields each get their reason."""
    large = tmp_path / "large_envs-0.1.0-py3-none-any.whl"
    large.write_bytes(bytes(MEGABYTE + 1))
    assert alice.upload(large).status == 413
    wheel = toy_wheel(tmp_path, "field-envs")
    assert alice.upload(wheel, description="x" * 70_000).status == 413
    body, content_type = multipart([(f"f{n}", "") for n in range(5000)])
    assert alice.send("POST", "/upload/", body, Content_Type=content_type).status in (400, 413)


def test_a_zip_bomb_is_refused_by_the_gate(alice: RegistryClient, tmp_path: Path) -> None:
    """A wheel that unpacks to more than it may is refused without being unpacked."""
    wheel = toy_wheel(tmp_path, "bomb-envs")
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb_envs/zeros.bin", bytes(64 * MEGABYTE))
    assert wheel.stat().st_size < MEGABYTE
    answer = alice.upload(wheel)
    assert (answer.status, f"more than {ArchiveLimits().ratio} times" in answer.text) == (400, True)


def test_several_files_or_none_are_refused(alice: RegistryClient, tmp_path: Path) -> None:
    """One upload holds one file; a file of another name is left out."""
    wheel = toy_wheel(tmp_path, "many-envs")
    content = ("content", wheel.name, wheel.read_bytes())
    action = (":action", "file_upload")
    for files, fields, status in (
        ([content, content], [action], 400),
        ([], [action], 400),
        ([("gpg_signature", "x.asc", b"signature"), content], [action], 200),
        ([content], [action, action], 400),
    ):
        body, content_type = multipart(fields, files)
        assert alice.send("POST", "/upload/", body, Content_Type=content_type).status == status, files


def raw(port: int, *pieces: bytes, seconds: float = 30) -> bytes:
    """Send bytes on a connection; return all that comes back until it ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        with suppress(ConnectionError):  # the end of a connection with bytes that were not read
            while block := connection.recv(65536):
                received += block
    return received


@pytest.mark.parametrize(
    "head",
    [
        b"POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n0\r\n\r\n",
        b"POST /upload/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /upload/ HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 40_000,
        b"\r\n\r\n\r\nGARBAGE\r\n\r\n",
    ],
    ids=["length", "both", "chunk", "control", "blank", "tls", "long", "garbage"],
)
def test_broken_http_ends_the_connection(registry: RunningRegistry, head: bytes) -> None:
    """Requests that no client sends get a 400 at the most, and the registry serves on."""
    answer = raw(registry.port, head, b"\r\nConnection: close\r\n\r\n")
    assert answer == b"" or re.match(rb"HTTP/1.1 4\d\d ", answer), answer
    assert registry.stranger.send("GET", "/simple/").status == 200


def test_a_client_that_hangs_up_leaves_nothing(registry: RunningRegistry, alice: RegistryClient) -> None:
    """Half a body is no upload."""
    head = (
        f"POST /upload/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice.token}\r\nContent-Length: 100000\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n--{BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="content"; filename="a.whl"\r\n\r\nPK'
    )
    with socket.create_connection(("127.0.0.1", registry.port)) as connection:
        connection.sendall(head.encode())
    assert registry.stranger.send("GET", "/simple/").status == 200


def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    """A client that begins an upload and sends no more is told so after the grace time."""
    with running_registry(tmp_path / "hub", limits=FormLimits(grace_seconds=0.2)) as registry:
        token = registry.account("alice").token
        head = (
            f"POST /upload/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100000\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n--{BOUNDARY}\r\n"
        )
        answer = raw(registry.port, head.encode())
        assert answer.startswith(b"HTTP/1.1 408 the body came with less than")


@pytest.mark.slow
def test_a_slow_header_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a whole request ends after its time, also after an earlier request on it."""
    for limit in ("_REQUEST_SECONDS", "_KEPT_ALIVE_SECONDS"):
        monkeypatch.setattr(f"gem_hub.registry.server.{limit}", 1.0)
    with running_registry(tmp_path / "hub") as registry:
        assert raw(registry.port) == b""
        assert raw(registry.port, b"GET / HT") == b""
        answered = raw(registry.port, b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HT")
        assert answered.startswith(b"HTTP/1.1 404 ")


def test_connections_beyond_the_limit_are_told_to_come_back(tmp_path: Path) -> None:
    """The registry keeps answering those that it has."""
    from registry_server import GENEROUS

    from gem_hub.registry.settings import RegistrySettings

    small = RegistrySettings(connections=4, conformance=False, quotas=GENEROUS)
    with running_registry(tmp_path / "hub", small) as registry:
        held = [socket.create_connection(("127.0.0.1", registry.port)) for _ in range(4)]
        try:
            assert raw(registry.port).startswith(b"HTTP/1.1 503 ")
        finally:
            for connection in held:
                connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_does_not_take_every_connection(tmp_path: Path) -> None:
    """Beyond its share an address is told to come back, and its neighbour is answered; a proxy speaks for many."""
    from registry_server import GENEROUS

    from gem_hub.registry.settings import RegistrySettings

    def settings(*proxies: str) -> RegistrySettings:
        return RegistrySettings(
            connections_per_address=3, conformance=False, quotas=GENEROUS, trusted_proxies=list(proxies)
        )

    request = b"GET /root.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    for proxies, expected in (((), b"503"), (("127.0.0.1",), b"200")):
        with running_registry(tmp_path / "hub", settings(*proxies)) as registry:
            held = [socket.create_connection(("127.0.0.1", registry.port)) for _ in range(3)]
            try:
                assert raw(registry.port, request).startswith(b"HTTP/1.1 " + expected)
                with socket.create_connection(
                    ("127.0.0.1", registry.port), source_address=("127.0.0.2", 0)
                ) as neighbour:
                    neighbour.sendall(request)
                    assert neighbour.recv(100).startswith(b"HTTP/1.1 200")
            finally:
                for connection in held:
                    connection.close()


@pytest.mark.parametrize("order", [("sdist", "wheel"), ("wheel", "sdist")])
def test_a_source_archive_beside_the_wheel_is_passed_over(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path, order: tuple[str, ...]
) -> None:
    """uv, twine and hatch send both, in either order: the wheel is published, and the archive is no failure."""
    name = f"both-{order[0]}-envs"
    wheel = toy_wheel(tmp_path, name)
    archive = tmp_path / f"{name.replace('-', '_')}-0.1.0.tar.gz"
    archive.write_bytes(b"not looked into")
    for kind in order:
        answer = alice.upload(wheel) if kind == "wheel" else alice.upload(archive, filetype="sdist", name=name)
        assert answer.status == 200, answer.text
        assert answer.json["state"] == ("published" if kind == "wheel" else "not kept")
    assert [record.filename for record in registry.services.store.existing(name).records] == [wheel.name]


def test_the_address_that_hatch_prints_leads_to_the_package(registry: RunningRegistry) -> None:
    """It prints NAME/VERSION/ after the address that it uploaded to."""
    answer = registry.stranger.send("GET", "/upload/My_Envs/0.1.0/")
    assert (answer.status, answer.fields["Location"]) == (302, "/p/my-envs/")
    assert registry.stranger.send("GET", "/upload/%0d%0a/0.1.0/").status == 404


def test_static_files_are_those_of_the_static_server(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """For pages, files, ranges, unknown names and private paths, both servers send the same status, fields and body."""
    import threading

    from gem_hub.serve import HubServer

    alice.upload(toy_wheel(tmp_path, "static-envs"))
    (release,) = registry.services.store.existing("static-envs").releases
    file = f"/files/{release.sha256[:2]}/{release.sha256}/{release.filename}"
    asked: list[tuple[str, str, dict[str, str]]] = [
        ("GET", "/root.json", {}),
        ("GET", "/simple/static-envs/", {"Accept": "application/vnd.pypi.simple.v1+json"}),
        ("GET", "/simple/static-envs/", {"Accept": "text/html"}),
        ("GET", "/simple/static-envs/", {"Accept": "image/png"}),
        ("GET", "/simple/Static_Envs/", {}),
        ("GET", "/simple/nothing-here/", {}),
        ("GET", file, {}),
        ("GET", file, {"Range": "bytes=5-9"}),
        ("GET", file, {"Range": "bytes=99999999-"}),
        ("HEAD", file, {}),
        ("GET", "/.gem-hub/registry/registry.db", {}),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", {}),
        ("GET", "/.gem-hub%2fregistry%2fregistry.db", {}),
        ("GET", "/simple/../../etc/passwd", {}),
    ]
    with HubServer(registry.services.store.folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            plain = RegistryClient(server.port)
            for method, path, fields in asked:
                ours = registry.stranger.send(method, path, None, **fields)
                theirs = plain.send(method, path, None, **fields)
                assert (ours.status, ours.body) == (theirs.status, theirs.body), path
                assert {name.lower(): value for name, value in ours.fields.items() if name.lower() != "date"} == {
                    name.lower(): value for name, value in theirs.fields.items() if name.lower() != "date"
                }, path
        finally:
            server.shutdown()
            thread.join()


def test_tokens_have_a_form_that_scanners_know_and_are_kept_as_digests(registry: RunningRegistry) -> None:
    """A changed digit breaks the checksum; the database holds the SHA-256 and never the token."""
    token = registry.account("alice").token
    assert re.fullmatch(r"gem_[0-9A-Za-z]{49}", token)
    assert is_token(token)
    assert len({new_token() for _ in range(100)}) == 100
    for place in range(4, len(token)):
        other = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        assert not is_token(other), place
    with registry.services.database.read() as connection:
        dump = json.dumps([list(map(str, row)) for row in connection.exec_driver_sql("SELECT * FROM tokens")])
    assert token not in dump
    assert digest_of(token) in dump
