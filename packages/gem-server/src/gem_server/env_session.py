"""One environment of one client, whatever the protocol: :class:`EnvSession`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gem.arguments import seed_value
from gem.errors import ArgumentError, ArgumentTypeError, GemError
from gem.vector.env_runner import StepResult
from gem_server.errors import CapacityError, SequenceError, UnknownSessionError, WorkerLostError
from gem_server.metrics import ServerMetrics
from gem_server.open_request import OpenRequest
from gem_server.operations import ABANDON, ABANDONED, CLOSE, MAKE, REFUSED, RESET, STEP
from gem_server.settings import ServingSettings
from gem_server.wire_errors import decoded, refused_text
from gem_server.worker_pool import PooledWorker, WorkerPool

__all__ = ["EnvSession", "SessionHost"]

Deliver = Callable[["EnvSession", int, int, bytes], None]
"""Takes the session, the step id, the kind of the result, and the result as JSON: an array without its first
bracket."""

_ABANDON_WITHIN = 5.0  # seconds that a worker has to answer in place of a call that hangs; then it is killed


class SessionHost(Protocol):
    """What a session needs of its table, :class:`gem_server.session_table.SessionTable`."""

    settings: ServingSettings
    metrics: ServerMetrics
    pool: WorkerPool
    under_way: dict[int, EnvSession]

    def drop(self, session: EnvSession) -> None:
        """Close a session."""

    def forget(self, session: EnvSession) -> None:
        """Remove a session whose environment is closed or was never made."""

    def close_when_made(self, key: int, worker: PooledWorker) -> None:
        """Close an environment as soon as its worker has made it."""


class EnvSession:
    """One environment of one client. At most one call is under way; each has a step id, one more than the last.

    A call with the id of the last call is answered with its result and runs nothing, so a client may repeat a call
    whose answer it did not get.
    """

    __slots__ = (
        "_abandoning",
        "_account",
        "_deadline",
        "_deliver",
        "_episode_lost",
        "_kind",
        "_lost",
        "_made",
        "_operation",
        "_table",
        "_text",
        "_then",
        "_timeout",
        "_worker",
        "closed",
        "connection",
        "env_id",
        "follows_order",
        "key",
        "last_used",
        "name",
        "orphaned",
        "owner",
        "sequence",
        "steps",
    )

    def __init__(self, table: SessionHost, key: int, name: str, owner: str, request: OpenRequest, spec: str) -> None:
        self._table = table
        self.key = key
        self.name = name
        """The secret by which its client names it."""
        self.owner = owner
        self.env_id = request.env_id
        self.sequence = -1
        """Id of the last call; opening is call 0."""
        self.steps = 0
        self.last_used = time.monotonic()
        self.connection: object | None = None
        """The WebSocket connection that it belongs to; None if that is lost or there is none."""
        self.orphaned = False
        """Whether its connection was lost, and no other has taken it over."""
        self.closed = False
        self.follows_order = False
        self._timeout = table.settings.step_timeout if request.step_timeout is None else request.step_timeout
        self._made: dict[str, Any] = {
            "spec": spec,
            "kwargs": dict(request.arguments or {}),
            "wrappers": list(request.wrappers),
            "autoreset": request.autoreset,
            "seed": request.seed,
            "lost": (list(request.account or ()), request.lost, "") if request.lost else None,
        }
        self._account: Sequence[int | None] | None = request.account
        self._worker: PooledWorker | None = None
        self._operation: int | None = None  # of the call under way
        self._then: tuple[int, Any] | None = None  # what follows once the environment is made again
        self._deliver: Deliver | None = None
        self._kind, self._text = 0, b""  # the last result
        self._deadline = 0.0
        self._abandoning = False
        self._lost = ""

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._operation is not None

    def submit(self, sequence: int | None, operation: int, argument: Any, deliver: Deliver) -> None:
        """Begin a call; ``deliver`` gets its result, at once or later. It raises nothing: refusals are results too.

        Args:
            sequence: the step id; None for the next one.
            operation: one of :mod:`gem_server.operations`.
            argument: the action, or the arguments of ``reset`` as a dict, or a state.
            deliver: takes the result. A call that is repeated replaces it.
        """
        self.last_used = time.monotonic()
        if sequence is None:
            sequence = self.sequence + 1
        if sequence == self.sequence:
            if self._operation is None:
                deliver(self, sequence, self._kind, self._text)
            else:
                self._deliver = deliver
            return
        wrong = self._out_of_order(sequence)
        if wrong is not None:
            deliver(self, sequence, REFUSED, refused_text(wrong))
            return
        self.sequence = sequence
        wrong = self._refusal(operation, argument)
        if wrong is not None:
            self._kind, self._text = REFUSED, refused_text(wrong)
            deliver(self, sequence, REFUSED, self._text)
            return
        self._operation, self._deliver = operation, deliver
        self._begin(operation, argument)

    def _out_of_order(self, sequence: int) -> Exception | None:
        if self.closed:
            return UnknownSessionError("the session is closed")
        if self._operation is not None:
            return SequenceError(f"call {self.sequence} of the session is under way; wait for its result")
        if sequence != self.sequence + 1:
            return SequenceError(
                f"the last call had step id {self.sequence}, so the next has {self.sequence + 1}, got {sequence}"
            )
        return None

    def _refusal(self, operation: int, argument: Any) -> Exception | None:
        settings = self._table.settings
        if operation == STEP:
            size = len(argument) if isinstance(argument, str) else len(json.dumps(argument))
            if size > settings.max_action:
                return ArgumentError(f"the action has {size} characters, and the server takes {settings.max_action}")
            if settings.max_steps is not None and self.steps >= settings.max_steps:
                return CapacityError(f"the session has had its {settings.max_steps} steps")
            self.steps += 1
        elif operation == RESET:
            try:
                self._check_reset(argument)
            except (GemError, TypeError, ValueError) as error:
                return error
        return None

    @staticmethod
    def _check_reset(argument: Any) -> None:
        if not isinstance(argument, dict):
            raise ArgumentTypeError(f"the arguments of reset are a JSON object, got {type(argument).__name__}")
        if argument.get("seed") is not None:
            seed_value(argument["seed"])

    def _begin(self, operation: int, argument: Any) -> None:
        now = time.monotonic()
        # A client's limit is one of steps and resets; what is made first may have to import much.
        self._deadline = now + (self._table.settings.step_timeout if operation == MAKE else self._timeout)
        self._table.under_way[self.key] = self
        if operation == MAKE:
            self._make(None)
        elif self._worker is not None:
            self._worker.submit(self.key, operation, argument)
        elif operation == STEP:
            self._make(STEP)
        else:
            self._then = (operation, argument)
            self._make(None)

    def _make(self, answer: int | None) -> None:
        try:
            self._worker = self._table.pool.pick()
        except WorkerLostError as error:
            self.take(REFUSED, refused_text(error))
            return
        self._worker.keys.add(self.key)
        if self._lost and self._account is not None:
            self._made["lost"] = (list(self._account), self._lost, self._observation())
            self._lost = ""
        self._worker.submit(self.key, MAKE, {**self._made, "answer": answer})

    def _observation(self) -> Any:
        """Return the last observation, which a lost episode ends with."""
        values = json.loads(b"[" + self._text) if self._text else []
        return values[0] if len(values) == 5 and self._kind != REFUSED else ""

    def take(self, kind: int, text: bytes, account: Sequence[int | None] | None = None) -> None:
        """Take a result from the worker, with the account of the environment if it has changed."""
        if account is not None:
            self._account = account
        if self._operation is None or (self._abandoning and not kind & ABANDONED):
            return
        if self._then is not None and kind != REFUSED:
            operation, argument = self._then
            self._then = None
            if self._worker is not None:
                self._worker.submit(self.key, operation, argument)
            return
        self._then = None
        kind &= ~ABANDONED
        operation, self._operation = self._operation, None
        self._table.under_way.pop(self.key, None)
        if self._abandoning:
            self._abandoning = False
            if self._worker is not None:
                self._table.pool.retire(self._worker)
        if operation == MAKE and kind != REFUSED:
            self.follows_order = bool(json.loads(b"[" + text)[0].get("follows_order"))
        self._kind, self._text = kind, text
        self.last_used = time.monotonic()
        self._table.metrics.count(operation, kind)
        deliver, self._deliver = self._deliver, None
        if operation == MAKE and kind == REFUSED:
            self._table.forget(self)
        if deliver is not None:
            deliver(self, self.sequence, kind, text)

    def lose(self, cause: str) -> None:
        """Note that the environment ended with its process; a call that was under way is answered by another one."""
        self._worker, self._abandoning = None, False
        if self.closed:
            return
        again, self._lost = bool(self._lost) or self._operation == MAKE, cause
        if self._operation is None:
            return
        if again or self._then is not None:
            # An environment that ends the process in which it is made would do the same to the next one.
            self._then = None
            self.take(REFUSED, refused_text(WorkerLostError(f"the environment could not be made again: {cause}")))
        elif self._operation in (STEP, RESET):
            self._lost = cause
            self._make(self._operation)
        else:
            self.take(REFUSED, refused_text(WorkerLostError(cause)))

    def check_time(self, now: float) -> None:
        """Give up a call that takes too long, and a worker that does not even answer that."""
        if now < self._deadline or self._operation is None or self._worker is None:
            return
        if self._abandoning or self._operation not in (STEP, RESET) or self._then is not None:
            self._worker.kill()
            self._deadline = now + _ABANDON_WITHIN
            return
        self._abandoning = True
        self._deadline = now + _ABANDON_WITHIN
        name = "step" if self._operation == STEP else "reset"
        error = f"TimeoutError: no return from {name} within {self._timeout} s"
        self._worker.submit(self.key, ABANDON, (error, self._operation == STEP))

    async def call(self, operation: int, argument: Any = None, sequence: int | None = None) -> Any:
        """Make a call and return the decoded result: a step result for steps and resets, otherwise one value.

        Raises:
            GemError: the error of the environment or of the session.
        """
        kind, text = await self.call_encoded(operation, argument, sequence)
        return decoded(operation, kind, text)

    async def call_encoded(
        self, operation: int, argument: Any = None, sequence: int | None = None
    ) -> tuple[int, bytes]:
        """Make a call and return the kind of the result and its JSON, as ``submit`` delivers it."""
        future: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

        def deliver(_session: EnvSession, _sequence: int, kind: int, text: bytes) -> None:
            if not future.done():
                future.set_result((kind, text))

        self.submit(sequence, operation, argument, deliver)
        return await future

    async def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> StepResult:
        """Begin an episode. The reward is 0.0; truncated, with ``info["error"]``, only if the environment failed."""
        arguments: dict[str, Any] = {"seed": seed}
        if options is not None:
            arguments["options"] = dict(options)
        result: StepResult = await self.call(RESET, arguments)
        return result

    async def step(self, action: Any) -> StepResult:
        """Play one turn."""
        result: StepResult = await self.call(STEP, action)
        return result

    async def close(self) -> None:
        """Close the environment; closing it again does nothing."""
        if not self.closed:
            self._table.drop(self)

    def end(self) -> None:
        """Close the environment without waiting; for :class:`SessionTable`."""
        self.closed = True
        self._table.under_way.pop(self.key, None)
        operation, self._operation = self._operation, None
        worker, self._worker = self._worker, None
        if worker is not None and (operation == MAKE or self._then is not None):
            self._table.close_when_made(self.key, worker)
        elif worker is not None:
            if operation in (STEP, RESET):
                # Another thread is inside: it closes the environment when it returns and finds it replaced.
                worker.submit(self.key, ABANDON, ("the session was closed", False))
            worker.submit(self.key, CLOSE, None)
            self._table.pool.release(worker, self.key)
        if self._deliver is not None and operation is not None:
            deliver, self._deliver = self._deliver, None
            deliver(self, self.sequence, REFUSED, refused_text(UnknownSessionError("the session was closed")))
