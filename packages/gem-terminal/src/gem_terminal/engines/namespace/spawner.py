"""Starts processes inside the namespaces of a container: the fork server of the namespace engine.

It stays small, so that forking it costs a millisecond, and it is the parent of what it starts, so that exit codes are
exact. A bare interpreter runs it, so it imports the standard library and modules of :mod:`gem.processes` that do the
same. A request is JSON with four descriptors or five: what the process reads, what it writes, what it writes errors
to, where its exit status goes, as one decimal line, and the first process of its container.

Privileges are given up before anything of the container is executed: the bounding set, then the user, then
``no_new_privs``, then system calls, by the filter.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import stat
import sys
import tarfile
import termios
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from fcntl import ioctl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.processes import linux, rlimits
from gem.processes.fork_loop import Child, ForkLoop, serve

if TYPE_CHECKING:
    import resource

__all__ = ["main"]

_NAMESPACES = (
    ("user", linux.CLONE_NEWUSER),
    ("mnt", linux.CLONE_NEWNS),
    ("uts", linux.CLONE_NEWUTS),
    ("ipc", linux.CLONE_NEWIPC),
    ("net", linux.CLONE_NEWNET),
)
_DIES_IN = 5.0
"""Seconds that a process takes to go once it was killed, unless the kernel holds it."""
_DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
_KEPT = frozenset((0, 1, 3, 4, 5, 6, 7))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: as the Docker engine gives them."""


def main() -> None:
    """Be the server; arguments: the filter of system calls in hexadecimal digits, and the descriptor of the channel."""
    seccomp, control = bytes.fromhex(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))

    def prepare() -> Callable[[], None]:
        return _SpawnerLoop(control, seccomp).run

    serve(control, prepare)


class _Spawned(Child):
    """A process whose exit status is written to a pipe."""

    def __init__(self, pid: int, status: int) -> None:
        super().__init__(pid)
        self._status = status

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        _tell(self._status, str(returncode))
        os.close(self._status)


class _SpawnerLoop(ForkLoop):
    def __init__(self, control: socket.socket, seccomp: bytes) -> None:
        super().__init__(control)
        self._seccomp = seccomp
        linux.adopt_orphans()
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:
            linux.setns(self._own, linux.CLONE_NEWPID)
            self._rootless = False
        except OSError:  # root of a user namespace alone may not come back to the machine's namespace of processes
            self._rootless = True

    def start(self, body: bytes, descriptors: list[int]) -> Child | None:
        stdin, stdout, stderr, status, *target = descriptors
        request = {**json.loads(body), "target": target[0] if target else None, "seccomp": self._seccomp}
        request["rootless"] = self._rootless
        try:
            pid = _start(request, (stdin, stdout, stderr), self._own)
        except OSError as error:
            _tell(status, f"! {error}")
            os.close(status)
            return None
        finally:
            for used in (stdin, stdout, stderr, *target):
                os.close(used)
        _tell(status, str(pid))
        return _Spawned(pid, status)


def _tell(where: int, what: str) -> None:
    with suppress(OSError):  # nobody wants to know any more
        os.write(where, f"{what}\n".encode())


def _start(request: dict[str, Any], ends: tuple[int, int, int], own: int) -> int:
    """Fork a process in the process namespace of the container; it joins the others itself."""
    if request["target"] is None:
        pid = os.fork()
        if not pid:
            _execute_here(request, ends)
        return pid
    theirs = os.open(f"/proc/{request['pid']}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check_alive(request)
        if request["rootless"]:
            return _start_by_another(request, ends, theirs)
        linux.setns(theirs, linux.CLONE_NEWPID)
        try:
            pid = os.fork()
            if not pid:
                _become(request, ends)
        finally:
            linux.setns(own, linux.CLONE_NEWPID)
    finally:
        os.close(theirs)
    return pid


def _start_by_another(request: dict[str, Any], ends: tuple[int, int, int], theirs: int) -> int:
    """Let a process that need not come back start it, and take the orphan in."""
    heard, said = os.pipe()
    between = os.fork()
    if not between:
        try:
            linux.setns(theirs, linux.CLONE_NEWPID)
            pid = os.fork()
            if not pid:
                _become(request, ends)
            _tell(said, str(pid))
        except BaseException as error:  # the copy of the spawner must not go on
            _tell(said, f"! {error}")
        os._exit(0)
    os.close(said)
    os.waitpid(between, 0)
    with os.fdopen(heard) as told:
        line = told.readline().strip()
    if not line.isdigit():
        raise OSError(line[2:] or "it could not be started")
    return int(line)


def _execute_here(request: dict[str, Any], ends: tuple[int, int, int]) -> None:
    """Execute a trusted program in the spawner's own namespaces, which is how a container begins; never returns."""
    try:
        _leave_the_spawner(request)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        _build(**request["build"])
        reader, writer = os.pipe()
        os.write(writer, request["seccomp"])
        os.dup2(reader, 3)  # where bubblewrap is told to look for it
        os.closerange(4, 1 << 16)
        os.execvp(request["command"][0], request["command"])  # noqa: S606  # no shell is wanted
    except BaseException as error:  # the copy of the spawner must not go on
        _say(request, error)
    os._exit(127)


def _build(place: str, size: int, files: int, layers: list[str], devices: bool) -> None:
    """Make the root of a container, ``root`` in a folder, in a mount namespace of its own.

    Args:
        place: an empty folder; what the container writes goes to a tmpfs that is mounted on it.
        size: bytes that it may write.
        files: files and folders that it may make.
        layers: folders that lie under that, topmost first.
        devices: whether to make devices as well, in ``devices``. Those of the machine could be had instead, but then
            who is root in the container could change their modes for everybody.
    """
    linux.unshare(linux.CLONE_NEWNS)
    linux.make_private()
    linux.mount("tmpfs", place, f"size={size},nr_inodes={files},mode=755")
    os.chdir(place)
    for name in ("upper", "work", "root", "devices"):
        os.mkdir(name)  # noqa: PTH102  # pathlib is slower, and there are no paths to speak of
    under = ":".join("".join(f"\\{letter}" if letter in "\\:," else letter for letter in layer) for layer in layers)
    linux.mount("overlay", "root", f"lowerdir={under},upperdir=upper,workdir=work")
    for name, major, minor in _DEVICES if devices else ():
        os.mknod(f"devices/{name}", stat.S_IFCHR, os.makedev(major, minor))
        Path("devices", name).chmod(0o666)
    os.chdir("/")


def _say(request: dict[str, Any], error: BaseException) -> None:
    with suppress(OSError):
        os.write(2, f"{' '.join(request['command'][:1]) or 'the container'}: {error}\n".encode())


def _check_alive(request: dict[str, Any]) -> None:
    """Make sure that what was opened by the number of the first process is its, and not of one that has it now."""
    signal.pidfd_send_signal(request["target"], 0)


def _leave_the_spawner(request: dict[str, Any]) -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with suppress(OSError):  # of two that cannot be changed
            if signal.getsignal(number) not in (signal.SIG_DFL, None):  # nohup's, Python's, the spawner's own
                signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for group in request["cgroups"]:
        Path(group).write_text("0", encoding="utf-8")  # a codec that no fork has to import


def _become(request: dict[str, Any], ends: tuple[int, int, int]) -> None:
    """Join the namespaces, give up privileges, execute; never returns."""
    try:
        _leave_the_spawner(request)
        if request["kill"]:
            _kill_everything()
            os._exit(0)
        # If the memory runs out, the first process is not what ends.
        Path("/proc/self/oom_score_adj").write_text("500", encoding="utf-8")
        namespaces = [
            (os.open(f"/proc/{request['pid']}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind)
            for name, kind in _NAMESPACES
            if not Path(f"/proc/{request['pid']}/ns/{name}").samefile(f"/proc/self/ns/{name}")
        ]
        root = os.open(f"/proc/{request['pid']}/root", os.O_RDONLY | os.O_CLOEXEC)
        _check_alive(request)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        rlimits.lower_limits(request["rlimits"])  # counted in the user namespace of the container, before it is joined
        for namespace, kind in namespaces:
            linux.setns(namespace, kind)
        os.fchdir(root)
        os.chroot(".")
        os.closerange(3, 1 << 16)
        sys.meta_path.clear()  # from here on an import would find the container's files, and run them
        if request["unpack"]:
            with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
                # By number, since the names would be looked up with the container's own libraries.
                archive.extractall(request["workdir"], numeric_owner=True, **_FILTERED)  # noqa: S202  # the filter sees to it
            os._exit(0)
        if request["pack"]:
            _pack(request["workdir"])
            os._exit(0)
        os.setsid()
        if request["terminal"]:
            ioctl(0, termios.TIOCSCTTY, 0)
        user = _user(request["user"])
        _give_up_privileges(user, request["rootless"])
        environment = {"HOME": user[2], "PATH": _PATH, **request["environment"]}
        os.chdir(request["workdir"] or "/")
        rlimits.lower_limits({"RLIMIT_CORE": 0})
        linux.seccomp(request["seccomp"])
        os.execvpe(request["command"][0], request["command"], environment)  # noqa: S606  # no shell is wanted
    except BaseException as error:  # the copy of the spawner must not go on
        _say(request, error)
    os._exit(127)


def _kill_everything() -> None:
    """Kill everything in the container but its first process and this one, and wait until it has gone."""
    deadline = time.monotonic() + _DIES_IN
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(-1, signal.SIGKILL)
            time.sleep(0.0005)


def _with_its_mode(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """Keep the modes that the filter would change: what everybody may write to, and programs that change their user."""
    _make_room(member, folder)
    checked = tarfile.tar_filter(member, folder)
    checked.mode = member.mode
    return checked


def _make_room(member: tarfile.TarInfo, folder: str) -> None:
    """Remove what is in a file's place, so that no pipe is waited for and no link is refused."""
    parent, _, name = f"{folder}/{member.name}".rpartition("/")
    inside = os.path.realpath(folder).rstrip("/") + "/"
    if name not in ("", ".", "..") and not member.isdir() and f"{os.path.realpath(parent)}/".startswith(inside):
        with suppress(OSError):
            os.unlink(f"{parent}/{name}")  # noqa: PTH108  # pathlib is slower


_FILTERED: dict[str, Any] = {"filter": _with_its_mode} if hasattr(tarfile, "tar_filter") else {}
"""Python before 3.10.12 and 3.11.4 has no filters, and later ones want to be told which."""


def _pack(path: str) -> None:
    """Write a tar archive of a file or folder to stdout, or nothing if there is none.

    Whatever the container does meanwhile, no link is followed but those in ``path`` itself, nothing but regular files
    is opened, and no more is held than one entry and the folders above it.
    """
    path = path.rstrip("/") or "/"
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    parent = path.rpartition("/")[0]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        _add(archive, path, parent)
        folders = _entries(path)
        while folders:
            entry = next(folders[-1], None)
            if entry is None:
                folders.pop().close()
                continue
            _add(archive, entry.path, parent)
            folders += _entries(entry.path)


def _entries(path: str) -> list[Any]:
    try:
        return [os.scandir(path)] if stat.S_ISDIR(os.lstat(path).st_mode) else []
    except (FileNotFoundError, NotADirectoryError):  # replaced at this moment
        return []


def _add(archive: tarfile.TarFile, path: str, parent: str) -> None:
    """Add one entry: its name below ``parent``, its owner by number, and of a file as much as it was long at first."""
    member = tarfile.TarInfo(path[len(parent) + 1 :] or ".")
    with suppress(FileNotFoundError, NotADirectoryError), ExitStack() as opened:
        status = os.lstat(path)
        content = None
        if stat.S_ISREG(status.st_mode):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO):  # it was a file a moment ago
                    return
                raise
            content = opened.enter_context(os.fdopen(descriptor, "rb", buffering=0))
            status = os.fstat(descriptor)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode))
        if kind is None:  # a socket, which no archive holds
            return
        member.type, member.mode, member.mtime = kind, stat.S_IMODE(status.st_mode), int(status.st_mtime)
        member.uid, member.gid = status.st_uid, status.st_gid
        if kind == tarfile.SYMTYPE:
            member.linkname = str(Path(path).readlink())
        elif kind in (tarfile.CHRTYPE, tarfile.BLKTYPE):
            member.devmajor, member.devminor = os.major(status.st_rdev), os.minor(status.st_rdev)
        elif kind == tarfile.REGTYPE and content is not None:
            member.size = status.st_size
            archive.addfile(member, _Padded(content))  # type: ignore[arg-type]  # it reads, and no more is asked of it
            return
        archive.addfile(member)


class _Padded:
    """A file that can be read as far as it was long at first: zeros take the place of what was cut off since."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        return data.ljust(size, b"\0")


_KINDS = {
    stat.S_IFREG: tarfile.REGTYPE,
    stat.S_IFDIR: tarfile.DIRTYPE,
    stat.S_IFLNK: tarfile.SYMTYPE,
    stat.S_IFIFO: tarfile.FIFOTYPE,
    stat.S_IFCHR: tarfile.CHRTYPE,
    stat.S_IFBLK: tarfile.BLKTYPE,
}

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _user(name: str | None) -> tuple[int, int, str]:
    """Return the number, group and home of a user of the container, from its own ``/etc/passwd``."""
    wanted = name or "root"
    users = Path("/etc/passwd")
    if users.is_file():  # a pipe would never end
        for line in users.read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(":")
            if len(fields) >= 6 and wanted in (fields[0], fields[2]):
                return int(fields[2]), int(fields[3]), fields[5] or "/"
    if wanted == "root":
        return 0, 0, "/root"
    if wanted.isdigit():
        return int(wanted), int(wanted), "/"
    raise LookupError(f"there is no user {wanted}")


def _give_up_privileges(user: tuple[int, int, str], rootless: bool) -> None:
    linux.bound_capabilities(_KEPT)
    uid, gid, _ = user
    with suppress(PermissionError) if rootless else nullcontext():  # there are none to be had in a user namespace
        os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # Root keeps what it has until it executes something, which then has no more than the bounding set.
    linux.no_new_privileges()
