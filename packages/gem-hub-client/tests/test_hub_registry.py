"""The client of a registry: where tokens lie, where they go, and what is sent, against a server that takes notes."""

from __future__ import annotations

import json
import os
import stat
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import hub_at, use
from gem_hub_client.errors import HubError
from gem_hub_client.folders import config_file
from gem_hub_client.registry.addresses import default_registry, registry_address
from gem_hub_client.registry.client import RegistryClient, RegistryRefusal
from gem_hub_client.registry.credentials import Login, credentials_file, forget, login_of, logins, remember
from gem_hub_client.registry.token_scope import check_safe, is_loopback
from gem_hub_client.registry.uploading import read_wheel, upload

pytestmark = pytest.mark.usefixtures("own_folders")

TOKEN = "gem_" + "a1" * 24 + "Z"
LOGIN = Login(TOKEN, "ada")


class Notes:
    """A server that notes requests and answers what it is told."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer: tuple[int, bytes, dict[str, str]] = (200, b"{}", {})
        self.answers: dict[str, tuple[int, bytes, dict[str, str]]] = {}

    def reply(self, status: int, value: Any, **fields: str) -> None:
        """Answer every request with a JSON value, or with bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answer = (status, body, {name.replace("_", "-"): text for name, text in fields.items()})

    @property
    def tokens(self) -> list[str | None]:
        """The header ``Authorization`` of each request."""
        return [fields.get("authorization") for _, _, fields, _ in self.requests]


@contextmanager
def noting_server() -> Iterator[Notes]:
    """Run such a server on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fields = {name.lower(): value for name, value in self.headers.items()}
            notes.requests.append((self.command, self.path, fields, body))
            status, content, more = notes.answers.get(self.path, notes.answer)
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
                **more,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        notes = Notes(f"http://127.0.0.1:{server.server_address[1]}/")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield notes
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notes]:
    monkeypatch.setenv("NO_PROXY", "*")
    with noting_server() as notes:
        yield notes


def gem_hub(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(hub_command, list(arguments), input=stdin)


def small_wheel(folder: Path, name: str = "my_envs", version: str = "0.1.0") -> Path:
    """Write a file with the metadata of a wheel, which is all that the client reads of one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nSummary: Ünïcode toys.\n\nText.\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        archive.writestr(f"{name}/data.bin", os.urandom(200_000))
    return path


# Addresses.


@pytest.mark.parametrize(
    ("spelling", "address"),
    [
        ("https://hub.example", "https://hub.example/"),
        ("HTTPS://Hub.Example:443/", "https://hub.example/"),
        ("https://hub.example.:8443/Path/", "https://hub.example:8443/Path/"),
        ("http://127.0.0.1:80", "http://127.0.0.1/"),
        ("http://localhost:8000", "http://localhost:8000/"),
        ("http://[::1]:8000", "http://[::1]:8000/"),
    ],
)
def test_a_registry_has_one_spelling(spelling: str, address: str) -> None:
    """So that the token of a registry is found however its address is written."""
    assert registry_address(spelling) == registry_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "http://hub.example/",
        "http://10.0.0.1/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "https://ada:secret@hub.example/",
        "https://hub.example:port/",
        "ftp://hub.example/",
        "file:///srv/hub",
        "/srv/hub",
        "https:///",
    ],
)
def test_no_token_goes_to_an_unsafe_address(address: str) -> None:
    """Unencrypted, unless on this machine, or no address of a server: refused before anything is sent."""
    with pytest.raises(HubError):
        registry_address(address)
    assert not credentials_file().exists()


@given(st.from_regex(r"http://[a-z0-9.-]{1,30}(:[0-9]{1,5})?/", fullmatch=True))
def test_plain_http_is_for_this_machine_alone(address: str) -> None:
    """Whatever host is named, a token goes there over http only if it is a loopback address."""
    host = address[7:-1].partition(":")[0]
    if is_loopback(host):
        check_safe(address)
        return
    with pytest.raises(HubError, match="no token is sent there"):
        check_safe(address)


def test_the_default_is_the_hub_in_use_and_then_the_only_login() -> None:
    """A hub over a network precedes a login; with two logins nothing is guessed."""
    assert default_registry() is None
    remember("https://one.example/", LOGIN)
    assert default_registry() == "https://one.example/"
    remember("https://two.example/", LOGIN)
    assert default_registry() is None
    use([hub_at("official"), hub_at("https://three.example")])
    assert default_registry() == "https://three.example/"


# Credentials.


def test_a_login_is_stored_for_its_owner_alone() -> None:
    """The file has the mode 0600 from its first byte on, whatever the umask; other files are not left behind."""
    umask = os.umask(0)
    try:
        path = remember("https://hub.example/", LOGIN)
    finally:
        os.umask(umask)
    assert path == credentials_file() == config_file().with_name("credentials.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert login_of("https://hub.example/") == LOGIN
    assert login_of("https://hub.example/other/") is None
    assert {one.name for one in path.parent.iterdir()} <= {"credentials.json", ".credentials.json.lock"}


def test_rights_are_never_wider_than_the_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that becomes the file is created with its rights, not narrowed afterwards."""
    modes = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        modes.append(stat.S_IMODE(self.stat().st_mode))
        return replace(self, target)

    monkeypatch.setattr(Path, "chmod", lambda *arguments: pytest.fail("a file that must be narrowed was wide"))
    monkeypatch.setattr(Path, "replace", noted)
    remember("https://hub.example/", LOGIN)
    assert modes == [0o600]


def test_a_file_that_others_may_read_is_refused() -> None:
    """With the command that mends it."""
    path = remember("https://hub.example/", LOGIN)
    path.chmod(0o640)
    with pytest.raises(HubError, match="chmod 600"):
        logins()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 2, "hubs": {}}', TOKEN.encode(), b"\xff" * 9, b"[" * 9999],
)
def test_a_damaged_file_is_one_sentence_without_its_content(content: bytes) -> None:
    """What lies there may be a token, so it is not shown."""
    path = remember("https://hub.example/", LOGIN)
    path.write_bytes(content)
    with pytest.raises(HubError) as caught:
        logins()
    assert str(path) in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_logins_at_the_same_time_are_all_kept() -> None:
    """Sixteen commands at once store sixteen logins."""
    addresses = [f"https://hub{number}.example/" for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        [*pool.map(lambda address: remember(address, LOGIN), addresses)]
    assert sorted(logins()) == sorted(addresses)
    assert forget(addresses[0])
    assert not forget(addresses[0])
    assert len(logins()) == 15


def test_a_token_is_in_no_representation() -> None:
    """Neither a traceback nor a log of a login shows it."""
    assert TOKEN not in repr(LOGIN)
    assert TOKEN not in f"{LOGIN}"


# Requests.


def test_a_token_goes_to_its_registry(server: Notes) -> None:
    """As Bearer, with each request."""
    server.reply(200, {"account": "ada"})
    assert RegistryClient(server.address, TOKEN).get("api/v1/me") == {"account": "ada"}
    ((method, path, fields, _),) = server.requests
    assert (method, path) == ("GET", "/api/v1/me")
    assert fields["authorization"] == f"Bearer {TOKEN}"
    assert fields["user-agent"].startswith("gem-hub-client/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", ["another", "own", "/elsewhere", "file:///etc/passwd"])
def test_no_redirect_is_followed(status: int, target: str, server: Notes) -> None:
    """Neither the token nor an upload reaches the place that the registry names, and the user sees its name."""
    with noting_server() as other:
        location = {"another": f"{other.address}api/v1/me", "own": f"{server.address}api/v1/you"}.get(target, target)
        server.reply(status, b"", Location=location)
        for method in ("GET", "POST"):
            with pytest.raises(HubError, match="redirects to") as caught:
                RegistryClient(server.address, TOKEN).send(method, "api/v1/me")
            assert location in str(caught.value)
        assert other.requests == []
        assert len(server.requests) == 2


def test_a_proxy_never_sees_a_token_in_the_clear(server: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry on this machine is reached directly, whatever proxy is set for http."""
    with noting_server() as proxy:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        RegistryClient(server.address, TOKEN).get("api/v1/me")
        assert (len(server.requests), proxy.requests) == (1, [])


def test_an_upload_that_is_cut_off_says_so(tmp_path: Path) -> None:
    """A registry that closes the connection amid a large file is not called unreachable."""
    import socket

    path = small_wheel(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("my_envs/large.bin", os.urandom(20 << 20))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.close()

        thread = threading.Thread(target=cut)
        thread.start()
        client = RegistryClient(f"http://127.0.0.1:{listener.getsockname()[1]}/", TOKEN)
        with pytest.raises(HubError, match="may be too large"):
            upload(client, read_wheel(path))
        thread.join()


@pytest.mark.parametrize("token", ["gem_x\r\nX-Evil: 1", "gem x", "gem_ü", "gem_\x00"])
def test_a_token_cannot_bring_header_fields(token: str, server: Notes) -> None:
    """What no token consists of is refused before anything is sent."""
    with pytest.raises(HubError, match="characters"):
        RegistryClient(server.address, token)


def test_a_refusal_says_why_in_the_registrys_words(server: Notes) -> None:
    """Problem details, plain text and bare statuses are read; control characters and endless waits are not."""
    client = RegistryClient(server.address, TOKEN)
    server.reply(403, {"detail": "ada does not\x1b[31m own it"}, Content_Type="application/problem+json")
    with pytest.raises(RegistryRefusal, match="ada does not") as caught:
        client.get("api/v1/me")
    assert caught.value.status == 403
    assert "\x1b" not in str(caught.value)
    server.reply(400, b"the wheel has no manifest\n", Content_Type="text/plain")
    with pytest.raises(RegistryRefusal, match="the wheel has no manifest"):
        client.get("x")
    server.reply(401, b"")
    with pytest.raises(RegistryRefusal, match="gem hub login"):
        client.get("x")
    server.reply(429, {"detail": "slowly"}, Retry_After="99999999999")
    with pytest.raises(RegistryRefusal) as caught:
        client.get("x")
    assert caught.value.retry_after == 86_400
    server.reply(404, b"<html>")
    assert client.get("x", missing={}) == {}
    with pytest.raises(RegistryRefusal, match="is this the address of a registry"):
        client.get("x")


@pytest.mark.parametrize("content", [b"<html>", b"{", b"\xff", b"[" * 100_000], ids=["html", "half", "bytes", "deep"])
def test_what_is_no_registry_is_recognised(content: bytes, server: Notes) -> None:
    """A page of a web server is no answer."""
    server.reply(200, content)
    with pytest.raises(HubError, match="is this the address of a registry"):
        RegistryClient(server.address).get("api/v1/me")


def test_an_endless_answer_is_cut(server: Notes) -> None:
    """Four megabytes are more than any answer has."""
    server.reply(200, b"x" * (5 << 20))
    with pytest.raises(HubError, match="more than"):
        RegistryClient(server.address).get("api/v1/me")


# Uploads.


def test_an_upload_is_a_form_that_others_read(server: Notes, tmp_path: Path) -> None:
    """Split at its boundary, it has every field, and the wheel byte for byte."""
    server.reply(200, {"name": "my-envs"})
    path = small_wheel(tmp_path)
    wheel = read_wheel(path)
    sent: list[int] = []
    assert upload(RegistryClient(server.address, TOKEN), wheel, sent.append) == {"name": "my-envs"}
    assert sum(sent) == wheel.size == path.stat().st_size
    ((method, target, fields, body),) = server.requests
    assert (method, target, fields["authorization"]) == ("POST", "/upload/", f"Bearer {TOKEN}")
    boundary = fields["content-type"].removeprefix("multipart/form-data; boundary=").encode()
    first, *parts, last = body.split(b"--" + boundary)
    assert (first, last) == (b"", b"--\r\n")
    named = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        named[head.decode().partition('name="')[2].partition('"')[0]] = (head, content.removesuffix(b"\r\n"))
    assert f'filename="{path.name}"'.encode() in named["content"][0]
    assert named["content"][1] == path.read_bytes()
    texts = {name: content.decode() for name, (_, content) in named.items() if name != "content"}
    assert texts[":action"] == "file_upload"
    assert (texts["name"], texts["version"], texts["filetype"]) == ("my_envs", "0.1.0", "bdist_wheel")
    assert texts["summary"] == "Ünïcode toys."
    assert len(texts["sha256_digest"]) == len(texts["blake2_256_digest"]) == 64


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("my_envs-0.1.0.tar.gz", b"", "is no wheel"),
        ("my_envs.whl", b"", "Invalid wheel filename"),
        ("my_envs-0.1.0-py3-none-any.whl", b"not a zip", "cannot be read as a wheel"),
        ("my_envs-0.1.0-py3-none-any.whl", None, "there is no such file"),
    ],
    ids=["sdist", "name", "content", "missing"],
)
def test_what_is_no_wheel_is_not_sent(name: str, content: bytes | None, reason: str, tmp_path: Path) -> None:
    """Each is one sentence with the way to build one, where that helps."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HubError, match=reason):
        read_wheel(path)


# Commands.


def test_publish_never_pretends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Notes) -> None:
    """Without a registry behind the address, without a login, and with any answer that is no success, it fails."""
    monkeypatch.chdir(tmp_path)
    wheel = str(small_wheel(tmp_path / "dist"))
    for hub in ("https://127.0.0.1:9/gem/", server.address):
        done = gem_hub("publish", wheel, "--hub", hub)
        assert (done.exit_code, "published" in done.output) == (1, False)
        assert f"gem hub login --hub {hub}" in done.stderr
    remember("https://127.0.0.1:9/gem/", LOGIN)
    done = gem_hub("publish", wheel, "--hub", "https://127.0.0.1:9/gem/")
    assert done.exit_code == 1
    assert "cannot be reached" in done.stderr
    remember(server.address, LOGIN)
    for answer in ((500, b"oops"), (200, b"[]"), (200, b"<html>published</html>"), (302, b"")):
        server.answers["/upload/"] = (*answer, {"Location": "/published"})
        done = gem_hub("publish", wheel, "--hub", server.address)
        assert (done.exit_code, "published" in done.stdout) == (1, False)
        assert isinstance(done.exception, SystemExit)
    assert not [*tmp_path.glob("http*")]


def test_publish_takes_what_is_in_dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Notes) -> None:
    """As uv publish does; a failure names what was published before it."""
    monkeypatch.chdir(tmp_path)
    remember(server.address, LOGIN)
    empty = gem_hub("publish", "--hub", server.address)
    assert empty.exit_code == 2
    assert "pip wheel --no-deps --wheel-dir dist ." in empty.stderr
    assert "name a project or wheels" in gem_hub("publish", ".", "--hub", server.address).stderr
    for version in ("0.1.0", "0.2.0"):
        small_wheel(tmp_path / "dist", version=version)
    server.reply(200, {"name": "my-envs", "version": "?", "state": "published", "conformance": "queued", "sha256": "0"})
    done = gem_hub("publish", "--hub", server.address, "--json")
    assert done.exit_code == 0, done.output
    assert [one["filename"][8:13] for one in json.loads(done.stdout)["wheels"]] == ["0.1.0", "0.2.0"]
    assert [request[1] for request in server.requests] == ["/api/v1/me", "/upload/", "/upload/"]


def test_a_login_reads_its_token_from_stdin(server: Notes) -> None:
    """It is verified before it is stored, and no option takes it, since others can read a command's arguments."""
    server.reply(200, {"account": "ada", "scopes": ["publish"]})
    done = gem_hub("login", "--hub", server.address, stdin=f"{TOKEN}\n")
    assert done.exit_code == 0, done.output
    assert TOKEN not in done.output
    assert login_of(server.address) == LOGIN
    assert server.tokens == [f"Bearer {TOKEN}"]
    assert "ada at" in gem_hub("whoami", "--hub", server.address).output
    assert gem_hub("login", TOKEN, "--hub", server.address).exit_code == 2
    assert gem_hub("login", "--token", TOKEN, "--hub", server.address).exit_code == 2


def test_a_refused_token_is_not_stored(server: Notes) -> None:
    """Neither is an empty one, nor two, nor one that the registry does not know."""
    for text in ("", "  \n", "two words", "x" * 2000):
        assert "holds no token" in gem_hub("login", "--hub", server.address, stdin=text).stderr
    assert server.requests == []
    server.reply(401, {"detail": "the token is wrong"})
    done = gem_hub("login", "--hub", server.address, stdin=TOKEN)
    assert done.exit_code == 1
    assert "nothing was stored" in done.stderr
    assert logins() == {}


def test_an_account_is_created_once(server: Notes) -> None:
    """The token of a new account is stored at once; a second account would lose the first, and is refused."""
    server.reply(201, {"account": "ada", "token": TOKEN})
    assert gem_hub("login", "--hub", server.address, "--name", "ada", "--invite", "i").exit_code == 0
    assert json.loads(server.requests[0][3]) == {"name": "ada", "invite": "i"}
    assert server.tokens == [None]
    assert login_of(server.address) == LOGIN
    again = gem_hub("login", "--hub", server.address, "--name", "eve")
    assert again.exit_code == 1
    assert "gem hub logout" in again.stderr
    assert len(server.requests) == 1
    assert gem_hub("login", "--hub", server.address, "--invite", "i").exit_code == 2


def test_no_account_is_created_whose_token_cannot_be_stored(server: Notes) -> None:
    """The file is looked at first, and its folder as well."""
    path = remember("https://hub.example/", LOGIN)
    path.write_text("damaged", encoding="utf-8")
    assert gem_hub("login", "--hub", server.address, "--name", "ada").exit_code == 1
    path.unlink()
    lock = path.with_name(".credentials.json.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()  # so that nothing can be written, not even by root
    done = gem_hub("login", "--hub", server.address, "--name", "ada")
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
    assert server.requests == []


def test_a_logout_revokes_the_token_and_forgets_it(server: Notes) -> None:
    """A token that is void already is forgotten as well; a registry that fails keeps it."""
    for status, left in ((503, 1), (401, 0), (200, 0)):
        remember(server.address, LOGIN)
        server.reply(status, {"detail": "so"})
        assert gem_hub("logout", "--hub", server.address).exit_code == (1 if left else 0)
        assert len(logins()) == left
    assert {request[:2] for request in server.requests} == {("DELETE", "/api/v1/tokens/current")}
    remember(server.address, LOGIN)
    before = len(server.requests)
    assert gem_hub("logout", "--keep-token", "--hub", server.address).exit_code == 0
    assert (len(server.requests), logins()) == (before, {})


CHANGES = [
    (("yank", "My_Envs", "0.1.0", "--reason", "why"), "PUT", "/api/v1/packages/my-envs/0.1.0/yank", {"reason": "why"}),
    (("unyank", "my-envs", "0.1.0"), "DELETE", "/api/v1/packages/my-envs/0.1.0/yank", None),
    (("deprecate", "my-envs", "--reason", "why"), "PUT", "/api/v1/packages/my-envs/deprecation", {"reason": "why"}),
    (("deprecate", "my-envs", "--lift"), "DELETE", "/api/v1/packages/my-envs/deprecation", None),
    (("quarantine", "my-envs", "--reason", "why"), "PUT", "/api/v1/packages/my-envs/quarantine", {"reason": "why"}),
    (
        ("quarantine", "my-envs", "--lift", "--reason", "why"),
        "DELETE",
        "/api/v1/packages/my-envs/quarantine",
        {"reason": "why"},
    ),
    (("owner", "add", "my-envs", "b/ob"), "PUT", "/api/v1/packages/my-envs/owners/b%2Fob", None),
    (("owner", "remove", "my-envs", "bob"), "DELETE", "/api/v1/packages/my-envs/owners/bob", None),
    (
        ("report", "my-envs", "--summary", "bad"),
        "POST",
        "/api/v1/packages/my-envs/reports",
        {"kind": "other", "summary": "bad"},
    ),
    (("tokens", "revoke", "7"), "DELETE", "/api/v1/tokens/7", None),
    (("publishers", "remove", "my-envs", "3"), "DELETE", "/api/v1/packages/my-envs/publishers/3", None),
    (
        ("publishers", "add", "my-envs", "--github", "ada/my-envs", "--environment", "hub", "--repository-id", "7"),
        "POST",
        "/api/v1/packages/my-envs/publishers",
        {
            "issuer": "github",
            "repository": "ada/my-envs",
            "workflow": "ci.yml",
            "repository_id": "7",
            "environment": "hub",
        },
    ),
    (
        ("publishers", "add", "my-envs", "--subject", "job:1", "--issuer", "ci", "--claim", "branch=main"),
        "POST",
        "/api/v1/packages/my-envs/publishers",
        {"issuer": "ci", "subject": "job:1", "claims": {"branch": "main"}},
    ),
]


@pytest.mark.parametrize(("command", "method", "path", "body"), CHANGES, ids=lambda value: None)
def test_a_change_is_one_request(
    command: tuple[str, ...], method: str, path: str, body: Any, server: Notes, tmp_path: Path
) -> None:
    """With the token of that hub alone, in the form that the registry documents; what it refuses is an error."""
    remember(server.address, LOGIN)
    remember("https://other.example/", Login("gem_other", "eve"))
    assert gem_hub(*command, "--hub", server.address).exit_code == 0
    ((sent, target, fields, content),) = server.requests
    assert (sent, target, fields["authorization"]) == (method, path, f"Bearer {TOKEN}")
    assert (json.loads(content) if content else None) == body
    server.reply(403, {"detail": "bob owns it"})
    refused = gem_hub(*command, "--hub", server.address)
    assert refused.exit_code == 1
    assert "bob owns it" in refused.stderr
    assert gem_hub(*command, "--hub", "https://third.example/").exit_code == 1
    assert len(server.requests) == 2


def test_a_hub_in_a_folder_takes_gem_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without gem-hub, a folder is refused with what to install, and an address works."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for command in (["publish", "x.whl"], ["yank", "a", "1", "--reason", "r"], ["owner", "add", "a", "b"]):
        done = gem_hub(*command, "--hub", str(tmp_path))
        assert done.exit_code == 2
        assert "pip install gem-hub" in done.stderr
    assert "gem hub login" in gem_hub("yank", "a", "1", "--reason", "r", "--hub", "https://hub.example").stderr
    nowhere = gem_hub("yank", "a", "1", "--reason", "r")
    assert nowhere.exit_code == 2
    assert "--hub https://" in nowhere.stderr


@pytest.mark.parametrize("spelling", [["--hub", "{}"], ["--hub={}"]])
def test_the_address_chooses_the_form_of_a_command(spelling: list[str], server: Notes, tmp_path: Path) -> None:
    """An option of the form for folders is refused for an address, and an address of no hub is refused."""
    for address in (server.address, "https://other.example/"):  # so that no registry is the default
        remember(address, LOGIN)
    hub = [part.format(server.address) for part in spelling]
    assert gem_hub("unyank", "my-envs", "1", *hub).exit_code == 0
    refused = gem_hub("unyank", "my-envs", "1", "--by", "me", *hub)
    assert refused.exit_code == 2
    assert "--by" in refused.stderr
    assert gem_hub("unyank", "my-envs", "1", "--hub", "ftp://hub.example").exit_code == 1


@pytest.mark.parametrize("hubs", ["", "ftp://hub.example", "http://hub.example/", "https://hub.example/"])
def test_completion_works_whatever_the_settings_are(hubs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that completes options shows no traceback, and the commands themselves say what is wrong."""
    from click.shell_completion import ShellComplete

    monkeypatch.setenv("GEM_HUB", hubs)
    complete = ShellComplete(hub_command, {}, "gem", "_GEM_COMPLETE")
    for words in (["publish"], ["yank", "a", "1"], ["owner", "add"], ["login"], ["tokens", "new", "x"]):
        assert "--hub" in [item.value for item in complete.get_completions(words, "--h")]
    done = gem_hub("yank", "a", "1", "--reason", "r", "--hub", hubs or "https://hub.example/")
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)


def test_a_person_types_a_token_unseen(server: Notes) -> None:
    """On a terminal, the command asks for the token, and does not show what is typed."""
    import pty
    import subprocess
    import sys

    server.reply(200, {"account": "ada"})
    screen, inside = pty.openpty()
    code = "from gem_hub_client.cli.group import hub_command; hub_command()"
    command = [sys.executable, "-c", code, "login", "--hub", server.address]
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True) as process:
        os.close(inside)
        shown = ""
        while "Token" not in shown:
            shown += os.read(screen, 4096).decode()
        os.write(screen, f"{TOKEN}\n".encode())
        try:
            while block := os.read(screen, 4096):
                shown += block.decode()
        except OSError:  # how Linux says that the other side has closed
            pass
        assert process.wait() == 0
    os.close(screen)
    assert "Logged in as ada" in shown
    assert TOKEN not in shown
    assert login_of(server.address) == LOGIN
