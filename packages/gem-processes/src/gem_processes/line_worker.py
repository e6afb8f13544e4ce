"""A script in a Python of the user's, which answers one line of JSON with another: for libraries that stay apart."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import IO, Any

from gem.errors import LineWorkerError

__all__ = ["LineWorker"]

_PART = 2**16
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
_SHOWN = 500  # characters of the worker's last words in a message


class LineWorker:
    """A process that reads requests from its standard input and writes answers to its standard output, a line each.

    The process is killed, with the processes that it has started, by ``close``, after a fault, and when this object is
    gone. Threads may share it; requests are answered one after the other.

    Args:
        command: program and arguments.
        timeout: seconds for an answer.
        max_bytes: size of the longest answer that is read.
        environment: variables of the process; None for no more than it needs to find programs.

    Raises:
        LineWorkerError: if it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], timeout: float, max_bytes: int, environment: Mapping[str, str] | None = None
    ) -> None:
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process
        self._lock = threading.Lock()
        if environment is None:
            environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the user's own Python
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            raise LineWorkerError(f"{command[0]} cannot be started: {error}") from None
        self._rest = b""
        self._end = weakref.finalize(self, _end, self._process, self._said, os.getpid())

    @property
    def is_alive(self) -> bool:
        """Whether it can take a request."""
        return self._end.alive and self._process.poll() is None

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a message, a JSON object.

        Raises:
            LineWorkerError: if the worker refuses, with an object that has ``refused`` and the reason; the process is
                killed if it has ended, is too slow, or answers with too much or no JSON.
        """
        with self._lock:
            return self._requested(message)

    def close(self) -> None:
        """Kill the process. Calling it again does nothing."""
        self._end()

    def _requested(self, message: dict[str, Any]) -> dict[str, Any]:
        if not self.is_alive:
            raise LineWorkerError(f"the worker has ended{self._last_words()}")
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            answer = _parsed(self._line())
            if not isinstance(answer, dict):
                raise LineWorkerError("the worker answered with no JSON object")
        except OSError as error:
            words = self._last_words()
            self.close()
            raise LineWorkerError(f"the worker has ended ({error}){words}") from None
        except BaseException:
            self.close()
            raise
        if "refused" in answer:
            raise LineWorkerError(str(answer["refused"])[:_SHOWN])
        return answer

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        until = monotonic() + self._timeout
        line, self._rest = bytearray(self._rest), b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in line:
                if not selector.select(max(0.0, until - monotonic())):
                    raise LineWorkerError(f"the worker took more than {self._timeout:g} s")
                part = os.read(self._process.stdout.fileno(), _PART)
                if not part:
                    raise LineWorkerError(f"the worker has ended{self._last_words()}")
                line += part
                if len(line) > self._max_bytes:
                    raise LineWorkerError(f"the worker answered with more than {self._max_bytes} bytes")
        answer, _, self._rest = bytes(line).partition(b"\n")
        return answer

    def _last_words(self) -> str:
        if self._said.closed:
            return ""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - _SHOWN))
        words = self._said.read().decode("utf-8", "replace").strip()
        return f": {words}" if words else ""


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        shown = line[:_SHOWN].decode("utf-8", "replace")
        raise LineWorkerError(f"the worker answered with no JSON ({error}): {shown}") from None


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _end(process: subprocess.Popen[bytes], said: IO[bytes], owner: int) -> None:
    if os.getpid() == owner and process.poll() is None:  # a fork of the owner leaves the process alone
        with suppress(OSError):
            os.killpg(process.pid, 9)  # its session has its number
        process.wait()
    for pipe in (process.stdin, process.stdout, said):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
