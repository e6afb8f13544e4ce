"""Attempts to escape from a sandbox, run inside it. Prints the names of the attempts, and of those that succeeded.

The argument is JSON: ``terces`` (backwards, a text that nothing here may show), ``paths`` (files of the host with it),
``unix``, ``abstract`` and ``port`` (sockets on which the host listens), ``shown`` (a folder that may be read),
``numbers`` (of system calls).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

GIVEN = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
ATTEMPTS: dict[str, Callable[[], object]] = {}
SHOWN = [Path(path) for path in (GIVEN["shown"], sys.prefix, sys.base_prefix)]


def beside_what_is_shown(folder: str) -> list[Path]:
    """Return what a folder holds, but for the way to the interpreter and what else may be read, wherever it lies."""
    return [path for path in Path(folder).iterdir() if not any(shown.is_relative_to(path) for shown in SHOWN)]


for path in GIVEN["paths"]:
    ATTEMPTS[f"read {path}"] = lambda path=path: Path(path).read_bytes()
for path in (
    "/etc/passwd",
    "/etc/shadow",
    "/etc/resolv.conf",
    "/proc/1/mem",
    "/proc/1/environ",
    "/proc/1/maps",
    "/proc/kcore",
):
    ATTEMPTS[f"read {path}"] = lambda path=path: Path(path).read_bytes()
for path in ("/proc/1/root", "/proc/1/cwd", "/proc/1/fd", "/sys", "/run", "/var/run", "/srv", "/boot", "/mnt", "/opt"):
    ATTEMPTS[f"list {path}"] = lambda path=path: beside_what_is_shown(path)
for path in ("/evil", "/usr/evil", "/dev/evil", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
    ATTEMPTS[f"write {path}"] = lambda path=path: Path(path).write_text("|/bin/evil")
ATTEMPTS["write a shown folder"] = lambda: Path(GIVEN["shown"], "evil").write_text("x")
ATTEMPTS["write the interpreter"] = lambda: os.open(sys.executable, os.O_RDWR)
ATTEMPTS["write this script"] = lambda: os.open(__file__, os.O_RDWR)
for kind in (
    "mem",
    "kmem",
    "port",
    "kvm",
    "fuse",
    "tty",
    "ptmx",
    "vda",
    "sda",
    "loop0",
    "net/tun",
    "vsock",
    "vhost-vsock",
):
    ATTEMPTS[f"open /dev/{kind}"] = lambda kind=kind: os.open(f"/dev/{kind}", os.O_RDONLY)


def connect(family: int, address: object) -> object:
    with socket.socket(family) as connection:
        connection.settimeout(5)
        connection.connect(address)
        return connection.recv(100) or True


ATTEMPTS["connect to a socket in a folder"] = lambda: connect(socket.AF_UNIX, GIVEN["unix"])
ATTEMPTS["connect to an abstract socket"] = lambda: connect(socket.AF_UNIX, "\0" + GIVEN["abstract"])
ATTEMPTS["connect to a port"] = lambda: connect(socket.AF_INET, ("127.0.0.1", GIVEN["port"]))
ATTEMPTS["connect to another machine"] = lambda: connect(socket.AF_INET, ("192.0.2.1", 80))
ATTEMPTS["connect to /run/docker.sock"] = lambda: connect(socket.AF_UNIX, "/run/docker.sock")
for name, family in {
    "netlink": 16,
    "packet": 17,
    "alg": 38,
    "vsock": 40,
    "bluetooth": 31,
    "xdp": 44,
    "can": 29,
}.items():
    ATTEMPTS[f"socket {name}"] = lambda family=family: socket.socket(family, socket.SOCK_RAW)
ATTEMPTS["raw socket"] = lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

ATTEMPTS["become root"] = lambda: os.setuid(0) or os.getuid() == 0
ATTEMPTS["become a group"] = lambda: os.setgid(0) or os.getgid() == 0
ATTEMPTS["kill the first process"] = lambda: os.kill(
    1, 9
)  # it would be refused, or end the run, which is a failure too
ATTEMPTS["chroot"] = lambda: os.chroot("/usr") or True
ATTEMPTS["make a device"] = lambda: os.mknod("disk", 0o060600, os.makedev(254, 0)) or True
ATTEMPTS["set-user-id program"] = lambda: os.system("su -c true root </dev/null >/dev/null 2>&1") == 0
ATTEMPTS["unshare a user namespace"] = lambda: os.system("unshare -Ur true 2>/dev/null") == 0
ATTEMPTS["raise a limit"] = lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_AS, (-1, -1)) or True


def call(name: str, *arguments: object) -> bool:
    if LIBC.syscall(GIVEN["numbers"][name], *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
    return True


CALLS: dict[str, tuple[object, ...]] = {
    "mount": (b"none", b"/box", b"tmpfs", 0, None), "umount2": (b"/box", 2), "pivot_root": (b"/box", b"/box"),
    "unshare": (0x10000000,), "setns": (0, 0), "bpf": (0, None, 0), "keyctl": (0, -3, 1),
    "add_key": (b"user", b"x", b"y", 1, -3), "io_uring_setup": (1, ctypes.create_string_buffer(200)),
    "perf_event_open": (ctypes.create_string_buffer(200), 0, -1, -1, 0), "userfaultfd": (0,),
    "memfd_create": (b"x", 0), "ptrace": (16, 1, 0, 0), "process_vm_readv": (1, None, 0, None, 0, 0),
    "open_by_handle_at": (0, None, 0), "personality": (0x0040000,), "shmget": (0, 4096, 0o1600),
    "semget": (0, 1, 0o1600), "msgget": (0, 0o1600), "mq_open": (b"x", 0o102, 0o600, None), "syslog": (10, None, 0),
    "sethostname": (b"evil", 4), "settimeofday": (None, None), "quotactl": (0, None, 0, None),
    "swapoff": (b"/dev/null",), "kexec_load": (0, 0, None, 0), "mount_setattr": (-100, b"/", 0, None, 0),
    "open_tree": (-100, b"/", 1), "fsopen": (b"tmpfs", 0), "move_mount": (-1, b"", -1, b"", 0),
    "pidfd_getfd": (0, 0, 0), "clone": (0x10000000 | 17, None, None, None, None),
    "clone3": (ctypes.create_string_buffer(88), 88),
}  # fmt: skip
for name, arguments in CALLS.items():
    if GIVEN["numbers"].get(name) is not None:
        ATTEMPTS[f"call {name}"] = lambda name=name, arguments=arguments: call(name, *arguments)


def seen() -> Iterator[bytes]:
    """Yield whatever /proc and the environment show."""
    yield repr(dict(os.environ)).encode()
    yield repr(sys.argv[2:]).encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            for file in ("environ", "cmdline", "maps"):
                with contextlib.suppress(OSError):
                    yield (folder / file).read_bytes()
    with contextlib.suppress(OSError):
        yield Path("/proc/self/environ").read_bytes()


ATTEMPTS["see the secret"] = lambda: any(GIVEN["terces"][::-1].encode() in content for content in seen())
ATTEMPTS["see processes of others"] = lambda: (
    len([n for n in sorted(path.name for path in Path("/proc").iterdir()) if n.isdigit()]) > 2
)
ATTEMPTS["inherited descriptors"] = lambda: [
    n for n in sorted(path.name for path in Path("/proc/self/fd").iterdir()) if int(n) > 3
]
ATTEMPTS["a terminal"] = lambda: os.open("/dev/tty", os.O_RDWR)
ATTEMPTS["other interfaces"] = lambda: [
    line for line in Path("/proc/net/dev").read_text().splitlines()[2:] if "lo:" not in line
]

succeeded = []
for name, attempt in ATTEMPTS.items():
    try:
        done = attempt()
    except (OSError, ValueError, MemoryError):
        done = False
    if done or (done is None and name != "kill the first process"):
        succeeded.append(name)
print(json.dumps({"attempts": len(ATTEMPTS), "succeeded": succeeded}))
