"""The worker process: it holds many environments and applies batches of commands to them.

Most steps take microseconds, so one thread reads a batch, runs it and answers it without any handoff. A step that
waits (for a tool, a container, a model) must hold up no other: a monitor notices that nothing moves and wakes further
threads, which run the rest of the batch and read the next ones. Invariants:

1. At most one thread reads the channel: the one that holds ``_lead``. A thread goes to sleep only when another one
   holds ``_lead``, so some thread is awake at any time.
2. A command leaves the queue by one ``popleft``. The server has at most one command of an environment under way, so
   no two threads are in one environment; only ``ABANDON`` comes while another command runs, and it only replaces
   the runner.
3. Results enter one queue, which any thread sends. So a result never waits for the step of another environment.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem_processes.linux import die_with_parent
from gem_server.hosted_env import HostedEnvs, Result

__all__ = ["HostingWorker", "main"]

HEADER = struct.Struct("<I")
"""The length of the message that follows, in bytes. Both directions; the messages are marshalled lists."""

_READ = 1 << 16  # the memory for a larger read would come from the system anew each time
_POLL = 0.003  # seconds between two looks of the monitor while commands run
_LONGEST_POLL = 0.024  # the same while all goes well: a look costs as much as several steps
_QUIET_POLLS = 8  # after this many looks at a worker that waits for messages, the monitor sleeps
_LATE_POLLS = 5  # looks without progress that it takes where the monitor itself gets little of the processor
_FLUSH_AFTER = 0.002  # seconds after which the results of a long batch are sent in part

Command = tuple[int, int, Any]
"""Key of the environment, operation (:mod:`gem_server.operations`), argument."""


class HostingWorker:
    """Reads batches of commands from a channel and sends batches of results, until the channel closes.

    Args:
        channel: a connected stream socket; the other end belongs to :class:`gem_server.worker_pool.WorkerPool`.
        threads: largest number of threads, which is the number of steps that can wait at a time.
    """

    def __init__(self, channel: socket.socket, threads: int) -> None:
        self._channel = channel
        self._most = threads
        self._hosted = HostedEnvs()
        self._received = bytearray()
        self._queue: deque[Command] = deque()
        self._results: deque[Result] = deque()
        self._lead = threading.Lock()
        self._sending = threading.Lock()
        self._spare = threading.Semaphore(0)
        self._sleeping = 0  # threads that wait for _spare; guarded by _count
        self._count = threading.Lock()
        self._threads = 1
        self._applied = 0  # commands begun or ended; the monitor compares it
        self._busy = threading.Event()

    def run(self) -> None:
        """Serve until the channel closes, in this thread and those that the monitor starts."""
        threading.Thread(target=self._monitor, daemon=True).start()
        self._serve()

    def _serve(self) -> None:
        while True:
            self._drain()
            if self._lead.acquire(blocking=False):
                try:
                    batch = self._receive()
                finally:
                    self._lead.release()
                if not self._busy.is_set():
                    self._busy.set()
                self._queue.extend(batch)
            else:
                with self._count:
                    self._sleeping += 1
                self._spare.acquire()

    def _drain(self) -> None:
        queue, results, apply = self._queue, self._results, self._hosted.apply
        flushed = time.monotonic()
        while True:
            try:
                key, operation, argument = queue.popleft()
            except IndexError:
                break
            self._applied += 1
            result = apply(key, operation, argument)
            self._applied += 1
            if result is not None:
                results.append(result)
            if time.monotonic() - flushed > _FLUSH_AFTER:
                self._flush()
                flushed = time.monotonic()
        self._flush()

    def _flush(self) -> None:
        while self._results:
            with self._sending:
                batch = []
                with suppress(IndexError):
                    while True:
                        batch.append(self._results.popleft())
                if batch:
                    message = marshal.dumps(batch)
                    try:
                        self._channel.sendall(HEADER.pack(len(message)) + message)
                    except OSError:
                        _end()

    def _receive(self) -> list[Command]:
        received = self._received
        while len(received) < HEADER.size or len(received) < HEADER.size + HEADER.unpack_from(received)[0]:
            try:
                data = self._channel.recv(_READ)
            except OSError:
                data = b""
            if not data:
                _end()
            received += data
        size = HEADER.unpack_from(received)[0]
        batch: list[Command] = marshal.loads(bytes(received[HEADER.size : HEADER.size + size]))  # noqa: S302  # our server's
        del received[: HEADER.size + size]
        return batch

    def _monitor(self) -> None:
        quiet, growth, stalled, pause = 0, 1, 0, _POLL
        while True:
            self._busy.wait()
            seen, began = self._applied, time.monotonic()
            time.sleep(pause)
            late = time.monotonic() - began > pause + _POLL
            pause = _POLL if self._applied == seen else min(2 * pause, _LONGEST_POLL)
            if self._lead.locked():
                growth, stalled, quiet = 1, 0, quiet + 1
                if quiet > _QUIET_POLLS:
                    quiet = 0
                    self._busy.clear()
                    if not self._lead.locked() or self._queue:
                        self._busy.set()
            elif self._applied != seen:
                quiet = stalled = 0
            else:
                quiet, stalled = 0, stalled + 1
                if late and stalled < _LATE_POLLS:
                    continue  # the machine is busy, so a thread without progress need not be waiting
                self._flush()
                self._wake(min(growth, max(1, len(self._queue))))
                growth *= 4

    def _wake(self, count: int) -> None:
        with self._count:
            woken = min(count, self._sleeping)
            self._sleeping -= woken
            started = min(count - woken, self._most - self._threads)
            self._threads += started
        self._spare.release(woken) if woken else None
        for _ in range(started):
            threading.Thread(target=self._serve, daemon=True).start()


def _end() -> None:
    # The server is gone or wants this worker to end. Threads may be in the middle of steps, so nothing waits for them.
    os._exit(0)


def main() -> None:
    """Run a worker: ``DESCRIPTOR THREADS PARENT``, with the environments to import on stdin."""
    descriptor, threads, parent = (int(word) for word in sys.argv[1:4])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides what ends
    if sys.platform == "linux":
        die_with_parent()
    if os.getppid() != parent:
        return
    channel = socket.socket(fileno=descriptor)
    for line in sys.stdin.buffer.read().splitlines():
        with suppress(Exception):  # the session that wants it is told
            load(EnvSpec.from_json(line.decode()).entry_point)
    HostingWorker(channel, threads).run()
