"""Attacks on the restricted tier, by the guarantee that each would break. Prints those that succeeded, as JSON.

A script, because it takes the means to make namespaces away from itself, as a container does, and runs as root or as an
ordinary user. The arguments are a folder for the host's files and the version of Landlock to pretend.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

from gem_processes import linux
from gem_processes.seccomp import restrict_program
from gem_processes.syscall_numbers import numbers_on
from gem_tools.sandbox import Limits, Sandbox, SandboxWarning, jail_launcher, restricted_launcher
from gem_tools.sandbox.system import shown_folders

NO_NAMESPACES = ("unshare", "setns", "mount", "umount2", "pivot_root", "fsopen", "move_mount", "open_tree")

PRELUDE = """
import ctypes, errno, fcntl, os, resource, signal, socket, struct, subprocess, sys, time
_libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    if _libc.syscall(ctypes.c_long(NUMBERS[name]), *given) < 0:
        raise OSError(ctypes.get_errno(), name)
def read(path):
    with open(path, "rb") as file: assert SECRET not in file.read(), "REACHED"
    return True
"""

FILES = (
    "SECRET_FILE",
    "'/etc/passwd'",
    "'/etc/shadow'",
    "'/etc/hostname'",
    "SCRIPT",
    "'/proc/version'",
    "'/proc/1/cmdline'",
)
FOLDERS = (
    "FOLDER",
    "'/'",
    "'/home'",
    "'/root'",
    "'/etc'",
    "'/tmp'",
    "'/dev'",
    "'/dev/shm'",
    "'/run'",
    "'/sys'",
    "'/proc'",
)
OF_A_PROCESS = (
    "environ",
    "mem",
    "maps",
    "cmdline",
    "status",
    "fd/0",
    "root/etc/passwd",
    "cwd/x",
    "auxv",
    "task",
    "ns/net",
)

OTHERS = ("TRAINER", "os.getppid()", "NEIGHBOUR")

ATTACKS: dict[str, list[str]] = {
    "files read": [
        *(f"open({path}, 'rb').read(1)" for path in FILES),
        *(f"os.listdir({path})" for path in FOLDERS),
        "os.symlink(SECRET_FILE, 'link'); open('link').read()",
        "os.link(SECRET_FILE, 'hard'); open('hard').read()",
        "os.rename(SECRET_FILE, 'moved'); open('moved').read()",
        "open(f'/proc/self/fd/{os.open(SECRET_FILE, os.O_PATH)}').read()",
        "open('/proc/self/root' + SECRET_FILE).read()",
        "os.chdir(FOLDER); open('secret').read()",
        "os.open('secret', os.O_RDONLY, dir_fd=os.open(FOLDER, os.O_PATH))",
        "assert subprocess.run(['cat', SECRET_FILE], capture_output=True).stdout",
        "assert subprocess.run(['sh', SECRET_FILE], capture_output=True).returncode == 0",
        "os.execv(SECRET_FILE, ['x'])",
        "call('open_by_handle_at', -100, None, 0)",
        "call('open_tree', -100, SECRET_FILE.encode(), 0)",
        "os.listdir('..'); os.listdir('../..')",
    ],
    "files written": [
        *(f"open({path}, 'ab')" for path in ("SECRET_FILE", "SCRIPT", "os.__file__", "FOLDER + '/new'")),
        *(f"open('{path}/gem-evil', 'w')" for path in ("/tmp", "/var/tmp", "/dev/shm", "", "/usr/lib", "../..")),
        "os.truncate(SECRET_FILE, 0)",
        "os.open(SECRET_FILE, os.O_RDONLY | os.O_TRUNC)",
        "os.open(SHOWN_FILE, os.O_RDONLY | os.O_TRUNC)",
        "os.truncate(SHOWN_FILE, 0)",
        "os.unlink(SECRET_FILE)",
        "os.unlink(SHOWN_FILE)",
        "os.rename('/dev/null', SECRET_FILE)",
        "open('own', 'w').close(); os.rename('own', SECRET_FILE)",
        "open('own', 'w').close(); os.link('own', FOLDER + '/new')",
        "os.symlink('x', FOLDER + '/new')",
        "os.mkdir(FOLDER + '/new')",
        "os.rmdir(FOLDER + '/empty')",
        "os.mkfifo(FOLDER + '/new')",
        "os.mknod('device', 0o600 | 0o060000, os.makedev(8, 0))",
        "os.chown(SECRET_FILE, 12345, 12345)",
        "os.setxattr(SHOWN_FILE, 'user.evil', b'x')",
        "os.symlink(SECRET_FILE, 'link'); open('link', 'w')",
    ],
    "network": [
        *(f"socket.socket({family}, {kind})" for family in (1, 2, 10, 16, 17, 38, 40) for kind in (1, 2, 3)),
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.create_connection(('127.0.0.1', PORT), 5)",
        "call('connect', 0, None, 0)",
        "call('io_uring_setup', 1, None)",
        "call('bind', 0, None, 0)",
    ],
    "signals": [
        *(f"os.kill({process}, {number})" for process in (*OTHERS, "BYSTANDER") for number in (0, 9)),
        "signal.pidfd_send_signal(os.pidfd_open(TRAINER), 9)",
        "call('rt_sigqueueinfo', TRAINER, 9, struct.pack('3i', 9, 0, -1) + bytes(116))",
        "call('tgkill', TRAINER, TRAINER, 9)",
        "call('tkill', TRAINER, 9)",
        "resource.prlimit(TRAINER, resource.RLIMIT_NOFILE, (10, 10))",
        "resource.prlimit(TRAINER, resource.RLIMIT_NOFILE)",
        "os.sched_setaffinity(TRAINER, {0})",
        "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))",
        "call('ioprio_set', 1, TRAINER, 3 << 13)",
        "resource.setrlimit(10, (5, 5))",
        "call('setrlimit', 10, bytes(16))",
        "os.setpgid(0, GROUP)",
        "os.setuid(0) or os.setresuid(0, 0, 0)",
    ],
    "memory of others": [
        *(f"open(f'/proc/{{{process}}}/{name}', 'rb').read(1)" for process in OTHERS for name in OF_A_PROCESS),
        "call('ptrace', 16, TRAINER, 0, 0)",
        "call('ptrace', 0x4206, os.getppid(), 0, 0)",
        "call('process_vm_readv', TRAINER, None, 0, None, 0, 0)",
        "call('pidfd_getfd', os.pidfd_open(TRAINER), 0, 0)",
        "call('kcmp', TRAINER, os.getpid(), 0, 0, 0)",
    ],
    "other executions": [
        "os.listdir(NEIGHBOURS_FOLDER)",
        "open(NEIGHBOURS_FOLDER + '/x').read()",
        "open(NEIGHBOURS_FOLDER + '/y', 'w')",
        "os.unlink(NEIGHBOURS_FOLDER + '/x')",
        "os.listdir('/proc/%d/cwd' % NEIGHBOUR)",
        "call('shmget', 1, 4096, 0o1777)",
        "call('mq_open', b'x', 0o102, 0o600, None)",
        "call('inotify_init1', 0)",
    ],
}  # fmt: skip

WITHOUT_EFFECT = (
    "os.chmod(SECRET_FILE, 0o777)",
    "os.chmod(SHOWN_FILE, 0)",
    "os.fchmod(os.open(SHOWN_FILE, os.O_RDONLY), 0)",
    "os.utime(SECRET_FILE, (0, 0))",
    "os.utime(SHOWN_FILE, (0, 0))",
    "os.setpriority(os.PRIO_PROCESS, TRAINER, 19)",
    "os.kill(-1, 9)",
    "os.killpg(GROUP, 9)",  # in a container often group 1, which kill takes for everybody
    "a, b = os.pipe(); fcntl.fcntl(a, 10, 9); fcntl.fcntl(a, fcntl.F_SETOWN, TRAINER)\n"
    "fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC); os.write(b, b'x')",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)",
    "import os\npid = os.fork()\nwhile os.fork() == 0: pass",
)
"""Attacks that may be answered as if they had succeeded; what came of them is seen from outside."""


def main(folder: Path, version: int) -> None:
    linux.no_new_privileges()
    linux.seccomp(restrict_program(NO_NAMESPACES))
    restricted_launcher.NEWEST_LANDLOCK = version
    secret = secrets.token_hex(16)
    os.environ["HF_TOKEN"] = secret
    (folder / "empty").mkdir()
    secret_file, shown_file = folder / "secret", folder / "shown" / "module.py"
    shown_file.parent.mkdir()
    for path in (secret_file, shown_file):
        path.write_text(secret)
        path.chmod(0o755)
    shown = [*shown_folders(), str(shown_file.parent)]
    vars(jail_launcher)["shown_folders"] = lambda: shown
    server = socket.create_server(("127.0.0.1", 0))
    bystander = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = look(folder, bystander.pid)
    with warnings.catch_warnings(record=True) as caught, Sandbox(limits=Limits(seconds=5)) as sandbox:
        warnings.simplefilter("always")
        tier = sandbox.tier
        neighbour = sandbox.session()
        told = neighbour.run("import os\nx = 41\nopen('x', 'w').write('mine')\nprint(os.getpid(), os.getcwd())")
        pid, _, theirs = told.stdout.strip().partition(" ")
        given = {
            "SECRET": secret.encode()[::-1], "SECRET_FILE": str(secret_file), "FOLDER": str(folder), "SCRIPT": __file__,
            "SHOWN_FILE": str(shown_file), "PORT": server.getsockname()[1], "TRAINER": os.getpid(),
            "BYSTANDER": bystander.pid, "NEIGHBOUR": int(pid), "NEIGHBOURS_FOLDER": theirs, "GROUP": os.getpgid(0),
            "NUMBERS": numbers_on(),
        }  # fmt: skip
        prelude = "".join(f"{name} = {value!r}\n" for name, value in given.items()) + PRELUDE
        can_read = sandbox.run("print(open(SHOWN_FILE).read())", prelude=prelude).stdout.strip() == secret
        succeeded = []
        for guarantee, attacks in ATTACKS.items():
            for attack in attacks:
                done = sandbox.run(f"{attack}\nprint('REACHED')", prelude=prelude)
                if "REACHED" in done.stdout or secret in done.stdout or done.timed_out or done.limit:
                    succeeded.append((guarantee, attack, done.stdout[-200:], done.limit))
        for attack in WITHOUT_EFFECT:
            sandbox.run(attack, prelude=prelude, limits=Limits(seconds=1))
        kept = neighbour.run("print(x, open('x').read(), sorted(os.listdir('.')))").stdout
        neighbour.close()
    print(
        json.dumps(
            {
                "tier": tier,
                "user": os.getuid(),
                "warnings": [str(w.message) for w in caught if w.category is SandboxWarning],
                "attacks": {guarantee: len(attacks) for guarantee, attacks in ATTACKS.items()},
                "can_read": can_read,
                "succeeded": succeeded,
                "neighbour": kept,
                "changed": [a for a, b in zip(before, look(folder, bystander.pid), strict=True) if a != b],
                "left": left(),
            }
        )
    )
    bystander.kill()


def look(folder: Path, bystander: int) -> list[object]:
    """Return what no attack may change."""
    files = []
    for path in sorted([folder, *folder.rglob("*")]):
        found = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        files.append((str(path), found.st_mode, found.st_uid, found.st_mtime_ns, os.listxattr(path), content))
    limits = Path("/proc/self/limits").read_text()
    alive = Path(f"/proc/{bystander}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return [files, limits, alive, os.getpriority(os.PRIO_PROCESS, 0)]


def left() -> list[str]:
    """Return the ids of processes that executions have left, after they had time to end."""
    deadline = time.monotonic() + 60
    while True:
        found = []
        for path in Path("/proc").iterdir():
            try:
                command = (path / "cmdline").read_text()
            except OSError:
                continue
            if "sandbox.inside.restricted" in command and f'"trainer": {os.getpid()},' in command:
                found.append(path.name)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
