from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from toy_hub import publish_wheel, synthetic_release

from gem_hub import installer_index as asking
from gem_hub.cli.serve import serve_command
from gem_hub.errors import HubRefusal
from gem_hub.hosting import SIMPLE_JSON, Settings, headers, nginx
from gem_hub.installer_index import installer_index
from gem_hub.negotiation import FORMS, SIMPLE_HTML, chosen_form
from gem_hub.serve import HubServer
from gem_hub.static_answers import StaticAnswers
from gem_hub.store import Store

SERVE = [sys.executable, "-u", "-m", "gem", "hub", "serve"]
ELSEWHERE = "http://127.0.0.1:9/simple/"
PIP_22_1 = "text/html"
PIP = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"
UV = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.body = response.read()
        self.fields = response.headers

    @property
    def type(self) -> str:
        return self.fields.get_content_type()


class Client:
    """Asks a server on this machine, each time on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(self, path: str, method: str = "GET", **fields: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in fields.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            return Answer(connection.getresponse())
        finally:
            connection.close()


def raw(port: int, request: str) -> bytes:
    """Send what no client library would, and return all that comes back until the server closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request.encode("latin-1"))
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


@contextmanager
def serving(folder: Path, fallback: str = "") -> Iterator[Client]:
    """Serve a hub on a free port; yield a client of it."""
    with HubServer(folder, fallback=fallback) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Client(server.port)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hub(store: Store, wheel: Callable[..., Path]) -> Path:
    """A hub with a hosted package of two releases and a linked one."""
    publish_wheel(store, wheel())
    publish_wheel(store, wheel(version="0.2.0"))
    release, metadata = synthetic_release("alpha", "1.0")
    store.publish(release, None, metadata)
    return store.folder


@pytest.fixture
def ask(hub: Path) -> Iterator[Client]:
    with serving(hub) as client:
        yield client


def public_files(hub: Path) -> list[str]:
    return sorted(
        path.relative_to(hub).as_posix()
        for path in hub.rglob("*")
        if path.is_file() and ".gem-hub" not in path.relative_to(hub).parts
    )


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (PIP, SIMPLE_JSON),
        (UV, SIMPLE_JSON),
        (PIP_22_1, "text/html"),
        (BROWSER, "text/html"),
        (None, "text/html"),
        ("", "text/html"),
        ("*/*", "text/html"),
        ("text/*", "text/html"),
        ("application/*", SIMPLE_JSON),
        ("application/vnd.pypi.simple.latest+json", SIMPLE_JSON),
        ("application/vnd.pypi.simple.latest+html, text/html;q=0.5", SIMPLE_HTML),
        (f"text/html, {SIMPLE_JSON}", SIMPLE_JSON),
        (f"text/html, {SIMPLE_JSON};q=0.9", "text/html"),
        (f"{SIMPLE_JSON};q=0, */*", "text/html"),
        (f"{SIMPLE_JSON.upper()} ; Q=1.0", SIMPLE_JSON),
        ("text/html;q=0, */*;q=0.1", SIMPLE_HTML),
        ("text/html;q=lots, application/vnd.pypi.simple.v1+html;q=0.001", SIMPLE_HTML),
        ("application/json", None),
        ("application/vnd.pypi.simple.v2+json", None),
        ("*/*;q=0", None),
        (",;=,", None),
    ],
)
def test_a_client_gets_what_it_wants_most(accept: str | None, form: str | None) -> None:
    """The form of a page follows from quality, then from how precisely it was named, then from what JSON knows more."""
    assert chosen_form(accept) == form


@given(st.lists(st.tuples(st.sampled_from([*FORMS, "*/*", "text/*", "image/png"]), st.sampled_from(["0", "0.5", "1"]))))
def test_nobody_gets_what_was_ruled_out(ranges: list[tuple[str, str]]) -> None:
    """Whatever a client asks for, it gets a form that it named or covered with a quality above 0."""
    form = chosen_form(", ".join(f"{name};q={quality}" for name, quality in ranges) or None)
    wanted = dict(ranges or [("*/*", "1")])
    covering = [[form, f"{form.partition('/')[0]}/*", "*/*"] for form in FORMS]
    acceptable = [
        names[0] for names in covering if next((wanted[name] for name in names if name in wanted), "0") != "0"
    ]
    assert form in acceptable if acceptable else form is None


@pytest.mark.parametrize("path", ["/simple/", "/simple/toy-envs/"])
def test_pages_are_negotiated(ask: Client, hub: Path, path: str) -> None:
    """The same address gives HTML or JSON, each under its own type and tag, and says that it varies."""
    answers = {accept: ask(path, Accept=accept) for accept in (PIP, UV, PIP_22_1, BROWSER, SIMPLE_HTML)}
    types = [answer.type for answer in answers.values()]
    assert types == [SIMPLE_JSON, SIMPLE_JSON, "text/html", "text/html", SIMPLE_HTML]
    assert answers[PIP].body == (hub / path[1:] / "index.json").read_bytes()
    assert answers[PIP_22_1].body == (hub / path[1:] / "index.html").read_bytes()
    assert {answer.fields["Vary"] for answer in answers.values()} == {"Accept"}
    assert answers[PIP].fields["ETag"] != answers[PIP_22_1].fields["ETag"]
    refused = ask(path, Accept="application/json")
    assert refused.status == HTTPStatus.NOT_ACCEPTABLE
    assert refused.fields["Vary"] == "Accept"
    assert all(form in refused.body.decode() for form in FORMS)


def test_json_of_an_index_never_leaves_under_a_type_that_installers_refuse(ask: Client, hub: Path) -> None:
    """Whatever a client accepts, what begins as JSON in simple/ has the type of PEP 691, and nothing else has."""
    pages = [path for path in public_files(hub) if path.startswith("simple/")]
    assert len(pages) == 6
    for page in pages:
        for path in (page, page.rpartition("/")[0] + "/"):
            for accept in (PIP, PIP_22_1, "application/json", "*/*"):
                answer = ask(f"/{path}", Accept=accept)
                if answer.status == HTTPStatus.OK:
                    assert (answer.type == SIMPLE_JSON) == answer.body.startswith(b"{"), (path, accept)
                else:
                    assert answer.status == HTTPStatus.NOT_ACCEPTABLE


def from_headers(path: str) -> dict[str, str]:
    """What a host that reads ``_headers`` sends for a path, read as Netlify and Cloudflare document it."""
    found: dict[str, str] = {}
    for line in headers().decode().splitlines():
        if line.startswith("/"):
            want = [re.escape(part) if not part.startswith(":") else "[^/]+" for part in line.split("/")]
            matching = re.fullmatch("/".join(want).replace(r"\*", ".*"), path) is not None
        elif line and matching:
            name, _, value = line.strip().partition(": ")
            found[name] = value
    return found


def from_nginx(path: str) -> dict[str, str]:
    """What nginx sends for a path: the exact location, else the first pattern, else the longest prefix."""
    text = nginx(Settings()).decode()
    blocks = re.findall(r"^location (=|~|)\s*(\S+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    exact = [body for kind, place, body in blocks if kind == "=" and place == path]
    patterns = [body for kind, place, body in blocks if kind == "~" and re.search(place, path)]
    prefixes = [(len(place), body) for kind, place, body in blocks if not kind and path.startswith(place)]
    body = next(iter([*exact, *patterns, *(body for _, body in sorted(prefixes, reverse=True))]), "")
    outside = re.sub(r"^location.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)
    fields = re.findall(r"add_header (\S+) (.+?)(?: always)?;$", body or outside, re.MULTILINE)
    found = {name: value.strip('"') for name, value in fields}
    if kind := re.search(r"default_type (\S+);", body):
        found["Content-Type"] = kind[1]
    return found


@pytest.mark.parametrize("settings_of", [from_headers, from_nginx])
def test_serve_and_the_settings_of_web_servers_agree(
    ask: Client, hub: Path, settings_of: Callable[[str], dict[str, str]]
) -> None:
    """Every file leaves with the same type and caching here as from a host that has the hub's settings."""
    paths = public_files(hub)
    assert {path.partition("/")[0] for path in paths} >= {"root.json", "envs", "simple", "catalog", "files"}
    for path in paths:
        answer, settings = ask(f"/{path}"), settings_of(f"/{path}")
        assert answer.status == HTTPStatus.OK
        assert answer.body == (hub / path).read_bytes()
        assert settings["X-Content-Type-Options"] == "nosniff"
        assert answer.fields["Cache-Control"] == settings.get("Cache-Control"), path
        for name, value in settings.items():
            assert answer.fields[name] == value, (path, name)


def test_pages_are_asked_for_again_and_the_rest_is_kept(ask: Client, hub: Path) -> None:
    """A yank is seen at once, and wheels and catalogue are never loaded twice."""
    for path in public_files(hub):
        caching = ask(f"/{path}").fields["Cache-Control"]
        if path.startswith(("files/", "catalog/")):
            assert caching == "public, max-age=31536000, immutable"
        elif path.startswith(("simple/", "envs/", "root.json")):
            assert caching == "no-cache"
        assert ask(f"/{path}").fields["Last-Modified"] is None


def test_what_has_not_changed_is_not_sent_again(ask: Client, hub: Path) -> None:
    """A client that names the tag it has gets 304 without a body; after a change it gets the page."""
    for path in ("/root.json", "/simple/toy-envs/", "/" + next(p for p in public_files(hub) if p.endswith(".whl"))):
        whole = ask(path)
        tag = whole.fields["ETag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
        for named in (tag, f'"other", W/{tag}', "*"):
            same = ask(path, If_None_Match=named)
            assert (same.status, same.body) == (HTTPStatus.NOT_MODIFIED, b"")
            for name in ("ETag", "Cache-Control", "Vary"):
                assert same.fields[name] == whole.fields[name]
        assert ask(path, If_None_Match='"other"').status == HTTPStatus.OK
    tag = ask("/simple/toy-envs/", Accept=PIP).fields["ETag"]
    from gem_hub.events import Yank

    Store(hub).add_event(Yank(name="toy-envs", version="0.2.0", reason="bad", by="someone"))
    assert ask("/simple/toy-envs/", Accept=PIP, If_None_Match=tag).status == HTTPStatus.OK


def test_head_is_get_without_a_body(ask: Client, hub: Path) -> None:
    """HEAD gives the status and the fields of GET for every kind of answer."""
    for path in (*(f"/{path}" for path in public_files(hub)), "/simple/", "/simple/toy-envs", "/nothing", "/simple/x/"):
        got, head = ask(path), ask(path, "HEAD")
        assert head.body == b""
        assert head.status == got.status
        assert {**head.fields, "Date": ""} == {**got.fields, "Date": ""}
        assert raw(ask.port, f"HEAD {path} HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n")


def test_parts_of_a_wheel_are_to_be_had(ask: Client, hub: Path) -> None:
    """Ranges give exactly these bytes; what asks for none that exist is refused, what makes no sense is ignored."""
    path = next(path for path in public_files(hub) if path.endswith(".whl"))
    content = (hub / path).read_bytes()
    size = len(content)
    for wanted, expected in {
        "bytes=0-0": content[:1],
        "bytes=10-19": content[10:20],
        "bytes=10-": content[10:],
        "bytes=-22": content[-22:],
        f"bytes=0-{size + 100}": content,
        f"bytes=-{size + 100}": content,
    }.items():
        answer = ask(f"/{path}", Range=wanted)
        assert (answer.status, answer.body) == (HTTPStatus.PARTIAL_CONTENT, expected)
        first = content.index(expected)
        assert answer.fields["Content-Range"] == f"bytes {first}-{first + len(expected) - 1}/{size}"
    for wanted in (f"bytes={size}-", "bytes=-0", f"bytes={size}-{size + 5}"):
        answer = ask(f"/{path}", Range=wanted)
        assert answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        assert answer.fields["Content-Range"] == f"bytes */{size}"
    for wanted in ("bytes=0-1,5-6", "lines=1-2", "bytes=-", "bytes=9-3", "bytes=a-b", "bytes=" + "9" * 5000 + "-"):
        assert ask(f"/{path}", Range=wanted).status == HTTPStatus.OK
    tag = ask(f"/{path}").fields["ETag"]
    assert ask(f"/{path}", Range="bytes=0-0", If_Range=tag).status == HTTPStatus.PARTIAL_CONTENT
    assert ask(f"/{path}", Range="bytes=0-0", If_Range='"other"').status == HTTPStatus.OK


def test_folders_have_addresses_with_a_slash(ask: Client) -> None:
    """An address of a folder leads to the one that its links are relative to, and names to their normal form."""
    for path, location in {
        "/simple": "simple/",
        "/simple/toy-envs": "toy-envs/",
        "/simple/Toy_.Envs/": "../toy-envs/",
    }.items():
        answer = ask(path)
        assert (answer.status, answer.fields["Location"]) == (HTTPStatus.MOVED_PERMANENTLY, location)
    for path in ("/files/", "/releases/", "/releases/toy-envs/", "/simple/toy-envs/x/"):
        assert ask(path).status == HTTPStatus.NOT_FOUND


def test_people_get_the_page_of_the_catalogue_that_says_so(ask: Client, hub: Path) -> None:
    """Where the hub has pages for people, a missing page is one of them; installers still get a sentence."""
    (hub / "404.html").write_text("<!doctype html>nothing here", encoding="utf-8")
    answer = ask("/p/nothing/")
    assert (answer.status, answer.type, answer.body) == (404, "text/html", b"<!doctype html>nothing here")
    assert "script-src 'self'" in answer.fields["Content-Security-Policy"]
    assert ask("/simple/nothing/", Accept=BROWSER).type == "text/plain"


def test_unknown_names_go_to_the_fallback(hub: Path) -> None:
    """A name that the hub does not have leads to the same name on the other index, and nothing else does."""
    with serving(hub, ELSEWHERE) as ask:
        for path in ("/simple/numpy/", "/simple/numpy/?x=1", "/%73imple/numpy/"):
            answer = ask(path, Accept=PIP)
            assert (answer.status, answer.fields["Location"]) == (HTTPStatus.FOUND, f"{ELSEWHERE}numpy/")
            assert answer.fields["Cache-Control"] == "no-cache"
        assert ask("/simple/NumPy/").fields["Location"] == "../numpy/"
        assert ask("/simple/toy-envs/").status == HTTPStatus.OK
        for path in (
            "/numpy/",
            "/simple/a/b/",
            "/simple/-/",
            "/simple/n%0d%0ax/",
            "/simple/numpy/index.html",
            "/simple//",
        ):
            assert ask(path).status == HTTPStatus.NOT_FOUND
    with serving(hub) as ask:
        assert ask("/simple/numpy/").status == HTTPStatus.NOT_FOUND


def test_a_damaged_hub_sends_nobody_to_a_stranger(hub: Path) -> None:
    """A package whose page is missing has a record all the same, so its name does not go to the fallback."""
    for page in (hub / "simple/toy-envs").iterdir():
        page.unlink()
    with serving(hub, ELSEWHERE) as ask:
        assert ask("/simple/toy-envs/").status == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("fallback", ["ftp://x/", "index.example", "https://x/ y", "https://x/\r\nA: b"])
def test_a_fallback_must_be_an_address(hub: Path, fallback: str) -> None:
    """Whatever could break a header, or is no address of a web server, is refused."""
    with pytest.raises(HubRefusal, match="must be an http address"):
        HubServer(hub, fallback=fallback)


def test_nothing_outside_the_hub_is_served(hub: Path, tmp_path: Path) -> None:
    """No spelling of a path, and no link in the folder, leads to a file that is not the hub's, or is private."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (hub / "loop").symlink_to(hub / "loop")
    (hub / "link.txt").symlink_to(tmp_path / "secret.txt")
    (hub / "linked").symlink_to(tmp_path)
    (hub / "private").symlink_to(hub / ".gem-hub")
    (hub / "simple/alpha/index.json").unlink()
    (hub / "simple/alpha/index.json").symlink_to(tmp_path / "secret.txt")
    paths = [
        *(
            "/../secret.txt",
            "/simple/../../secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/%2e%2e%2fsecret.txt",
        ),
        *("/..%5csecret.txt", "/..\\secret.txt", "/%252e%252e/secret.txt", "/%c0%ae%c0%ae/secret.txt", "//secret.txt"),
        *(f"/{tmp_path}/secret.txt", f"{tmp_path}/secret.txt", "/secret.txt%00", "/root.json%00.html", "/./root.json"),
        *("/link.txt", "/linked/secret.txt", "/linked/", "/linked", "/loop", "/simple/alpha/index.json"),
        *("/.gem-hub/lock", "/%2egem-hub/lock", "/.gem-hub/", "/private/lock", "/private/.gitignore", "/private"),
        *(
            "secret.txt",
            "*",
            "http://127.0.0.1/root.json",
            "/" + "a" * 300,
            "/" + "a/" * 2000,
            "/simple/" + "a" * 300 + "/",
        ),
    ]
    with serving(hub, ELSEWHERE) as ask:
        for path in paths:
            answer = ask(path, Accept=SIMPLE_JSON)
            assert answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.MOVED_PERMANENTLY), path
            assert b"secret" not in answer.body
            assert answer.fields.get("Location", "x/").endswith("/")
        assert ask("/simple/alpha/", Accept=SIMPLE_JSON).status == HTTPStatus.NOT_FOUND


@pytest.fixture(scope="module")
def any_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One hub for many questions."""
    release, metadata = synthetic_release("alpha", "1.0")
    store = Store(tmp_path_factory.mktemp("any") / "hub")
    store.publish(release, None, metadata)
    with serving(store.folder, ELSEWHERE) as client:
        yield client


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_any_path_has_an_answer(any_hub: Client, path: str) -> None:
    """Whatever is asked for, the server answers and goes on."""
    for prefix in ("/", "/simple/", "/releases/alpha/../"):
        assert any_hub(prefix + path).status in (200, 301, 302, 404)
        assert any_hub(f"{prefix}{path}/").status in (200, 301, 302, 404)


def test_only_reading_is_possible(ask: Client, hub: Path) -> None:
    """Other methods are refused, and the connection is closed behind a body that nobody reads."""
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask("/root.json", method, Content_Length="5").status == HTTPStatus.NOT_IMPLEMENTED
    body = "GET /simple/ HTTP/1.1\r\n\r\n"
    answer = raw(ask.port, f"GET /root.json HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.slow
def test_the_command_says_where_and_how_to_install(hub: Path, tmp_path: Path) -> None:
    """The installed command serves on loopback alone, prints the lines to type, and reports each request."""
    command = [*SERVE, "--hub", str(hub), "--port", "0", "--fallback", ELSEWHERE]
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(7)]
            said = re.fullmatch(r"Serving (.*) at (http://127\.0\.0\.1:(\d+)/)\n", lines[0])
            assert said is not None
            assert said[1] == str(hub)
            assert [line.strip() for line in lines[1:6]] == [
                "reached from this machine only",
                f"unknown names: sent to {ELSEWHERE}",
                f"pip install --index-url {said[2]}simple/ NAME",
                f"uv pip install --default-index {said[2]}simple/ NAME",
                f"gem hub use {said[2]}",
            ]
            ask = Client(int(said[3]))
            assert ask("/simple/toy-envs/").status == HTTPStatus.OK
            assert raw(ask.port, "GET /\x9b31m HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 404")
            deadline = time.monotonic() + 60
            while len((tmp_path / "log").read_text().splitlines()) < 2:  # a line may come after its answer
                assert time.monotonic() < deadline
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
        finally:
            process.kill()
            process.communicate()
        log.seek(0)
        assert sorted(log.read().splitlines()[:2]) == ["GET /\\x9b31m 404", "GET /simple/toy-envs/ 200"]


@pytest.mark.slow
def test_an_interrupt_is_the_normal_end_of_a_registry(tmp_path: Path) -> None:
    """The command with --publish then exits with 0 and complains of nothing."""
    command = [*SERVE, "--hub", str(tmp_path / "hub"), "--port", "0", "--publish"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(",")[0]
        with urlopen(f"{address}root.json") as answer:
            assert answer.status == HTTPStatus.OK
        assert process.stderr is not None
        assert process.stderr.readline() == "GET /root.json 200\n"  # which may come after the answer
        process.send_signal(signal.SIGINT)
        complaints = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, complaints) == (0, "")


def test_a_port_that_is_taken_is_named(hub: Path) -> None:
    """A second server on one port is refused in one sentence that says what to do."""
    with HubServer(hub) as server:
        done = CliRunner().invoke(serve_command, ["--hub", str(hub), "--port", str(server.port)])
        assert isinstance(done.exception, HubRefusal)
        assert re.search(rf"port {server.port} .*choose another with --port, or 0 for any", str(done.exception))


def test_without_the_option_the_setting_of_the_hub_decides(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback of ``gem hub rebuild --fallback`` is used, an empty one switches it off, 'auto' asks installers."""
    (hub / "hub.json").write_bytes(Settings(fallback=ELSEWHERE).to_bytes())
    seen = []
    monkeypatch.setattr(HubServer, "serve_forever", lambda self: seen.append(self.fallback))
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    for options in ([], ["--fallback", ""], ["--fallback", "auto"]):
        done = CliRunner().invoke(serve_command, ["--hub", str(hub), "--port", "0", *options])
        assert done.exit_code == 0, done.output
    assert seen == [ELSEWHERE, "", "https://mirror.example/simple/"]


def test_other_machines_are_told_what_pip_needs(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an address that others reach, the command says so, and pip's line trusts a host without encryption."""
    monkeypatch.setattr(HubServer, "serve_forever", lambda self: None)
    done = CliRunner().invoke(serve_command, ["--hub", str(hub), "--port", "0", "--host", "0.0.0.0"])
    assert "reached by every machine that reaches this one" in done.output
    assert re.search(r"pip install --index-url http://(\S+?)/simple/ --trusted-host \1 NAME", done.output)
    assert "0.0.0.0" not in done.output


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person without settings of pip or uv; the file that uv would read."""
    for variable in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("UV_CONFIG_FILE", str(tmp_path / "uv.toml"))
    return tmp_path / "uv.toml"


@pytest.mark.slow
def test_the_fallback_may_be_what_installers_use(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a setting it is pip's own default; pip's file, uv's file and the variables come before that, in turn."""
    own = installer_index()
    assert own.startswith("https://")
    (nobody.parent / "pip.conf").write_text("[global]\nindex-url = https://pip-file.example/simple\n", encoding="utf-8")
    assert installer_index() == "https://pip-file.example/simple"
    for text in (
        'index-url = "https://uv-file.example/simple"',
        '[pip]\nindex-url = "https://uv-file.example/simple"',
        '[[index]]\nurl = "https://x.example/"\n[[index]]\nurl = "https://uv-file.example/simple"\ndefault = true',
    ):
        nobody.write_text(text, encoding="utf-8")
        assert installer_index() == "https://uv-file.example/simple"
    nobody.write_text("[[index", encoding="utf-8")
    assert installer_index() == "https://pip-file.example/simple"
    for variable in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(variable, f"https://{variable.lower().replace('_', '-')}.example/simple")
        assert installer_index() == os.environ[variable]


def test_a_password_is_told_to_nobody(hub: Path, nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that needs a password cannot be the fallback: the redirect would carry it to every client."""
    monkeypatch.setattr(HubServer, "serve_forever", lambda self: None)
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:hunter2@index.example/simple")
    done = CliRunner().invoke(serve_command, ["--hub", str(hub), "--port", "0", "--fallback", "auto"])
    assert isinstance(done.exception, HubRefusal)
    assert "hunter2" not in str(done.exception)


def test_without_any_index_the_option_is_asked_for(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither pip nor uv names an index, the message says which option does."""
    monkeypatch.setattr(asking, "_pip_index", lambda: "")
    with pytest.raises(HubRefusal, match="name one with --fallback URL"):
        installer_index()


def test_a_hub_without_pages_says_how_to_write_them(store: Store) -> None:
    """A person who opens its address gets a sentence, and not a bare 404."""
    store.rebuild()
    answer = StaticAnswers(store.folder).answer("/", lambda name: [])
    assert answer.status == 404
    assert b"gem hub site" in answer.body.read()


def test_connections_are_capped_and_freed(hub: Path) -> None:
    """A server with its most connections answers further ones with 503 at once, and takes new ones when some end."""
    with HubServer(hub, most=3) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
            for connection in held:
                connection.sendall(b"GET /root.json HTTP/1.1\r\nHost: x\r\n\r\n")
                assert connection.recv(100).startswith(b"HTTP/1.1 200")
            with socket.create_connection(("127.0.0.1", server.port)) as refused:
                assert refused.recv(100).startswith(b"HTTP/1.1 503")
            for connection in held:
                connection.close()
            status = 503
            while status == 503:  # the threads of the closed connections end in their own time
                with suppress(ConnectionError), socket.create_connection(("127.0.0.1", server.port)) as connection:
                    connection.sendall(b"GET /root.json HTTP/1.0\r\n\r\n")
                    status = int(connection.recv(100).split()[1])
            assert status == 200
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_does_not_take_every_connection(hub: Path) -> None:
    """The connections of one address are counted by themselves, and its neighbour is answered."""
    with HubServer(hub, most=10, most_of_one=2) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2)]
            for connection in held:  # each is counted before the next one is answered
                connection.sendall(b"GET /root.json HTTP/1.1\r\nHost: x\r\n\r\n")
                assert connection.recv(100).startswith(b"HTTP/1.1 200")
            with socket.create_connection(("127.0.0.1", server.port)) as refused:
                assert refused.recv(100).startswith(b"HTTP/1.1 503")
            with socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0)) as neighbour:
                neighbour.sendall(b"GET /root.json HTTP/1.0\r\n\r\n")
                assert neighbour.recv(100).startswith(b"HTTP/1.1 200")
            for connection in held:
                connection.close()
        finally:
            server.shutdown()
            thread.join()


def test_a_request_that_drips_is_ended(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is for the whole request: a byte now and then does not prolong it."""
    with HubServer(hub) as server:
        monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.5)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.settimeout(0.1)
                ended = False
                for _ in range(600):
                    try:
                        connection.sendall(b"G")
                        ended = connection.recv(100) == b""
                    except TimeoutError:
                        continue
                    except ConnectionError:
                        ended = True
                    if ended:
                        break
                assert ended
        finally:
            server.shutdown()
            thread.join()
