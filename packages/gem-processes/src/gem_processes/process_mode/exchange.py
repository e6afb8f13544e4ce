"""Messages between the trainer and its workers: :class:`WorkerExchange`."""

from __future__ import annotations

import itertools
import os
import select
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gem.errors import LostEnvironmentError
from gem.vector.env_runner import describe
from gem.vector.runner_account import RunnerAccount
from gem_processes.process_mode.notifier import ResultNotifier
from gem_processes.process_mode.packing import pack_batch, unpack_batch
from gem_processes.process_mode.worker_pool import EnvWorkerPool, WorkerHandle

__all__ = ["UnsendableAction", "WorkerExchange"]

_ASK_AGAIN = 1.0
"""Seconds between two checks of whether a worker that was asked is alive."""
_ENDED = "the process of this environment has ended"


class UnsendableAction:
    """Arrives in the place of an action that cannot be sent to another process; no environment understands it.

    Args:
        text: describes the action.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"UnsendableAction({self.text!r})"


class WorkerExchange:
    """Sends commands, and receives results and replies.

    ``ask`` may be called from any thread, everything else from one at a time.

    Args:
        pool: of the workers.
        notifier: is told of every worker's channel.
    """

    def __init__(self, pool: EnvWorkerPool, notifier: ResultNotifier) -> None:
        self.pool = pool
        self.results: deque[tuple[WorkerHandle, Sequence[int], list[Any]]] = deque()
        """Results that have arrived: the worker, the environments, their results."""
        self.notices: deque[tuple[WorkerHandle, tuple[str, int], list[BaseException]]] = deque()
        """Workers that have built or closed their environments, and what went wrong."""
        self.accounts: dict[int, RunnerAccount] = {}
        """The account of each environment's runner, as far as it is not new."""
        self.descriptions: dict[int, bytes | None] = {}
        """What a worker said of the environment that ``make`` made."""
        self._notifier = notifier
        self._epoll = select.epoll()
        # Wakes poll when a thread that asks has received results: the channel is then no longer readable.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._wake)
        self._epoll.register(self._wake, select.EPOLLIN)
        self._by_descriptor: dict[int, WorkerHandle] = {}
        self._tickets = itertools.count()
        self._replies: dict[int, tuple[bool, Any]] = {}
        self._asking: dict[int, tuple[WorkerHandle, int]] = {}  # by ticket: the worker, and an eventfd of the caller

    def start(self, numbers: Sequence[int]) -> WorkerHandle:
        """Start a worker for environments; raises VectorError if the system grants none."""
        worker = self.pool.start(numbers)
        for descriptor in (worker.channel.fileno(), worker.fate.fileno()):
            self._by_descriptor[descriptor] = worker
            self._epoll.register(descriptor, select.EPOLLIN)
            self._notifier.add(descriptor)
        return worker

    def drop(self, worker: WorkerHandle) -> None:
        """Forget a worker that has ended; callers that wait for its replies get an error."""
        for descriptor in (worker.channel.fileno(), worker.fate.fileno()):
            self._by_descriptor.pop(descriptor, None)
            self._notifier.remove(descriptor)
            with suppress(OSError):
                self._epoll.unregister(descriptor)
        self.pool.workers.remove(worker)
        for ticket, (asked, waker) in list(self._asking.items()):
            if asked is worker:
                self._replies[ticket] = False, LostEnvironmentError(_ENDED)
                os.eventfd_write(waker, 1)

    def close(self) -> None:
        """Stop watching."""
        self._epoll.close()

    def send(self, worker: WorkerHandle, head: tuple[Any, ...], items: Sequence[Any] = ()) -> None:
        """Send a command; if the worker has died, ``poll`` says so."""
        data = pack_batch(head, items, lambda _, error: UnsendableAction(describe(error)))
        with suppress(OSError), worker.lock:
            worker.channel.send(data)

    def poll(self, pause: float | None) -> tuple[bool, list[WorkerHandle]]:
        """Wait for messages and receive them.

        Args:
            pause: longest time to wait in seconds; None for no limit.

        Returns:
            Whether anything has arrived, and the workers that have ended.
        """
        ended: list[WorkerHandle] = []
        early = [worker for worker in self.pool.workers if worker.channel.has_packets]
        for worker in early:  # of an interrupted call, or received while a command had to wait
            self._receive(worker)
            pause = 0.0
        events = self._epoll.poll(pause)
        for descriptor, _ in events:
            if descriptor == self._wake:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
                continue
            worker = self._by_descriptor[descriptor]
            if descriptor == worker.channel.fileno():
                goes_on = self._receive(worker)
            else:
                while self._receive(worker):  # what it sent before its end
                    if not worker.channel.is_readable:
                        break
                goes_on = False
            if not goes_on and worker not in ended:
                ended.append(worker)
        return bool(events or early), ended

    def ask(self, worker: WorkerHandle, head: tuple[Any, ...], items: Sequence[Any] = (), *, name: str) -> Any:
        """Send a command with a ticket after its name, and return the reply.

        Raises:
            LostEnvironmentError: if the worker dies before it replies.
            Exceptions of the command are passed on.
        """
        ticket = next(self._tickets)
        waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        poll = select.poll()
        try:
            with worker.lock:
                if worker.channel.fileno() < 0:  # closed since the caller has looked for the worker
                    raise LostEnvironmentError(_ENDED)
                self._asking[ticket] = worker, waker
                for descriptor in (worker.channel.fileno(), waker):
                    poll.register(descriptor, select.POLLIN)
            self.send(worker, (name, ticket, *head), items)
            while ticket not in self._replies:
                poll.poll(1000 * _ASK_AGAIN)
                if ticket not in self._replies and (not self._receive_all(worker) or worker.has_ended):
                    self._receive_all(worker)
                    break
            ok, value = self._replies.pop(ticket, (False, LostEnvironmentError(_ENDED)))
        finally:
            self._asking.pop(ticket, None)
            os.close(waker)
        if not ok:
            raise value
        return value

    def _receive_all(self, worker: WorkerHandle) -> bool:
        """Receive all messages that are there, for ``ask``; return False after the last one of a worker that ended."""
        before = len(self.results)
        goes_on = True
        while goes_on and worker.channel.is_readable:
            goes_on = self._receive(worker)
        if len(self.results) > before:
            os.eventfd_write(self._wake, 1)
            self._notifier.notify()  # its thread may have missed them
        return goes_on

    def _receive(self, worker: WorkerHandle) -> bool:
        """Receive one message, if there is one; return False if the worker has closed its channel."""
        with worker.lock:
            try:
                return bool(worker.channel.receive(lambda data: self._handle(worker, data)))
            except BlockingIOError:
                return True
            except (EOFError, OSError):
                return False

    def _handle(self, worker: WorkerHandle, data: Any) -> bool:
        head, items, errors = unpack_batch(data)
        if head[0] == "results":
            _, numbers, accounts, in_step, description = head
            if numbers is None:
                numbers = worker.numbers
            if description is not None:
                self.descriptions[numbers[0]] = description
            self.accounts.update((number, RunnerAccount(*plain)) for number, plain in accounts.items())
            for position, error in errors.items():
                reason = f"InvalidResultError: what it returned cannot be read in this process: {describe(error)}"
                self.send(worker, ("refuse", numbers[position], reason, in_step))
            if errors:
                kept = [position for position in range(len(items)) if position not in errors]
                numbers, items = [numbers[position] for position in kept], [items[position] for position in kept]
            if items:
                self.results.append((worker, numbers, worker.texts.join(numbers, items)))
        elif head[0] == "reply":
            _, ticket, ok = head
            value = errors.get(0, items[0])
            self._replies[ticket] = ok and not errors, value
            asking = self._asking.get(ticket)
            if asking is not None:
                os.eventfd_write(asking[1], 1)
        else:
            self.notices.append((worker, head, items))
        return True
