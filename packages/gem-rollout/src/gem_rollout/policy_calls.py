"""Calls of policies from an event loop: coroutines on the loop, functions in threads, batches.

A policy that only computes costs no thread of its own: all functions enter one queue, and threads are added only while
it moves slowly (:mod:`gem.vector.thread_scheduler`). Functions that wait for a server all wait at the same time.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from gem.arguments import integer
from gem.core import Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Policy
from gem.vector.thread_scheduler import Call, ThreadScheduler

__all__ = ["PolicyCaller", "PolicyCalls", "TookTooLongError"]

_EXPIRED = object()
_SHARE, _LONGEST_PAUSE = 0.1, 0.05  # of the last call's duration, and seconds: how long a batch waits for more


class TookTooLongError(TimeoutError):
    """A call of a policy exceeded its time limit."""


class PolicyCalls:
    """Runs functions in threads and coroutines on the loop, with time limits.

    All methods belong to the thread of the event loop. Functions that become due in the same iteration of the loop
    enter the threads' queue together.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, concurrency: int) -> None:
        """Start nothing yet; at most ``concurrency`` functions run at a time, abandoned ones not counted."""
        self.loop = loop
        self._threads = ThreadScheduler(concurrency, None)
        self._due: list[Call] = []
        self._waiting: dict[int, tuple[Call, asyncio.Future[Any]]] = {}  # by id(call)
        self._stray: set[asyncio.Task[Any]] = set()  # coroutines that have not ended after their time limit
        self._closing: set[asyncio.Task[Any]] = set()
        self._batches: dict[int, _Batches] = {}  # by id of the policy
        self._used: dict[int, list[Any]] = {}  # by id: policies with a close, and how many environments have used each
        self.callers: set[PolicyCaller] = set()
        """Of all policies in use."""
        self.closed = False
        self._threads.notify(self._wake)

    async def in_thread(self, index: int, function: Callable[[], Any], limit: float | None = None) -> Any:
        """Return the result of a function that runs in a thread; its exceptions are passed on.

        Args:
            index: of the environment that it is for; the environments of slow functions get a thread each.
            function: the function.
            limit: seconds after which to wait no longer. The thread cannot be stopped; its result is discarded.

        Raises:
            TookTooLongError: after the time limit.
        """
        call: Call = (index, _kept, function)
        future = self.loop.create_future()
        self._waiting[id(call)] = call, future
        if not self._due:
            self.loop.call_soon(self._submit)
        self._due.append(call)
        timer = None if limit is None else self.loop.call_later(limit, _expire, future)
        try:
            outcome = await future
        except asyncio.CancelledError:
            self._abandon(call)
            raise
        if timer is not None:
            timer.cancel()
        if outcome is _EXPIRED:
            self._abandon(call)
            raise TookTooLongError(f"no action within {limit:g} s")
        if type(outcome) is tuple:
            return outcome[0]
        raise outcome

    async def on_loop(self, coroutine: Awaitable[Any], limit: float | None = None) -> Any:
        """Return the result of a coroutine; its exceptions are passed on.

        Args:
            coroutine: the coroutine.
            limit: seconds after which it is cancelled. One that goes on after that is left alone.

        Raises:
            TookTooLongError: after the time limit.
        """
        if limit is None:
            return await coroutine
        future = self.loop.create_future()
        task = self.loop.create_task(_into(future, coroutine))
        self._stray.add(task)
        task.add_done_callback(self._stray.discard)
        timer = self.loop.call_later(limit, _expire, future)
        try:
            outcome = await future
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            timer.cancel()
        if outcome is _EXPIRED:
            task.cancel()
            raise TookTooLongError(f"no action within {limit:g} s")
        if type(outcome) is tuple:
            return outcome[0]
        raise outcome

    async def weights_changed(self, version: int | str | None) -> None:
        """Tell each policy that wants to know; its exceptions are passed on."""
        for policy in {id(caller.policy): caller.policy for caller in self.callers}.values():
            tell = getattr(policy, "weights_changed", None)
            told = None if tell is None else tell(version)
            if inspect.isawaitable(told):
                await told

    def use(self, policy: Any) -> None:
        """Note that one more environment uses a policy. One that several use belongs to the caller, who closes it."""
        if callable(getattr(policy, "close", None)) and not hasattr(policy, "act_many"):
            self._used.setdefault(id(policy), [policy, 0])[1] += 1

    def drop(self, policy: Any) -> None:
        """Note that an environment no longer uses a policy, and close it if no other ever did."""
        if self._used.get(id(policy), (None, 0))[1] == 1:
            del self._used[id(policy)]
            self.close_policy(policy.close)

    def batches(self, policy: Any) -> _Batches:
        """Return the queue of a policy with ``act_many``."""
        found = self._batches.get(id(policy))
        if found is None:
            found = self._batches[id(policy)] = _Batches(self, policy)
        return found

    def close_policy(self, close: Callable[[], Any]) -> None:
        """Have a policy's ``close`` called in the background; its exceptions are dropped."""
        task = self.loop.create_task(self._call_close(close))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _call_close(self, close: Callable[[], Any]) -> None:
        with suppress(Exception, SystemExit):  # the policy's episodes are over
            result = await close() if inspect.iscoroutinefunction(close) else await self.in_thread(-1, close)
            if inspect.isawaitable(result):
                await result

    async def close(self, seconds: float) -> None:
        """Close the policies and cancel what is running; wait at most so long for coroutines, for functions not."""
        for policy, users in self._used.values():
            if users == 1:
                self.close_policy(policy.close)
        self._used.clear()
        if self._closing:
            await asyncio.wait(set(self._closing), timeout=seconds)
        self.closed = True
        self._threads.cancel()
        for call, future in self._waiting.values():
            future.cancel()
            self._threads.abandon(call, _nothing)
        self._waiting.clear()
        tasks = {
            *self._stray,
            *self._closing,
            *(task for batches in self._batches.values() for task in batches.running),
        }
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        self._threads.stop()

    def _submit(self) -> None:
        calls, self._due = self._due, []
        if not self.closed:
            self._threads.submit(calls)

    def _abandon(self, call: Call) -> None:
        if self._waiting.pop(id(call), None) is not None:
            self._threads.abandon(call, _nothing)
            self._receive()  # it may have ended in the meantime

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._receive)

    def _receive(self) -> None:
        self._threads.notify(self._wake)
        finished = self._threads.finished
        while finished:
            call, outcome = finished.popleft()
            waiting = self._waiting.get(id(call))
            if waiting is None:
                self._threads.close_abandoned(call)
            elif not waiting[1].done():
                del self._waiting[id(call)]
                waiting[1].set_result(outcome)


class PolicyCaller:
    """The calls of one policy in one environment, by the kind of its methods."""

    __slots__ = (
        *("_act", "_act_is_async", "_calls", "_end", "_index", "_recall", "_reset", "_reset_is_async", "_seed"),
        *("droppable", "plain", "policy"),
    )

    def __init__(self, calls: PolicyCalls, index: int, policy: Any) -> None:
        self.policy = policy
        self._calls = calls
        self._index = index
        many = getattr(policy, "act_many", None)
        self._act: Any = getattr(policy, "act", None) if many is None else calls.batches(policy).act
        if not callable(self._act):
            raise ArgumentTypeError(f"a policy needs act or act_many, and {policy!r:.80} has neither")
        self._act_is_async = inspect.iscoroutinefunction(self._act)
        self.droppable = self._act_is_async and many is None
        """Whether a call ends when it is cancelled."""
        # Most policies have nothing to begin, and a call would cost a thread's attention.
        reset = getattr(policy, "reset", None)
        self._reset = None if getattr(reset, "__func__", None) is Policy.reset else reset
        self._reset_is_async = inspect.iscoroutinefunction(self._reset)
        self._seed = getattr(policy, "seed_episode", None)
        self._end = getattr(policy, "end_episode", None)
        self._recall = getattr(policy, "recall", None)
        self.plain = not self._act_is_async and not self._reset_is_async
        """Whether all of its methods are plain functions."""
        calls.use(policy)
        calls.callers.add(self)

    def drop(self) -> None:
        """End the use of the policy in this environment."""
        self._calls.callers.discard(self)
        self._calls.drop(self.policy)

    async def begin(self, seed: int, repetition: int, observation: Any, info: Info, limit: float | None) -> None:
        """Begin an episode: ``seed_episode`` and ``reset``, as far as the policy has them."""
        if self._seed is not None:
            self._seed(seed, repetition)
        if self._reset is not None:
            if self._reset_is_async:
                await self._calls.on_loop(self._reset(observation, info), limit)
            else:
                await self._in_thread(self._reset, observation, info, limit)

    @property
    def recalls(self) -> bool:
        """Whether the policy can be told what it did before, so that an interrupted episode can be continued."""
        return callable(self._recall)

    async def recall(self, observation: Any, info: Info, act: Any, limit: float | None) -> None:
        """Tell the policy what it answered to an observation before: ``recall``."""
        assert self._recall is not None
        told = self._recall(observation, info, act)
        if inspect.isawaitable(told):
            await self._calls.on_loop(told, limit)

    async def end(self, observation: Any, info: Info) -> Mapping[str, Any]:
        """End an episode that has begun: ``end_episode``, if the policy has it. Its exceptions are dropped.

        Returns:
            What the policy has to say about the episode, for the record's metadata.
        """
        if self._end is not None:
            with suppress(Exception):  # the episode is over, and all that counts is recorded
                result = self._end(observation, info)
                if inspect.isawaitable(result):
                    result = await result
                if isinstance(result, Mapping):
                    return result
        return {}

    def act(self, observation: Any, info: Info, limit: float | None) -> Awaitable[Any]:
        """Return an awaitable of what the policy's ``act`` or ``act_many`` returns for this observation."""
        if not self._act_is_async:
            return self._in_thread(self._act, observation, info, limit)
        coroutine: Awaitable[Any] = self._act(observation, info)
        return coroutine if limit is None else self._calls.on_loop(coroutine, limit)

    def begin_and_act(self, seed: int, repetition: int, observation: Any, info: Info) -> Any:
        """Begin an episode and return the first action, all in this thread; only if the policy is ``plain``."""
        if self._seed is not None:
            self._seed(seed, repetition)
        if self._reset is not None:
            self._reset(observation, info)
        return self._act(observation, info)

    def act_here(self, observation: Any, info: Info) -> Any:
        """Return the action, in this thread; only if the policy is ``plain``."""
        return self._act(observation, info)

    async def resolve(self, act: Any) -> Any:
        """Return the result of an awaitable that a plain function returned; such a policy is not ``plain``."""
        self.plain = False
        return await self._calls.on_loop(act)

    async def _in_thread(self, function: Any, observation: Any, info: Info, limit: float | None) -> Any:
        result = await self._calls.in_thread(self._index, lambda: function(observation, info), limit)
        if inspect.isawaitable(result):
            return await self._calls.on_loop(result, limit)
        return result


class _Batches:
    """The waiting observations of a policy with ``act_many``, and its calls.

    A call takes everything that waits. Before it, it waits a moment for episodes whose environments are about to
    return, a tenth of what the last call took: otherwise those that come a little late would be a batch of their own
    ever after, and a call for one costs a model nearly as much as a call for all.
    """

    def __init__(self, calls: PolicyCalls, policy: Any) -> None:
        self._calls = calls
        self._policy = policy  # which also keeps its id from being given to another
        self._at_once = integer("calls_at_once", getattr(policy, "calls_at_once", 1), minimum=1)
        self._waiting: list[tuple[Any, Info, asyncio.Future[Any]]] = []
        self._due = False
        self._pause = 0.0
        self._largest = 0
        self.running: set[asyncio.Task[Any]] = set()

    async def act(self, observation: Any, info: Info) -> Any:
        """Return the action for an observation, as a part of the next call."""
        future = self._calls.loop.create_future()
        self._waiting.append((observation, info, future))
        self._soon()
        outcome = await future
        if type(outcome) is tuple:
            return outcome[0]
        raise outcome

    def _soon(self) -> None:
        if self._waiting and not self._due and len(self.running) < self._at_once:
            self._due = True
            if self._pause and len(self._waiting) < self._largest:
                self._calls.loop.call_later(self._pause, self._start)
            else:
                # After everything that is ready in this iteration of the loop.
                self._calls.loop.call_soon(self._start)

    def _start(self) -> None:
        self._due = False
        batch = [item for item in self._waiting if not item[2].done()]
        self._waiting.clear()
        if batch:
            self._largest = max(len(batch), self._largest - 1)
            task = self._calls.loop.create_task(self._run(batch))
            self.running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.running.discard(task)
        self._soon()

    async def _run(self, batch: list[tuple[Any, Info, asyncio.Future[Any]]]) -> None:
        observations, infos = [item[0] for item in batch], [item[1] for item in batch]
        function = self._policy.act_many
        outcomes: list[Any] = []
        begin = self._calls.loop.time()
        try:
            if inspect.iscoroutinefunction(function):
                actions = await function(observations, infos)
            else:
                actions = await self._calls.in_thread(-1, lambda: function(observations, infos))
                if inspect.isawaitable(actions):
                    actions = await actions
            outcomes = [(action,) for action in _as_many(actions, len(batch))]
            self._pause = min(_LONGEST_PAUSE, _SHARE * (self._calls.loop.time() - begin))
        except BaseException as error:  # of the policy; every episode of the batch gets it
            outcomes = [error] * len(batch)
            if self._calls.closed:
                raise
        finally:
            for (_, _, future), outcome in zip(batch, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)


def _as_many(actions: Any, count: int) -> list[Any]:
    if isinstance(actions, (str, bytes, dict)) or not hasattr(actions, "__iter__"):
        raise ArgumentTypeError(f"act_many must return a list of actions, got {type(actions).__name__}")
    values = list(actions)
    if len(values) != count:
        raise ArgumentError(f"act_many returned {len(values)} actions for {count} observations")
    return values


def _kept(function: Callable[[], Any]) -> tuple[Any]:
    return (function(),)  # so that an exception that a policy returns differs from one that it raises


async def _into(future: asyncio.Future[Any], coroutine: Awaitable[Any]) -> None:
    """Put the outcome of a coroutine into a future; also ``SystemExit``, which would end the loop."""
    outcome: Any
    try:
        outcome = (await coroutine,)
    except BaseException as error:
        outcome = error
    if not future.done():
        future.set_result(outcome)


def _expire(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_result(_EXPIRED)


def _nothing() -> None:
    """Close nothing: an abandoned call of a policy leaves nothing behind that could be closed."""
