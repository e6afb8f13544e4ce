"""A container of the namespace engine, and the processes in it: :class:`NamespaceContainer`."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

from gem_terminal.engines.base import Channel, Container
from gem_terminal.engines.cgroups import Cgroup, LimitCounts, troubles_of
from gem_terminal.engines.container_defaults import CAPABILITIES, DISK, SHARED_MEMORY, files_of
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.namespace.channel import PipeChannel
from gem_terminal.engines.namespace.spawning import Process, Spawner
from gem_terminal.engines.processes import kill, others_than
from gem_terminal.errors import EngineError
from gem_terminal.task import ResourceLimits

__all__ = ["NamespaceContainer", "begin"]

_BEGINS_IN = 30.0
"""Seconds in which a container begins and its processes end, or it counts as failed."""
_KILLS_IN = 1.0
"""Seconds in which all processes are killed, or each of them is killed from outside."""
_UNPACKS_IN = 60.0
"""Seconds in which an archive is packed or unpacked, or that is given up."""

# The first process ends when the pipe that it reads from does. It never forks, so that it outlives any bomb; bash takes
# in orphans while it reads. Without bash, what waits may be killed and is started again.
_WAIT = """\
echo ready >&2
exec 2>/dev/null
command -v bash >/dev/null && exec bash -c 'while read -r; do :; done'
exec 3<&0
while :; do cat <&3 >/dev/null & wait $! && exit; done"""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# As Docker has them: what says too much of the machine, and what could be written to by who is root there.
_MASKED_FILES = ("kcore", "keys", "kmsg", "latency_stats", "sched_debug", "timer_list", "timer_stats", "sysrq-trigger")
_MASKED_FOLDERS = ("acpi", "asound", "scsi")
_READ_ONLY = ("bus", "driver", "dynamic_debug", "fs", "irq", "mtrr", "pressure", "sys", "tty")


class NamespaceContainer(Container):
    """One that runs; what it writes lies in memory, and counts as such.

    Args:
        spawner: starts its processes.
        layers: the folders of its image, topmost first.
        limits: what is granted to it.
        environment, config: what its processes are told, and who runs them where, by default.
    """

    def __init__(
        self,
        spawner: Spawner,
        layers: Iterable[Path],
        limits: ResourceLimits,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
    ) -> None:
        self._spawner = spawner
        self._limits = limits
        self._environment = dict(environment)
        self._workdir = config.get("workdir")
        self._user = config.get("user")
        self.is_removed = False
        self._cgroup = Cgroup(limits)
        self._counts = LimitCounts()
        # The second best where there are no control groups: of each process, and of all in a user namespace of its own.
        self._rlimits = {"RLIMIT_DATA": limits.memory, "RLIMIT_NPROC": limits.processes} if spawner.rootless else {}
        self.id = self._cgroup.name
        try:
            self._first, self._target, self._lifeline = self._begun(layers)
        except BaseException:
            self._cgroup.remove()
            raise

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
            process = self._start(
                (ends[0], ends[1], ends[2]),
                command=command,
                cgroups=self._cgroup.tasks,
                user=user or self._user,
                environment={**self._environment, **(environment or {})},
                workdir=workdir or self._workdir,
                terminal=terminal,
                rlimits=self._rlimits,
            )
        except BaseException:
            for end in set(mine):
                os.close(end)
            raise
        finally:
            for end in set(ends):
                os.close(end)
        return PipeChannel(process, *mine)

    def put(self, archive: bytes, folder: str) -> None:
        # In files without a name, not through pipes, of which something in the container could hold the other end. What
        # is sealed cannot be changed on its way.
        source = os.memfd_create("archive", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        said = os.memfd_create("said", os.MFD_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            with os.fdopen(os.dup(source), "wb") as sink:
                sink.write(archive)
            fcntl.fcntl(source, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
            os.lseek(source, 0, os.SEEK_SET)
            process = self._start((source, null, said), unpack=True, workdir=folder)
            try:
                with _ending(process, _UNPACKS_IN):  # a pipe where a file belongs may hold it up
                    code = process.wait(_UNPACKS_IN + _KILLS_IN)
            finally:
                process.close()
            if code != 0:
                why = os.pread(said, 1000, 0).decode(errors="replace").strip()
                raise EngineError(f"container {self.id} takes no files: {why or 'it was ended, as it took too long'}")
        finally:
            for used in (source, said, null):
                os.close(used)

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        packed, writer = os.pipe()
        said = os.memfd_create("said", os.MFD_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            process = self._start((null, writer, said), pack=True, workdir=path)
        except BaseException:
            for used in (packed, said, null):
                os.close(used)
            raise
        finally:
            os.close(writer)
        archive, channel = bytearray(), PipeChannel(process, null, packed)
        try:
            with _ending(process, _UNPACKS_IN):
                while data := channel.read(_UNPACKS_IN + _KILLS_IN):
                    archive += data
                    if len(archive) > most:
                        raise EngineError(f"{path} of container {self.id} is larger than {most} bytes")
                code = channel.exit_code(_KILLS_IN)
            if code != 0:
                why = os.pread(said, 1000, 0).decode(errors="replace").strip()
                raise EngineError(f"container {self.id} gives no files: {why or 'it was ended, as it took too long'}")
        finally:
            channel.close()
            os.close(said)
        return bytes(archive) or None

    def kill_all(self) -> None:
        self.kills += 1
        null = os.open(os.devnull, os.O_RDWR)
        try:
            killer = self._start((null, null, null), kill=True)
        finally:
            os.close(null)
        try:
            if killer.wait(_KILLS_IN) != 0:  # something in the container was quicker, and stopped or killed what kills
                kill(self._others())
        finally:
            killer.close()

    def survivors(self) -> int:
        return len(self._others(waited_for=b"cat\0"))

    def _others(self, waited_for: bytes = b"") -> list[int]:
        try:
            found = others_than(self._pid, waited_for)
            signal.pidfd_send_signal(self._target, 0)  # or the number is another process's by now
        except OSError as error:
            raise EngineError(f"container {self.id} has died") from error
        return found

    def troubles(self, suspected: bool = False) -> tuple[str, ...]:
        before, self._counts, kills = self._counts, self._cgroup.counts(), self.kills
        said = tuple(troubles_of(self, before, self._counts, self._limits))
        if self.kills != kills:  # what was refused until then is no news
            self._counts = self._cgroup.counts()
        return said

    def remove(self) -> None:
        if self.is_removed:
            return
        self.is_removed = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._target, signal.SIGKILL)
        os.close(self._target)
        os.close(self._lifeline)
        self._first.wait(_BEGINS_IN)
        self._first.close()
        self._cgroup.remove()

    def disown(self) -> None:
        """Close a forked child's copy of what this process lives on."""
        if not self.is_removed:
            self.is_removed = True
            os.close(self._lifeline)
            os.close(self._target)
            self._first.close()

    def save(self, folder: Path) -> None:
        """Copy what was changed in this container into a folder, as a layer: deletions are marked in it."""
        changed = f"/proc/{self._first.pid}/root{_place()}/upper"
        command = ["cp", "-a", "--", f"{changed}/.", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # a command of ours
        if done.returncode != 0:
            raise EngineError(f"the layer cannot be saved in {folder}: {done.stderr[-300:]}")

    def _start(self, ends: tuple[int, int, int], command: Iterable[str] = (), **request: Any) -> Process:
        if self.is_removed:
            raise EngineError(f"container {self.id} was removed")
        return self._spawner.start(command, ends, self._target, pid=self._pid, **request)

    def _begun(self, layers: Iterable[Path]) -> tuple[Process, int, int]:
        """Begin it; return bubblewrap's process, a descriptor of the first one, and the pipe that it lives on."""
        reader, lifeline = os.pipe()
        heard, said = os.pipe()
        first = None
        with os.fdopen(heard, "rb") as told:
            try:
                first = begin(
                    self._spawner, layers, self._limits, (reader, said, said), ["sh", "-c", _WAIT],
                    hostname=self.id[-12:], cgroups=self._cgroup.tasks,
                )  # fmt: skip
                os.close(said)
                said = -1
                self._pid = _first_pid(told)
                return first, os.pidfd_open(self._pid), lifeline
            except BaseException as error:
                os.close(lifeline)
                if first is not None:
                    first.wait(_BEGINS_IN)
                    first.close()
                if isinstance(error, ProcessLookupError):
                    raise EngineError("the namespace engine could not start a container: it ended at once") from error
                raise
            finally:
                for used in (reader, said):
                    if used >= 0:
                        os.close(used)


@contextmanager
def _ending(process: Process, seconds: float) -> Iterator[None]:
    """Kill a process after this time, since what lives in its container may have stopped it."""

    def end() -> None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def begin(
    spawner: Spawner,
    layers: Iterable[Path],
    limits: ResourceLimits,
    ends: tuple[int, int, int],
    first: Iterable[str],
    *,
    hostname: str = "",
    cgroups: Iterable[str] = (),
    root: str | None = None,
) -> Process:
    """Begin a container and return bubblewrap's process, which first writes the number of the container's first one.

    Args:
        spawner: starts it.
        layers: the folders of its image, topmost first.
        limits: what is granted to it.
        ends: what its first process reads, writes, and writes errors to.
        first: what that process runs.
        hostname: its name; empty for that of this machine.
        cgroups: files that it is entered in.
        root: what it sees in place of its image, to try whether one can be begun.
    """
    place = _place()
    # What is written lies in memory and counts as such, so the disk must leave room for processes.
    size = min(limits.disk or DISK, limits.memory // 2)
    shared = min(SHARED_MEMORY, limits.memory // 8)
    devices = () if spawner.rootless else _DEVICES
    command = [
        shutil.which("bwrap") or "bwrap", "--info-fd", "1", "--seccomp", "3", "--die-with-parent",
        "--bind", root or f"{place}/root", "/", "--proc", "/proc", *_masks(), "--dev", "/dev",
        *(word for name in devices for word in ("--dev-bind", f"{place}/devices/{name}", f"/dev/{name}")),
        "--perms", "1777", "--size", str(shared), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",  # noqa: S108
        "--unshare-pid", "--unshare-ipc", "--unshare-uts", *_network(limits.network),
        *(("--unshare-user", "--uid", "0", "--gid", "0") if spawner.rootless else ()),
        *(("--hostname", hostname) if hostname else ()), "--as-pid-1", "--new-session", "--clearenv",
        "--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "--cap-drop", "ALL", *(word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")),
        "--", *first,
    ]  # fmt: skip
    build = {
        "place": place, "size": size, "files": files_of(size), "layers": list(map(str, layers)),
        "devices": bool(devices),
    }  # fmt: skip
    return spawner.start(command, ends, build=build, cgroups=list(cgroups))


def _first_pid(told: Any) -> int:
    """Return the number of the first process, once its root is in place; read from what the container says at first."""
    said, deadline = b"", time.monotonic() + _BEGINS_IN
    while ready([told.fileno()], max(deadline - time.monotonic(), 0.0)) and (chunk := told.read1(4096)):
        said += chunk
        if b"child-pid" in said and b"ready\n" in said:
            return int(json.loads(said[said.index(b"{") : said.index(b"}") + 1])["child-pid"])
    raise EngineError(f"the namespace engine could not start a container: {said.decode(errors='replace').strip()}")


def _masks() -> list[str]:
    """Return what bubblewrap is told of ``/proc``."""
    words = []
    for option, source, names in (
        ("--ro-bind", "/dev/null", _MASKED_FILES),
        ("--tmpfs", "", _MASKED_FOLDERS),
        ("--ro-bind", "/proc/", _READ_ONLY),
    ):
        for name in names:
            path = f"/proc/{name}"
            if Path(path).exists():
                words += [option, *([source + name if source.endswith("/") else source] if source else []), path]
                if option == "--tmpfs":
                    words += ["--remount-ro", path]
    return words


def _network(wanted: bool) -> list[str]:
    """Return what bubblewrap is told of the network: that of the host with its resolver, or an empty one."""
    if not wanted:
        return ["--unshare-net"]
    resolver = Path("/etc/resolv.conf").resolve()
    return ["--ro-bind", str(resolver), "/etc/resolv.conf"] if resolver.is_file() else []


def _place() -> str:
    """Return an empty folder that containers are built on, each in a mount namespace of its own.

    Raises:
        EngineError: if somebody else has taken its name.
    """
    folder = os.environ.get("XDG_RUNTIME_DIR", "")  # which is carried along to where there is none
    path = Path(folder if os.access(folder, os.W_OK | os.X_OK) else "/tmp") / f"gem-terminal-{os.getuid()}"  # noqa: S108
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise EngineError(f"containers cannot be built in {path}: {error}; set XDG_RUNTIME_DIR") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise EngineError(f"{path}, where containers are built, is not a folder of this user; remove it")
    return str(path)
