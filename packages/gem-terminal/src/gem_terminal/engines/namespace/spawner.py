"""Starts processes inside the namespaces of a container: the fork server of the namespace engine.

The process stays small, so a fork takes a millisecond. As the parent of all started processes, it knows their exit
codes. A bare interpreter runs it, so it imports only the standard library and modules of :mod:`gem_processes` that do
the same. A request is JSON with four or five descriptors: the stdin, stdout and stderr of the process, a pipe
that receives its exit status as one decimal line, and the first process of its container. A helper outside of all
containers has its descriptor 3 in place of the latter.

The process drops its privileges before it executes a file of the container: the bounding set, then the user, then
``no_new_privs``, then system calls through the filter.
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
from typing import TYPE_CHECKING, Any, NoReturn

from gem_processes import linux, rlimits
from gem_processes.fork_loop import Child, ForkLoop, serve
from gem_terminal.engines import netlink
from gem_terminal.engines.container_defaults import SEARCH_PATH
from gem_terminal.engines.namespace import saved_files, shared_folders
from gem_terminal.engines.namespace.root_building import build_root

if TYPE_CHECKING:
    import resource

__all__ = ["main"]

_NAMESPACES = (
    ("net", linux.CLONE_NEWNET),  # before the user namespace, because it may belong to another container's
    ("user", linux.CLONE_NEWUSER),
    ("mnt", linux.CLONE_NEWNS),
    ("uts", linux.CLONE_NEWUTS),
    ("ipc", linux.CLONE_NEWIPC),
)
_DIES_IN = 5.0
"""Seconds that a killed process may need to end, unless the kernel holds it."""
_KEPT = frozenset((0, 1, 3, 4, 5, 6, 7))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID and SETUID, as the Docker engine grants them."""


def main() -> None:
    """Run the server. Arguments: the system call filter in hexadecimal digits, and the channel's descriptor."""
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
        except OSError:  # root of a user namespace cannot return to the machine's process namespace
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
    with suppress(OSError):  # the caller has closed the pipe
        os.write(where, f"{what}\n".encode())


def _start(request: dict[str, Any], ends: tuple[int, int, int], own: int) -> int:
    """Fork a process in the process namespace of the container. The process joins the other namespaces itself."""
    if request["pid"] is None:
        pid = os.fork()
        if not pid:
            _execute_here(request, ends)
        return pid
    theirs = os.open(f"/proc/{request['pid']}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check_alive(request)
        if request["rootless"]:
            return _start_through_helper(request, ends, theirs)
        linux.setns(theirs, linux.CLONE_NEWPID)
        try:
            pid = os.fork()
            if not pid:
                _enter_and_execute(request, ends)
        finally:
            linux.setns(own, linux.CLONE_NEWPID)
    finally:
        os.close(theirs)
    return pid


def _start_through_helper(request: dict[str, Any], ends: tuple[int, int, int], theirs: int) -> int:
    """Let a process that need not come back start it, and adopt the orphan."""
    heard, said = os.pipe()
    between = os.fork()
    if not between:
        try:
            linux.setns(theirs, linux.CLONE_NEWPID)
            pid = os.fork()
            if not pid:
                _enter_and_execute(request, ends)
            _tell(said, str(pid))
        except BaseException as error:  # the copy of the spawner must not continue
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
    """Execute a trusted program in the spawner's own namespaces, to start a container or to help it; never returns.

    Copying the files of a container is such help, too.
    """
    try:
        _leave_the_spawner(request)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        if (send := _SENDERS.get(request["send"])) is not None:
            _send_files(request, send)
        if request["build"] is None:
            # slirp4netns unmounts what it does not need, and that would reach every mount that it shares with others.
            linux.unshare(linux.CLONE_NEWNS)
            linux.make_private()
            os.dup2(request["target"], 3)
        else:
            copy = request["target"]
            if request["build"]["shared"]:
                linux.setns(copy, linux.CLONE_NEWNS)
                copy = None
            if request["joins"] is not None:
                network = os.open(f"/proc/{request['joins']}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                _check_alive(request)
                linux.setns(network, linux.CLONE_NEWNET)
                copy = None
            build_root(**request["build"], copy=copy)
            reader, writer = os.pipe()
            os.write(writer, request["seccomp"])
            os.dup2(reader, 3)  # the path in bubblewrap's options
        os.closerange(4, 1 << 16)
        os.execvp(request["command"][0], request["command"])  # noqa: S606  # no shell is wanted
    except BaseException as error:  # the copy of the spawner must not continue
        _say(request, error)
    os._exit(127)


def _send_files(request: dict[str, Any], send: Callable[..., None]) -> NoReturn:
    """Copy files and send them; those of a container, whose first process is the target, or those of a descriptor."""
    asked = request["files"]
    if asked["path"] is None:
        asked = {**asked, "path": request["target"]}
    else:
        _check_alive(request)
    try:
        send(channel=1, **asked)
    except OSError as error:
        if error.errno not in saved_files.CONTENT_ERRORS:
            raise
        _say(request, error)
        os._exit(saved_files.CONTENT_FAILED)
    os._exit(0)


def _say(request: dict[str, Any], error: BaseException) -> None:
    with suppress(OSError):
        os.write(2, f"{' '.join(request['command'][:1]) or 'the container'}: {error}\n".encode())


def _check_alive(request: dict[str, Any]) -> None:
    """Check that the descriptor refers to the first process, and not to another one that has its id now."""
    signal.pidfd_send_signal(request["target"], 0)


def _leave_the_spawner(request: dict[str, Any]) -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with suppress(OSError):  # of two that cannot be changed
            if signal.getsignal(number) not in (signal.SIG_DFL, None):  # nohup's, Python's, the spawner's own
                signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for group in request["cgroups"]:
        Path(group).write_text("0", encoding="utf-8")  # a codec that is already loaded in every fork


def _enter_and_execute(request: dict[str, Any], ends: tuple[int, int, int]) -> None:
    """Join the namespaces, drop privileges, and execute the command; never returns."""
    try:
        _leave_the_spawner(request)
        if request["kill"]:
            _kill_all()
            os._exit(0)
        # If the memory runs out, the kernel must not choose the first process.
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
        rlimits.lower_limits(request["rlimits"])  # before joining: the limit counts in this namespace
        shown = _copy_of(request["shows"]) if request["shows"] else -1
        for namespace, kind in namespaces:
            linux.setns(namespace, kind)
        if (request["refused"] or request["listens"]) and linux.CLONE_NEWNET not in dict(namespaces).values():
            raise ProcessLookupError(errno.ESRCH, "the container has the network of this machine")
        if request["refused"]:
            netlink.refuse_destinations(request["refused"])
            os._exit(0)
        if request["listens"]:
            with netlink.listening_socket(request["listens"]) as listener, socket.socket(fileno=0) as channel:
                socket.send_fds(channel, [b"l"], [listener.fileno()])
            os._exit(0)
        os.fchdir(root)
        os.chroot(".")
        if shown >= 0:
            os.makedirs(request["workdir"], exist_ok=True)  # noqa: PTH103  # pathlib is slower
            linux.attach_mount(shown, request["workdir"])
            os._exit(0)
        os.closerange(3, 1 << 16)
        sys.meta_path.clear()  # from here on, an import would find and run the container's files
        if request["unpack"]:
            _unpack(request["workdir"])
            os._exit(0)
        if request["pack"]:
            _pack(request["workdir"])
            os._exit(0)
        os.setsid()
        if request["terminal"]:
            ioctl(0, termios.TIOCSCTTY, 0)
        user = _user(request["user"])
        _give_up_privileges(user, request["rootless"])
        environment = {"HOME": user[2], "PATH": SEARCH_PATH, **request["environment"]}
        os.chdir(request["workdir"] or "/")
        rlimits.lower_limits({"RLIMIT_CORE": 0})
        linux.seccomp(request["seccomp"])
        os.execvpe(request["command"][0], request["command"], environment)  # noqa: S606  # no shell is wanted
    except BaseException as error:  # the copy of the spawner must not continue
        _say(request, error)
    os._exit(127)


def _copy_of(path: str) -> int:
    """Return a descriptor of a copy of a folder of this machine, which can be attached in the container."""
    linux.unshare(linux.CLONE_NEWNS)  # root of a user namespace may copy from mount namespaces of its own alone
    return linux.copy_of_mount(path)


def _kill_all() -> None:
    """Kill every process in the container except its first and this one, and wait for their ends."""
    deadline = time.monotonic() + _DIES_IN
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(-1, signal.SIGKILL)
            time.sleep(0.0005)


def _unpack(folder: str) -> None:
    """Unpack the archive on standard input into a folder, with all mode bits."""
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
        # A generator: what a member replaces is removed right before it, and not before the members ahead of it.
        inside = os.path.realpath(folder).rstrip("/")
        known = {folder: inside}
        members = (_ready(member, folder, inside, known) for member in archive)
        # Numeric owners, since a lookup of names would load the container's own libraries.
        archive.extractall(folder, members, numeric_owner=True, **_UNFILTERED)  # noqa: S202  # checked


def _ready(member: tarfile.TarInfo, folder: str, inside: str, known: dict[str, str]) -> tarfile.TarInfo:
    """Return a member with a relative name, after its old entry was removed: a pipe would block, a link be followed.

    Args:
        member: the member.
        folder: where it will be.
        inside: the real path of that folder.
        known: the real paths of folders that members were in; for each member anew, that of a deep one would take long.

    Raises:
        tarfile.TarError: if it would be written outside the folder.
    """
    member.name = member.name.lstrip("/")
    path = f"{folder}/{member.name}"
    parent, _, name = path.rpartition("/")
    if not f"{_real_folder(parent, known)}/".startswith(f"{inside}/") or name == "..":
        raise tarfile.TarError(f"{member.name!r} leads out of {folder}")
    if name not in ("", ".") and not member.isdir():
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108  # pathlib is slower
        if member.issym() or member.islnk():  # it may lie above a folder that is known
            known.clear()
    elif not f"{_real_folder(path, known)}/".startswith(f"{inside}/"):
        raise tarfile.TarError(f"{member.name!r} leads out of {folder}")
    return member


def _real_folder(path: str, known: dict[str, str]) -> str:
    """Return the real path of a folder, by that of the folder around it if that is known."""
    if path not in known:
        parent, _, name = path.rpartition("/")
        plain = f"{known[parent]}/{name}" if parent in known and name not in ("", ".", "..") else ""
        is_plain = plain != "" and not os.path.islink(plain)  # noqa: PTH114  # pathlib is slower
        real = plain if is_plain else os.path.realpath(path)
        known[path] = real.rstrip("/")
    return known[path]


_UNFILTERED: dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
"""Python before 3.10.12 and 3.11.4 has no filters; later versions require an explicit one."""


def _pack(path: str) -> None:
    """Write a tar archive of a file or folder to stdout, or nothing if the path does not exist.

    Processes of the container may change the tree meanwhile. Only links in ``path`` itself are followed, only regular
    files are opened, and only one entry and its parent folders are held open.
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
    """Add one entry: its name below ``parent``, its numeric owner, and a file's content up to its first known size."""
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
            archive.addfile(member, _PaddedFile(content))  # type: ignore[arg-type]  # tarfile only calls read
            return
        archive.addfile(member)


class _PaddedFile:
    """A file that can be read up to its first known size. Zeros replace content that was cut off since."""

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

_SENDERS: dict[str | None, Callable[..., None]] = {
    "copy": saved_files.send_copy,
    "copy of shared": shared_folders.send_copy_of_shared,
    "shared": shared_folders.send_shared,
}


def _user(name: str | None) -> tuple[int, int, str]:
    """Return the user id, group ids and home of a user of the container, from its own ``/etc/passwd``."""
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
    with suppress(PermissionError) if rootless else nullcontext():  # a user namespace of an ordinary user has no others
        os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # Root keeps its capabilities until it executes a program, which then has at most the bounding set.
    linux.no_new_privileges()
