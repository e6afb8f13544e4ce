"""A real server in a process of its own, and programs that tests serve."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

TOKEN = "a-token-of-the-tests-1234"


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


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A server of all games without a token."""
    with running("game", "--workers", "2") as started:
        yield started


@pytest.fixture
def serve() -> Callable[..., Any]:
    """The context manager that runs a server of one's own."""
    return running
