"""An index of packages on this machine, which takes uploads and serves installers."""

from __future__ import annotations

import http.client
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.shell import environment, fail

__all__ = ["LocalIndex", "local_index"]


@dataclass(frozen=True)
class LocalIndex:
    """Where an index is."""

    upload: str
    simple: str


@contextmanager
def local_index(python: Path, folder: Path, log: Path) -> Iterator[LocalIndex]:
    """Serve an empty index from a folder for the duration of a block, with the pypiserver of an environment.

    It takes uploads from whoever reaches this machine's loopback, under any name and password.
    """
    folder.mkdir()
    port = _free_port()
    command = [python, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port)]
    command += ["-P", ".", "-a", ".", "--disable-fallback", folder]
    with log.open("w", encoding="utf-8") as output:
        server = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output, env=environment(None))
        try:
            _wait(server, port, log)
            yield LocalIndex(f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/simple/")
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers; end this program if it ends first."""
    while True:
        if server.poll() is not None:
            fail(f"the index did not start:\n{log.read_text(encoding='utf-8')}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/simple/")
            connection.getresponse().read()
            return
        except OSError:
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        finally:
            connection.close()
