"""Starts processes inside the namespaces of a container; a program of its own, spoken to through a socket.

It stays small and has one thread, so that forking it costs a millisecond, and it is the parent of what it starts, so
that exit codes are exact. It is run by path (``python -I -S spawner.py FD FILTER``) and imports nothing but the
standard library. A request is one JSON datagram with four descriptors or five: what the process reads, what it writes,
what it writes errors to, where its exit status goes, as one decimal line, and the first process of its container.

Privileges are given up before anything of the container is executed: the bounding set, then the user, then
``no_new_privs``, then system calls, by the filter. The numbers are those of ``capability.h``, ``prctl.h`` and
``seccomp.h`` of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import sys
import tarfile
import termios
import time
from contextlib import ExitStack, nullcontext, suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any

_CLONE_NEWPID = 0x20000000
_NAMESPACES = (("user", 0x10000000), ("mnt", 0x00020000), ("uts", 0x04000000), ("ipc", 0x08000000), ("net", 0x40000000))
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x00020000, 1 << 14, 1 << 18
_DIES_IN = 5.0
"""Seconds that a process takes to go once it was killed, unless the kernel holds it."""
_DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
_CAPABILITIES = 41
"""CAP_CHOWN is 0, CAP_CHECKPOINT_RESTORE, the last one that Linux has, is 40."""

_KEPT = frozenset((0, 1, 3, 4, 5, 6, 7))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: as the Docker engine gives them."""

_libc = ctypes.CDLL(None, use_errno=True)


def main(descriptor: int, seccomp: bytes) -> None:
    """Serve requests until the other end of the socket is closed."""
    requests = socket.socket(fileno=descriptor)
    listening: list[Any] = [requests]
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    # Root of a user namespace alone may not come back to the machine's namespace of processes.
    rootless = _libc.setns(own, _CLONE_NEWPID) != 0
    running: dict[int, int] = {}
    while True:
        select.select([*listening, woken], [], [])
        _drain(woken)
        _report(running)
        if not select.select(listening, [], [], 0)[0]:
            continue
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 5)
        if not message:
            return
        stdin, stdout, stderr, status, *target = descriptors
        request = {**json.loads(message), "target": target[0] if target else None, "seccomp": seccomp}
        request["rootless"] = rootless
        try:
            pid = _start(request, (stdin, stdout, stderr), own)
        except OSError as error:
            _tell(status, f"! {error}")
            os.close(status)
        else:
            _tell(status, str(pid))
            running[pid] = status
        for used in (stdin, stdout, stderr, *target):
            os.close(used)


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return


def _report(running: dict[int, int]) -> None:
    """Write the exit status of every process that has ended where it was asked for."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        where = running.pop(pid, None)  # none for an orphan that was taken in
        if where is not None:
            _tell(where, str(os.waitstatus_to_exitcode(status)))
            os.close(where)


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
        _check(_libc.setns(theirs, _CLONE_NEWPID))
        try:
            pid = os.fork()
            if not pid:
                _become(request, ends)
        finally:
            _check(_libc.setns(own, _CLONE_NEWPID))
    finally:
        os.close(theirs)
    return pid


def _start_by_another(request: dict[str, Any], ends: tuple[int, int, int], theirs: int) -> int:
    """Let a process that need not come back start it, and take the orphan in."""
    heard, said = os.pipe()
    between = os.fork()
    if not between:
        try:
            _check(_libc.setns(theirs, _CLONE_NEWPID))
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
    _check(_libc.unshare(_CLONE_NEWNS))
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE, "")
    _mount("tmpfs", place, "tmpfs", 0, f"size={size},nr_inodes={files},mode=755")
    os.chdir(place)
    for name in ("upper", "work", "root", "devices"):
        os.mkdir(name)  # noqa: PTH102  # pathlib is slower, and there are no paths to speak of
    under = ":".join("".join(f"\\{letter}" if letter in "\\:," else letter for letter in layer) for layer in layers)
    _mount("overlay", "root", "overlay", 0, f"lowerdir={under},upperdir=upper,workdir=work")
    for name, major, minor in _DEVICES if devices else ():
        os.mknod(f"devices/{name}", stat.S_IFCHR, os.makedev(major, minor))
        Path("devices", name).chmod(0o666)
    os.chdir("/")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()))


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
        for number, most in request["rlimits"]:  # counted in the user namespace of the container, before it is joined
            resource.setrlimit(number, (most, most))
        for namespace, kind in namespaces:
            _check(_libc.setns(namespace, kind))
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
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _give_up_calls(request["seccomp"])
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
    for capability in range(_CAPABILITIES):
        if capability not in _KEPT:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    uid, gid, _ = user
    with suppress(PermissionError) if rootless else nullcontext():  # there are none to be had in a user namespace
        os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # Root keeps what it has until it executes something, which then has no more than the bounding set.
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


class _Filter(ctypes.Structure):
    """``struct sock_fprog``: how many instructions of 8 bytes, and where."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _give_up_calls(program: bytes) -> None:
    argument = ctypes.byref(_Filter(len(program) // 8, program))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, argument, 0, 0))


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(int(sys.argv[1]), bytes.fromhex(sys.argv[2]))
