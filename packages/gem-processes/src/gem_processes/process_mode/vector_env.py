"""Vectorization with processes, for environments that compute: :class:`ProcessVectorEnv`."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gem.arguments import integer
from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError, VectorError
from gem.vector.base import VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import AutoresetMode, Maker, describe
from gem.vector.runner_account import RunnerAccount
from gem_processes import usable_cpus
from gem_processes.process_mode.exchange import WorkerExchange
from gem_processes.process_mode.makers import modules_of, pack_makers
from gem_processes.process_mode.notifier import ResultNotifier
from gem_processes.process_mode.packing import pack, unpack
from gem_processes.process_mode.recovery import death_errors, last_observation, revive
from gem_processes.process_mode.stand_in import EnvStandIn
from gem_processes.process_mode.worker_pool import EnvWorkerPool, WorkerHandle

__all__ = ["ProcessVectorEnv"]

_GRACE = 2.0
"""Seconds that an interrupted call has to return before its process is killed."""
_CLOSES_IN = 10.0
"""Seconds that an environment may take to close."""
_PAUSE = 0.25
"""Seconds of the longest pause between two checks of time limits."""
_ALONE = 2
"""Deaths of workers in calls of an environment after which it gets a process of its own."""


class ProcessVectorEnv(VectorEnv):
    """Runs its environments in worker processes, many in each.

    A fork server starts the workers; the calling process is never forked, and its script is never run again. A
    step costs one message to each worker and one back. The environments of :attr:`envs` are stand-ins, whose methods
    and attributes are asked for by messages.

    **A worker that dies** is replaced. The running episodes of its environments are truncated, with reward 0.0 and an
    ``info["error"]`` that names the signal or exit status and the environment whose call was running. Pending resets
    of the others begin anew. An environment in whose calls two workers have died gets a process of its own.

    **A call that exceeds** ``step_timeout`` is interrupted where it runs Python code, and its neighbours do not notice.
    If it does not return within two more seconds, its worker is killed. Time limits are watched while the caller waits
    for results; a call that was late ends its episode in any case.

    **Values** cross the border as pickle writes them. A result that cannot be sent is a fault of its environment. An
    action that cannot be sent arrives as an object that is no text.

    Linux only.
    """

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
        num_workers: int | None = None,
    ) -> None:
        """Build all environments; if one cannot be built, close the others and raise.

        Args:
            makers: one for each environment. They are pickled: classes must lie in modules that can be imported, or
                cloudpickle must be installed.
            autoreset: what follows the end of an episode.
            seeds: for each environment, the seed of its first reset, unless that reset gives one.
            step_timeout: time limit of a step or reset in seconds.
            num_workers: number of processes, each with consecutive environments; one for each usable processor unless
                given.

        Raises:
            NotSupportedError: on other systems than Linux.
            ArgumentError: if a maker cannot be sent to another process.
            VectorError: if a worker dies while it builds its environments.
            Exceptions of makers are passed on.
        """
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        if sys.platform != "linux":
            raise NotSupportedError("process mode needs Linux; mode='thread' and mode='sync' work everywhere")
        count = usable_cpus() if num_workers is None else integer("num_workers", num_workers, minimum=1)
        self._count = min(count, self.num_envs)
        self._current: list[Maker | None] = list(self._makers)
        self._special: dict[int, tuple[str, Any]] = {}  # environments whose last command was no step
        self._deaths: dict[int, int] = {}  # of workers, by the environment whose call was running
        self._unsent: dict[int, BaseException] = {}  # why a maker could not be sent
        self._stand_ins: dict[int, EnvStandIn] = {}
        self._specs: dict[int, EnvSpec | None] = {}
        self._watch_pause = None if step_timeout is None else min(_PAUSE, max(0.005, step_timeout / 4))
        self._spans: list[tuple[WorkerHandle, slice | None]] = []
        self._worker_of: dict[int, WorkerHandle] = {}
        pool = EnvWorkerPool({"autoreset": self.autoreset.value, "step_timeout": step_timeout})
        self._notifier = ResultNotifier(self._watch_pause)
        self._finalizer = weakref.finalize(self, _end, pool, self._notifier)
        self._exchange = WorkerExchange(pool, self._notifier)
        if any(self._current):  # otherwise the first maker says what the fork server has to import
            try:
                self._start(self._current)
            except BaseException:
                self.closed = True
                self._finalizer()
                raise

    @property
    def num_workers(self) -> int:
        """The number of worker processes."""
        return len(self._exchange.pool.workers)

    @property
    def worker_pids(self) -> list[int]:
        """The process ids of the workers; 0 for one that has just been started."""
        return [worker.page.process for worker in self._exchange.pool.workers]

    @property
    def envs(self) -> tuple[Env[Any, Any], ...]:
        """Stand-ins for the environments, which live in the workers."""
        self._check_open()
        return tuple(self.env_at(index) for index in range(self.num_envs))

    def env_at(self, index: int) -> Env[Any, Any]:
        found = self._stand_ins.get(index)
        if found is None:
            found = self._stand_ins[index] = EnvStandIn(
                partial(self._ask, "call", index), partial(self._ask_for, index), partial(self._spec, index)
            )
        return found

    @property
    def specs(self) -> tuple[EnvSpec | None, ...]:
        """The spec of each environment; None for one that was constructed by hand."""
        missing = {number for number in range(self.num_envs) if number not in self._specs}
        for worker in list(self._exchange.pool.workers):
            if not missing.isdisjoint(worker.numbers):
                found = self._exchange.ask(worker, (), name="specs")
                self._specs.update({number: _unpacked(found.get(number)) for number in worker.numbers})
        return tuple(self._specs[number] for number in range(self.num_envs))

    def _engine_access(self) -> EngineAccess[Any]:
        return ProcessEngineAccess(self)

    def _account(self, index: int) -> RunnerAccount:
        return self._exchange.accounts.get(index) or RunnerAccount.first(self._seeds[index])

    def _start(self, makers: Sequence[Maker | None]) -> None:
        """Start the workers, and build the environments.

        Args:
            makers: of the environments that will be needed.
        """
        shares = [
            (range(first, end), pack_makers(self._current[first:end]))
            for first, end in _shares(self.num_envs, self._count)
        ]
        self._exchange.pool.modules = modules_of(makers)
        for numbers, (modules, data) in shares:
            worker = self._exchange.start(numbers)
            entries = [(number, self._seeds[number]) for number in numbers]
            self._exchange.send(worker, ("build", entries, modules, data))
        self._await_build()
        self._note_places()

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        send, in_pieces = self._exchange.send, not self._lock_step
        if self._special:
            for index in indices:
                self._special.pop(index, None)
        if type(indices) is range:  # all of them
            for worker, span in self._spans:
                chosen = actions[span] if span is not None else [actions[number] for number in worker.numbers]
                send(worker, ("step", None, in_pieces), chosen if type(chosen) is list else list(chosen))
            return
        for worker, (numbers, chosen) in self._by_worker(indices, actions):
            send(worker, ("step", numbers, in_pieces), chosen)

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        if not self._spans:
            self._start(self._current)
        for index, given in zip(indices, arguments, strict=True):
            self._special[index] = "reset", given
        for worker, (numbers, chosen) in self._by_worker(indices, arguments):
            self._exchange.send(worker, ("reset", numbers), chosen)

    def _submit_make(self, index: int, maker: Maker) -> None:
        try:
            modules, data = pack_makers([maker])
            if not self._spans:
                self._start([maker])
        except Exception as error:
            self._unsent[index] = error
            self._arrived[index] = "", 0.0, False, True, {"error": describe(error)}
            if self._notify is not None:
                self._notify()
            return
        self._current[index] = maker
        self._special[index] = "make", maker
        self._exchange.accounts[index] = RunnerAccount.first(None)
        self._exchange.descriptions.pop(index, None)
        self._specs.pop(index, None)
        self._unsent.pop(index, None)
        self._deaths.pop(index, None)
        self._exchange.send(self._worker_of[index], ("make", index, modules, data))

    def _watch(self) -> None:
        self._notifier.arm(self._notify)

    def _collect(self, count: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        arrived, exchange = self._arrived, self._exchange
        while True:
            missing = count - len(arrived)
            pause: float | None = 0.0
            if missing > 0 and not exchange.results:
                pause = None if deadline is None else max(0.0, deadline - time.monotonic())
                if self._watch_pause is not None:
                    pause = self._watch_pause if pause is None else min(pause, self._watch_pause)
            news, ended = exchange.poll(pause)
            for worker in ended:
                self._replace(worker)
            while exchange.results:
                # It leaves the queue last, and noting it twice changes nothing: an interrupt loses no result.
                worker, numbers, results = exchange.results[0]
                found = dict(zip(numbers, results, strict=True))
                arrived.update(found)
                worker.last.update(found)
                exchange.results.popleft()
            if len(arrived) >= len(self._pending):
                return
            if self.step_timeout is not None:
                self._check_time_limits(self.step_timeout)
            if not news and (missing <= 0 or (deadline is not None and time.monotonic() >= deadline)):
                return

    def _check_time_limits(self, limit: float) -> None:
        for worker in self._exchange.pool.workers:
            if worker.page.mark_overdue(limit):
                worker.overdue_since = time.monotonic()
                worker.interrupt()
            elif worker.overdue_since is not None:
                if not worker.page.is_overdue:
                    worker.overdue_since = None
                elif worker.hung is None and time.monotonic() - worker.overdue_since > _GRACE:
                    worker.hung = worker.page.running
                    worker.kill()

    def _replace(self, worker: WorkerHandle) -> None:
        """Put another worker in the place of one that has died."""
        exchange = self._exchange
        exchange.drop(worker)
        how, running = worker.how_it_ended(), worker.page.running
        command = self._special.get(running, ("step", None))[0]
        errors = death_errors(worker, how, self.step_timeout, command)
        answered = {number for _, numbers, _ in exchange.results for number in numbers} | self._arrived.keys()
        entries, makers = [], []
        again: list[int] = []
        for number in worker.numbers:
            pending = None
            if number in self._pending and number not in answered:
                pending = self._special.get(number, ("step", None))[0]
            account = self._account(number)
            if pending in ("reset", "make") and number != running:
                again.append(number)
            entry, exchange.accounts[number] = revive(
                number,
                account,
                errors[number != running],
                last_observation(worker.last, number),
                pending,
                was_running=number == running,
            )
            entries.append(entry)
            makers.append(self._current[number])
        worker.close()
        for group in self._regrouped(worker.numbers, running):
            chosen = [position for position, number in enumerate(worker.numbers) if number in group]
            new = exchange.start(group)
            new.last = {number: result for number, result in worker.last.items() if number in group}
            modules, data = pack_makers([makers[position] for position in chosen])
            exchange.send(new, ("revive", [entries[position] for position in chosen], modules, data))
        self._note_places()
        for number in again:
            command, argument = self._special[number]
            if command == "reset":
                self._exchange.send(self._worker_of[number], ("reset", [number]), [argument])
            else:
                self._exchange.send(self._worker_of[number], ("make", number, *pack_makers([argument])))

    def _regrouped(self, numbers: Sequence[int], running: int) -> list[list[int]]:
        """Return the environments of the workers that follow a dead one."""
        if running in numbers:
            self._deaths[running] = self._deaths.get(running, 0) + 1
            if self._deaths[running] >= _ALONE and len(numbers) > 1:
                return [[number for number in numbers if number != running], [running]]
        return [list(numbers)]

    def _await_build(self) -> None:
        """Wait until all environments are built.

        Raises:
            VectorError: if a worker dies.
            The exception of the first maker that fails is passed on.
        """
        exchange = self._exchange
        errors: dict[int, BaseException] = {}
        waiting = set(exchange.pool.workers)
        while waiting:
            _, ended = exchange.poll(None)
            while exchange.notices:
                worker, (_, number), failed = exchange.notices.popleft()
                waiting.discard(worker)
                if failed:
                    errors[number] = failed[0]
            for worker in ended:
                if worker in waiting:
                    raise VectorError(
                        f"the process that builds the environments {worker.numbers[0]} to {worker.numbers[-1]} "
                        f"{worker.how_it_ended()}, in environment {worker.page.running}"
                    )
        if errors:
            raise errors[min(errors)]

    def _note_places(self) -> None:
        workers = self._exchange.pool.workers
        self._spans = [(worker, worker.span) for worker in workers]
        self._worker_of = {number: worker for worker in workers for number in worker.numbers}

    def _by_worker(self, indices: Sequence[int], values: Sequence[Any]) -> Any:
        worker_of = self._worker_of
        groups: dict[WorkerHandle, tuple[list[int], list[Any]]] = {}
        for index, value in zip(indices, values, strict=True):
            numbers, chosen = groups.setdefault(worker_of[index], ([], []))
            numbers.append(index)
            chosen.append(value)
        return groups.items()

    def _ask(self, command: str, index: int, name: str, *args: Any, **kwargs: Any) -> Any:
        self._check_open()
        return self._exchange.ask(self._worker_of[index], (index, name), (args, kwargs), name=command)

    def _ask_for(self, index: int, name: str) -> Any:
        self._check_open()
        return self._exchange.ask(self._worker_of[index], (index, name), name="look")

    def _spec(self, index: int) -> EnvSpec | None:
        if index not in self._specs:
            described = self._exchange.descriptions.get(index)
            self._specs[index] = self._ask_for(index, "spec")[1] if described is None else self._description(index)[0]
        return self._specs[index]

    def _description(self, index: int) -> tuple[EnvSpec | None, str, BaseException | None]:
        found: Any = _unpacked(self._exchange.descriptions.get(index))
        return (None, "", None) if found is None else found

    def _shut_down(self) -> None:
        exchange = self._exchange
        errors: list[BaseException] = []
        waiting = {}
        for worker in exchange.pool.workers:
            exchange.send(worker, ("close",))
            waiting[worker] = worker.page.progress, time.monotonic()
        while waiting:
            _, ended = exchange.poll(_PAUSE)
            while exchange.notices:
                worker, _, failed = exchange.notices.popleft()
                errors += failed
                waiting.pop(worker, None)
            for worker in ended:
                waiting.pop(worker, None)
            for worker, (progress, since) in list(waiting.items()):
                if worker.page.progress != progress:
                    waiting[worker] = worker.page.progress, time.monotonic()
                elif time.monotonic() - since > _CLOSES_IN:
                    del waiting[worker]
        exchange.close()
        self._finalizer()
        if errors:
            raise VectorError(f"{len(errors)} environments could not be closed; the first: {describe(errors[0])}")


class ProcessEngineAccess(EngineAccess[ProcessVectorEnv]):
    """Asks the workers, or reads what they have sent."""

    def class_name(self, index: int) -> str:
        """Return the name of the class of the environment that ``send_make`` has put there; empty if there is none."""
        return self.envs._description(index)[1]

    def making_error(self, index: int) -> BaseException | None:
        """Return the exception of the maker of the last ``send_make``, if it has failed with one."""
        return self.envs._unsent.get(index) or self.envs._description(index)[2]

    def account(self, index: int) -> RunnerAccount:
        return self.envs._account(index)

    def revive(self, index: int, maker: Maker, account: RunnerAccount, error: str, observation: Any) -> None:
        envs = self.envs
        modules, data = pack_makers([maker])
        if not envs._spans:
            envs._start([maker])
        envs._current[index] = maker
        envs._exchange.accounts[index] = account
        envs._unset.discard(index)
        entry = index, account, error, pack(observation), None
        envs._exchange.send(envs._worker_of[index], ("revive", [entry], modules, data))


def _end(pool: EnvWorkerPool, notifier: ResultNotifier) -> None:
    notifier.stop()
    pool.close()


def _unpacked(data: bytes | None) -> Any:
    """Return what a worker has packed; None if it could not, or if it cannot be read here."""
    if data is not None:
        with suppress(Exception):
            return unpack(data)
    return None


def _shares(total: int, count: int) -> list[tuple[int, int]]:
    """Return the bounds of consecutive shares, as equal as possible."""
    return [(total * position // count, total * (position + 1) // count) for position in range(count)]
