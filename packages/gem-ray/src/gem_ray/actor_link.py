"""The driver's side of one actor: :class:`ActorLink` sends it commands in batches, and notices that it is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import ray

from gem.errors import ArgumentTypeError, VectorError
from gem.vector.env_runner import AutoresetMode, describe
from gem.vector.runner_account import RunnerAccount
from gem_processes.process_mode.text_deltas import TextJoiner
from gem_ray.actor_env import ActorEnv, EnvCommand
from gem_ray.cluster import actor_class, describe_resources
from gem_ray.environment_actor import EnvironmentActor, Outcome
from gem_ray.packing import pack, pack_code, unpack

__all__ = ["ActorLink", "ActorLostError"]

_REASON_LENGTH = 300  # characters; Ray's messages are pages


class ActorLostError(VectorError):
    """An actor died or cannot be reached, and its environments are lost with it."""

    # A policy that asks its environment passes it on, and is not at fault; see gem.policies.Policy.
    failure_source = "environment"
    failure_kind = "crash"


class ActorLink:
    """The environments of one actor, as their driver sees them: successive actors hold them.

    Ray restarts an actor only once it has declared its node dead, which takes 15 seconds with its defaults. So a lost
    actor is dropped here, and another takes its place at once.

    Commands that do not fit into ``max_calls`` calls at a time wait here and go out together: a driver that is faster
    than an actor sends it larger batches, not more of them.

    Args:
        indices: of its environments, in the vector environment.
        options: of the Ray actor.
        mode: the vectorization mode inside the actor.
        autoreset: what follows the end of an episode.
        step_timeout: time limit of a step in seconds.
        max_calls: calls of the actor that may be under way.
        linger: see :meth:`EnvironmentActor.exchange`.
    """

    def __init__(
        self,
        indices: Sequence[int],
        options: Mapping[str, Any],
        *,
        mode: str,
        autoreset: AutoresetMode,
        step_timeout: float | None,
        max_calls: int,
        linger: float,
    ) -> None:
        self.indices = indices
        self.incarnation = 0
        """The number of actors that have held the environments."""
        self.attempts = 0
        """The number of actors that died one after the other without a result."""
        self.down_since: float | None = None
        """Since when the environments are being made, in seconds of ``time.monotonic``; None once they are there."""
        self.calls: dict[Any, str] = {}
        """The calls under way: ``"build"`` or ``"exchange"``."""
        self.notify: Callable[[], None] | None = None
        """Is called, in any thread, when a call has returned."""
        self._sent: dict[int, EnvCommand] = {}  # without a result, by index of the environment
        self._waiting: dict[int, EnvCommand] = {}
        self._numbers = {index: number for number, index in enumerate(indices)}
        self._options = options
        self._settings = (mode, autoreset, step_timeout)
        self._max_calls = max_calls
        self._linger = linger
        self._actor: Any = None
        self._texts = TextJoiner()
        # More threads than there are calls, for what stand-ins ask and for close.
        self._class = actor_class(
            EnvironmentActor, options, max_restarts=0, max_task_retries=0, max_concurrency=max_calls + 2
        )

    @property
    def needs(self) -> str:
        """What the actor needs, and what the cluster has."""
        return describe_resources(self._options)

    def build(self, envs: Sequence[ActorEnv]) -> None:
        """Begin to make the environments in a new actor."""
        self.drop()
        self.down_since = self.down_since or time.monotonic()
        self.incarnation += 1
        self.attempts += 1
        packed = pack_code([(env.maker, env.seed, env.lost) for env in envs])
        self._texts = TextJoiner()  # a new actor sends each first text whole
        self._actor = self._class.remote()
        self._note("build", self._actor.build.remote(packed, *self._settings))

    def put(self, index: int, command: EnvCommand) -> None:
        """Add a command to those that :meth:`flush` sends."""
        self._waiting[index] = command

    def flush(self) -> dict[int, BaseException]:
        """Send the commands that wait, or ask for results that are outstanding, as far as calls have room.

        Returns:
            The exceptions of commands that cannot be sent, by index of the environment.
        """
        refused: dict[int, BaseException] = {}
        if self.down_since is not None or len(self.calls) >= self._max_calls:
            return refused
        if not self._waiting and (self.calls or not self._sent):
            return refused
        try:
            packed = self._packed()
        except Exception:
            for index, command in list(self._waiting.items()):
                try:
                    pack(command.argument)
                except Exception as error:
                    refused[index] = ArgumentTypeError(
                        f"what environment {index} was given cannot be sent to another process: {describe(error)}"
                    )
                    del self._waiting[index]
            packed = self._packed()
        self._sent.update(self._waiting)
        self._waiting.clear()
        self._note("exchange", self._actor.exchange.remote(packed, self._linger))
        return refused

    def _packed(self) -> bytes:
        waiting, numbers = self._waiting, self._numbers
        packed = pack_code if any(command.kind == "make" for command in waiting.values()) else pack
        return packed([(command.kind, numbers[index], command.argument) for index, command in waiting.items()])

    def take(self, call: Any) -> tuple[list[Outcome], dict[int, RunnerAccount]]:
        """Return what a call has brought: results and changed accounts, by index of the environment.

        Until :meth:`finished` is called, the call can be taken again.

        Raises:
            ActorLostError: if the actor is lost, with its environments.
            The exception of an environment that could not be made is passed on.
        """
        try:
            answer = ray.get(call)
        except ray.exceptions.RayTaskError as error:
            if self.calls[call] == "build":
                raise error.as_instanceof_cause() from None
            raise ActorLostError(_reason(error.cause or error)) from None
        except ray.exceptions.RayError as error:
            raise ActorLostError(_reason(error)) from None
        if self.calls[call] == "build":
            fault: BaseException | None = unpack(answer)
            if fault is not None:
                raise fault
            return [], {}
        numbers, results, accounts = unpack(answer)
        return (
            [(self.indices[n], result) for n, result in zip(numbers, self._texts.join(numbers, results), strict=True)],
            {self.indices[number]: account for number, account in accounts.items()},
        )

    def finished(self, call: Any) -> None:
        """Forget a call whose results have been taken."""
        if self.calls.pop(call, None) == "build":
            self.down_since = None
        else:
            self.attempts = 0

    def sent(self, index: int) -> EnvCommand | None:
        """Return the command of an environment that the actor has been given, as long as it has no result."""
        return self._sent.get(index)

    def done(self, index: int) -> None:
        """Forget a command that was sent: its result has been delivered."""
        self._sent.pop(index, None)

    def watch(self, notify: Callable[[], None] | None) -> None:
        """Have a function called whenever a call returns, those under way included."""
        added = notify is not None and self.notify is None
        self.notify = notify
        for call in self.calls if added else ():
            call.future().add_done_callback(self._returned)

    def ask(self, method: str, index: int, *arguments: Any) -> Any:
        """Call a method of the actor for one of its environments, and wait; any thread may do so.

        Raises:
            ActorLostError: if the actor is lost.
        """
        actor = self._actor
        if actor is None:
            raise ActorLostError("the actor has ended")
        try:
            return unpack(ray.get(getattr(actor, method).remote(self._numbers[index], *arguments)))
        except ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except ray.exceptions.RayError as error:
            raise ActorLostError(_reason(error)) from None

    def close(self) -> Any:
        """Begin to close the environments; return the call, None without an actor."""
        return None if self._actor is None else self._actor.close.remote()

    def drop(self) -> None:
        """End the actor, if there is one."""
        self.calls.clear()
        if self._actor is not None:
            with suppress(ray.exceptions.RayError):
                ray.kill(self._actor)
            self._actor = None

    def _note(self, kind: str, call: Any) -> None:
        self.calls[call] = kind
        if self.notify is not None:
            call.future().add_done_callback(self._returned)

    def _returned(self, _: Any) -> None:
        if self.notify is not None:
            self.notify()


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    text = f"{type(error).__name__}: {text}"
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 3] + "..."
