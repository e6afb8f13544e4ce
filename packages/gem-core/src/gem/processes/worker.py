"""The side of a worker: limits on itself, then one call after the other until its channel closes."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.entry_points import load
from gem.processes import messages

resource: Any
try:
    import resource
except ImportError:  # not on Windows
    resource = None

__all__ = ["become_worker", "described", "limit", "main", "prepare", "serve"]

CALLS = 1000
"""Calls after which a worker is replaced, so that caches cannot grow without end."""

_OPEN_FILES = 64
_LONGEST_MESSAGE = 2000


def prepare(function: str, warm_up: str | None) -> Callable[..., Any]:
    """Import the function, and do what makes its first call as quick as the others."""
    callable_: Callable[..., Any] = load(function)
    if warm_up is not None:
        load(warm_up)()
    return callable_


def limit(memory: int) -> None:
    """Take from this process what a pure function does not need.

    Args:
        memory: bytes of address space beyond those that it has now.
    """
    if resource is None:
        return
    with suppress(OSError):  # when the system's memory runs out, it ends rather this process than the trainer
        Path("/proc/self/oom_score_adj").write_text("1000")
    limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": _OPEN_FILES, "RLIMIT_NPROC": 0}
    size = _address_space()
    if size is not None:
        limits["RLIMIT_AS"] = size + memory
    for name, value in limits.items():
        which = getattr(resource, name, None)
        if which is not None:
            with suppress(OSError, ValueError):  # already lower
                resource.setrlimit(which, (value, value))


def serve(channel: socket.socket, function: Callable[..., Any], memory: int) -> None:
    """Answer calls until the channel closes or this process should be replaced."""
    process = os.getpid()
    threads = threading.active_count()
    most = _peak() + memory // 2
    messages.send(channel, messages.READY, process)
    for count in range(1, CALLS + 1):
        call = messages.receive(channel)
        if call is None:
            return
        _, milliseconds, body = call
        arguments = json.loads(body)
        del body
        _limit_processor(milliseconds / 1000)
        kind, answer = _answer(function, arguments)
        if os.getpid() != process:  # the function forked, and this is the copy
            os._exit(0)
        last = count == CALLS or kind == b"M" or threading.active_count() > threads or _peak() > most
        if kind == messages.RESULT and last:
            kind = messages.RESULT_AND_END
        messages.send(channel, messages.ERROR if kind == b"M" else kind, int(last), answer)
        if last:
            return


def main() -> None:
    """Be a worker that was spawned (where there is no fork); arguments: port, and the settings as JSON."""
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


def described(error: BaseException) -> bytes:
    """An exception as the body of a frame."""
    try:
        message = str(error)[:_LONGEST_MESSAGE]
    except BaseException:
        message = ""
    return json.dumps([type(error).__name__, message]).encode()


def _answer(function: Callable[..., Any], arguments: list[Any]) -> tuple[bytes, bytes]:
    """Kind and body of the answer; the kind M is an error after which memory may be short."""
    try:
        answer = json.dumps(function(*arguments)).encode()
        if len(answer) <= messages.LARGEST:
            return messages.RESULT, answer
        raise ValueError(f"a result of {len(answer)} bytes; at most {messages.LARGEST} can be returned")
    except MemoryError as error:
        return b"M", described(error)
    except BaseException as error:  # SystemExit and KeyboardInterrupt as well: a function ends no worker
        return messages.ERROR, described(error)


def _limit_processor(seconds: float) -> None:
    """Let the kernel end this process if it computes on although nobody waits any more."""
    if resource is not None:
        most = int(time.process_time() + seconds) + 2
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _peak() -> int:
    """Bytes that this process has had in memory at most."""
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def _address_space() -> int | None:
    """Bytes of address space that this process has, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def become_worker(channel: socket.socket, function: Callable[..., Any], memory: int) -> None:
    """Be a worker in a process that was just forked, and end with it."""
    try:
        os.setsid()  # so that it and what it starts can be ended together
        gc.enable()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        limit(memory)
        serve(channel, function, memory)
    except BaseException:  # the pool sees the closed channel
        os._exit(1)
    os._exit(0)
