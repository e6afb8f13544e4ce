"""A real server in a process of its own, and programs that tests serve."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class RunningServer:
    """A server process and its address."""

    process: subprocess.Popen[str]
    url: str
    host: str
    port: int

    def env(self, env_id: str) -> str:
        """Return the address of an environment."""
        return f"{self.url}/{env_id}"


@contextmanager
def running(*arguments: str, stop: int = signal.SIGKILL, **variables: str) -> Iterator[RunningServer]:
    """Run ``gem serve`` until the end of the block; arguments are ids and options."""
    command = [sys.executable, "-m", "gem", "serve", *arguments, "--json"]
    if "--port" not in arguments:
        command += ["--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})
    try:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line.startswith("}") or (line.startswith("{") and line.rstrip().endswith("}")):
                break
        shown: dict[str, Any] = json.loads(text)
        host, _, port = shown["url"].partition("://")[2].rpartition(":")
        yield RunningServer(process, shown["url"], host, int(port))
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(stop)
        process.wait(timeout=60)
        assert process.stdout is not None
        process.stdout.close()


class Relay:
    """A link between clients and a server that can lose what is on it.

    ``lose`` says what becomes of the next bytes: ``"answer"`` drops what the server sends, ``"request"`` what the
    client sends, and then the connection breaks. The other direction is unharmed, so a lost answer is one that the
    server has given. ``stalled`` carries nothing any more in either direction, and breaks nothing.
    """

    def __init__(self, port: int) -> None:
        self.lost = 0
        self.lose: str | None = None
        self.requests = 0
        """How often something came from a client."""
        self._flows, self._ends = threading.Event(), threading.Event()
        self._flows.set()
        self._stalled: list[socket.socket] = []
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def stalled(self) -> bool:
        """Whether nothing is carried, on connections that exist and on new ones."""
        return not self._flows.is_set()

    @stalled.setter
    def stalled(self, stalled: bool) -> None:
        (self._flows.clear if stalled else self._flows.set)()

    def stall_those_that_are_open(self) -> None:
        """Carry nothing more on the connections that there are; new ones are as ever."""
        self._stalled = list(self._open)

    def close(self) -> None:
        """Break all connections, and take no more."""
        self._flows.set()
        self._ends.set()
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._open += [client, server]
            for ends in ((client, server, "request"), (server, client, "answer")):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, kind: str) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.requests += kind == "request"
                self._flows.wait()
                if source in self._stalled:
                    self._ends.wait()
                if self.lose == kind:
                    self.lose = None
                    self.lost += 1
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="session")
def relay() -> Callable[[int], Any]:
    """The context manager that puts a :class:`Relay` before a port."""

    @contextmanager
    def relayed(port: int) -> Iterator[Relay]:
        link = Relay(port)
        try:
            yield link
        finally:
            link.close()

    return relayed


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A server of all games without a token."""
    with running("game", "--workers", "2") as started:
        yield started


@pytest.fixture(scope="session")
def serve() -> Callable[..., Any]:
    """The context manager that runs a server of one's own."""
    return running


@pytest.fixture(scope="session")
def faulty_specs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which ``gem serve`` finds the environments of ``faulty.py`` as an installed package."""
    site = tmp_path_factory.mktemp("site")
    package = site / "gem_faulty"
    package.mkdir()
    source = Path(__file__).with_name("faulty.py").read_text(encoding="utf-8")
    (package / "__init__.py").write_text(source, encoding="utf-8")
    entries = "".join(
        f'[[environment]]\nid = "faulty:{name}-v0"\nentry_point = "gem_faulty:{name}Env"\ndescription = "A test."\n\n'
        for name in ("Counting", "Slow", "Faulty")
    )
    (package / "environments.toml").write_text(f"schema = 1\n\n{entries}", encoding="utf-8")
    info = site / "gem_faulty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gem-faulty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gem.envs]\nfaulty = gem_faulty\n")
    return {"PYTHONPATH": str(site)}


@pytest.fixture(scope="module")
def faulty(faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server of the environments of ``faulty.py``."""
    with running("faulty", "--workers", "2", "--allow-arguments", **faulty_specs) as started:
        yield started
