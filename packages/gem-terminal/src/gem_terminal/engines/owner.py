"""The process that owns a container, by which a reaper finds abandoned containers: :class:`ContainerOwner`."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gem_terminal.engines.processes import stat_of

__all__ = ["ContainerOwner"]


@dataclass(frozen=True)
class ContainerOwner:
    """A process of a machine, by its id and start time, because process ids are reused."""

    host: str
    pid: int
    began: str

    @classmethod
    def this_process(cls) -> ContainerOwner:
        return cls(_host(), os.getpid(), _began(os.getpid()) or "?")

    @classmethod
    def parse(cls, text: str) -> ContainerOwner:
        """Parse the text of ``str``; any other text has no owner."""
        parts = text.rsplit("/", 2)
        if len(parts) != 3 or not parts[1].isdigit():
            return cls("", 0, "")
        return cls(parts[0], int(parts[1]), parts[2])

    def is_alive(self) -> bool:
        """Return whether the process is alive. A process of another machine cannot be seen and counts as alive."""
        if not self.pid:
            return False
        if self.host != _host():
            return True
        return _began(self.pid) == self.began

    @property
    def machine(self) -> str:
        """The host as 32 hexadecimal digits, for short names without a slash."""
        return hashlib.sha256(self.host.encode()).hexdigest()[:32]

    @property
    def short_name(self) -> str:
        """The owner in letters, digits and hyphens, for names of files and images."""
        return f"{self.machine}-{self.pid}-{self.began.replace('?', '0')}"

    @classmethod
    def has_ended(cls, short_name: str) -> bool:
        """Return whether the process of a short name has ended. One of another machine counts as alive."""
        here = cls.this_process()
        machine, pid, began = (*short_name.split("-"), "", "")[:3]
        return machine == here.machine and pid.isdigit() and not cls(here.host, int(pid), began).is_alive()

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.began}"


@cache
def _host() -> str:
    """Return the identity of this machine, this boot and this namespace of process ids.

    A trainer in a container may have the host name of its machine and process ids of its own.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    if not boot.exists():
        return socket.gethostname()
    return f"{socket.gethostname()}-{boot.read_text().strip()}-{Path('/proc/self/ns/pid').stat().st_ino}"


def _began(pid: int) -> str | None:
    """Return the start time of a process in ticks since the boot; None for a missing process or a zombie."""
    try:
        fields = stat_of(Path(f"/proc/{pid}"))
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]  # state and start time are the fields 3 and 22
