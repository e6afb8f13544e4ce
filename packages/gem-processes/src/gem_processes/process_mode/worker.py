"""A worker process: it applies batches of commands to its environments until its channel closes."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from gem.faults import INTERRUPTS
from gem.vector.env_runner import AutoresetMode, EnvRunner, Maker, describe
from gem_processes.process_mode.call_page import IDLE, CallPage
from gem_processes.process_mode.makers import unpack_makers
from gem_processes.process_mode.packets import PacketChannel
from gem_processes.process_mode.packing import pack, pack_batch, portable, unpack, unpack_batch
from gem_processes.process_mode.runner_group import GroupResult, RunnerGroup
from gem_processes.process_mode.text_deltas import TextShortener
from gem_processes.process_mode.timed_group import TimedGroup

__all__ = ["EnvWorkerSettings", "become_env_worker"]

_CHUNK = 0.001
"""Seconds of work after which ``recv`` gets the results so far, so that both sides work at the same time."""
_TICK = 1e-7
"""Seconds that no step is shorter than."""


class EnvWorkerSettings(TypedDict):
    """The settings of a worker."""

    autoreset: str
    step_timeout: float | None


class _NotedError:
    """A maker that notes the exception of another."""

    def __init__(self, maker: Maker) -> None:
        self.error: BaseException | None = None
        self._maker = maker

    def __call__(self) -> Any:
        try:
            return self._maker()
        except BaseException as error:
            self.error = error
            raise


class _Worker:
    """The commands are tuples, the method's name first; the results go back in the order of the commands."""

    def __init__(self, channel: PacketChannel, page: CallPage, settings: EnvWorkerSettings) -> None:
        self._channel = channel
        self._page = page
        self._accounts: dict[int, tuple[int | None, ...]] = {}  # plain; changed since the last message
        timeout = settings["step_timeout"]
        self._group = (
            RunnerGroup(settings["autoreset"], self._note_change, page.cells)
            if timeout is None
            else TimedGroup(settings["autoreset"], self._note_change, page, timeout)
        )
        self._numbers: list[int] = []
        self._texts = TextShortener()
        self._chunk = 1

    def serve(self) -> None:
        """Apply commands until the channel closes."""
        commands: dict[str, Callable[..., None]] = {
            "step": self._step,
            "reset": self._reset,
            "make": self._make,
            "build": self._build,
            "revive": self._revive,
            "refuse": self._refuse,
            "call": self._call,
            "look": self._look,
            "specs": self._specs,
            "close": self._close,
        }
        receive, cells = self._channel.receive, self._page.cells
        try:
            while True:
                (name, *arguments), items, errors = receive(unpack_batch)
                for position, error in errors.items():
                    items[position] = error
                commands[name](items, *arguments)
                cells[0] = IDLE
        except (EOFError, ConnectionError):  # the trainer has closed its end, or has died
            self._group.close()

    def _step(self, actions: Sequence[Any], numbers: Sequence[int] | None, in_pieces: bool) -> None:
        members = self._numbers if numbers is None else numbers
        if not in_pieces:
            self._send(numbers, members, self._group.step(members, actions))
            return
        begin = 0
        while begin < len(members):
            end = min(begin + self._chunk, len(members))
            began = time.perf_counter()
            results = self._group.step(members[begin:end], actions[begin:end])
            in_time = (end - begin) * _CHUNK / max(time.perf_counter() - began, _TICK)
            self._chunk = max(1, min(2 * self._chunk, int(in_time)))
            self._send(members[begin:end], members[begin:end], results)
            begin = end

    def _reset(self, arguments: Sequence[Any], numbers: Sequence[int]) -> None:
        # Arguments that cannot be unpacked here are the caller's fault, as those that an environment refuses.
        readable = [
            (number, given) for number, given in zip(numbers, arguments, strict=True) if isinstance(given, dict)
        ]
        results = iter(self._group.reset([number for number, _ in readable], [given for _, given in readable]))
        answers = [next(results) if isinstance(given, dict) else given for given in arguments]
        self._send(numbers, numbers, answers, in_step=False)

    def _make(self, _: object, number: int, modules: dict[str, str], data: bytes) -> None:
        try:
            (maker,) = unpack_makers(modules, data)
            assert maker is not None
        except BaseException as error:
            maker = _raiser(error)
        noted = _NotedError(maker)
        result = self._group.make(number, noted)
        self._group.runners[number].keep_maker(maker)
        self._send([number], [number], [result], False, _description(self._group.runners[number].env, noted.error))

    def _build(
        self, _: object, entries: Sequence[tuple[int, int | None]], modules: dict[str, str], data: bytes
    ) -> None:
        """Build the environments of numbers and seeds; reply with the first exception, and its number."""
        number = -1
        try:
            makers = unpack_makers(modules, data)
            for (number, seed), maker in zip(entries, makers, strict=True):
                self._group.add(number, maker, seed)
                self._numbers.append(number)
        except INTERRUPTS:
            raise
        except BaseException as error:
            self._notice("built", number, [error])
        else:
            self._notice("built", number, [])

    def _revive(self, _: object, entries: Sequence[Any], modules: dict[str, str], data: bytes) -> None:
        """Take the place of a worker that died; send the results of its pending steps."""
        numbers, results = [], []
        try:
            makers: Sequence[Any] = unpack_makers(modules, data)
        except BaseException as unreadable:
            makers = [_raiser(unreadable)] * len(entries)
        waiting: list[tuple[int, EnvRunner, str]] = []
        autoreset = AutoresetMode(self._group.autoreset)
        for (number, account, error, observation, answer), maker in zip(entries, makers, strict=True):
            runner = EnvRunner(None, autoreset)
            if maker is not None:
                runner = EnvRunner.revived(maker, autoreset, account, error, _readable(observation))
            self._group.put(number, runner)
            self._note_change(number)
            if number not in self._numbers:
                self._numbers.append(number)
            if answer:
                waiting.append((number, runner, answer))
        for number, runner, answer in waiting:
            if answer == "step":
                results += self._group.step([number], [None])
            else:
                results.append(runner.report_loss() if answer == "failed step" else runner.failed_reset())
            numbers.append(number)
        self._send(numbers, numbers, results)

    def _refuse(self, _: object, number: int, error: str, in_step: bool) -> None:
        self._texts.forget(number)
        self._send([number], [number], [self._group.refuse(number, error, in_step=in_step)], in_step)

    def _call(self, arguments: Sequence[Any], ticket: int, number: int, name: str) -> None:
        try:
            args, kwargs = arguments
            for unreadable in arguments:
                if isinstance(unreadable, Exception):
                    raise unreadable
            value, ok = self._group.call(number, name, *args, **kwargs), True
        except INTERRUPTS:
            raise
        except BaseException as error:
            value, ok = portable(error), False
        self._reply(ticket, ok, value)

    def _look(self, _: object, ticket: int, number: int, name: str) -> None:
        try:
            found: Any = getattr(self._group.env(number), name)
            answer = (True, None) if callable(found) else (False, found)
        except INTERRUPTS:
            raise
        except BaseException as error:
            self._reply(ticket, ok=False, value=portable(error))
        else:
            self._reply(ticket, ok=True, value=answer)

    def _specs(self, _: object, ticket: int) -> None:
        living = {number: runner.env for number, runner in self._group.runners.items()}
        specs = {number: _packed_spec(env) for number, env in living.items() if env is not None}
        self._reply(ticket, ok=True, value=specs)

    def _close(self, _: object) -> None:
        self._notice("closed", IDLE, self._group.close())

    def _notice(self, what: str, number: int, errors: Sequence[BaseException]) -> None:
        self._channel.send(pack_batch((what, number), [portable(error) for error in errors], lambda _, error: error))

    def _send(
        self,
        numbers: Sequence[int] | None,
        members: Sequence[int],
        results: list[GroupResult],
        in_step: bool = True,
        description: bytes | None = None,
    ) -> None:
        self._page.cells[0] = IDLE  # before the trainer may read the results: a death after that is nobody's call
        accounts, self._accounts = self._accounts, {}
        head = ("results", numbers, accounts, in_step, description)

        def replacement(position: int, error: Exception) -> GroupResult:
            reason = f"InvalidResultError: what it returned cannot be sent to another process: {describe(error)}"
            self._texts.forget(members[position])
            return self._group.refuse(members[position], reason, in_step=in_step)

        self._channel.send(pack_batch(head, self._texts.shorten(members, results), replacement))
        if self._accounts:  # of environments whose results were replaced; the next message brings the rest
            self._channel.send(pack_batch(("results", [], self._accounts, in_step, None), [], replacement))
            self._accounts = {}

    def _reply(self, ticket: int, ok: bool, value: Any) -> None:
        failed: list[Exception] = []

        def replacement(position: int, error: Exception) -> None:
            failed.append(error)

        data = pack_batch(("reply", ticket, ok), [value], replacement)
        if failed:
            data = pack_batch(("reply", ticket, False), [portable(failed[0])], replacement)
        self._channel.send(data)

    def _note_change(self, number: int) -> None:
        self._accounts[number] = self._group.runners[number].account.plain()


def become_env_worker(sock: socket.socket, page: int, settings: EnvWorkerSettings) -> None:
    """Run a worker in a process that was just forked, and end with it."""
    try:
        os.setsid()  # so that one signal ends the worker and its children
        gc.enable()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        calls = CallPage(page)
        calls.note_process()
        _Worker(PacketChannel(sock, blocking=True), calls, settings).serve()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # a fault of this worker, or of an environment that cannot be closed
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _description(env: Any, error: BaseException | None) -> bytes | None:
    """Return the spec and the class of an environment as bytes, or the exception of its maker."""
    try:
        return pack((None if env is None else env.spec, type(env).__name__, None if error is None else portable(error)))
    except Exception:  # a spec that cannot be sent
        return None


def _packed_spec(env: Any) -> bytes | None:
    try:
        return pack(env.spec)
    except Exception:  # it has an argument that cannot be sent
        return None


def _readable(observation: bytes) -> Any:
    try:
        return unpack(observation)
    except Exception:  # its class cannot be imported here
        return ""


def _raiser(error: BaseException) -> Callable[[], Any]:
    """Return a maker that fails with an exception."""

    def fail() -> Any:
        raise error

    return fail
