"""MCP servers that are reached by streamable HTTP, one that keeps to the protocol and one that does not."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from gem.errors import ToolError
from gem_tools.mcp import MCPServerError, MCPTool, host, http

NAMES = ["add", "echo_header", "hang", "unauthorized", "broken", "cut", "garbage", "endless", "empty", "html", "moved"]


class Remote(ThreadingHTTPServer):
    """A server of the protocol with sessions that misbehaves as its tools are called."""

    daemon_threads = True
    request_queue_size = 128  # with the usual 5, a busy machine resets some of 64 connections at once

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.sessions: set[str] = set()
        self.seen: list[str] = []
        self.token: str | None = None
        self.issuer: str | None = None
        self.token_requests: list[tuple[str, str]] = []
        self.forgotten = (404, b"")
        self.resets_rested = False
        self.released = threading.Event()
        self.cancelled = threading.Event()
        self._sockets: list[socket.socket] = []
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def get_request(self) -> tuple[socket.socket, Any]:
        connected, address = super().get_request()
        self._sockets.append(connected)
        return connected, address

    def stop(self) -> None:
        """End, as a process does: with all connections."""
        self.released.set()
        self.shutdown()
        self.server_close()
        for connected in self._sockets:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Remote
    has_answered = False

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer as a server of tools and as its authorization server, if it has one."""
        base = self.server.url.removesuffix("/mcp")
        about: dict[str, Any] | None = None
        if self.server.issuer is not None and "oauth-protected-resource" in self.path:
            about = {"resource": self.server.url, "authorization_servers": [self.server.issuer]}
        elif self.server.issuer is not None and "oauth-authorization-server" in self.path:
            about = {
                "issuer": self.server.issuer,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "response_types_supported": ["code"],
                "grant_types_supported": ["client_credentials"],
            }
        self.answer(405 if about is None else 200, b"" if about is None else json.dumps(about).encode())

    def grant(self) -> None:
        """Answer a request for a token."""
        form = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.token_requests.append((str(self.headers.get("authorization")), form))
        name, _, secret = base64.b64decode(self.headers["authorization"].removeprefix("Basic ")).decode().partition(":")
        if (name, secret) != ("gem", "hush"):
            self.answer(401, b'{"error": "invalid_client"}')
        else:
            token = {"access_token": self.server.token, "token_type": "Bearer", "expires_in": 3600}
            self.answer(200, json.dumps(token).encode())

    def do_DELETE(self) -> None:
        self.server.seen.append("delete")
        self.answer(200, b"")

    def do_POST(self) -> None:
        if self.server.resets_rested and self.has_answered:  # as servers do at the end of their patience, unread
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.has_answered = True
        if self.path == "/token":
            self.grant()
            return
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, identifier = message.get("method"), message.get("id")
        self.server.seen.append(method)
        if method == "notifications/cancelled":
            self.server.cancelled.set()
        if self.server.token is not None and self.headers.get("authorization") != f"Bearer {self.server.token}":
            self.answer(401, b"who are you?")
        elif method == "initialize":
            session = f"s{len(self.server.seen)}"
            self.server.sessions.add(session)
            version = message["params"]["protocolVersion"]
            about = {"serverInfo": {"name": "r", "version": "1"}, "capabilities": {"tools": {}}}
            self.reply(identifier, {"protocolVersion": version, **about}, session)
        elif method == "server/discover":
            self.answer(400, b"")
        elif self.headers.get("mcp-session-id") not in self.server.sessions:
            self.answer(*self.server.forgotten)
        elif identifier is None:
            self.answer(202, b"")
        elif method == "tools/list":
            self.reply(identifier, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]})
        else:
            self.call(identifier, message["params"]["name"], message["params"].get("arguments") or {})

    def call(self, identifier: int, name: str, arguments: dict[str, Any]) -> None:
        if name == "add":
            self.text(identifier, str(arguments["a"] + arguments["b"]))
        elif name == "echo_header":
            self.text(identifier, str(self.headers.get(arguments["name"])))
        elif name == "hang":
            self.server.released.wait()
            self.close_connection = True
        elif name == "unauthorized":
            self.answer(403, b"not for you")
        elif name == "broken":
            self.answer(500, b"<html>an error\npage</html>", "text/html")
        elif name == "cut":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"jsonrpc"')
            self.close_connection = True
        elif name == "garbage":
            self.answer(200, b"{]")
        elif name == "endless":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            while True:
                self.wfile.write(b"e" * 65536)
        elif name == "empty":
            self.answer(202, b"")
        elif name == "html":
            self.answer(200, b"<html></html>", "text/html")
        elif name == "moved":
            self.send_response(307)
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

    def text(self, identifier: int, text: str) -> None:
        self.reply(identifier, {"content": [{"type": "text", "text": text}]})

    def reply(self, identifier: int, result: Any, session: str | None = None) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}).encode()
        self.answer(200, body, session=session)

    def answer(self, status: int, body: bytes, kind: str = "application/json", session: str | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if session is not None:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def remote() -> Iterator[Remote]:
    server = Remote()
    yield server
    gc.collect()
    if host._host is not None:
        host._host.close()
        host._host = None
    server.stop()


def tools_of(remote: Remote, **kwargs: Any) -> dict[str, Any]:
    settings = {"delay_between_retries": 0.01, **kwargs}
    return {tool.name: tool for tool in MCPTool.from_url(remote.url, **settings)}


def test_calls_go_through_one_session_that_is_ended_in_the_end(remote: Remote) -> None:
    """The server sees one handshake, and the farewell when the last user has gone."""
    tools = tools_of(remote)
    for number in range(5):
        assert tools["add"].execute({"a": number, "b": 1}).text == str(number + 1)
    for tool in tools.values():
        tool.close()
    assert remote.seen.count("initialize") == 1
    assert remote.seen[-1] == "delete"


def test_tokens_and_headers_are_sent(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bearer token from the environment, and headers of one's own."""
    monkeypatch.setenv("MY_TOKEN", "abc")
    remote.token = "abc"
    tools = tools_of(remote, auth="${MY_TOKEN}", headers={"X-Team": "red"})
    assert tools["echo_header"].execute({"name": "authorization"}).text == "Bearer abc"
    assert tools["echo_header"].execute({"name": "x-team"}).text == "red"


def test_a_server_that_refuses_is_quoted_and_the_token_is_not(remote: Remote) -> None:
    """The error has the status and the server's words."""
    remote.token = "right"
    with pytest.raises(MCPServerError, match="HTTP 401 Unauthorized: who are you") as caught:
        tools_of(remote, auth="wrong-secret")
    assert "wrong-secret" not in str(caught.value)


def of_client(remote: Remote, **changes: str) -> dict[str, Any]:
    """Return a configuration with the credentials of a client."""
    oauth = {
        "client_id": "gem",
        "client_secret": "${SECRET}",
        "issuer": str(remote.issuer),
        **changes,
    }
    return {"url": remote.url, "oauth": oauth}


def test_a_client_gets_a_token_for_its_credentials(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the authorization server of the server, once for a session."""
    monkeypatch.setenv("SECRET", "hush")
    remote.token, remote.issuer = "granted", remote.url.removesuffix("/mcp")
    tools = {tool.name: tool for tool in MCPTool(of_client(remote))}
    for _ in range(2):
        assert tools["echo_header"].execute({"name": "authorization"}).text == "Bearer granted"
    ((_, form),) = remote.token_requests
    assert "grant_type=client_credentials" in form


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"client_secret": "wrong"}, "cannot be authorized: OAuthTokenError"),
        ({"issuer": "https://elsewhere.example"}, "cannot be authorized: OAuthFlowError"),
    ],
)
def test_credentials_that_are_refused_or_meant_for_others_are_an_error_that_hides_them(
    remote: Remote, changes: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An authorization server that is not the configured one gets nothing."""
    monkeypatch.setenv("SECRET", "hush")
    remote.token, remote.issuer = "granted", remote.url.removesuffix("/mcp")
    with pytest.raises(MCPServerError, match=message) as caught:
        MCPTool(of_client(remote, **changes), max_retries=0)
    assert "hush" not in str(caught.value)
    assert bool(remote.token_requests) is ("issuer" not in changes)


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        ({"client_id": "a", "client_secret": "b"}, "this one has no issuer"),
        ({"client_id": "a", "client_secret": "b", "issuer": "c"}, "must begin with http"),
        ({"client_id": "a", "client_secret": "b", "issuer": "https://c", "audience": "d"}, "has a key 'audience'"),
        ("secret-token", "oauth must be a dict of strings, got str"),
    ],
)
def test_credentials_need_all_their_parts(oauth: Any, message: str) -> None:
    """The authorization server above all, since the server of the tools could name any."""
    with pytest.raises(ToolError, match=message):
        MCPTool({"url": "https://tools.example/mcp", "oauth": oauth}, validate_on_init=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unauthorized", "HTTP 403 Forbidden: not for you"),
        ("broken", "HTTP 500 Internal Server Error: <html>an error page</html>"),
        ("cut", "it broke off"),
        ("garbage", "Failed to parse JSON"),
        ("endless", "longer than"),
        ("empty", "202 Accepted"),
        ("html", "Unexpected content type"),
        ("moved", "not followed"),
    ],
)
def test_what_goes_wrong_with_a_call_is_its_error_alone(
    remote: Remote, name: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The session goes on, for the call after it and for one that is under way; nothing is printed."""
    tools = tools_of(remote, execution_timeout=300.0)
    results: list[Any] = []
    other = threading.Thread(target=lambda: results.append(tools["hang"].execute({})))
    other.start()
    failed = tools[name].execute({})
    assert not failed.ok
    assert message in failed.text
    assert tools["add"].execute({"a": 1, "b": 1}).text == "2"
    assert not results
    assert remote.seen.count("initialize") == 1
    remote.released.set()
    other.join()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_cancelled_and_the_next_one_works(remote: Remote) -> None:
    """The server is told."""
    tools, hasty = tools_of(remote), tools_of(remote, execution_timeout=1.0)  # which share the session
    assert "did not answer within 1 seconds" in hasty["hang"].execute({}).text
    assert tools["add"].execute({"a": 1, "b": 1}).text == "2"
    assert remote.cancelled.wait(60)  # it comes on a connection of its own
    assert remote.seen.count("initialize") == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b""),
        (400, b"Bad Request: No valid session ID provided"),
        (400, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Session not found"}}'),
    ],
)
def test_a_session_that_the_server_forgot_is_begun_anew(remote: Remote, status: int, body: bytes) -> None:
    """The call that finds out is carried out by the new session; many servers answer 400 where 404 is due."""
    tools = tools_of(remote)
    remote.forgotten = (status, body)
    remote.sessions.clear()
    assert tools["add"].execute({"a": 1, "b": 1}).text == "2"
    assert remote.seen.count("initialize") == 2


def test_a_server_that_restarts_is_found_again(reserve_port: Callable[[], int]) -> None:
    """While it is down a call fails after the retries; afterwards calls work."""
    port = reserve_port()
    first = Remote(port)
    tools = tools_of(first, max_retries=2)
    first.stop()
    failed = tools["add"].execute({"a": 1, "b": 1})
    assert "cannot be reached: ConnectError" in failed.text
    second = Remote(port)
    try:
        assert tools["add"].execute({"a": 1, "b": 1}).text == "2"
    finally:
        for tool in tools.values():
            tool.close()
        second.stop()


def test_nobody_there_is_an_error_that_is_not_remembered(reserve_port: Callable[[], int]) -> None:
    """A failed discovery is tried again the next time."""
    port = reserve_port()
    tool = MCPTool(f"http://127.0.0.1:{port}/mcp", validate_on_init=False, max_retries=1, delay_between_retries=0.01)
    with pytest.raises(MCPServerError, match="cannot be reached"):
        tool.get_available_tools()
    server = Remote(port)
    try:
        assert len(tool.get_available_tools()) == len(NAMES)
        tool.close()
    finally:
        server.stop()


def test_a_connection_that_rested_is_not_used_again(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server may be closing it, and a call that meets the end is lost."""
    monkeypatch.setattr("gem_tools.mcp.http._IDLE_SECONDS", 0.0)
    remote.resets_rested = True
    add = tools_of(remote)["add"]
    assert [add.execute({"a": number, "b": 1}).text for number in range(20)] == [str(n + 1) for n in range(20)]


def test_connections_rest_much_shorter_than_servers_let_them() -> None:
    """By seconds, which a loop that serves 64 callers on a busy machine is late."""
    patience = uvicorn.Config(None).timeout_keep_alive  # type: ignore[arg-type]
    assert patience - 4 >= http._IDLE_SECONDS


@pytest.mark.slow
def test_64_threads_share_a_session(remote: Remote) -> None:
    """Each gets its own answers."""
    add = tools_of(remote)["add"]
    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(lambda n: add.execute({"a": n, "b": n}).text, range(256)))
    assert answers == [str(2 * n) for n in range(256)]
    assert remote.seen.count("initialize") == 1


@pytest.mark.slow
def test_a_server_of_the_sdk_is_used_by_the_newest_protocol(tmp_path: Path) -> None:
    """The one without sessions, where every request stands for itself."""
    program = (
        "import sys\n"
        "from mcp.server import MCPServer\n"
        "server = MCPServer('toy')\n"
        "@server.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    return a + b\n"
        "import socket, uvicorn\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "config = uvicorn.Config(server.streamable_http_app(), log_level='critical')\n"
        "uvicorn.Server(config).run(sockets=[listener])\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
            (add,) = MCPTool(url)
            assert add.execute({"a": 20, "b": 22}).data == {"result": 42}
            failed = add.execute({"a": "x", "b": 22})
            assert not failed.ok
            add.close()
        finally:
            server.kill()
