"""The command line of bubblewrap for a container: :func:`bubblewrap_command`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gem_terminal.engines.container_defaults import CAPABILITIES, SEARCH_PATH
from gem_terminal.engines.namespace.root_building import EMPTY, SYSTEM
from gem_terminal.task import ResourceLimits

__all__ = ["bubblewrap_command", "system_binds"]

# The masked paths, as in Docker: files that reveal details of the machine, and files that root could write to.
_MASKED_FILES = ("kcore", "keys", "kmsg", "latency_stats", "sched_debug", "timer_list", "timer_stats", "sysrq-trigger")
_MASKED_FOLDERS = ("acpi", "asound", "scsi")
_PROCESSORS = "/sys/devices/system/cpu"
_CGROUPS = "/sys/fs/cgroup"
_READ_ONLY = ("bus", "driver", "dynamic_debug", "fs", "irq", "mtrr", "pressure", "sys", "tty")


def bubblewrap_command(
    place: str,
    limits: ResourceLimits,
    cgroups: Iterable[str],
    shared_memory: int,
    first: Iterable[str],
    *,
    root: str | None,
    hostname: str,
    joins: bool,
    rootless: bool,
) -> list[str]:
    """Return the command that starts a container.

    Args:
        place: the folder in which its root was built.
        limits: its resource limits.
        cgroups: the files through which it joins its control groups.
        shared_memory: the size of its ``/dev/shm`` in bytes.
        first: the command of its first process.
        root: a folder in place of its image; None for the built one.
        hostname: its host name; empty for the name of this machine.
        joins: whether it has the network of another container.
        rootless: whether an ordinary user starts it.
    """
    return [
        _program(), "--info-fd", "1", "--seccomp", "3", "--die-with-parent",
        "--bind", root or f"{place}/root", "/", "--proc", "/proc", *_masks(f"{place}/{EMPTY}"),
        *(_own_system(cgroups, shared_memory) if rootless else _built_system(f"{place}/{SYSTEM}")),
        "--unshare-pid", "--unshare-ipc", "--unshare-uts", *_network(limits, place, joins),
        *(("--unshare-user", "--uid", "0", "--gid", "0") if rootless else ()),
        *(("--hostname", hostname) if hostname else ()), "--as-pid-1", "--new-session", "--clearenv",
        "--setenv", "PATH", SEARCH_PATH,
        "--cap-drop", "ALL", *(word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")),
        "--", *first,
    ]  # fmt: skip


def system_binds(cgroups: Iterable[str]) -> list[tuple[str, str]]:
    """Return the folders that a container sees below ``/sys``, each with its path there.

    They are the processors and the limits of its own control groups, by which runtimes size their heaps and thread
    pools. The machine's own ``/sys`` would tell about its devices.

    Args:
        cgroups: files of the control groups.
    """
    binds = [(_PROCESSORS, _PROCESSORS)] if _has_processors() else []
    for file in cgroups:
        folder = file.rpartition("/")[0]
        controller = folder[len(_CGROUPS) + 1 :].partition("/")[0]
        # In version 2 one folder has all controllers, below our own.
        binds.append((folder, _CGROUPS if file.endswith(".procs") else f"{_CGROUPS}/{controller}"))
    return binds


@cache
def _program() -> str:
    return shutil.which("bwrap") or "bwrap"


@cache
def _has_processors() -> bool:
    return Path(_PROCESSORS).is_dir()


@cache
def _masks(empty: str) -> tuple[str, ...]:
    """Return the options for ``/proc``, whose files are those of the running kernel."""
    words = []
    for names, source in ((_MASKED_FILES, "/dev/null"), (_MASKED_FOLDERS, empty), (_READ_ONLY, None)):
        for path in (f"/proc/{name}" for name in names):
            if Path(path).exists():
                words += ["--ro-bind", source or path, path]
    return tuple(words)


def _built_system(built: str) -> list[str]:
    """Return the options for ``/dev`` and ``/sys`` that were built beside the root."""
    return ["--dev-bind", f"{built}/dev", "/dev", "--ro-bind", f"{built}/sys", "/sys"]


def _own_system(cgroups: Iterable[str], shared_memory: int) -> list[str]:
    """Return the options for ``/dev`` and ``/sys`` that bubblewrap builds of the machine's, for an ordinary user."""
    binds = system_binds(cgroups)
    parents = {str(parent) for _, target in binds for parent in Path(target).parents if parent.parts[1:2] == ("sys",)}
    return [
        "--dev", "/dev", "--tmpfs", "/sys", "--chmod", "0755", "/sys",
        *(word for parent in sorted(parents - {"/sys"}) for word in ("--perms", "0755", "--dir", parent)),
        *(word for source, target in binds for word in ("--ro-bind", source, target)), "--remount-ro", "/sys",
        "--perms", "1777", "--size", str(shared_memory), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",  # noqa: S108
    ]  # fmt: skip


def _network(limits: ResourceLimits, place: str, joins: bool) -> list[str]:
    """Return the options for the network: an empty one, which may be connected later, or an existing one."""
    own = [] if joins else ["--unshare-net"]
    if not limits.network or limits.is_filtered:
        return own
    if limits.is_routed:
        return [*own, "--ro-bind", f"{place}/resolv.conf", "/etc/resolv.conf"]
    resolver = Path("/etc/resolv.conf").resolve()
    return ["--ro-bind", str(resolver), "/etc/resolv.conf"] if resolver.is_file() else []
