"""One execution: a fork of the template confines itself further and becomes the program."""

from __future__ import annotations

import gc
import math
import os
import resource
import signal
import socket
import sys

from . import interactive, script, syscalls
from .jail import BOX, HOME

__all__ = ["become", "set_limits"]

_FAILED_TO_CONFINE = 70  # EX_SOFTWARE of sysexits.h
_FILE = "<python>"


def become(
    limits: tuple[int, int, int, int, float, float], descriptors: list[int], base_memory: int, seccomp: bytes
) -> None:
    """Execute a program and exit; never returns.

    Args:
        limits: of the request.
        descriptors: the program, the standard streams, and for a session the channel of its calls.
        base_memory: bytes of address space that the template takes, which are not the program's.
        seccomp: filter to add.
    """
    try:
        # Signals to one's own process group know no namespaces.
        os.setsid()
        channel = _take(descriptors)
        _confine(limits, base_memory, seccomp)
        _reseed()
        script.connect_streams()
    except BaseException as error:
        os.write(2, f"the sandbox could not confine this execution: {error}\n".encode(errors="backslashreplace"))
        os._exit(_FAILED_TO_CONFINE)
    gc.enable()
    if channel is None:
        prelude, code = script.read_program(3)
        exit_code = script.execute(script.new_main(), prelude, code, _FILE)
        failed = script.finish()
    else:
        exit_code = interactive.serve_calls(channel)
        failed = script.finish()
    os._exit(exit_code or failed)


def _take(descriptors: list[int]) -> socket.socket | None:
    """Put the streams on 0, 1 and 2, the program or the channel on 3, and close everything else."""
    program, stdin, stdout, stderr, *channel = descriptors
    for target, source in enumerate((stdin, stdout, stderr)):
        os.dup2(source, target)
    last = channel[0] if channel else program
    if last != 3:
        os.dup2(last, 3, inheritable=False)
    syscalls.close_from(4)
    return socket.socket(fileno=3) if channel else None


def _confine(limits: tuple[int, int, int, int, float, float], base_memory: int, seccomp: bytes) -> None:
    memory, processes, disk, open_files, _, cpu_seconds = limits
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount_tmpfs(BOX, f"mode=755,size={disk},nr_inodes={1024 + disk // 65536}")
    for name in (HOME, f"{BOX}/tmp", f"{BOX}/shm"):  # noqa: S108 - a folder of this execution alone
        os.mkdir(name)
    os.chdir(HOME)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    # A user namespace without a map: nobody there can become anybody, and processes are counted apart.
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    set_limits(memory + base_memory, disk, open_files, cpu_seconds)
    syscalls.drop_capabilities()
    syscalls.seccomp(seccomp)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def set_limits(memory: int, disk: int, open_files: int, cpu_seconds: float) -> None:
    """Set what the kernel can limit for each process by itself. CPU time has a guard that counts finer than this."""
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_FSIZE, disk)
    _limit(resource.RLIMIT_NOFILE, open_files)
    _limit(resource.RLIMIT_CORE, 0)
    if math.isfinite(cpu_seconds):
        _limit(resource.RLIMIT_CPU, math.ceil(cpu_seconds) + 1)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _reseed() -> None:
    """Give the program random numbers of its own; Python's ``random`` sees to itself."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
