"""The actor's side: :class:`EnvironmentActor` holds environments and runs batches of commands in them."""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gem.core import Env
from gem.errors import InvalidResultError, VectorError
from gem.plugins import lookup
from gem.vector import AutoresetMode, VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import Maker, StepResult, check_single_agent, describe
from gem.vector.runner_account import RunnerAccount
from gem_processes.process_mode.packing import portable
from gem_processes.process_mode.text_deltas import TextShortener
from gem_ray.actor_env import EnvLoss
from gem_ray.packing import pack, pack_code, unpack

__all__ = ["EnvironmentActor", "Outcome"]

Outcome = tuple[int, StepResult | BaseException]
"""The number of an environment within its actor, and the result of its command."""

_LONGEST_WAIT = 2.0  # seconds that a call waits for a first result, so that a driver that has gone blocks no thread
_GRACE = 10.0  # seconds that all threads may be stuck beyond the time limit of a step


class EnvironmentActor:
    """Holds many environments in one process; empty until :meth:`build`.

    Several threads may be in :meth:`exchange`: while slow environments keep one call waiting, the next one brings
    commands for the others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # around everything below
        self._envs: VectorEnv | None = None
        self._access: EngineAccess[Any]
        self._results: list[Outcome] = []
        self._texts = TextShortener()
        self._news = threading.Condition()
        self._count_of_news = 0
        self._makers: dict[int, _ObservedMaker] = {}  # of the environments that were made by a command
        self._accounts: dict[int, RunnerAccount] = {}  # as the driver knows them

    def build(self, packed_members: bytes, mode: str, autoreset: AutoresetMode, step_timeout: float | None) -> bytes:
        """Make the environments; those that were lost with another actor are made when their next episodes begin.

        Args:
            packed_members: the packed list of maker, seed, :class:`EnvLoss` or None.
            mode: the vectorization mode.
            autoreset: what follows the end of an episode.
            step_timeout: time limit of a step in seconds.

        Returns:
            The packed exception of the first environment that could not be made, or None.
        """
        if step_timeout is not None:
            _exit_when_stuck(step_timeout + _GRACE)
        members: Sequence[tuple[Maker | None, int | None, EnvLoss | None]] = unpack(packed_members)
        new = [maker if lost is None else None for maker, _, lost in members]
        backend = lookup("gem_vector_backends", mode, "vectorization mode")
        with self._lock:
            try:
                envs = backend(
                    new, autoreset=autoreset, seeds=[seed for _, seed, _ in members], step_timeout=step_timeout
                )
            except Exception as error:
                return pack(portable(error))
            self._envs, self._access = envs, (access := EngineAccess.of(envs))
            for number, (maker, _, lost) in enumerate(members):
                if maker is not None and lost is not None:
                    access.revive(number, maker, *lost)
            access.notify(self._notify)
        return pack(None)

    def exchange(self, packed_commands: bytes, linger: float) -> bytes:
        """Begin commands, wait for results and return those that are there.

        The call returns when nothing is left to wait for, or ``linger`` seconds after it has seen the first result;
        with no result at all, after two seconds.

        Args:
            packed_commands: the packed list of kind, number of the environment, argument.
            linger: seconds.

        Returns:
            The packed numbers, their results as a :class:`TextShortener` has them, and the accounts of their runners
            that have changed, by number.
        """
        commands = unpack(packed_commands)
        with self._lock:
            if self._envs is not None:
                self._begin(commands)
        begun, first = time.monotonic(), 0.0
        while True:
            seen = self._count_of_news
            with self._lock:
                if self._envs is None:  # closed
                    return pack(([], [], {}))
                self._results += self._access.take_ready()
                now = time.monotonic()
                first = first or (now if self._results else 0.0)
                deadline = first + linger if first else begun + _LONGEST_WAIT
                if not self._envs.num_pending or now >= deadline:
                    numbers, results = [number for number, _ in self._results], [result for _, result in self._results]
                    self._results = []
                    accounts, results = self._changed_accounts(numbers), self._texts.shorten(numbers, results)
                    break
            with self._news:
                self._news.wait_for(lambda seen=seen: self._count_of_news != seen, deadline - now)  # type: ignore[misc]
        return self._packed(numbers, results, accounts)

    def describe(self, number: int) -> bytes:
        """Return the packed spec of an environment, the name of its class, and the exception of its last maker."""
        assert self._envs is not None
        maker = self._makers.get(number)
        error = self._access.making_error(number) if maker is None else maker.error
        if error is not None:
            return pack_code((None, "", portable(error)))
        try:
            spec, kind = self._envs.env_at(number).spec, self._access.class_name(number)
        except VectorError:  # it is not made yet
            spec, kind = None, ""
        return pack_code((spec, kind, None))

    def look(self, number: int, name: str) -> bytes:
        """Return, packed, whether an attribute of an environment is a method, and its value if it is none."""
        value = self._attribute(number, name)
        return pack((True, None) if callable(value) else (False, value))

    def call(self, number: int, name: str, packed_arguments: bytes) -> bytes:
        """Call a method of an environment; dots lead to attributes of attributes.

        Returns:
            The packed exception and result.
        """
        args, kwargs = unpack(packed_arguments)
        try:
            return pack((None, self._attribute(number, name)(*args, **kwargs)))
        except Exception as error:
            return pack((portable(error), None))

    def _attribute(self, number: int, name: str) -> Any:
        assert self._envs is not None
        value: Any = self._envs.env_at(number)
        for part in name.split("."):
            value = getattr(value, part)
        return value

    def close(self) -> str | None:
        """Close the environments; return what went wrong."""
        with self._lock:
            envs, self._envs = self._envs, None
            try:
                if envs is not None:
                    envs.close()
            except Exception as error:
                return describe(error)
        return None

    def _changed_accounts(self, numbers: Sequence[int]) -> dict[int, RunnerAccount]:
        """Return the accounts that the driver does not know yet, of environments without a pending command."""
        known, changed = self._accounts, {}
        for number in numbers:
            account = self._access.account(number)
            if known.get(number) != account:
                known[number] = changed[number] = account
        return changed

    def _packed(self, numbers: list[int], results: list[Any], accounts: dict[int, RunnerAccount]) -> bytes:
        """Pack results; one that cannot be packed becomes an exception, and harms no other."""
        if all(type(result) is tuple for result in results):
            with suppress(Exception):
                return pack((numbers, results, accounts))
        for position, result in enumerate(results):
            results[position] = sendable = _sendable(result)
            if sendable is not result:
                self._texts.forget(numbers[position])
        return pack((numbers, results, accounts))

    def _begin(self, commands: Sequence[tuple[str, int, Any]]) -> None:
        envs = self._envs
        assert envs is not None
        steps = {number: argument for kind, number, argument in commands if kind == "step"}
        if steps:
            envs.send(steps)
        resets = {number: argument for kind, number, argument in commands if kind == "reset"}
        if resets:
            self._access.send_resets(resets)  # the public send_reset has the same options for all
        for kind, number, argument in commands:
            if kind == "make":
                self._make(number, argument)

    def _make(self, number: int, maker: Maker) -> None:
        assert self._envs is not None
        self._makers[number] = observed = _ObservedMaker(maker)
        self._envs.send_make(number, observed)

    def _notify(self) -> None:
        with self._news:
            self._count_of_news += 1
            self._news.notify_all()


class _ObservedMaker:
    """Makes an environment of one agent, and remembers the exception, of which a result has only the text."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self.spec = getattr(maker, "spec", None)
        self.error: BaseException | None = None

    def __call__(self) -> Env[Any, Any]:
        self.error = None
        try:
            env = self._maker()
            check_single_agent(env)
        except BaseException as error:
            self.error = error
            raise
        return env


def _sendable(result: StepResult | BaseException) -> StepResult | BaseException:
    if isinstance(result, BaseException):
        return portable(result)
    try:
        pack(result)
    except Exception as error:
        return InvalidResultError(f"the observation or info cannot be sent to another process: {describe(error)}")
    return result


def _exit_when_stuck(limit: float) -> None:
    """End the process when no Python code runs for so many seconds: native code that hangs stops every thread.

    The timer of ``faulthandler`` needs no interpreter lock. As long as a thread renews it, it does not expire.
    """

    def renew() -> None:
        while True:
            faulthandler.dump_traceback_later(limit, exit=True)
            time.sleep(1.0)

    threading.Thread(target=renew, name="gem-ray-watchdog", daemon=True).start()
