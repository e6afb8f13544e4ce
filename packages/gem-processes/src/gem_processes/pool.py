"""A pool of warm processes that can be killed at any moment, for calls from any thread."""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from collections import deque
from typing import Any

from gem.arguments import integer, real, string
from gem.cpus import usable_cpus
from gem.errors import ArgumentError, ArgumentTypeError, ProcessCallError, ProcessCrashError
from gem.fork_hooks import after_fork_in_child
from gem_processes.workers import ForkedWorkers, SpawnedWorkers, WorkerProcess, WorkerSettings, WorkerSource

__all__ = ["ProcessPool"]

_TRIES = 3
_CAN_FORK = hasattr(os, "fork") and sys.platform != "win32"


class ProcessPool:
    """Calls one function in separate processes, with limits on time and memory.

    The first call starts a fork server, which imports the function once; workers
    are forked from it, so a replacement takes milliseconds. All processes end with :meth:`close`, at exit, and
    when this process is killed. A forked child of this process gets its own processes at its first call.

    A worker has its standard streams on the null device, writes no files, starts no threads or processes (the
    superuser's can), and has at most 64 open files; after 1,000 calls, or when a call has left memory or threads
    behind, another takes its place.

    Args:
        function: ``"module:function"``; its arguments and result must be JSON values.
        seconds: the wall-clock limit of one call. It counts the time of the function only, not the wait for a free
            worker or its start.
        memory: the growth limit of a worker's address space in bytes.
        workers: the number of parallel calls; None for the number of usable processors, at least two, so that one
            slow call does not delay the others. Further calls wait.
        warm_up: ``"module:function"``, called without arguments in the fork server, to speed up the first calls.

    Raises:
        ArgumentError, ArgumentTypeError: if an argument is invalid. A missing function is only detected by the
            first call.
    """

    def __init__(
        self,
        function: str,
        *,
        seconds: float = 1.0,
        memory: int = 1 << 30,
        workers: int | None = None,
        warm_up: str | None = None,
    ) -> None:
        self.seconds = real("seconds", seconds, minimum=0.001, maximum=86400)
        if workers is None:
            workers = max(2, usable_cpus())
        self.workers = integer("workers", workers, minimum=1, maximum=1000)
        self._settings: WorkerSettings = {
            "function": string("function", function),
            "warm_up": None if warm_up is None else string("warm_up", warm_up),
            "memory": integer("memory", memory, minimum=1 << 20),
        }
        self._begin()
        after_fork_in_child(self._begin_in_child)

    def __repr__(self) -> str:
        return f"ProcessPool({self._settings['function']!r}, seconds={self.seconds:g}, workers={self.workers})"

    def __call__(self, *args: Any) -> Any:
        """Return the function's result for these arguments, through JSON, which turns tuples into lists.

        Raises:
            ProcessTimeoutError: if it takes longer than ``seconds``.
            ProcessCrashError: if its process dies.
            ProcessCallError: if it raises, or its result is not JSON or exceeds 16 MiB; ``exception``
                is then the name of the exception's class, or None if the function could not be called.
            ArgumentError, ArgumentTypeError: if an argument is not a JSON value.
        """
        return self.within(self.seconds, *args)

    def within(self, seconds: float, *args: Any) -> Any:
        """Call the function with a separate time limit."""
        real("seconds", seconds, minimum=0.001, maximum=86400)
        return self._state.call(_encoded(args), seconds)

    def close(self) -> None:
        """End all processes; running calls fail as crashes. A later call starts new processes."""
        self._state.close()

    def _begin(self) -> None:
        self._state = _State(self._settings, self.workers)
        self._at_end = weakref.finalize(self, _State.end, self._state)

    def _begin_in_child(self) -> None:
        self._at_end.detach()
        self._state.disown()
        self._begin()


class _State:
    """The processes of a pool in the process that started them."""

    def __init__(self, settings: WorkerSettings, workers: int) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._turns = _Turns(workers)
        self._source: WorkerSource | None = None
        self._idle: deque[WorkerProcess] = deque()
        self._busy: set[WorkerProcess] = set()
        self._over = False

    def call(self, body: bytes, seconds: float) -> Any:
        with self._turns:
            worker = self._take()
            keep = False
            try:
                value, keep = worker.call(body, seconds)
                return value
            except ProcessCallError as error:
                keep = error.exception is not None and not error.ends
                raise
            finally:
                self._give_back(worker, keep)

    def close(self) -> None:
        with self._lock:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
            source, self._source = self._source, None
        for worker in workers:
            worker.end()
        if source is not None:
            source.close()

    def end(self) -> None:
        """Close the pool permanently: it was garbage-collected, or the interpreter exits."""
        self._over = True
        if self._busy and self._source is not None:
            # Daemon threads still make calls. A failed call would print errors while the interpreter exits. The fork
            # server ends together with this process anyway.
            self._source.abandon()
        else:
            self.close()

    def disown(self) -> None:
        """Close only the descriptors, without the lock: its thread may not exist in this process."""
        for worker in [*self._idle, *self._busy]:
            worker.disown()
        if self._source is not None:
            self._source.disown()

    def _take(self) -> WorkerProcess:
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
                if worker is not None:
                    self._busy.add(worker)
            if worker is None:
                return self._new_worker()
            if worker.is_ready:
                return worker
            self._give_back(worker, keep=False)

    def _new_worker(self) -> WorkerProcess:
        worker = None
        for _ in range(_TRIES):
            source = self._living_source()
            try:
                worker = source.worker()
                break
            except OSError:  # the fork server was killed, or the pool closed
                with self._lock:
                    if self._source is source:
                        self._source = None
                source.close()
        if worker is None:
            raise ProcessCrashError("no worker could be started: the fork server was killed each time")
        with self._lock:
            self._busy.add(worker)
        try:
            worker.await_start()
        except BaseException:
            self._give_back(worker, keep=False)
            raise
        return worker

    def _living_source(self) -> WorkerSource:
        with self._lock:
            if self._over:
                raise ProcessCallError("the interpreter is exiting")
            if self._source is None:
                self._source = (ForkedWorkers if _CAN_FORK else SpawnedWorkers)(self._settings)
            return self._source

    def _give_back(self, worker: WorkerProcess, keep: bool) -> None:
        with self._lock:
            if keep and worker in self._busy:  # the pool was not closed in the meantime
                self._busy.remove(worker)
                self._idle.append(worker)
                return
            self._busy.discard(worker)
        worker.end()


class _Turns:
    """A semaphore that admits callers in the order of their arrival.

    The standard library's semaphore lets a late caller overtake waiting ones; with busy
    threads, a caller can then wait for minutes.
    """

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # Ctrl-C
            with self._lock:
                given = turn not in self._waiting
                if not given:
                    self._waiting.remove(turn)
            if given:
                self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    try:
        return json.dumps(arguments).encode()
    except TypeError as error:
        raise ArgumentTypeError(f"an argument cannot be passed on as JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"an argument cannot be passed on as JSON: {error}") from None
