"""Containers without a daemon: Linux namespaces made by bubblewrap, on an overlay over an unpacked image.

A container lives in a mount namespace of its own: the overlay and what is written to it (a tmpfs, bounded) exist
nowhere else, so when the first process ends, everything has gone. That process ends when the spawner does, and the
spawner when this process does; nothing is left behind, even after a ``kill -9``.

Limits on memory, processes and cpus need cgroups that this user may write to; without, they are not applied, and
:attr:`NamespaceEngine.unbounded` says which. As an ordinary user there is one user in a container, root.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fcntl import ioctl
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from gem_terminal.engines.base import Channel, Container, Engine, Progress
from gem_terminal.engines.cgroups import Cgroup, controllers, reap_cgroups
from gem_terminal.engines.images import ImageStore
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, Limits

__all__ = ["NamespaceEngine"]

_SPAWNER = Path(__file__).with_name("spawner.py")
_KEPT = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID")
_DISK = 1 << 30
"""Bytes that a container may write where its task says nothing."""

# The first process. It ends when the pipe that it reads from does; what reads for it may be killed any time.
_WAIT = "echo ready >&2; exec 3<&0 >/dev/null 2>&1; while :; do cat <&3 >/dev/null & wait $! && exit; done"

# $1: a folder to build in, $2: bytes, $3: the layers, topmost first; then bubblewrap and its arguments.
_BEGIN = """
set -e; place="$1"; size="$2"; layers="$3"; shift 3
mount -t tmpfs -o "size=$size,mode=755" tmpfs "$place"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay -o "lowerdir=$layers,upperdir=$place/upper,workdir=$place/work" overlay "$place/root"
exec "$@"
"""


class NamespaceEngine(Engine):
    """Runs containers with bubblewrap, which has to be installed, as root or as a user who may make namespaces.

    Args:
        images: the folder of unpacked images; None for the cache folder of this user.
    """

    name = "namespace"

    def __init__(self, images: Path | None = None) -> None:
        self._images = ImageStore(images, self)
        self._preparing = Lock()

    @cached_property
    def spawner(self) -> _Spawner:
        """The process that starts all others.

        Raises:
            EngineError: if bubblewrap is missing, or namespaces cannot be made here; it says what to install or set.
        """
        if sys.platform != "linux":
            raise EngineError(f"the namespace engine needs Linux, and this is {sys.platform}; use engine='docker'")
        for program, package in (("bwrap", "bubblewrap"), ("unshare", "util-linux")):
            if shutil.which(program) is None:
                raise EngineError(f"the namespace engine needs {program}; install it (Debian: apt install {package})")
        return _Spawner(rootless=os.getuid() != 0)

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The limits that cannot be applied here, for want of cgroups."""
        return tuple(name for name in ("memory", "pids", "cpu") if name not in controllers())

    def check(self) -> None:
        assert self.spawner

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        with self._preparing:
            return self._images.prepare(image, progress)

    def add_base(self, name: str, archive: Path) -> None:
        """Unpack a tar archive of a root file system under the name that a Dockerfile uses after ``FROM``."""
        self._images.add_base(name, archive)

    def start(self, reference: str, limits: Limits, environment: Mapping[str, str] | None = None) -> Container:
        layers, config = self._images.layers(reference)
        return self.start_on(layers, limits, {**config.get("environment", {}), **(environment or {})}, config)

    def start_on(
        self,
        layers: Iterable[Path],
        limits: Limits,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
    ) -> _NamespaceContainer:
        """Start a container on folders that lie over each other, topmost first."""
        return _NamespaceContainer(self.spawner, list(layers), limits, environment, config)

    def reap(self) -> int:
        return reap_cgroups()

    def close(self) -> None:
        spawner = self.__dict__.pop("spawner", None)
        if spawner is not None:
            spawner.close()


class _Process:
    """A process that the spawner has started, and the pipe that its exit status comes through."""

    def __init__(self, status: int) -> None:
        self._status = status
        first = self._line(None)
        if not first or first.startswith("!"):
            os.close(status)
            raise EngineError(f"the container has gone: {first[2:] or 'the spawner has ended'}")
        self.pid = int(first)
        self.exit_code: int | None = None

    def wait(self, seconds: float | None) -> int | None:
        """Return the exit code, negative for a signal, or None if it goes on."""
        if self.exit_code is None and self._status >= 0:
            line = self._line(seconds)
            if line is not None:
                os.close(self._status)
                self._status, self.exit_code = -1, int(line) if line else -9
        return self.exit_code

    def close(self) -> None:
        """Take no more interest in it."""
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def _line(self, seconds: float | None) -> Any:
        ready, _, _ = select.select([self._status], [], [], seconds)
        if not ready:
            return None
        line = b""
        while (byte := os.read(self._status, 1)) not in (b"", b"\n"):
            line += byte
        return line.decode()


class _Spawner:
    def __init__(self, rootless: bool) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-I", "-S", str(_SPAWNER), str(theirs.fileno())]
        if rootless:
            command = ["unshare", "--user", "--map-root-user", *command]
        self.rootless = rootless
        self._process = subprocess.Popen(  # noqa: S603  # a command of ours
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, env={}
        )
        theirs.close()
        self._socket = ours

    def start(self, command: Iterable[str], ends: tuple[int, int, int], **request: Any) -> _Process:
        """Start a process whose ends are these descriptors, which this process keeps as well."""
        asked = {
            "command": list(command), "target": None, "cgroups": [], "user": None, "environment": {}, "workdir": None,
            "terminal": False, "unpack": False, "pack": False, "kill": False, **request,
        }  # fmt: skip
        reader, writer = os.pipe()
        try:
            socket.send_fds(self._socket, [json.dumps(asked).encode()], [*ends, writer])
        except OSError as error:
            os.close(reader)
            raise EngineError(f"the spawner of the namespace engine has ended: {error}") from error
        finally:
            os.close(writer)
        return _Process(reader)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


class _NamespaceContainer(Container):
    def __init__(
        self,
        spawner: _Spawner,
        layers: list[Path],
        limits: Limits,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
    ) -> None:
        self._spawner = spawner
        self._environment = dict(environment)
        self._workdir = config.get("workdir")
        self._user = config.get("user")
        self._cgroup = Cgroup(limits)
        self.id = self._cgroup.name
        self._removed = False
        reader, self._lifeline = os.pipe()
        heard, said = os.pipe()
        place = _place()
        # bubblewrap tells the number of the first process through its standard output.
        command = [
            "unshare", "--mount", "--propagation", "private", "--", "sh", "-c", _BEGIN, "sh",
            place, str(limits.disk or _DISK), ":".join(map(str, layers)),
            "bwrap", "--info-fd", "1", "--bind", f"{place}/root", "/", "--proc", "/proc", "--dev", "/dev",
            "--unshare-pid", "--unshare-ipc", "--unshare-uts", *_network(limits.network),
            "--hostname", self.id[-12:], "--as-pid-1", "--new-session", "--clearenv",
            "--setenv", "PATH", "/usr/bin:/bin",
            "--cap-drop", "ALL", *(word for name in _KEPT for word in ("--cap-add", name)),
            "--", "sh", "-c", _WAIT,
        ]  # fmt: skip
        try:
            self._first = spawner.start(command, (reader, said, said), cgroups=self._cgroup.tasks)
        finally:
            for used in (reader, said):
                os.close(used)
        self._target = self._first_pid(heard)

    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        if terminal:
            ours, theirs = pty.openpty()
            ends = [theirs] * 3
            mine = (ours, ours)
        else:
            stdin, ours_in = os.pipe()
            ours_out, stdout = os.pipe()
            ends, mine = [stdin, stdout, stdout], (ours_in, ours_out)
        try:
            process = self._start(command, (ends[0], ends[1], ends[2]), user, environment, workdir, terminal=terminal)
        except BaseException:
            for end in set(mine):
                os.close(end)
            raise
        finally:
            for end in set(ends):
                os.close(end)
        return _PipeChannel(process, *mine)

    def put(self, archive: bytes, folder: str) -> None:
        reader, writer = os.pipe()
        heard, said = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        try:
            process = self._spawner.start((), (reader, null, said), target=self._target, unpack=True, workdir=folder)
        finally:
            for used in (reader, null, said):
                os.close(used)
        with os.fdopen(writer, "wb") as sink, suppress(BrokenPipeError):  # its exit code says why
            sink.write(archive)
        code = process.wait(None)
        with os.fdopen(heard, "rb") as errors:
            if code != 0:
                raise EngineError(f"container {self.id} takes no files: {errors.read().decode(errors='replace')}")

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        packed, writer = os.pipe()
        heard, said = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        with os.fdopen(packed, "rb") as source, os.fdopen(heard, "rb") as errors:
            try:
                process = self._spawner.start((), (null, writer, said), target=self._target, pack=True, workdir=path)
            finally:
                for used in (null, writer, said):
                    os.close(used)
            archive = source.read(most + 1)
            source.close()  # which ends it, if there was more
            code = process.wait(None)
            if len(archive) > most:
                raise EngineError(f"{path} of container {self.id} is larger than {most} bytes")
            if code != 0:
                said_why = errors.read(1000).decode(errors="replace").strip()
                raise EngineError(f"container {self.id} gives no files: {said_why}")
        return archive or None

    def kill_all(self) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        try:
            self._spawner.start((), (null, null, null), target=self._target, kill=True).wait(None)
        finally:
            os.close(null)

    def remove(self) -> None:
        if self._removed:
            return
        self._removed = True
        with suppress(ProcessLookupError):
            os.kill(self._target, signal.SIGKILL)
        os.close(self._lifeline)
        self._first.wait(None)
        self._cgroup.remove()

    def save(self, folder: Path) -> None:
        """Copy what was changed in this container into a folder, as a layer: deletions are marked in it."""
        changed = f"/proc/{self._first.pid}/root{_place()}/upper"
        command = ["cp", "-a", "--", f"{changed}/.", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # a command of ours
        if done.returncode != 0:
            raise EngineError(f"the layer cannot be saved in {folder}: {done.stderr[-300:]}")

    def _start(
        self,
        command: Iterable[str],
        ends: tuple[int, int, int],
        user: str | None,
        environment: Mapping[str, str] | None,
        workdir: str | None,
        terminal: bool,
    ) -> _Process:
        return self._spawner.start(
            command,
            ends,
            target=self._target,
            cgroups=self._cgroup.tasks,
            user=user or self._user,
            environment={**self._environment, **(environment or {})},
            workdir=workdir or self._workdir,
            terminal=terminal,
        )

    def _first_pid(self, heard: int) -> int:
        with os.fdopen(heard, "rb") as told:
            said = b""
            while chunk := told.read1(4096):
                said += chunk
                if b"child-pid" in said and b"ready\n" in said:  # its root is in place only now
                    return int(json.loads(said[said.index(b"{") : said.index(b"}") + 1])["child-pid"])
        self._cgroup.remove()
        raise EngineError(f"the namespace engine could not start a container: {said.decode(errors='replace').strip()}")


class _PipeChannel(Channel):
    def __init__(self, process: _Process, writing: int, reading: int) -> None:
        self.process = process
        self._writing = writing
        self._reading = reading
        self._closed = False

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._writing, view) :]
        except OSError as error:
            raise EngineError(f"the process in the container has gone: {error}") from error

    def read(self, seconds: float) -> bytes | None:
        if self._closed:
            return None
        ready, _, _ = select.select([self._reading], [], [], max(seconds, 0.0))
        if not ready:
            return b""
        try:
            return os.read(self._reading, 1 << 16) or None
        except OSError:  # a terminal whose last process has gone
            return None

    def resize(self, columns: int, rows: int) -> None:
        ioctl(self._writing, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def exit_code(self, seconds: float) -> int | None:
        code = self.process.wait(seconds)
        return code if code is None or code >= 0 else 128 - code

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for end in {self._writing, self._reading}:
                os.close(end)
            self.process.close()


def _network(wanted: bool) -> list[str]:
    """Return what bubblewrap is told of the network: that of the host with its resolver, or an empty one."""
    if not wanted:
        return ["--unshare-net"]
    resolver = Path("/etc/resolv.conf").resolve()
    return ["--ro-bind", str(resolver), "/etc/resolv.conf"] if resolver.is_file() else []


def _place() -> str:
    """Return an empty folder that containers are built on, each in a mount namespace of its own."""
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"gem-terminal-{os.getuid()}"  # noqa: S108
    place.mkdir(mode=0o700, exist_ok=True)
    return str(place)
