"""The environments of one process, driven in batches: :class:`RunnerGroup`.

Both sides of a process or machine boundary meet here: a worker process, an actor or a session of a server holds a
group, applies the batches that arrive, and sends back the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from typing import Any

from gem.core import Env
from gem.errors import ArgumentError, LostEnvironmentError
from gem.faults import suppress_faults
from gem.vector.env_runner import (
    AutoresetMode,
    EnvRunner,
    Maker,
    StepResult,
    check_single_agent,
)

__all__ = ["GroupResult", "RunnerGroup"]

GroupResult = StepResult | BaseException
"""The result of a step or reset; an exception where ``VectorEnv.step`` or ``reset`` raises it."""


class RunnerGroup:
    """Many :class:`EnvRunner`, each under a number of the caller's choice.

    The results are those of ``EnvRunner``, so seeds, episodes, infos and faults are the same in every mode that uses
    a group. No fault of an environment is raised; exceptions are for calls out of order and for arguments of ``reset``
    that an environment refuses.

    ::

        group = RunnerGroup("same_step")
        group.make(0, EnvMaker(gem.spec("game:Sudoku-v0"), ("concat",)))
        group.reset([0], [{"seed": 7}])     # [(observation, 0.0, False, False, info)]
        group.step([0], ["1 1 1"])          # [(observation, reward, terminated, truncated, info)]
        group.call(0, "get_state")          # a method or an attribute of the environment

    Args:
        autoreset: what follows the end of an episode.
        on_change: called with the number of an environment when its runner's ``account`` has changed.
        running: its first item is set to the number of the environment before each call.
    """

    def __init__(
        self,
        autoreset: AutoresetMode | str,
        on_change: Callable[[int], object] | None = None,
        running: MutableSequence[int] | memoryview | None = None,
    ) -> None:
        self.autoreset = AutoresetMode(autoreset)
        self.runners: dict[int, EnvRunner] = {}
        """The runner of each number."""
        self._on_change = on_change
        self._running: Any = [0] if running is None else running
        self._steps: dict[int, Callable[[Any], StepResult]] = {}

    def add(self, number: int, maker: Maker | None, seed: int | None = None) -> None:
        """Build an environment whose first reset has this seed, unless that reset gives one.

        Args:
            number: not in use yet.
            maker: builds the environment; None for a runner that is empty until :meth:`make`.
            seed: any non-negative int.

        Raises:
            Exceptions of ``maker`` are passed on.
            ArgumentError: if it is an environment for several agents.
        """
        self._running[0] = number
        runner = EnvRunner(maker, self.autoreset, seed)
        self.put(number, runner)
        check_single_agent(runner.env)

    def put(self, number: int, runner: EnvRunner) -> None:
        """Put a runner under a number; one that was there is forgotten, not closed."""
        self.runners[number] = runner
        self._steps[number] = runner.step
        on_change = self._on_change
        if on_change is not None:
            runner.on_change = lambda: on_change(number)

    def make(self, number: int, maker: Maker) -> StepResult:
        """Close the environment of a number, if there is one, and build another, which needs a reset.

        Returns:
            An empty observation; truncated, with ``info["error"]``, only if it could not be built.
        """
        if number not in self.runners:
            self.put(number, EnvRunner(None, self.autoreset))
        self._running[0] = number
        return self.runners[number].make(maker)

    def step(self, numbers: Sequence[int], actions: Sequence[Any]) -> list[GroupResult]:
        """Play one turn in each of these environments, one after the other."""
        steps, running = self._steps, self._running
        results: list[GroupResult] = []
        for number, action in zip(numbers, actions, strict=True):
            running[0] = number
            try:
                results.append(steps[number](action))
            except Exception as error:
                results.append(error)
        return results

    def reset(self, numbers: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> list[GroupResult]:
        """Begin an episode in each of these environments, with these arguments of ``Env.reset``."""
        results: list[GroupResult] = []
        for number, given in zip(numbers, arguments, strict=True):
            self._running[0] = number
            try:
                results.append(self.runners[number].reset(given))
            except Exception as error:
                results.append(error)
        return results

    def refuse(self, number: int, error: str, *, in_step: bool) -> StepResult:
        """Give up an environment whose last result cannot be sent, and return another result in its place.

        Args:
            number: of the environment.
            error: the reason, type and message.
            in_step: whether the result was that of a step.
        """
        old = self.runners[number]
        new = old.replacement(error)
        new.forget_observation()
        with suppress_faults():  # it is given up anyway
            old.close()
        self.put(number, new)
        if self._on_change is not None:
            self._on_change(number)
        if not in_step:
            return new.failed_reset()
        return new.step(None) if self.autoreset is AutoresetMode.SAME_STEP else new.failed_step()

    def call(self, number: int, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return an attribute of an environment, or what it returns if it is callable.

        Args:
            number: of the environment.
            name: of the attribute, such as ``"get_state"``; dots lead to attributes of attributes.
            *args: arguments of the call.
            **kwargs: more of them.

        Raises:
            ArgumentError: if it was never made, or arguments are given for a value that is not callable.
            LostEnvironmentError: if it has failed and is not built again yet.
            Exceptions of the attribute are passed on.
        """
        value: Any = self.env(number)
        for part in name.split("."):
            value = getattr(value, part)
        if callable(value):
            return value(*args, **kwargs)
        if args or kwargs:
            raise ArgumentError(f"{name!r} of environment {number} is no method, so it takes no arguments")
        return value

    def env(self, number: int) -> Env[Any, Any]:
        """Return an environment.

        Raises:
            ArgumentError: if it was never made.
            LostEnvironmentError: if it has failed and is not built again yet.
        """
        runner = self.runners.get(number)
        if runner is None:
            raise ArgumentError(f"environment {number} was never made")
        if runner.env is None:
            raise LostEnvironmentError(f"environment {number} has failed and is not built again yet: {runner.error}")
        return runner.env

    def remove(self, numbers: Iterable[int]) -> list[Exception]:
        """Close these environments and forget them; return the exceptions of those that did not close."""
        errors: list[Exception] = []
        for number in list(numbers):
            self._running[0] = number
            runner = self.runners.pop(number, None)
            self._steps.pop(number, None)
            try:
                if runner is not None:
                    runner.close()
            except Exception as error:
                errors.append(error)
        return errors

    def close(self) -> list[Exception]:
        """Close all environments; return the exceptions of those that did not close."""
        return self.remove(list(self.runners))
