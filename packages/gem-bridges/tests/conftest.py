"""Servers that speak the protocols of OpenEnv and AgentGym, and break them where a test says so.

They follow the published interfaces: for OpenEnv the messages of ``openenv.core.env_server`` 0.10, for AgentGym the
OpenAPI documents of its servers (``data/agentgym_openapi.json``, May 2026). The nightly tests run real ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import Server, ServerConnection, serve

OPENAPI = json.loads((Path(__file__).parent / "data" / "agentgym_openapi.json").read_text(encoding="utf-8"))

COUNT_SCHEMA = {
    "properties": {"metadata": {"type": "object"}, "guess": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["guess"],
}


def observation(fields: dict[str, Any], reward: Any = 0.0, done: Any = False) -> str:
    """Return a message of OpenEnv's type ``observation``."""
    return json.dumps({"type": "observation", "data": {"observation": fields, "reward": reward, "done": done}})


def refusal(code: str, message: str = "no") -> str:
    """Return a message of OpenEnv's type ``error``."""
    return json.dumps({"type": "error", "data": {"message": message, "code": code}})


class OpenEnvServer:
    """An OpenEnv server of a game: guess the last digit of the seed.

    Attributes:
        schema: the answer to ``GET /schema`` for actions; None for a server without.
        received: the messages of all sessions.
        sessions: the number of sessions that were opened.
        answers: kind of a message → what is answered instead, one after the other: a text, bytes, or a function that
            gets the connection.
        full: the number of sessions that are refused for want of room.
    """

    def __init__(self) -> None:
        self.schema: Any = COUNT_SCHEMA
        self.received: list[dict[str, Any]] = []
        self.headers: list[Headers] = []
        self.sessions = 0
        self.full = 0
        self.answers: dict[str, list[str | bytes | Callable[[ServerConnection], None]]] = {}
        self._server: Server | None = None
        self._open = 0
        self._ended = threading.Condition()
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._server = serve(self._session, "127.0.0.1", self.port, process_request=self._http, max_size=None)
        self.port = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """End all sessions, and listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server = None

    def wait_for_ends(self) -> None:
        """Wait until all sessions have ended: their last messages may arrive after the client has closed."""
        with self._ended:
            assert self._ended.wait_for(lambda: self._open == 0, 60.0)

    def _http(self, connection: ServerConnection, request: Any) -> Response | None:
        self.headers.append(request.headers)
        if request.path == "/ws":
            return None
        if request.path != "/schema" or self.schema is None:
            return Response(404, "Not Found", Headers({"Content-Length": "2"}), b"no")
        body = json.dumps({"action": self.schema}).encode()
        return Response(200, "OK", Headers({"Content-Length": str(len(body))}), body)

    def _session(self, connection: ServerConnection) -> None:
        with self._ended:
            self.sessions += 1
            self._open += 1
        try:
            self._serve(connection)
        finally:
            with self._ended:
                self._open -= 1
                self._ended.notify_all()

    def _serve(self, connection: ServerConnection) -> None:
        secret = 0
        try:
            if self.full > 0:
                self.full -= 1
                connection.send(refusal("CAPACITY_REACHED", "Server at capacity"))
                return
            for text in connection:
                message = json.loads(text)
                self.received.append(message)
                kind, data = message["type"], message.get("data", {})
                scripted = self.answers.get(kind)
                if scripted:
                    answer = scripted.pop(0)
                    if callable(answer):
                        answer(connection)
                    else:
                        connection.send(answer)
                elif kind == "reset":
                    secret = data["seed"] % 10
                    connection.send(observation({"text": "Guess my digit."}))
                elif kind == "step" and not isinstance(data.get("guess"), int):
                    connection.send(refusal("VALIDATION_ERROR", "Invalid message"))
                elif kind == "step":
                    right = data["guess"] == secret
                    connection.send(observation({"text": "Right." if right else "Wrong."}, float(right), right))
                elif kind == "close":
                    return
        except ConnectionClosed:
            pass


@pytest.fixture
def openenv() -> Iterator[OpenEnvServer]:
    """An OpenEnv server."""
    server = OpenEnvServer()
    try:
        yield server
    finally:
        server.stop()


class AgentGymServer:
    """An AgentGym server in any dialect, whose tasks are to say the task's number.

    It checks the bodies of requests against the OpenAPI document, as FastAPI does.

    Attributes:
        requests: path and body of each request.
        answers: path → what is answered instead, one after the other: status and body.
    """

    def __init__(self, name: str, prefix: str = "") -> None:
        self.document = OPENAPI.get(name)
        self.prefix = prefix
        self.requests: list[tuple[str, Any]] = []
        self.answers: dict[str, list[tuple[int, bytes]]] = {}
        self.tasks: dict[int, int] = {}
        self.name = name
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/openapi.json" and outer.document is not None:
                    self._send(200, json.dumps(outer.document).encode())
                else:
                    self._send(404, b'{"detail":"Not Found"}')

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(*outer.answer(urlsplit(self.path).path, body))

            def _send(self, status: int, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{prefix}"

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        self.requests.append((path, body))
        if self.answers.get(path):
            return self.answers[path].pop(0)
        operation = path.removeprefix(self.prefix)
        if self.document is not None and not self._is_valid(path, body):
            return 422, b'{"detail":[{"msg":"Field required"}]}'
        return 200, json.dumps(self._play(operation, body)).encode()

    def _is_valid(self, path: str, body: dict[str, Any]) -> bool:
        described = self.document["paths"].get(path, {}).get("post", {}).get("requestBody")
        if described is None:
            return path in self.document["paths"]
        reference = described["content"]["application/json"]["schema"]["$ref"]
        schema = self.document["components"]["schemas"][reference.rpartition("/")[2]]
        types = {"integer": int, "string": str}
        return set(schema["required"]) <= set(body) <= set(schema["properties"]) and all(
            isinstance(value, types.get(schema["properties"][key].get("type"), object)) for key, value in body.items()
        )

    def _play(self, operation: str, body: dict[str, Any]) -> Any:
        named = "env_idx" if self.name in ("searchqa", "todo", "webshop", "sqlgym", "webarena") else "id"
        if operation == "/create":
            session = len(self.requests)
            self.tasks[session] = -1
            if self.name == "webarena":
                return {"env_idx": session}
            return session if named == "env_idx" else {"id": session}
        session = body[named]
        if session not in self.tasks:
            return {"error": f"The id {session} is not valid."}
        if operation == "/close":
            del self.tasks[session]
            return True
        if operation == "/reset":
            (task,) = {value for key, value in body.items() if key not in (named, "world_type", "seed")} or {
                body["seed"]
            }
            self.tasks[session] = task
            text = f"Say {task}."
            if self.name in ("searchqa", "todo"):
                return text
            return [text, None] if self.name in ("webshop", "sqlgym") else {"observation": text}
        done = body["action"] == str(self.tasks[session])
        shown = {"state" if self.name in ("webshop", "sqlgym") else "observation": "Yes." if done else "No."}
        if self.name == "webarena":
            return {**shown, "reward": float(done), "terminated": done, "truncated": False, "info": {}}
        return {**shown, "reward": float(done), "done": done}


@pytest.fixture
def agentgym() -> Iterator[Callable[..., AgentGymServer]]:
    """Start AgentGym servers: name of the server, path of the environment."""
    started: list[AgentGymServer] = []

    def start(name: str = "textcraft", prefix: str = "") -> AgentGymServer:
        started.append(AgentGymServer(name, prefix))
        return started[-1]

    try:
        yield start
    finally:
        for server in started:
            server.stop()


ROOT = Path(__file__).parents[3]
GEM = (
    *("gem-core", "gem-hub-client", "gem-cli", "gem-processes", "gem-rollout", "gem-questions", "gem-bridges"),
    *("gem-eval", "gem-envs-games", "gem-envs-math", "gem-envs-data", "gem-envs-desk", "gem-envs-house"),
)


@pytest.fixture(scope="session")
def published() -> Iterator[Callable[..., Path]]:
    """Return the Python of an environment with published packages; ``ours`` adds this checkout's packages."""
    with TemporaryDirectory() as folder:
        made: dict[tuple[Any, ...], Path] = {}

        def python(*requirements: str, ours: bool = False) -> Path:
            pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
            wanted = (requirements, ours)
            if wanted not in made:
                venv = Path(folder, str(len(made)))
                uv = [sys.executable, "-m", "uv"]
                subprocess.run([*uv, "venv", "-q", "-p", sys.executable, str(venv)], check=True)
                local = [item for name in GEM for item in ("-e", str(ROOT / "packages" / name))] if ours else []
                install = [*uv, "pip", "install", "-q", "-p", str(venv / "bin" / "python")]
                subprocess.run([*install, *requirements, *local], check=True)
                made[wanted] = venv / "bin" / "python"
            return made[wanted]

        yield python


@contextmanager
def _running(command: list[str], url: str, folder: Path) -> Iterator[str]:
    """Run a server until the end of the block; yield its address once ``GET /health`` answers there."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        until = monotonic() + 300
        while True:
            last = (folder / "log").read_text(errors="replace")[-2000:]
            assert process.poll() is None, f"the server has ended: {last}"
            assert monotonic() < until, f"the server does not answer: {last}"
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                continue
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def running() -> Callable[[list[str], str, Path], AbstractContextManager[str]]:
    """Run a server: command, address, folder of its log; see :func:`_running`."""
    return _running


class HostileServer(ThreadingHTTPServer):
    """Answers every request in one wrong way: ``html``, ``fields``, ``hang``, ``endless`` or ``error``."""

    daemon_threads = True

    def __init__(self, kind: str) -> None:
        over = self.over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if kind == "hang":
                    over.wait()
                    return
                self.send_response(500 if kind == "error" else 200)
                self.send_header("Content-Type", {"html": "text/html"}.get(kind, "application/json"))
                self.end_headers()
                try:
                    self.wfile.write({"html": b"<html>Hello</html>", "endless": b"["}.get(kind, b'{"no": "fields"}'))
                    while kind == "endless" and not over.is_set():
                        self.wfile.write(b"1," * 2**16)
                except OSError:
                    pass

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def hostile() -> Iterator[Callable[[str], str]]:
    """Start hostile servers."""
    started: list[HostileServer] = []

    def start(kind: str) -> str:
        started.append(HostileServer(kind))
        threading.Thread(target=started[-1].serve_forever, kwargs={"poll_interval": 0.02}).start()
        return started[-1].url

    yield start
    for server in started:
        server.over.set()
        server.shutdown()
        server.server_close()
