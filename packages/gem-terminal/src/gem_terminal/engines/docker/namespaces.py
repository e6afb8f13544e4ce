"""What this process does in the namespaces of a Docker container, as root on the machine of the engine."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from gem_terminal.errors import EngineError

__all__ = ["in_namespace_of", "show"]

_HELD = {"net": "network", "mnt": "files"}
"""Namespace → what it holds."""


def show(pid: int, source: Path, target: str) -> None:
    """Mount a folder of this machine in a container, read-only.

    Args:
        pid: the process id of the container's first process; 0 if the engine is on another machine.
        source: the folder.
        target: an absolute path in the container; made if it is missing.

    Raises:
        EngineError: if this process is not root on the machine of the engine, or the kernel refuses.
    """
    from gem_processes import linux

    if not pid or os.geteuid() != 0:
        raise EngineError(
            "a folder of this machine is shown in a Docker container by a trainer that is root on the machine of the "
            "engine; run it there, or use engine='namespace'"
        )

    def attach() -> None:
        os.umask(0o022)  # of this thread alone
        os.makedirs(target, exist_ok=True)  # noqa: PTH103  # pathlib would do more in the container's files
        linux.attach_mount(tree, target)

    try:
        tree = linux.copy_of_mount(str(source))
        try:
            in_namespace_of(pid, "mnt", linux.CLONE_NEWNS, attach)
        finally:
            os.close(tree)
    except OSError as error:
        raise EngineError(f"{source} cannot be shown in a container: {error}") from error


def in_namespace_of(pid: int, name: str, kind: int, do: Callable[[], object]) -> None:
    """Call a function in a namespace of a process, in a thread that has files of its own; raises its OSError.

    Args:
        pid: the process id of the container's first process.
        name: of the namespace in ``/proc``, ``net`` or ``mnt``.
        kind: the same as a flag.
        do: the function.
    """
    from gem_processes import linux

    failures: list[OSError] = []

    def enter_and_do() -> None:
        try:
            linux.unshare(linux.CLONE_FS)  # or else no mount namespace can be entered
            linux.setns(descriptor, kind)
            do()
        except OSError as error:
            failures.append(error)

    with Path(f"/proc/{pid}/ns/{name}").open("rb") as namespace:
        descriptor = namespace.fileno()
        if os.path.samestat(os.fstat(descriptor), Path(f"/proc/self/ns/{name}").stat()):
            # A container can end at any moment, and its id go to a process of the machine.
            raise ProcessLookupError(errno.ESRCH, f"the container has ended, or has the {_HELD[name]} of this machine")
        thread = Thread(target=enter_and_do)  # it alone enters the namespace, and must end there
        thread.start()
        thread.join()
    if failures:
        raise failures[0]
