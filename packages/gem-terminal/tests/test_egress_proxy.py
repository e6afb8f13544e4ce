"""The proxy of containers with listed hosts: what it connects, what it refuses, and that there is no other way out."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_terminal import TerminalEnv
from gem_terminal.engines import Container, Engine
from gem_terminal.errors import TaskError
from gem_terminal.network import egress_proxy
from gem_terminal.network.egress_proxy import PROXY_PORT, EgressProxy, allowed_host
from gem_terminal.task import Image, ResourceLimits

Ask = Callable[[str], int]


class _Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{self.headers['Host']} {self.path} {self.headers['Proxy-Secret']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[int]:
    """The port of a web site on this machine, which stands for a host elsewhere."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy takes this machine for another one, since a test has no other."""
    monkeypatch.setattr(egress_proxy, "machine_networks", list)


@contextmanager
def proxy_for(*allowed: str) -> Iterator[int]:
    """The port of a proxy for listed hosts."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with closing(EgressProxy(listener, map(allowed_host, allowed))):
        yield port


def fetched(proxy: int, url: str) -> tuple[int, str]:
    """Status and body of a page that urllib fetches through a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{proxy}"}))
    try:
        with opener.open(urllib.request.Request(url, headers={"Proxy-Secret": "x"}), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def tunnelled(proxy: int, host: str, port: int) -> str:
    """A page that http.client fetches through a tunnel."""
    with closing(http.client.HTTPConnection("127.0.0.1", proxy, timeout=60)) as connection:
        connection.set_tunnel(host, port)
        connection.request("GET", "/page")
        return connection.getresponse().read().decode()


@pytest.mark.usefixtures("elsewhere")
def test_a_listed_host_is_reached(site: int) -> None:
    """By a plain request and through a tunnel, in any case and with a final dot."""
    with proxy_for("LocalHost.") as proxy:
        assert fetched(proxy, f"http://localhost:{site}/page?q=1") == (200, f"localhost:{site} /page?q=1 None")
        assert fetched(proxy, f"http://LOCALHOST.:{site}") == (200, f"localhost:{site} / None")
        assert tunnelled(proxy, "localhost", site) == f"localhost:{site} /page None"


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("allowed", "host", "status"),
    [
        ("127.0.0.0/8", "127.0.0.1", 200),
        ("127.0.0.1", "127.0.0.1", 200),
        ("127.0.0.2", "127.0.0.1", 403),
        ("localhost", "127.0.0.1", 403),
        ("127.0.0.1", "localhost", 403),
        ("*.localhost", "localhost", 403),
        ("*.localhost", "a.b.localhost", 200),
        ("host", "localhost", 403),
        ("localhost", "localhost.example.invalid", 403),
        ("localhost", "notlocalhost", 403),
        ("nobody.invalid", "nobody.invalid", 502),
        ("127.0.0.0/8", "0177.0.0.1", 400),
    ],
)
def test_which_hosts_a_list_has(site: int, allowed: str, host: str, status: int) -> None:
    """Names by their labels and addresses by their networks, and neither stands for the other."""
    if host.endswith(".localhost"):
        try:
            socket.getaddrinfo(host, None, socket.AF_INET)
        except OSError:
            status = 502  # a resolver without RFC 6761; allowed all the same
    with proxy_for(allowed) as proxy:
        assert fetched(proxy, f"http://{host}:{site}/")[0] == status
        if status == 403:
            with pytest.raises(OSError, match="403"):
                tunnelled(proxy, host, site)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0"])
def test_no_name_leads_to_this_machine(site: int, host: str) -> None:
    """A task may list such a name, and any name may resolve to such an address."""
    with proxy_for(host) as proxy:
        assert fetched(proxy, f"http://{host}:{site}/") == (
            403,
            f"{host} is an address of the machine that runs this task\n",
        )


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "request_line",
    [
        "GET / HTTP/1.1",
        "CONNECT localhost HTTP/1.1",
        "GET ftp://localhost/ HTTP/1.1",
        "SSH-2.0-x",
        "GET http://[ HTTP/1.1",
    ],
)
def test_what_is_no_request_to_a_proxy(request_line: str) -> None:
    """It is answered, and the connection ends."""
    with proxy_for("localhost") as proxy, socket.create_connection(("127.0.0.1", proxy), timeout=60) as connection:
        connection.sendall(f"{request_line}\r\n\r\n".encode())
        assert connection.makefile("rb").read().startswith(b"HTTP/1.1 400 ")


@pytest.mark.usefixtures("elsewhere")
def test_the_end_of_a_proxy_ends_its_connections(site: int) -> None:
    """Also a tunnel that is in use, and the thread after the last proxy."""
    with socket.create_server(("127.0.0.1", 0)) as server, proxy_for("localhost") as proxy:
        with proxy_for("localhost") as other:
            client = socket.create_connection(("127.0.0.1", other), timeout=60)
            client.sendall(f"CONNECT localhost:{server.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
            there, _ = server.accept()
            there.sendall(b"on")
            with closing(client.makefile("rb")) as answers:
                assert [answers.readline(), answers.readline(), answers.read(2)][1:] == [b"\r\n", b"on"]
                threads = [thread for thread in threading.enumerate() if thread.name == "gem-terminal egress"]
        with client, there:
            assert client.recv(1) == b""
        assert fetched(proxy, f"http://localhost:{site}/")[0] == 200
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@settings(max_examples=50)
@given(st.text(max_size=20) | st.from_regex(r"[*a-z0-9./:-]{1,20}", fullmatch=True))
def test_entries_are_normal_or_refused(text: str) -> None:
    """An entry that is accepted is accepted again, unchanged; any other text is a ValueError."""
    try:
        entry = allowed_host(text)
    except ValueError:
        return
    assert allowed_host(entry) == entry


@pytest.mark.parametrize(
    "text", ["", ".", "*", "*.", "a..b", "http://a.example", "a.example:443", "a/b", "::1", "10.0.0.1/8", "-a"]
)
def test_entries_that_no_task_may_have(text: str) -> None:
    """Harbor refuses them as well."""
    with pytest.raises(ValueError, match=r"allowed host|has host bits set|Expected 4 octets|Only decimal digits"):
        allowed_host(text)


@pytest.mark.every_engine
def test_a_container_reaches_listed_hosts_alone(
    engine: Engine, small: Image, site: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the proxy that its programs find in their environment; there is no route and no name server."""
    limits = ResourceLimits(network=True, allowed_hosts=("localhost",), memory=256 << 20)
    ask = (
        f'exec 3<>/dev/tcp/127.0.0.1/{PROXY_PORT}; printf "GET http://$1:{site}/ HTTP/1.1\\r\\n\\r\\n" >&3;'
        ' read -r _ status _ <&3; echo "$status ${http_proxy##*:} $(wc -l < /proc/net/route)"'
    )
    with monkeypatch.context() as patch:
        patch.setattr(egress_proxy, "machine_networks", list)
        open_one = engine.start(engine.prepare(small), limits)
    with open_one, engine.start(engine.prepare(small), limits) as closed:

        def asked(container: Container, host: str) -> str:
            return container.run(("bash", "-c", ask, "sh", host), seconds=60).output.decode()

        assert asked(open_one, "localhost") == f"200 {PROXY_PORT} 1\n"
        assert asked(open_one, "other.invalid") == f"403 {PROXY_PORT} 1\n"
        assert asked(closed, "localhost") == f"403 {PROXY_PORT} 1\n"
        open_one.kill_all()
        assert asked(open_one, "localhost") == f"200 {PROXY_PORT} 1\n"


def write_task(folder: Path, environment: str, rest: str = "") -> Path:
    for name, content in {
        "task.toml": f"[environment]\n{environment}\n{rest}",
        "instruction.md": "Do nothing.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\n",
        "tests/test.sh": "true\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


ALLOWLIST = "network_mode = 'allowlist'\nallowed_hosts = ['Files.example.org', '*.example.com', '10.1.0.0/16']"
HOSTS = ("files.example.org", "*.example.com", "10.1.0.0/16")


@pytest.mark.parametrize(
    ("environment", "rest", "network", "hosts"),
    [
        (ALLOWLIST, "", True, HOSTS),
        ("network_mode = 'allowlist'", "", False, None),
        (ALLOWLIST, "[agent]\nnetwork_mode = 'public'\n[verifier]\nnetwork_mode = 'public'", True, None),
        ("", f"[agent]\n{ALLOWLIST}\n[verifier]\n{ALLOWLIST}", True, HOSTS),
        ("network_mode = 'public'", "", True, None),
        ("allow_internet = false", "", False, None),
    ],
)
def test_what_a_harbor_task_says(
    tmp_path: Path, environment: str, rest: str, network: bool, hosts: tuple[str, ...] | None
) -> None:
    """The agent's own word precedes that of the environment; a list without entries is no network."""
    limits = TerminalEnv(path=write_task(tmp_path, environment, rest)).task.limits
    assert (limits.network, limits.allowed_hosts, limits.is_filtered) == (network, hosts, hosts is not None)


@pytest.mark.parametrize(
    ("environment", "rest", "message"),
    [
        ("allowed_hosts = ['a.example']", "", "needs network_mode = 'allowlist'"),
        ("network_mode = 'allowlist'\nallowed_hosts = ['https://a.example']", "", "without scheme, port or path"),
        (ALLOWLIST, "[verifier]\nnetwork_mode = 'public'", "whose network does not change"),
        (
            ALLOWLIST,
            "[verifier]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['b.example']",
            "whose network does not change",
        ),
    ],
)
def test_lists_that_cannot_be_kept(tmp_path: Path, environment: str, rest: str, message: str) -> None:
    """The error names the rule."""
    with pytest.raises(TaskError, match=message):
        TerminalEnv(path=write_task(tmp_path, environment, rest))
