"""A program that answers one line of JSON with one, shared by all environments of this process: :func:`line_worker`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from functools import cache
from pathlib import Path
from typing import Any

from gem.errors import GemError
from gem.processes.fork_hooks import after_fork_in_child
from gem.processes.shared_resource import ResourceHandle, SharedResource

__all__ = ["LineWorkerError", "line_worker"]


class LineWorkerError(GemError, ConnectionError):
    """The program cannot be started, has ended, or reports an error."""


class _LineWorker:
    def __init__(self, command: tuple[str, ...]) -> None:
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the interpreter that the user names
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                encoding="utf-8",
            )  # fmt: skip
        except OSError as error:
            raise LineWorkerError(f"{command[0]} cannot be started: {error}") from error
        self._sessions = 0

    def new_session(self) -> int:
        """Return a number that no other session of the program has."""
        with self._lock:
            self._sessions += 1
            return self._sessions

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer; one at a time."""
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError as error:
                raise LineWorkerError(f"the program has ended: {error}") from error
        if not line:
            raise LineWorkerError(
                f"the program has ended (status {self._process.wait()}); does its interpreter have what it imports?"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LineWorkerError(answer["error"])
        return answer

    def close(self) -> None:
        """End the program, which ends with its input."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@cache
def _shared(command: tuple[str, ...]) -> SharedResource[_LineWorker]:
    return SharedResource(lambda: _LineWorker(command), _LineWorker.close)


after_fork_in_child(_shared.cache_clear)


def line_worker(python: str, script: Path, *arguments: str) -> ResourceHandle[_LineWorker]:
    """Return a handle of the program, which starts with its first use and ends after its last user."""
    return _shared((python, str(script), *arguments)).handle()
