r"""Sessions: environments that clients have opened, whatever the protocol.

A protocol (the WebSocket of :mod:`gem_server.socket_protocol`, the routes of :mod:`gem_server.http_routes`, a protocol
of another framework) opens sessions in the server's :class:`SessionTable` and calls them::

    session = await table.open("game:Sudoku-v0", owner="")     # limits and the list of served ids apply
    observation, reward, terminated, truncated, info = await session.reset(seed=7)
    observation, reward, terminated, truncated, info = await session.step("\\boxed{1 2 3}")
    await session.close()

These coroutines decode the results. A protocol that passes JSON through uses :meth:`EnvSession.submit`, which costs
less.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import choice, integer, nearest, real, seed_value
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError, GemError, NotSupportedError, UnknownEnvironmentError
from gem.vector.env_runner import AutoresetMode, StepResult
from gem_server.errors import CapacityError, SequenceError, UnknownSessionError, WorkerLostError
from gem_server.metrics import ServerMetrics
from gem_server.operations import ABANDON, ABANDONED, CLOSE, MAKE, REFUSED, RESET, STEP
from gem_server.settings import ServingSettings
from gem_server.wire_errors import decoded, refused_text
from gem_server.worker_pool import PooledWorker, WorkerPool

__all__ = ["EnvSession", "OpenRequest", "SessionTable"]

Deliver = Callable[["EnvSession", int, int, bytes], None]
"""Takes the session, the step id, the kind of the result, and the result as JSON: an array without its first
bracket."""

HARMLESS_WRAPPERS = frozenset(
    {
        "attempts",
        "concat",
        "concat_chat_on_reset",
        "concat_with_action",
        "episode_tracking",
        "messages",
        "time_limit",
        "wall_clock_limit",
    }
)
_ABANDON_WITHIN = 5.0  # seconds that a worker has to answer in place of a call that hangs; then it is killed


@dataclass(frozen=True)
class OpenRequest:
    """What a client asks for when it opens a session; checked by :meth:`SessionTable.open_now`."""

    env_id: str
    seed: int | None = None
    autoreset: str = "disabled"
    arguments: Mapping[str, Any] | None = None
    wrappers: Sequence[str] = ()
    step_timeout: float | None = None
    lost: str = ""
    """The cause by which an earlier session of the client was lost. An episode that it was in is over: the first step
    says
    so, and the next seeds go on where its account ends."""
    account: Sequence[int | None] | None = None
    """The account of that session (:data:`gem.vector.env_runner.RunnerAccount`)."""


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

    def __init__(self, table: SessionTable, key: int, name: str, owner: str, request: OpenRequest, spec: str) -> None:
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
        self._deadline = now + self._timeout
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


class SessionTable:
    """All sessions of a server, by name and by key.

    Args:
        specs: the environments that clients may open, by id.
        settings: the limits.
        metrics: counters.
    """

    def __init__(self, specs: Mapping[str, EnvSpec], settings: ServingSettings, metrics: ServerMetrics) -> None:
        self.specs = dict(specs)
        self.settings = settings
        self.metrics = metrics
        self.under_way: dict[int, EnvSession] = {}
        """Sessions with a call under way, by key."""
        self.draining = False
        self.pool: WorkerPool
        """The workers, which report to :meth:`on_results` and :meth:`on_loss`; set before any session is opened."""
        self._encoded_specs = {env_id: spec.to_json() for env_id, spec in specs.items()}
        self._by_key: dict[int, EnvSession] = {}
        self._by_name: dict[str, EnvSession] = {}
        self._keys = itertools.count(1)
        self._unwanted: dict[int, PooledWorker] = {}  # environments that are being made for closed sessions

    def __len__(self) -> int:
        return len(self._by_name)

    async def open(self, env_id: str, *, owner: str, **asked: Any) -> EnvSession:
        """Open a session and wait until its environment is made.

        Args:
            env_id: one of the served ids.
            owner: whose session it is: the name of the token, as :mod:`gem_server.access` gives it.
            **asked: further fields of :class:`OpenRequest`.

        Raises:
            CapacityError: if the server is full or shutting down.
            UnknownEnvironmentError: if the id is not served.
            GemError: an error of the environment's constructor.
        """
        session = self.open_now(OpenRequest(env_id, **asked), owner)
        await session.call(MAKE)
        return session

    def open_now(self, request: OpenRequest, owner: str, name: str | None = None) -> EnvSession:
        """Add a session without waiting; the caller submits ``MAKE`` as its call 0.

        Raises:
            CapacityError, UnknownEnvironmentError, ArgumentError, ArgumentTypeError: as :meth:`open`.
        """
        if self.draining:
            raise CapacityError("the server is shutting down; use another one")
        if len(self._by_name) >= self.settings.max_sessions:
            raise CapacityError(f"the server has all {self.settings.max_sessions} sessions open; try again later")
        name = name or secrets.token_hex(16)
        if name in self._by_name:
            raise SequenceError("a session of this name is open; attach to it instead")
        self._check(request)
        session = EnvSession(self, next(self._keys), name, owner, request, self._encoded_specs[request.env_id])
        self._by_key[session.key] = self._by_name[name] = session
        self.metrics.opened += 1
        return session

    def get(self, name: str, owner: str) -> EnvSession:
        """Return an open session of this owner.

        Raises:
            UnknownSessionError: if there is none.
        """
        session = self._by_name.get(name)
        if session is None or session.owner != owner:
            raise UnknownSessionError("no such session is open; it was closed, or reaped after too long without a call")
        return session

    def _check(self, request: OpenRequest) -> None:
        settings = self.settings
        if request.env_id not in self.specs:
            hint = nearest(str(request.env_id), self.specs)
            advice = f"did you mean {hint!r}?" if hint else "GET /v1/environments lists what is served"
            raise UnknownEnvironmentError(f"this server does not serve {request.env_id!r}; {advice}")
        if request.seed is not None:
            seed_value(request.seed)
        choice("autoreset", request.autoreset, [mode.value for mode in AutoresetMode])
        if not isinstance(request.arguments or {}, Mapping):
            raise ArgumentTypeError(f"arguments must be a JSON object, got {type(request.arguments).__name__}")
        if request.arguments and not settings.arguments:
            raise NotSupportedError(
                f"this server takes no constructor arguments, got {', '.join(map(repr, request.arguments))}; "
                "its operator allows them with gem serve --allow-arguments"
            )
        if isinstance(request.wrappers, str) or not all(isinstance(name, str) for name in request.wrappers):
            raise ArgumentTypeError("wrappers must be a list of names")
        for name in (part.strip() for item in request.wrappers for part in item.split(",")):
            if name not in HARMLESS_WRAPPERS and name not in settings.wrappers:
                raise NotSupportedError(
                    f"this server does not apply the wrapper {name!r}; "
                    f"its operator allows it with gem serve --allow-wrapper {name}"
                )
        if request.step_timeout is not None:
            real("step_timeout", request.step_timeout, minimum=0.001, maximum=settings.step_timeout)
        if not isinstance(request.lost, str) or bool(request.lost) != (request.account is not None):
            raise ArgumentError("lost is a text, and comes with an account")
        if request.account is not None:
            _check_account(request.account)

    def drop(self, session: EnvSession) -> None:
        """Close a session; the worker closes its environment when no step is inside."""
        if not session.closed:
            session.end()
            self.forget(session)

    def forget(self, session: EnvSession) -> None:
        """Remove a session whose environment is closed or was never made."""
        if self._by_name.pop(session.name, None) is not None:
            self._by_key.pop(session.key, None)
            self.metrics.closed += 1
            if not session.closed:
                session.end()

    def close_when_made(self, key: int, worker: PooledWorker) -> None:
        """Close an environment as soon as its worker has made it."""
        self._unwanted[key] = worker

    def on_results(self, results: Sequence[tuple[int, int, bytes, Any]]) -> None:
        """Pass results of workers on to their sessions."""
        by_key = self._by_key
        for key, kind, text, account in results:
            session = by_key.get(key)
            if session is not None:
                session.take(kind, text, account)
            elif key in self._unwanted:
                worker = self._unwanted.pop(key)
                worker.submit(key, CLOSE, None)
                self.pool.release(worker, key)

    def on_loss(self, keys: set[int], cause: str) -> None:
        """Tell sessions that their environments ended."""
        for key in sorted(keys):
            self._unwanted.pop(key, None)
            session = self._by_key.get(key)
            if session is not None:
                session.lose(cause)

    def check_times(self) -> None:
        """Give up calls that take too long, and close sessions that nobody uses; called a few times a second."""
        now = time.monotonic()
        for session in list(self.under_way.values()):
            session.check_time(now)
        idle, orphaned = self.settings.idle_timeout, min(self.settings.idle_timeout, self.settings.reconnect_timeout)
        for session in list(self._by_name.values()):
            if not session.busy and now - session.last_used > (orphaned if session.orphaned else idle):
                self.metrics.reaped += 1
                self.drop(session)

    def close(self) -> None:
        """Close all sessions."""
        for session in list(self._by_name.values()):
            self.drop(session)


def _check_account(account: Any) -> None:
    if not isinstance(account, (list, tuple)) or len(account) != 5:
        raise ArgumentError("an account has five values: seed, faults, episodes, seed of the episode, phase")
    seed, faults, episodes, episode_seed, phase = account
    for value in (seed, episode_seed):
        if value is not None:
            seed_value(value)
    for name, value in (("faults", faults), ("episodes", episodes), ("phase", phase)):
        integer(name, value, minimum=0, maximum=2 if name == "phase" else None)
