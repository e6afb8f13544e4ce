"""A container of the namespace engine and its processes: :class:`NamespaceContainer`."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Channel, Container, FileChanges, ProcessOptions
from gem_terminal.engines.cgroups import Cgroup, LimitCounts, describe_reached_limits
from gem_terminal.engines.container_defaults import DISK, SHARED_MEMORY, files_of
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.namespace import network
from gem_terminal.engines.namespace.bubblewrap_options import bubblewrap_command, system_binds
from gem_terminal.engines.namespace.channel import PipeChannel
from gem_terminal.engines.namespace.loop_disk import disk_template
from gem_terminal.engines.namespace.saved_layers import save_layer
from gem_terminal.engines.namespace.shared_folders import TOP
from gem_terminal.engines.namespace.snapshots import (
    ContainerFiles,
    FileCopy,
    NamespaceSnapshot,
    SharedFolders,
    changes_in,
    copy_of_container,
    share_container,
)
from gem_terminal.engines.namespace.spawning import Process, Spawner
from gem_terminal.engines.processes import has_ended, kill, others_than
from gem_terminal.errors import EngineError
from gem_terminal.network.egress_proxy import PROXY_PORT, EgressProxy, proxy_variables
from gem_terminal.task import ResourceLimits
from gem_terminal.warnings_once import warn_once

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["NamespaceContainer", "build_folder", "files_to_begin_with", "start_container"]

_FULL = 64 << 10
"""Bytes of room below which a disk counts as full: programs write more than that at once."""
_BEGINS_IN = 30.0
"""The time limit in seconds for the start of a container and for the end of its processes."""
_KILLS_IN = 1.0
"""The time limit in seconds for killing all processes; after that, each is killed from outside."""
_SHARE = 3
"""The files of a snapshot may take one part in this many of a disk to be shared; larger ones are copied.

A change of a shared file takes room for the whole file anew, and the removal of one gives none back.
"""
_UNPACKS_IN = 60.0
"""The time limit in seconds for packing or unpacking an archive."""

# The first process ends when its input pipe closes. It never forks, so a fork bomb cannot kill it; bash reaps orphans
# while it reads. Without bash, a killed helper is started again.
_WAIT = """\
echo ready >&2
exec 2>/dev/null
command -v bash >/dev/null && exec bash -c 'while read -r; do :; done'
exec 3<&0
while :; do cat <&3 >/dev/null & wait $! && exit; done"""


class NamespaceContainer(Container):
    """A running container.

    The files that it writes lie in memory and count against its memory; on a disk of their own, if the task asks for
    more room than that and this machine has loop devices.

    Args:
        spawner: starts its processes.
        layers: the folders of its image, topmost first.
        limits: its resource limits.
        environment, config: the environment variables, and the default user and folder, of its processes.
        begins_with: the files of a snapshot, with which it begins.
        beside: the container whose network it joins; None for a network of its own.
        disks: the folder for disks; None for files in memory only.
    """

    snapshots_in_milliseconds = True

    def __init__(
        self,
        spawner: Spawner,
        layers: Iterable[Path],
        limits: ResourceLimits,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
        begins_with: SharedFolders | FileCopy | None = None,
        beside: NamespaceContainer | None = None,
        disks: Path | None = None,
    ) -> None:
        self._disks = disks
        self._layers = tuple(layers)
        self._config = config
        self._beside = beside
        self._begun_with = begins_with.layers if isinstance(begins_with, SharedFolders) else ()
        self._spawner = spawner
        self._limits = limits
        self._environment = dict(environment)
        self._workdir = config.get("workdir")
        self._user = config.get("user")
        self.is_removed = False
        self._cgroup = Cgroup(limits)
        self._counts = LimitCounts()
        self._disk_is_full = False
        # Weaker limits without control groups: memory of each process, and number of processes in the user namespace.
        self._rlimits = {"RLIMIT_DATA": limits.memory, "RLIMIT_NPROC": limits.processes} if spawner.rootless else {}
        self.id = self._cgroup.name
        self._network: network.UserModeNetwork | None = None
        self._proxy: EgressProxy | None = None
        if limits.is_filtered:
            self._environment = {**proxy_variables(), **self._environment}
        try:
            self._first, self._target, self._lifeline = self._start_first(begins_with)
        except BaseException:
            self._cgroup.remove()
            raise

    def open(self, command: Iterable[str], **options: Unpack[ProcessOptions]) -> Channel:
        terminal = options.get("terminal", False)
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
                user=options.get("user") or self._user,
                environment={**self._environment, **(options.get("environment") or {})},
                workdir=options.get("workdir") or self._workdir,
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
        # Archives pass through anonymous files. A process in the container might hold the other end of a pipe, while a
        # sealed file cannot change on its way.
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
                with _killed_after(process, _UNPACKS_IN):  # a pipe in place of a file may block it
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
            with _killed_after(process, _UNPACKS_IN):
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
            if killer.wait(_KILLS_IN) != 0:  # a hostile process stopped or killed the killer first
                kill(self._others())
        finally:
            killer.close()

    def survivors(self) -> int:
        return len(self._others(waited_for=b"cat\0"))

    def _others(self, waited_for: bytes = b"") -> list[int]:
        try:
            found = others_than(self._pid, waited_for)
            signal.pidfd_send_signal(self._target, 0)  # or another process has the id now
        except OSError as error:
            raise EngineError(f"container {self.id} has died") from error
        if has_ended(self._pid):
            raise EngineError(f"container {self.id} has died")
        return found

    def reached_limits(self, suspected: bool = False) -> tuple[str, ...]:
        before, self._counts, kills = self._counts, self._cgroup.counts(), self.kills
        said = (*describe_reached_limits(self, before, self._counts, self._limits), *self._full_disk())
        if self.kills != kills:  # refusals before the kill are already explained
            self._counts = self._cgroup.counts()
        return said

    def _full_disk(self) -> tuple[str, ...]:
        """Say that the disk is full, when it has become so since the last call."""
        try:
            disk = os.statvfs(f"/proc/{self._pid}/root")
        except OSError:  # the container has died, which the next command finds
            return ()
        was_full, room = self._disk_is_full, disk.f_bavail * disk.f_frsize
        self._disk_is_full = room < _FULL or disk.f_favail == 0
        if not self._disk_is_full or was_full:
            return ()
        what = f"{disk.f_blocks * disk.f_frsize >> 20} MiB" if room < _FULL else f"{disk.f_files} files"
        return (f"the disk of {what} is full",)

    def mount(self, source: Path, target: str) -> None:
        said = os.memfd_create("said", os.MFD_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            process = self._start((null, null, said), shows=str(source), workdir=target)
            code = process.wait(_BEGINS_IN)
            process.close()
            if code != 0:
                why = os.pread(said, 1000, 0).decode(errors="replace").strip()
                raise EngineError(f"container {self.id} cannot show {source}: {why or 'it took too long'}")
        finally:
            os.close(null)
            os.close(said)

    def listen(self, port: int) -> socket.socket:
        if self.is_removed:
            raise EngineError(f"container {self.id} was removed")
        return network.listen(self._spawner, self._pid, self._target, port)

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
        if self._network is not None:
            self._network.wait()
        if self._proxy is not None:
            self._proxy.close()
        self._cgroup.remove()

    @property
    def namespace_holder(self) -> tuple[int, int]:
        """The id and a descriptor of the first process, through which others join the namespaces."""
        if self.is_removed:
            raise EngineError(f"container {self.id} was removed")
        return self._pid, self._target

    def disown(self) -> None:
        """Close a forked child's copies of the container's descriptors."""
        if not self.is_removed:
            self.is_removed = True
            os.close(self._lifeline)
            os.close(self._target)
            self._first.close()
            if self._network is not None:
                self._network.disown()
            if self._proxy is not None:
                self._proxy.disown()

    def changes(self, folders: Iterable[str], *, most: int = 1 << 30) -> FileChanges:
        places = tuple(folders)
        copy = copy_of_container(self._spawner, self._files, places, most)
        try:
            return changes_in(copy.descriptor, places)
        finally:
            os.close(copy.descriptor)

    def snapshot(self) -> NamespaceSnapshot:
        files, spawner = self._files, self._spawner
        taken: SharedFolders | FileCopy
        if not spawner.rootless and self._can_share():
            taken = share_container(spawner, files)
        else:
            taken = copy_of_container(spawner, files)
        return NamespaceSnapshot(taken, self._layers, self._environment, self._config)

    def _can_share(self) -> bool:
        """Return whether the files in this container are few enough for its disk to be shared by others."""
        try:
            disk = os.statvfs(f"/proc/{self._pid}/root")
        except OSError as error:
            raise EngineError(f"container {self.id} has died") from error
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        if disk.f_blocks * disk.f_frsize <= _disk_of(self._limits):  # a disk of its own has a reserve for them
            used += sum(layer.size for layer in self._begun_with)
        return used <= _disk_of(self._limits) // _SHARE

    @property
    def _files(self) -> ContainerFiles:
        if self.is_removed:
            raise EngineError(f"container {self.id} was removed")
        return ContainerFiles(self._target, self._first.pid, build_folder(), self._begun_with, self._layers)

    def save(self, folder: Path) -> None:
        """Copy the changes in this container into a folder, as a layer with marks of deleted files."""
        save_layer(self._files.upper, folder)

    def _start(self, ends: tuple[int, int, int], command: Iterable[str] = (), **request: Any) -> Process:
        if self.is_removed:
            raise EngineError(f"container {self.id} was removed")
        return self._spawner.start(command, ends, self._target, pid=self._pid, **request)

    def _check_disk(self) -> None:
        asked = self._limits.disk
        if asked is None or asked <= self._limits.memory // 2:
            return
        with suppress(OSError):  # it has died
            disk = os.statvfs(f"/proc/{self._pid}/root")
            if (room := disk.f_blocks * disk.f_frsize) < asked // 2:
                warn_once(
                    f"containers of the namespace engine have disks of {room >> 20} MiB here where tasks ask for "
                    f"{asked >> 20} MiB: larger ones need root, loop devices and mkfs.ext4 (Debian: apt install "
                    "e2fsprogs); or use limits={'memory': …}, of which half is for files"
                )

    def _start_first(self, begins_with: SharedFolders | FileCopy | None) -> tuple[Process, int, int]:
        """Start the container; return bubblewrap's process, a descriptor of the first process, and its lifeline."""
        reader, lifeline = os.pipe()
        heard, said = os.pipe()
        first = None
        with os.fdopen(heard, "rb") as told:
            try:
                first = start_container(
                    self._spawner, self._layers, self._limits, (reader, said, said), ["sh", "-c", _WAIT],
                    hostname=self.id[-12:], cgroups=self._cgroup.tasks, begins_with=begins_with,
                    joins=None if self._beside is None else self._beside.namespace_holder, disks=self._disks,
                )  # fmt: skip
                os.close(said)
                said = -1
                self._pid = _first_pid(told)
                self._check_disk()
                target = os.pidfd_open(self._pid)
                try:
                    self._connect(target, reader)
                except BaseException:
                    os.close(target)
                    raise
                return first, target, lifeline
            except BaseException as error:
                os.close(lifeline)
                if first is not None:
                    first.wait(_BEGINS_IN)
                    first.close()
                if isinstance(error, ProcessLookupError):
                    raise EngineError("the namespace engine could not start a container: it ended early") from error
                raise
            finally:
                for used in (reader, said):
                    if used >= 0:
                        os.close(used)

    def _connect(self, target: int, lifeline: int) -> None:
        """Give the network namespace of this container what its limits allow."""
        if self._beside is not None:
            return
        if self._limits.is_routed:
            self._network = network.connect(self._spawner, self._pid, target, lifeline)
        elif self._limits.is_filtered:
            listener = network.listen(self._spawner, self._pid, target, PROXY_PORT)
            self._proxy = EgressProxy(listener, self._limits.allowed_hosts or ())


@contextmanager
def _killed_after(process: Process, seconds: float) -> Iterator[None]:
    """Kill a process at a time limit, since a process of its container may have stopped it."""

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


def start_container(
    spawner: Spawner,
    layers: Iterable[Path],
    limits: ResourceLimits,
    ends: tuple[int, int, int],
    first: Iterable[str],
    *,
    hostname: str = "",
    cgroups: Iterable[str] = (),
    root: str | None = None,
    begins_with: SharedFolders | FileCopy | None = None,
    joins: tuple[int, int] | None = None,
    disks: Path | None = None,
) -> Process:
    """Start a container and return bubblewrap's process, which first reports the id of the container's first process.

    Args:
        spawner: starts the process.
        layers: the folders of its image, topmost first.
        limits: its resource limits.
        ends: the stdin, stdout and stderr of its first process.
        first: the command of that process.
        hostname: its host name; empty for the name of this machine.
        cgroups: the files through which it joins its control groups.
        root: a folder in place of its image, for a trial.
        begins_with: the files of a snapshot, with which it begins.
        joins: id and descriptor of the first process of the container whose network it joins.
        disks: see :class:`NamespaceContainer`.
    """
    place = build_folder()
    snapshot = begins_with if isinstance(begins_with, SharedFolders) else None
    if snapshot is not None:
        place = f"{place}/{TOP}"
    # Files in memory count against it, so they must leave memory for processes.
    size = _disk_of(limits)
    disk = None
    if limits.disk is not None and limits.disk > size and disks is not None and not spawner.rootless:
        with suppress(OSError):  # the warning of the container says so
            disk = disk_template(disks, limits.disk, files_of(limits.disk))
    shared = min(SHARED_MEMORY, limits.memory // 8)
    groups = list(cgroups)
    command = bubblewrap_command(
        place, limits, groups, shared, first,
        root=root, hostname=hostname, joins=joins is not None, rootless=spawner.rootless,
    )  # fmt: skip
    build = {
        "place": place, "size": size, "files": files_of(size) - (snapshot.files if snapshot else 0),
        "disk": str(disk or ""), "held": snapshot.size if snapshot else 0,
        "shared": [layer.name for layer in snapshot.layers] if snapshot else [],
        "layers": list(map(str, layers)),
        "system": None if spawner.rootless else (shared, system_binds(groups)),
        "resolver": network.resolver() if limits.is_routed else "",
    }  # fmt: skip
    process, target = joins or (None, None if begins_with is None else begins_with.descriptor)
    return spawner.start(command, ends, target, build=build, cgroups=groups, joins=process)


def _first_pid(told: Any) -> int:
    """Return the id of the first process after its root is in place, from the first output of the container."""
    said, deadline = b"", time.monotonic() + _BEGINS_IN
    while ready([told.fileno()], max(deadline - time.monotonic(), 0.0)) and (chunk := told.read1(4096)):
        said += chunk
        if b"child-pid" in said and b"ready\n" in said:
            return int(json.loads(said[said.index(b"{") : said.index(b"}") + 1])["child-pid"])
    raise EngineError(f"the namespace engine could not start a container: {said.decode(errors='replace').strip()}")


def files_to_begin_with(
    snapshot: NamespaceSnapshot, spawner: Spawner, limits: ResourceLimits
) -> SharedFolders | FileCopy:
    """Return the form of a snapshot with which a container with these limits begins.

    Raises:
        EngineError: if the snapshot is closed, or the memory does not suffice.
    """
    disk, place = _disk_of(limits), build_folder()
    if not spawner.rootless and snapshot.size <= disk // _SHARE:
        shared = snapshot.shared(spawner, place)
        if shared.files <= files_of(disk) // _SHARE:
            return shared
    return snapshot.copy(spawner, place)


def _disk_of(limits: ResourceLimits) -> int:
    """Return the room for files in a container with these limits, in bytes, as far as its memory allows it."""
    return min(limits.disk or DISK, limits.memory // 2)


def build_folder() -> str:
    """Return an empty folder to build containers on, each in its own mount namespace.

    Raises:
        EngineError: if another user owns a folder of that name.
    """
    folder = os.environ.get("XDG_RUNTIME_DIR", "")  # may be inherited without its folder
    path = Path(folder if os.access(folder, os.W_OK | os.X_OK) else "/tmp") / f"gem-terminal-{os.getuid()}"  # noqa: S108
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise EngineError(f"containers cannot be built in {path}: {error}; set XDG_RUNTIME_DIR") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise EngineError(f"{path}, where containers are built, is not a folder of this user; remove it")
    return str(path)
