"""One execution: a fork of the server confines itself further and becomes the program."""

from __future__ import annotations

import gc
import math
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Mapping

from gem_processes import linux, rlimits
from gem_processes.fork_loop import reset_signals
from gem_tools.sandbox.inside import interactive, jail, script, wire
from gem_tools.sandbox.inside.jail import BOX, HOME

__all__ = ["KEPT", "confine", "execute_program", "note_generators"]

KEPT = 4
_generators: list[random.Random] = []
_FAILED_TO_CONFINE = 70  # EX_SOFTWARE of sysexits.h
_FILE = "<python>"
_SIGNALS = 1024
"""Waiting signals and timers."""
_LOCKED_MEMORY = 1 << 20
"""Bytes."""


def execute_program(
    descriptors: list[int],
    confine: Callable[[], None],
    namespaces: Mapping[int, int] | None = None,
    cgroup: int | None = None,
    kept: int | None = None,
) -> None:
    """Execute a program and exit; never returns.

    Args:
        descriptors: the program, the standard streams, and the channel of a session's calls.
        confine: confines this process, which has no other descriptors any more.
        kept: but for this one, which ``confine`` finds under the number :data:`KEPT`.
        namespaces: descriptors of namespaces to enter, by their ``CLONE_NEW…`` flags.
        cgroup: the descriptor through which it joins its control group.
    """
    try:
        reset_signals()
        # Namespaces do not restrict signals to a process's own group.
        os.setsid()
        if cgroup is not None:
            os.write(cgroup, b"0")
        for kind, descriptor in (namespaces or {}).items():
            linux.setns(descriptor, kind)
        channel = _take(descriptors, kept)
        confine()
        _reseed()
        script.connect_streams()
    except BaseException as error:
        os.write(2, f"the sandbox could not confine this execution: {error}\n".encode(errors="backslashreplace"))
        os._exit(_FAILED_TO_CONFINE)
    gc.enable()
    if channel is None:
        prelude, code = script.read_program(3)
        main = script.new_main(code)
        exit_code = script.execute(main, prelude, code, _FILE)
        failed = script.finish(main)
    else:
        exit_code = interactive.serve_calls(channel)
        failed = script.finish()
    os._exit(exit_code or failed)


def _take(descriptors: list[int], kept: int | None) -> socket.socket | None:
    """Move the streams to 0, 1 and 2, the program or the channel to 3, what is kept to 4, and close everything else."""
    program, stdin, stdout, stderr, *channel = descriptors
    for target, source in enumerate((stdin, stdout, stderr)):
        os.dup2(source, target)
    last = channel[0] if channel else program
    if last != 3:
        os.dup2(last, 3, inheritable=False)
    if kept is not None and kept != KEPT:
        os.dup2(kept, KEPT, inheritable=False)
    linux.close_from(KEPT if kept is None else KEPT + 1)
    return socket.socket(fileno=3) if channel else None


def confine(limits: wire.ExecutionRequest, binds: Iterable[jail.ScratchBind], base_memory: int, seccomp: bytes) -> None:
    """Confine this process further than its fork server.

    Args:
        limits: the limits of the request.
        binds: the folders to bind into its scratch folder.
        base_memory: the address space of the fork server in bytes, which does not count for the program.
        seccomp: the additional filter.
    """
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWCGROUP)
    linux.mount_tmpfs(BOX, f"mode=755,size={limits.disk},nr_inodes={1024 + limits.disk // 65536}")
    for name in (HOME, *jail.SCRATCH.values()):
        os.mkdir(name)
    for bind in binds:
        jail.bind_into_scratch(bind)
    if os.path.exists("/proc/self"):
        linux.mount_processes("/proc", only_own=True)
    os.chdir(HOME)
    sys.path_importer_cache.pop(HOME, None)  # an import of the server may have noted that there is no such folder
    # A user namespace without a map: no process can change its user, and processes are counted separately. The limits
    # come afterwards, because the namespace applies those of its maker to all processes of the user outside as well.
    linux.unshare(linux.CLONE_NEWUSER)
    rlimits.lower_limits(
        {
            "RLIMIT_NPROC": limits.processes,
            "RLIMIT_SIGPENDING": _SIGNALS,
            "RLIMIT_MEMLOCK": _LOCKED_MEMORY,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_AS": limits.memory + base_memory,
            "RLIMIT_FSIZE": limits.disk,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_CORE": 0,
        }
    )
    if math.isfinite(limits.cpu_seconds):  # the server measures more precisely
        rlimits.lower_limits({"RLIMIT_CPU": math.ceil(limits.cpu_seconds) + 1})
    linux.drop_capabilities()
    linux.seccomp(seccomp)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _reseed() -> None:
    """Seed the generators of the imported modules anew; Python's ``random`` reseeds itself."""
    for generator in _generators:
        generator.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def note_generators() -> None:
    """Find the generators that the imported modules keep, such as sympy's, for :func:`_reseed`."""
    kinds = (random.Random, random.SystemRandom)
    _generators[:] = [
        found
        for found in gc.get_objects()
        if issubclass(type(found), kinds[0]) and not issubclass(type(found), kinds[1])
    ]
