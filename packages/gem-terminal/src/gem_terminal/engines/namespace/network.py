"""The networks of containers: a network namespace for each, connected through slirp4netns.

The namespace has its own loopback and abstract sockets, so an episode meets neither the machine's services nor another
episode's, and two can use the same port. slirp4netns(1) translates the traffic of the namespace into connections of an
ordinary process. Routes in the namespace refuse the addresses of the machine, which its processes would otherwise
reach through those connections. IPv6 is not connected.

slirp4netns ends when the container's lifeline closes, with the container or with the process that owns it.
pasta(1) is not used: it leaves its parent, and where root starts it also its user, so after a ``kill -9`` of a trainer
nothing would end it for certain.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path

from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.host_networks import free_network, own_networks
from gem_terminal.engines.namespace.spawning import Process, Spawner
from gem_terminal.errors import EngineError

__all__ = ["PROGRAM", "UserModeNetwork", "connect", "has_program", "listen", "resolver"]

PROGRAM = "slirp4netns"
_CANDIDATES = ("10.0.2.0/24", "10.249.2.0/24", "172.29.2.0/24", "192.168.249.0/24")
"""Networks for the inside of a container; each container uses the same one."""
_NAME_SERVER = 3
"""The number of the name server's address in that network; slirp4netns answers there with the machine's."""
_CONNECTS_IN = 30.0
_ENDS_IN = 5.0
"""Seconds."""


def has_program() -> bool:
    """Return whether containers can have a network of their own here."""
    return shutil.which(PROGRAM) is not None and os.access("/dev/net/tun", os.R_OK | os.W_OK)


class UserModeNetwork:
    """The connection of a network namespace to the machine's network."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def wait(self) -> None:
        """Wait for its end, after the lifeline was closed."""
        self._process.wait(_ENDS_IN)
        self._process.close()

    def disown(self) -> None:
        """Close a forked child's copy of its descriptor."""
        self._process.close()


def connect(spawner: Spawner, pid: int, target: int, lifeline: int) -> UserModeNetwork:
    """Connect the network namespace of a container, and refuse the machine's addresses there.

    Args:
        spawner: starts the processes.
        pid: the id of the container's first process.
        target: a descriptor of that process (pidfd_open(2)).
        lifeline: the reading end of a pipe, whose closing ends the connection.

    Raises:
        EngineError: if slirp4netns does not start.
    """
    refuse(spawner, pid, target)
    heard, ready_end = os.pipe()
    said = os.memfd_create("said", os.MFD_CLOEXEC)
    command = [
        PROGRAM, "--configure", "--mtu=65520", f"--cidr={_network()}", "--disable-host-loopback", "--enable-sandbox",
        "--enable-seccomp", "--exit-fd=0", "--ready-fd=3", str(pid), "eth0",
    ]  # fmt: skip
    try:
        process = spawner.start(command, (lifeline, said, said), ready_end)
        os.close(ready_end)
        ready_end = -1
        try:
            _await(heard, said)
        except BaseException:
            process.close()
            raise
        return UserModeNetwork(process)
    finally:
        for used in (heard, said, ready_end):
            if used >= 0:
                os.close(used)


def listen(spawner: Spawner, pid: int, target: int, port: int) -> socket.socket:
    """Return a socket that listens on 127.0.0.1 in the network namespace of a container.

    Raises:
        EngineError: if there can be none.
    """
    ours, theirs = socket.socketpair()
    said = os.memfd_create("said", os.MFD_CLOEXEC)
    try:
        process = spawner.start((), (theirs.fileno(), said, said), target, pid=pid, listens=port)
        theirs.close()
        code = process.wait(_CONNECTS_IN)
        process.close()
        if code != 0:
            raise EngineError(f"nothing can listen on port {port} of a container: {_text(said)}")
        _, found, _, _ = socket.recv_fds(ours, 1, 1)
        return socket.socket(fileno=found[0])
    finally:
        ours.close()
        theirs.close()
        os.close(said)


def refuse(spawner: Spawner, pid: int, target: int) -> None:
    """Refuse the machine's addresses in the network namespace of a container.

    Raises:
        EngineError: if the kernel does not.
    """
    null = os.open(os.devnull, os.O_RDWR)
    said = os.memfd_create("said", os.MFD_CLOEXEC)
    try:
        process = spawner.start((), (null, said, said), target, pid=pid, refused=own_networks())
        code = process.wait(_CONNECTS_IN)
        process.close()
        if code != 0:
            raise EngineError(f"the machine's addresses cannot be refused in a container: {_text(said)}")
    finally:
        os.close(null)
        os.close(said)


@cache
def resolver() -> str:
    """Return the resolver configuration of containers: the name server of their network, and the machine's options."""
    kept = [f"nameserver {_network()[_NAME_SERVER]}"]
    own = Path("/etc/resolv.conf")
    lines = own.read_text(encoding="utf-8", errors="replace").splitlines() if own.is_file() else []
    kept += [line for line in lines if re.match(r"\s*(search|domain|options)\b", line)]
    return "\n".join(kept) + "\n"


@cache
def _network() -> IPv4Network:
    return free_network(_CANDIDATES)


def _await(heard: int, said: int) -> None:
    """Wait until slirp4netns reports on a pipe that the network works."""
    deadline = time.monotonic() + _CONNECTS_IN
    if ready([heard], max(deadline - time.monotonic(), 0.0)) and os.read(heard, 1) == b"1":
        return
    raise EngineError(f"{PROGRAM} cannot connect a container to the network: {_text(said) or 'it does not answer'}")


def _text(descriptor: int) -> str:
    return os.pread(descriptor, 1000, 0).decode(errors="replace").strip()
