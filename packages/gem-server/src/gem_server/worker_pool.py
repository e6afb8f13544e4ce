"""The server's side of its worker processes: starting them, sending batches, noticing their ends."""

from __future__ import annotations

import asyncio
import marshal
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from gem.env_spec import EnvSpec
from gem_processes.fork_server import exit_in_words, warm_python
from gem_server.errors import WorkerLostError
from gem_server.worker import HEADER

__all__ = ["PooledWorker", "WorkerPool"]

_HOLD = 0.0015  # seconds
_CROWD, _BATCH = 8, 8  # environments, commands

Results = Sequence[tuple[int, int, bytes, Any]]


class PooledWorker(asyncio.Protocol):
    """One worker process and the channel to it.

    Messages cost more than most steps, so commands are collected. An idle worker gets what one turn of the event loop
    brings. One that has not answered yet gets the next batch with its answer, or after a moment, since it may be
    waiting in a step (Nagle's algorithm, RFC 896, for steps). One of many environments gets small messages only
    that often.
    """

    def __init__(self, pool: WorkerPool, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.keys: set[int] = set()
        """The environments that live in it."""
        self.retiring = False
        """Whether an abandoned step still runs in it; it gets no new environments."""
        self._pool = pool
        self._commands: list[tuple[int, int, Any]] = []
        self._unanswered = 0
        self._flushed = 0.0
        self._flushing: asyncio.Handle | None = None
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # other event loops have classes of their own

    def submit(self, key: int, operation: int, argument: Any) -> None:
        """Send a command soon."""
        if self._flushing is None:
            wait = self._hold()
            self._flushing = self._loop.call_later(wait, self._flush) if wait > 0 else self._loop.call_soon(self._flush)
        self._commands.append((key, operation, argument))
        if len(self._commands) == _BATCH:
            self._flushing.cancel()
            self._flushing = self._loop.call_soon(self._flush)

    def _hold(self) -> float:
        """Return the seconds for which commands wait for others."""
        if len(self.keys) >= _CROWD:
            return self._flushed + _HOLD - self._loop.time()
        return _HOLD if self._unanswered else 0.0

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._flushed = self._loop.time()
        commands, self._commands = self._commands, []
        self._unanswered += len(commands)
        message = marshal.dumps(commands)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(HEADER.pack(len(message)) + message)

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        while len(received) >= HEADER.size:
            size = HEADER.size + HEADER.unpack_from(received)[0]
            if len(received) < size:
                break
            message = bytes(received[HEADER.size : size])
            del received[:size]
            results = marshal.loads(message)  # noqa: S302  # from our own process
            self._unanswered = max(0, self._unanswered - len(results))
            self._pool.on_results(results)
        if self._commands and len(self.keys) < _CROWD:
            self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._loop.create_task(self._pool.replace(self))

    def kill(self) -> None:
        """End the process at once; the pool then reports its environments as lost."""
        with suppress(ProcessLookupError):
            self.process.kill()

    def close(self) -> None:
        """Close the channel, on which an idle process ends by itself."""
        if self._transport is not None:
            self._transport.abort()


class WorkerPool:
    """A fixed number of worker processes; one that ends is replaced.

    All workers end with this process, in whichever way it ends: each asks the kernel to be killed with its parent,
    and ends when its channel closes.

    Args:
        size: number of processes.
        threads: steps that can wait at a time in each.
        specs: environments whose modules each worker imports as it starts.
        on_results: called with each batch of results.
        on_loss: called with the keys of the environments that ended with their process, and the cause.
    """

    def __init__(
        self,
        size: int,
        threads: int,
        specs: Sequence[EnvSpec],
        on_results: Callable[[Results], None],
        on_loss: Callable[[set[int], str], None],
    ) -> None:
        self.on_results = on_results
        self.lost_workers = 0
        self._size = size
        self._threads = threads
        self._warm_up = "\n".join(spec.to_json() for spec in specs).encode()
        self._on_loss = on_loss
        self._workers: list[PooledWorker] = []
        self._starting = 0
        self._closing = False

    @property
    def workers(self) -> Sequence[PooledWorker]:
        """The living workers."""
        return self._workers

    async def start(self) -> None:
        """Start all workers."""
        for _ in range(self._size):
            await self._start_one()

    async def _start_one(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [*warm_python("gem_server.worker"), str(theirs.fileno()), str(self._threads), str(os.getpid())],
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                # Threads of a worker take turns. With memory pools of their own, each would keep what environments
                # of closed sessions had in it.
                env={"MALLOC_ARENA_MAX": "2", **os.environ},
            )
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(self._warm_up)
            process.stdin.close()
        ours.setblocking(False)
        worker = PooledWorker(self, process)
        await asyncio.get_running_loop().create_connection(lambda: worker, sock=ours)
        self._workers.append(worker)

    def pick(self) -> PooledWorker:
        """Return the worker with the fewest environments.

        Raises:
            WorkerLostError: if there is none at the moment.
        """
        usable = [worker for worker in self._workers if not worker.retiring] or self._workers
        if not usable:
            raise WorkerLostError("no worker process is ready; try again in a second")
        return min(usable, key=lambda worker: len(worker.keys))

    def retire(self, worker: PooledWorker) -> None:
        """Take a worker with an abandoned step out of use: it ends when its last environment is closed.

        Where as many retire as the pool is large, the oldest is killed, and its environments are lost.
        """
        if not worker.retiring and not self._closing:
            worker.retiring = True
            retiring = [other for other in self._workers if other.retiring]
            if len(retiring) > self._size:
                retiring[0].kill()
            asyncio.get_running_loop().create_task(self._start_one())

    def release(self, worker: PooledWorker, key: int) -> None:
        """Forget a closed environment."""
        worker.keys.discard(key)
        if worker.retiring and not worker.keys:
            worker.kill()

    async def replace(self, worker: PooledWorker) -> None:
        """Report what ended with a worker, and start another."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        if not self._closing:
            worker.kill()
        code = await asyncio.get_running_loop().run_in_executor(None, worker.process.wait)
        if self._closing:
            return
        if not worker.retiring:
            self.lost_workers += 1
            await self._start_one()
        self._on_loss(worker.keys, f"WorkerLostError: the worker process ended ({exit_in_words(code)})")

    async def close(self) -> None:
        """End all workers: first kindly, after two seconds by force."""
        self._closing = True
        for worker in self._workers:
            worker.close()
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, _end, worker.process) for worker in self._workers))
        self._workers = []


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
