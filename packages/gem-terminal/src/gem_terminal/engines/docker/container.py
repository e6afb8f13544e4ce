"""A Docker container and its processes: :class:`DockerContainer`."""

from __future__ import annotations

import base64
import io
import json
import socket
import tarfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Channel, Container, ContainerSnapshot, FileChanges, ProcessOptions
from gem_terminal.engines.cgroups import CounterFiles, LimitCounts, describe_reached_limits
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.docker.namespaces import show
from gem_terminal.engines.docker.networks import BridgeNetwork, listen, refuse_own_networks
from gem_terminal.engines.processes import has_ended, kill, others_than
from gem_terminal.errors import ContentError, EngineError
from gem_terminal.network.egress_proxy import PROXY_PORT, EgressProxy
from gem_terminal.task import ResourceLimits

if TYPE_CHECKING:
    from docker import DockerClient
    from typing_extensions import Unpack

__all__ = ["DockerContainer", "engine_errors"]

_KILL = ("sh", "-c", "kill -9 -1")

# Print the counters of the control groups with shell builtins alone, for a remote engine.
_COUNT = r"""
for file in memory/memory.oom_control memory.events pids/pids.events pids.events pids/pids.current pids.current; do
  while read -r line; do echo "${file#*/} $line"; done < /sys/fs/cgroup/$file
done 2>/dev/null
"""

# The engine packs files in a process that looks up user names in the container's files, and meanwhile holds a lock
# on the container. If one of these files were a pipe, the engine would wait forever.
_USER_FILES = ("/etc/nsswitch.conf", "/etc/passwd", "/etc/group")
_TYPES, _LINK = 0x8F280000, 0x08000000
"""Bits of Go's ``os.FileMode``: the types other than regular files, and links."""
_KILLS_IN = 5.0
"""The time limit in seconds for killing all processes; after that, the container is restarted."""
_TOO_DEEP = "file name too long"
"""Said by an engine that looks into a folder whose path is longer than Linux takes at once."""
_DELETED = 2
"""The kind of a change in the answer of the engine."""
_AT_ONCE = 64 << 10
_EARLY = 1 << 20
"""The largest output in bytes that is buffered while input is written."""
_LOOKS = 0.25
"""Seconds without output before the first question to the engine whether the process runs; doubled each time."""
_WALKS_IN = 600.0
"""Seconds for the engine to walk through all files of a container and its image: 30 for a gigabyte, if it is busy."""
_ENDS_IN = 3.0
"""Seconds to wait for the last output of an ended process, enough for a busy engine."""


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Convert errors of the engine and of the connection to EngineError."""
    from docker.errors import APIError, DockerException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except APIError as error:
        raise EngineError(f"{what}: {error.explanation or error}") from error
    except (DockerException, HTTPError, OSError) as error:
        raise EngineError(f"{what}: {error}") from error


class DockerContainer(Container):
    """A running container.

    Args:
        client: the connection to the engine.
        description: the engine's description of the container.
        limits: the limits of the container.
        forget: called when the container is no longer usable, with a flag for its successful removal.
        network: the network of its episode, if it has one.
        commit: takes a snapshot of the container with this id.
    """

    def __init__(
        self,
        client: DockerClient,
        description: Mapping[str, Any],
        limits: ResourceLimits,
        forget: Callable[[DockerContainer, bool], None],
        commit: Callable[[str], ContainerSnapshot],
        network: BridgeNetwork | None = None,
    ) -> None:
        self.network = network
        self._proxy: EgressProxy | None = None
        self.id: str = description["Id"]
        self._client = client
        self._limits = limits
        self._forget = forget
        self._commit = commit
        self._notes: deque[str] = deque()
        self._fate = ""
        self._counts = LimitCounts()
        self._pid: int = description.get("State", {}).get("Pid") or 0
        self._counting = CounterFiles.of_process(self._pid, self.id)
        self._is_local = self.first > 0
        layers = description.get("GraphDriver", {}).get("Data") or {}
        volumes = [mount["Source"] for mount in description.get("Mounts", []) if mount.get("Type") == "volume"]
        self.folders: tuple[str, ...] = (layers["UpperDir"], *volumes) if layers.get("UpperDir") else ()
        """The folders of the container's writable layer, if the engine runs on this machine."""

    def open(self, command: Iterable[str], **options: Unpack[ProcessOptions]) -> Channel:
        api, terminal = self._client.api, options.get("terminal", False)
        words = list(command)
        with engine_errors(f"container {self.id[:12]} cannot run {words[0]}{self._fate and f', since {self._fate}'}"):
            execution = api.exec_create(
                self.id, words, stdin=True, tty=terminal, user=options.get("user") or "",
                environment=dict(options.get("environment") or {}), workdir=options.get("workdir"),
            )["Id"]  # fmt: skip
            stream = api.exec_start(execution, tty=terminal, socket=True)
        return _DockerChannel(self._client, execution, stream, framed=not terminal)

    def put(self, archive: bytes, folder: str) -> None:
        with engine_errors(f"container {self.id[:12]} takes no files"):
            self._client.api.put_archive(self.id, folder, archive)

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        archive = bytearray()
        for chunk in self._packed(path):
            archive += chunk
            if len(archive) > most:
                raise ContentError(f"{path} of container {self.id[:12]} is larger than {most} bytes")
        if not archive:
            return None
        if not archive.endswith(bytes(1024)):  # the end mark, which is missing if a file became shorter
            raise ContentError(f"{path} of container {self.id[:12]} changed while it was read")
        return bytes(archive)

    def _packed(self, path: str) -> Iterator[bytes]:
        """Yield the parts of an archive of a path, as the engine sends them; none if there is no such path."""
        from docker.errors import APIError, NotFound

        with engine_errors(f"container {self.id[:12]} gives no files"):
            for name in _USER_FILES:
                self._check_file(name)
            try:
                chunks, _ = self._client.api.get_archive(self.id, path.rstrip("/") or "/")
            except NotFound as error:
                if "No such container" in str(error.explanation):
                    raise
                return
            except APIError as error:
                if "not a directory" in str(error.explanation):
                    return
                raise
            with closing(chunks):
                yield from chunks

    def _check_file(self, path: str) -> None:
        """Check that a path leads to a regular file or to nothing, without opening the file."""
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
        raise ContentError(
            f"{path} of container {self.id[:12]} is not a regular file, so the engine might wait for its end forever"
        )

    def kill_all(self) -> None:
        self.kills += 1
        # A list of processes from the engine would race with forks; kill(-1) reaches all processes at once. It needs a
        # thread, because a hostile process may stop it first, and the engine would then wait for it.
        killing = Future[bool]()
        Thread(target=self._kill, args=(killing,), name="gem-terminal kill", daemon=True).start()
        with suppress(TimeoutError, FutureTimeoutError):
            if killing.result(_KILLS_IN):
                return
        if self._is_local and has_ended(self._pid):  # a restart would hide that
            raise EngineError(f"container {self.id[:12]} has died")
        # While the engine waits for a process that cannot start, it answers no question about the container. On the
        # engine's own machine, a user with the permission can kill the processes from outside.
        if self.first:
            with suppress(OSError):
                kill(others_than(self._pid))
                return
        # A restart keeps the files of the container and ends everything else.
        with engine_errors(f"the processes of container {self.id[:12]} cannot be killed"):
            self._client.api.restart(self.id, timeout=0)
            self._pid = self._client.api.inspect_container(self.id)["State"]["Pid"]
            self._counting = CounterFiles.of_process(self._pid, self.id)
        self.connect()  # the restart has made a new network namespace

    def connect(self) -> bool:
        """Open the proxy of a container with listed hosts, or refuse the addresses of the engine's machine.

        Returns:
            Whether the machine is closed.

        Raises:
            EngineError: if there can be no proxy, or the kernel does not take the routes.
        """
        if self._limits.is_filtered:
            self._end_proxy()
            self._proxy = EgressProxy(listen(self.first, PROXY_PORT), self._limits.allowed_hosts or ())
        return self.network is None or refuse_own_networks(self.first, self.network.subnet)

    def mount(self, source: Path, target: str) -> None:
        show(self.first, source, target)

    def listen(self, port: int) -> socket.socket:
        return listen(self.first, port)

    def _end_proxy(self) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            proxy.close()

    def _kill(self, done: Future[bool]) -> None:
        """Kill all processes and return the success through ``done``."""
        from docker.errors import APIError

        api = self._client.api
        try:
            with engine_errors(f"the processes of container {self.id[:12]} cannot be killed"):
                try:
                    execution = api.exec_create(self.id, _KILL, user="root")["Id"]
                    api.exec_start(execution)
                    done.set_result(api.exec_inspect(execution)["ExitCode"] in (0, 1))  # 1: no process to kill
                except APIError as error:
                    if error.status_code in (404, 409):  # the container was removed or has died
                        raise
                    done.set_result(False)  # the container cannot start another process
        except BaseException as error:
            done.set_exception(error)

    def survivors(self) -> int:
        if self.first:  # podman's list differs from Docker's
            with suppress(OSError):
                return len(others_than(self._pid, b"sleep\0003600\0"))
        with engine_errors(f"the processes of container {self.id[:12]} cannot be counted"):
            found = self._client.api.top(self.id, ps_args="-eo pid,ppid,sid,stat,args")["Processes"]
        first = str(self._pid)
        return sum(
            pid != first
            and (parent, session, words) != (first, first, "sleep 3600")
            and not (state.startswith("Z") and "l" not in state)  # a zombie without live threads
            for pid, parent, session, state, words in found
        )

    def reached_limits(self, suspected: bool = False) -> tuple[str, ...]:
        counts = self._counting.counts()
        if counts is None and suspected:
            counts = self._read_counts_inside()
        if counts is not None:
            before, self._counts = self._counts, counts
            kills = self.kills
            self._notes.extend(describe_reached_limits(self, before, counts, self._limits))
            if self.kills != kills:  # refusals before the kill are already explained
                self._counts = self._counting.counts() or counts
        said = []
        while self._notes:
            said.append(self._notes.popleft())
        return tuple(said)

    def enforce_disk_limit(self, note: str, beyond_help: bool) -> None:
        """See :class:`~gem_terminal.engines.docker.disk.WatchedContainer`."""
        self._notes.append(note)
        if beyond_help:
            self._fate = note
            self.remove()
        else:
            self.kill_all()

    def changes(self, folders: Iterable[str], *, most: int = 1 << 30) -> FileChanges:
        api = self._client.api
        with engine_errors(f"container {self.id[:12]} tells no changes"):
            where = api._url("/containers/{0}/changes", self.id)  # type: ignore[attr-defined]  # as the SDK does
            answer = api.get(where, timeout=_WALKS_IN)
            if not answer.ok:
                if _TOO_DEEP in answer.text:
                    raise ContentError(f"container {self.id[:12]} has folders too deep to be told")
                raise EngineError(f"container {self.id[:12]} tells no changes: {answer.text[-300:].strip()}")
            found = answer.json() or []
        removed = tuple(each["Path"] for each in found if each["Kind"] == _DELETED)
        changed = frozenset(each["Path"] for each in found if each["Kind"] != _DELETED)
        differences = FileChanges((), removed, changed)
        archives = []
        for folder in folders:
            if any(f"{path}/".startswith(f"{folder}/") for path in changed):
                around = folder.rpartition("/")[0] or "/"
                archive = self._packed_changes(folder, PurePosixPath(around), differences, most)
                most -= len(archive)
                archives.append((around, archive))
        return replace(differences, archives=tuple(archives))

    def _packed_changes(self, folder: str, around: PurePosixPath, differences: FileChanges, most: int) -> bytes:
        """Return an archive of what differs in a folder; the rest passes by."""
        stream, buffer = _Stream(self._packed(folder)), io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as kept:
            if stream.is_empty:
                return buffer.getvalue()
            try:
                with tarfile.open(fileobj=stream, mode="r|") as packed:  # type: ignore[call-overload]  # it calls read
                    for member in packed:
                        if differences.has(around / member.name):
                            if buffer.tell() + member.size > most:
                                raise ContentError(f"the changes in {folder} are larger than {most} bytes")
                            kept.addfile(member, packed.extractfile(member) if member.isreg() else None)
                        packed.members.clear()  # it would keep all headers
                is_whole = stream.ends_well()
            except (tarfile.TarError, EOFError):
                is_whole = False
        if not is_whole:
            raise ContentError(f"{folder} of container {self.id[:12]} changed while it was read")
        return buffer.getvalue()

    def snapshot(self) -> ContainerSnapshot:
        return self._commit(self.id)

    def remove(self) -> None:
        from docker.errors import NotFound

        self._end_proxy()
        removed = False
        with suppress(EngineError), engine_errors(""):
            with suppress(NotFound):
                self._client.api.remove_container(self.id, force=True, v=True)
            removed = True
        self._forget(self, removed)

    @property
    def first(self) -> int:
        """The process id of the container's first process; 0 if it ended or runs on another machine."""
        return self._pid if CounterFiles.of_process(self._pid, self.id).counts() is not None else 0

    def _read_counts_inside(self) -> LimitCounts:
        """Return the counts of the control groups, read inside the container."""
        try:
            done = self.run(("sh", "-c", _COUNT), seconds=10.0, user="root")
        except EngineError:
            done = None
        if done is None or not done.output:  # the container could not start the command
            return LimitCounts(self._counts.killed, self._counts.refused + 1, self._limits.processes)
        return LimitCounts.parse(done.output.decode(errors="replace").splitlines())


class _Stream:
    """Parts of an archive as a file that can be read once."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._left = memoryview(next(parts, b""))
        self._end = b""
        self.is_empty = not self._left

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end only."""
        pieces = []
        while size > 0 and self._left:
            pieces.append(self._left[:size])
            self._left = self._left[size:]
            size -= len(pieces[-1])
            if not self._left:
                self._left = memoryview(next(self._parts, b""))
        data = b"".join(pieces)
        self._end = (self._end + data)[-1024:]
        return data

    def ends_well(self) -> bool:
        """Read the rest; return whether the end mark of an archive was there."""
        while self.read(_AT_ONCE):
            pass
        return self._end == bytes(1024)


class _DockerChannel(Channel):
    """The connection to a process. Without a terminal, the engine sends frames: a header of 8 bytes, then the data."""

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
        # The reader of the HTTP headers may already hold output that came with them.
        response = getattr(stream, "_response", None)
        reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
        try:
            ahead = bytes(reader.peek()) if reader is not None else b""
        except OSError as error:
            if not _is_not_ready(error):
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
                if not _is_not_ready(error) or time.monotonic() > deadline:
                    return False
            # Read the output that arrives meanwhile; otherwise both ends might wait for each other to read.
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
            if self._has_buffered_data() or ready([self._socket.fileno()], min(left, self._looks)):
                if self._ends_at is not None and now > self._ends_at:  # other processes hold the output open, and write
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
        with engine_errors("the terminal has gone"):
            self._client.api.exec_resize(self._execution, height=rows, width=columns)

    def exit_code(self, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while True:
            with engine_errors("the engine cannot inspect a process"):
                state = self._client.api.exec_inspect(self._execution)
            if not state["Running"]:
                code: int | None = state["ExitCode"]
                return code
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)  # the output has ended, so the process ends in a moment

    def close(self) -> None:
        self._gone = True
        response = getattr(self._stream, "_response", None)  # this object keeps the connection open as well
        for end in (self._socket, response, self._stream):
            with suppress(OSError, ValueError):  # already closed with the other object
                if end is not None:
                    end.close()

    def _received(self) -> bytes | None:
        try:
            data = self._socket.recv(_AT_ONCE)
        except OSError as error:
            if _is_not_ready(error):
                return b""
            data = b""
        if not data:
            self._gone = True
            return None
        self._looks = _LOOKS
        return self._without_headers(data) if self._framed else data

    def _has_buffered_data(self) -> bool:
        """Return whether the TLS layer has buffered data."""
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


def _is_not_ready(error: OSError) -> bool:
    """Return whether an error only means that a socket was not ready."""
    from ssl import SSLWantReadError, SSLWantWriteError

    return isinstance(error, (BlockingIOError, InterruptedError, SSLWantReadError, SSLWantWriteError))
