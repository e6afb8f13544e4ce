"""The worker's side: it limits itself, then answers calls until its channel closes."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from gem.entry_points import load
from gem_processes import messages, rlimits
from gem_processes.fork_loop import described

__all__ = ["NO_ROOM", "become_worker", "limit", "main", "prepare", "serve"]

NO_ROOM = 2
"""The number of an ERROR at the start: the system cannot create another process."""

CALLS = 1000
"""The number of calls after which a worker is replaced, to limit the growth of caches."""

_OPEN_FILES = 64
_SLACK = 2.0
"""Seconds of processor time that a call may use beyond its wall-clock limit before the kernel ends the worker."""


def prepare(function: str, warm_up: str | None) -> Callable[..., Any]:
    """Import the function, and warm it up for a fast first call."""
    callable_: Callable[..., Any] = load(function)
    if warm_up is not None:
        load(warm_up)()
    return callable_


def limit(memory: int) -> None:
    """Remove permissions and resources that a pure function does not need.

    Args:
        memory: the growth limit of the address space in bytes.
    """
    rlimits.prefer_to_kill()
    limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": _OPEN_FILES, "RLIMIT_NPROC": 0}
    size = rlimits.address_space()
    rlimits.lower_limits({**limits, "RLIMIT_AS": size + memory} if size else limits)


def serve(channel: socket.socket, function: Callable[..., Any], memory: int) -> None:
    """Answer calls until the channel closes or this process must be replaced."""
    process = os.getpid()
    threads = threading.active_count()
    most = _peak() + memory // 2
    messages.send(channel, messages.READY, process)
    for count in range(1, CALLS + 1):
        call = messages.receive(channel)
        if call is None:
            return
        rlimits.limit_processor(call.number / 1000 + _SLACK)
        arguments = json.loads(call.body)
        del call  # the text of large arguments
        kind, answer = _answer(function, arguments)
        if os.getpid() != process:  # the function forked, and this is the child
            os._exit(0)
        last = count == CALLS or kind == b"M" or threading.active_count() > threads or _peak() > most
        if kind == messages.RESULT and last:
            kind = messages.RESULT_AND_END
        messages.send(channel, messages.ERROR if kind == b"M" else kind, int(last), answer)
        if last:
            return


def main() -> None:
    """Run a spawned worker (on systems without fork); arguments: the port, and the settings as JSON."""
    port, settings = int(sys.argv[1]), json.loads(sys.argv[2])
    with socket.create_connection(("127.0.0.1", port)) as channel:
        channel.sendall(bytes.fromhex(sys.stdin.readline().strip()))
        try:
            function = prepare(settings["function"], settings["warm_up"])
        except BaseException as error:
            messages.send(channel, messages.ERROR, 1, described(error))
            raise
        limit(settings["memory"])
        serve(channel, function, settings["memory"])


def _answer(function: Callable[..., Any], arguments: list[Any]) -> tuple[bytes, bytes]:
    """Return the kind and the body of the answer; the kind M is an error after which memory may be short."""
    try:
        answer = json.dumps(function(*arguments)).encode()
        if len(answer) <= messages.LARGEST:
            return messages.RESULT, answer
        raise ValueError(f"a result of {len(answer)} bytes; at most {messages.LARGEST} can be returned")
    except MemoryError as error:
        return b"M", described(error)
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: a function must not end the worker
        return messages.ERROR, described(error)


def _peak() -> int:
    """Return the peak memory of this process in bytes."""
    if rlimits.resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return int(rlimits.resource.getrusage(rlimits.resource.RUSAGE_SELF).ru_maxrss) * unit


def become_worker(channel: socket.socket, function: Callable[..., Any], memory: int) -> None:
    """Run a worker in a process that was just forked, and end with it."""
    try:
        os.setsid()  # so that one signal ends the worker and its children
        gc.enable()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        limit(memory)
        serve(channel, function, memory)
    except BaseException:  # the pool notices the closed channel
        os._exit(1)
    os._exit(0)
