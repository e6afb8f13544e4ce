"""A container of a Docker engine, and the processes in it: :class:`DockerContainer`."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Channel, Container
from gem_terminal.engines.cgroups import CounterFiles, LimitCounts, troubles_of
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.processes import kill, others_than
from gem_terminal.errors import EngineError
from gem_terminal.task import ResourceLimits

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerContainer", "failing"]

_KILL = ("sh", "-c", "kill -9 -1")

# What the control groups say, with builtins alone, for an engine on another machine.
_COUNT = r"""
for file in memory/memory.oom_control memory.events pids/pids.events pids.events pids/pids.current pids.current; do
  while read -r line; do echo "${file#*/} $line"; done < /sys/fs/cgroup/$file
done 2>/dev/null
"""

# The engine packs files in a process that looks for the names of users as the container says, and holds a lock on the
# container meanwhile. Were one of these a pipe, it would do so for ever.
_LOOKED_INTO = ("/etc/nsswitch.conf", "/etc/passwd", "/etc/group")
_TYPES, _LINK = 0x8F280000, 0x08000000
"""Bits of a mode as Go's ``os.FileMode`` has them: what is no regular file, and a link."""
_KILLS_IN = 5.0
"""Seconds in which all processes are killed, or the container is started anew."""
_AT_ONCE = 64 << 10
_EARLY = 1 << 20
"""Bytes of output that are held while input is written."""
_LOOKS = 0.25
"""Seconds without output after which the engine is asked whether a process goes on; twice as long each time."""
_ENDS_IN = 3.0
"""Seconds in which the last output of a process that has ended comes, also through an engine that is busy."""


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Let whatever the engine, or the way to it, raises become an EngineError."""
    from docker.errors import APIError, DockerException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except APIError as error:
        raise EngineError(f"{what}: {error.explanation or error}") from error
    except (DockerException, HTTPError, OSError) as error:
        raise EngineError(f"{what}: {error}") from error


class DockerContainer(Container):
    """One that runs.

    Args:
        client: the connection to the engine.
        description: what the engine says of it.
        limits: what was granted to it.
        forget: told that it is of no use any more, and whether it could be removed.
    """

    def __init__(
        self,
        client: DockerClient,
        description: Mapping[str, Any],
        limits: ResourceLimits,
        forget: Callable[[DockerContainer, bool], None],
    ) -> None:
        self.id: str = description["Id"]
        self._client = client
        self._limits = limits
        self._forget = forget
        self._notes: deque[str] = deque()
        self._fate = ""
        self._counts = LimitCounts()
        self._pid: int = description.get("State", {}).get("Pid") or 0
        self._counting = CounterFiles.of_process(self._pid, self.id)
        layers = description.get("GraphDriver", {}).get("Data") or {}
        volumes = [mount["Source"] for mount in description.get("Mounts", []) if mount.get("Type") == "volume"]
        self.folders: tuple[str, ...] = (layers["UpperDir"], *volumes) if layers.get("UpperDir") else ()
        """Where the engine keeps what it writes, if it is on this machine."""

    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        api = self._client.api
        words = list(command)
        with failing(f"container {self.id[:12]} cannot run {words[0]}{self._fate and f', since {self._fate}'}"):
            execution = api.exec_create(
                self.id, words, stdin=True, tty=terminal, user=user or "", environment=dict(environment or {}),
                workdir=workdir,
            )["Id"]  # fmt: skip
            stream = api.exec_start(execution, tty=terminal, socket=True)
        return _DockerChannel(self._client, execution, stream, framed=not terminal)

    def put(self, archive: bytes, folder: str) -> None:
        with failing(f"container {self.id[:12]} takes no files"):
            self._client.api.put_archive(self.id, folder, archive)

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        from docker.errors import APIError, NotFound

        archive = bytearray()
        with failing(f"container {self.id[:12]} gives no files"):
            for name in _LOOKED_INTO:
                self._check_file(name)
            try:
                chunks, _ = self._client.api.get_archive(self.id, path.rstrip("/") or "/")
                for chunk in chunks:
                    archive += chunk
                    if len(archive) > most:
                        chunks.close()
                        raise EngineError(f"{path} of container {self.id[:12]} is larger than {most} bytes")
            except NotFound as error:
                if "No such container" in str(error.explanation):
                    raise
                return None
            except APIError as error:
                if "not a directory" in str(error.explanation):
                    return None
                raise
        if not archive.endswith(bytes(1024)):  # the mark of its end, which is missing where a file became shorter
            raise EngineError(f"{path} of container {self.id[:12]} changed while it was read")
        return bytes(archive)

    def _check_file(self, path: str) -> None:
        """Make sure that a path, if there is anything, leads to a regular file; its end is not opened to find out."""
        api = self._client.api
        for _ in range(4):  # links, which the engine resolves
            where = api._url("/containers/{0}/archive", self.id)  # type: ignore[attr-defined]  # as the SDK does
            answer = api.head(where, params={"path": path}, timeout=30)
            if answer.status_code != 200:
                return
            found = json.loads(base64.b64decode(answer.headers["x-docker-container-path-stat"]))
            if not found["mode"] & _TYPES:
                return
            if not found["mode"] & _LINK or not found["linkTarget"]:
                break
            path = found["linkTarget"]
        raise EngineError(
            f"{path} of container {self.id[:12]} is no regular file, and the engine would wait for its end"
        )

    def kill_all(self) -> None:
        self.kills += 1
        # Asking the engine for the processes would race with those that fork; kill(-1) reaches all at once. In a
        # thread, since what is to be killed may be quicker, and stop what kills, which the engine then waits for.
        killing = Future[bool]()
        Thread(target=self._kill, args=(killing,), name="gem-terminal kill", daemon=True).start()
        with suppress(TimeoutError, FutureTimeoutError):
            if killing.result(_KILLS_IN):
                return
        # The engine waits for what it cannot start, as long as it takes, and answers nothing about the container
        # meanwhile. From outside, where this machine is the engine's and this user may, it can be helped.
        if self.first:
            with suppress(OSError):
                kill(others_than(self._pid))
                return
        # Its files outlive this, and nothing else does.
        with failing(f"the processes of container {self.id[:12]} cannot be killed"):
            self._client.api.restart(self.id, timeout=0)
            self._pid = self._client.api.inspect_container(self.id)["State"]["Pid"]
            self._counting = CounterFiles.of_process(self._pid, self.id)

    def _kill(self, done: Future[bool]) -> None:
        """Kill all processes and tell whether that was possible."""
        from docker.errors import APIError

        api = self._client.api
        try:
            with failing(f"the processes of container {self.id[:12]} cannot be killed"):
                try:
                    execution = api.exec_create(self.id, _KILL, user="root")["Id"]
                    api.exec_start(execution)
                    done.set_result(api.exec_inspect(execution)["ExitCode"] in (0, 1))  # 1: there was none
                except APIError as error:
                    if error.status_code in (404, 409):  # it has gone, or has died
                        raise
                    done.set_result(False)  # no process can be started in it any more
        except BaseException as error:
            done.set_exception(error)

    def survivors(self) -> int:
        if self.first:  # podman does not list them as Docker does
            with suppress(OSError):
                return len(others_than(self._pid, b"sleep\0003600\0"))
        with failing(f"the processes of container {self.id[:12]} cannot be counted"):
            found = self._client.api.top(self.id, ps_args="-eo pid,ppid,sid,stat,args")["Processes"]
        first = str(self._pid)
        return sum(
            pid != first
            and (parent, session, words) != (first, first, "sleep 3600")
            and not (state.startswith("Z") and "l" not in state)  # dead, unless it has threads that go on
            for pid, parent, session, state, words in found
        )

    def troubles(self, suspected: bool = False) -> tuple[str, ...]:
        counts = self._counting.counts()
        if counts is None and suspected:
            counts = self._asked()
        if counts is not None:
            before, self._counts = self._counts, counts
            kills = self.kills
            self._notes.extend(troubles_of(self, before, counts, self._limits))
            if self.kills != kills:  # what was refused until then is no news
                self._counts = self._counting.counts() or counts
        said = []
        while self._notes:
            said.append(self._notes.popleft())
        return tuple(said)

    def overwrote(self, note: str, beyond_help: bool) -> None:
        """See :class:`~gem_terminal.engines.docker.disk.WatchedContainer`."""
        self._notes.append(note)
        if beyond_help:
            self._fate = note
            self.remove()
        else:
            self.kill_all()

    def remove(self) -> None:
        from docker.errors import NotFound

        removed = False
        with suppress(EngineError), failing(""):
            with suppress(NotFound):
                self._client.api.remove_container(self.id, force=True, v=True)
            removed = True
        self._forget(self, removed)

    @property
    def first(self) -> int:
        """The number of its first process; 0 unless that is one of this machine's, and still the one that it was."""
        return self._pid if CounterFiles.of_process(self._pid, self.id).counts() is not None else 0

    def _asked(self) -> LimitCounts:
        """Return what the control groups count, as they are seen from inside."""
        try:
            done = self.run(("sh", "-c", _COUNT), seconds=10.0, user="root")
        except EngineError:
            done = None
        if done is None or not done.output:  # not even this could be started
            return LimitCounts(self._counts.killed, self._counts.refused + 1, self._limits.processes)
        return LimitCounts.parsed(done.output.decode(errors="replace").splitlines())


class _DockerChannel(Channel):
    """A process behind one socket. Without a terminal the engine sends frames: a header of 8 bytes, then the data."""

    def __init__(self, client: DockerClient, execution: str, stream: Any, framed: bool) -> None:
        self._client = client
        self._execution = execution
        self._stream = stream
        self._socket: socket.socket = getattr(stream, "_sock", stream)
        self._socket.setblocking(False)
        self._framed = framed
        self._left = 0
        self._header = b""
        self._gone = False
        # Output that came with the headers of the answer is in the reader that they were read with.
        response = getattr(stream, "_response", None)
        reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
        try:
            ahead = bytes(reader.peek()) if reader is not None else b""
        except OSError as error:
            if not _comes_later(error):
                raise
            ahead = b""
        self._early = bytearray(self._without_headers(ahead) if framed else ahead)
        self._ends_at: float | None = None
        self._looks = _LOOKS

    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        left, deadline = memoryview(data), time.monotonic() + seconds
        while left and not self._gone:
            try:
                left = left[self._socket.send(left[:_AT_ONCE]) :]
                continue
            except OSError as error:
                if not _comes_later(error) or time.monotonic() > deadline:
                    return False
            # What comes meanwhile is taken, lest both ends wait for each other to read.
            own = [self._socket.fileno()]
            taken = len(self._early) < _EARLY
            ready(own if taken else (), max(deadline - time.monotonic(), 0.0), own)
            self._early += (self._received() or b"") if taken else b""
        return not left

    def read(self, seconds: float) -> bytes | None:
        early, deadline = bytes(self._early), time.monotonic() + seconds
        self._early.clear()
        if early:
            return early
        while not self._gone:
            now = time.monotonic()
            left = max((self._ends_at or deadline) - now, 0.0)
            if self._pending() or ready([self._socket.fileno()], min(left, self._looks)):
                if self._ends_at is not None and now > self._ends_at:  # others hold its output, and write
                    break
                data = self._received()
                if data != b"" or left <= 0:
                    return data
                continue
            if self._ends_at is not None:
                break
            if left <= self._looks:
                return b""
            self._looks *= 2
            if self.exit_code(0.0) is not None:
                self._ends_at = time.monotonic() + _ENDS_IN
        self._gone = True
        return None

    def resize(self, columns: int, rows: int) -> None:
        with failing("the terminal has gone"):
            self._client.api.exec_resize(self._execution, height=rows, width=columns)

    def exit_code(self, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while True:
            with failing("the engine does not say what became of a process"):
                state = self._client.api.exec_inspect(self._execution)
            if not state["Running"]:
                code: int | None = state["ExitCode"]
                return code
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)  # its output has ended, so it takes but a moment

    def close(self) -> None:
        self._gone = True
        response = getattr(self._stream, "_response", None)  # holds the connection as well
        for end in (self._socket, response, self._stream):
            with suppress(OSError, ValueError):  # closed with another of them
                if end is not None:
                    end.close()

    def _received(self) -> bytes | None:
        try:
            data = self._socket.recv(_AT_ONCE)
        except OSError as error:
            if _comes_later(error):
                return b""
            data = b""
        if not data:
            self._gone = True
            return None
        self._looks = _LOOKS
        return self._without_headers(data) if self._framed else data

    def _pending(self) -> bool:
        """Tell whether TLS has read ahead."""
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def _without_headers(self, data: bytes) -> bytes:
        kept = []
        while data:
            if not self._left:
                missing = 8 - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) < 8:
                    break
                self._left, self._header = int.from_bytes(self._header[4:], "big"), b""
                continue
            kept.append(data[: self._left])
            data, self._left = data[self._left :], self._left - len(kept[-1])
        return b"".join(kept)


def _comes_later(error: OSError) -> bool:
    """Tell whether a socket was only not ready, though it seemed so."""
    from ssl import SSLWantReadError, SSLWantWriteError

    return isinstance(error, (BlockingIOError, InterruptedError, SSLWantReadError, SSLWantWriteError))
