"""A session: the model calls of one episode, behind an address and a key of its own."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from gem.arguments import choice
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeLimitError, GemError, NotSupportedError
from gem_eval.clients import Completion, ContextOverflow, ModelError, Sampling
from gem_gateway.budgets import BudgetLedger, CallBudget
from gem_gateway.call_errors import ModelCallError
from gem_gateway.call_sampling import combined, decisions, known_extra
from gem_gateway.calls import CallAnswerer, ModelCall
from gem_gateway.dialects.base import CallSettings, estimated_tokens, usage_of
from gem_gateway.tool_runs import MOST_TURNS, SessionTools
from gem_gateway.tool_turns import ECHO

__all__ = ["DIALECT_PATHS", "SESSION_ENDED", "CallCounts", "GatewaySession", "key_digest"]

SESSION_ENDED = "the session has ended before there was an answer; end now"

DIALECT_PATHS = {"chat": "/v1", "completions": "/v1", "responses": "/v1", "messages": "", "gemini": ""}
"""Dialect → what its clients expect in a base URL: those of OpenAI put ``/chat/completions`` after it, that of
Anthropic ``/v1/messages``, those of Google ``/v1beta/models/…``."""


_MOST_NOTES = 100
_FURTHER_NOTES = "further notes"


@dataclass(slots=True)
class CallCounts:
    """What the calls of a session add up to.

    Attributes:
        calls: requests that were calls in a known dialect, refused ones included. Of an answer in which the gateway
            has carried out tools, each turn of the model counts.
        answered: those with an answer.
        abandoned: those whose program went away, or whose session ended, before there was an answer.
        cut: those whose answer was there, and whose program went away before the end of the stream.
        errors: kind, as in :mod:`gem_gateway.call_errors` → how often it came.
        notes: what was left out of calls, in words → how often.
        prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens: of all answers.
        under_way: those that are being read, answered or written now, requests for a count of tokens included.
        held_bytes: of the bodies of these.
        estimated: answers whose tokens the model's server did not count.
        seconds: how long the answers took, together.
    """

    calls: int = 0
    answered: int = 0
    abandoned: int = 0
    cut: int = 0
    under_way: int = 0
    held_bytes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    estimated: int = 0
    seconds: float = 0.0

    def note(self, note: str) -> None:
        """Count what was left out of a call; beyond a number of different notes, under one word."""
        known = note in self.notes or len(self.notes) < _MOST_NOTES
        self.notes[note if known else _FURTHER_NOTES] += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        counts = {name: getattr(self, name) for name in self.__slots__}
        return {**counts, "errors": dict(self.errors), "notes": dict(self.notes)}


class GatewaySession:
    """One episode's calls; :meth:`Gateway.open` makes it.

    Attributes:
        id: names it in its addresses, and is no secret.
        name: of the episode, for people.
        api_key: what programs send as their key. It opens this session and no other.
        model: the model's name, as programs are told.
        calls: what has been called so far.
        failure: the last error of the answerer that a call ended with, limits not counted; None without one. What ends
            an episode in its wake is no fault of the program.
    """

    def __init__(
        self,
        answerer: CallAnswerer,
        origin: str,
        on_close: Callable[[GatewaySession], None],
        *,
        name: str = "",
        model: str = "",
        api_key: str | None = None,
        budget: CallBudget | None = None,
        sampling: Sampling | None = None,
        settings: CallSettings | None = None,
    ) -> None:
        self.answerer = answerer
        self.id = secrets.token_hex(8)
        self.name = name
        self.api_key = checked_key(api_key) if api_key is not None else f"gem-{secrets.token_urlsafe(32)}"
        self.key_digest = key_digest(self.api_key)
        self.model = model or getattr(answerer, "model", "") or "model"
        self.settings = settings or CallSettings()
        self._tools = SessionTools(self.settings.run_tools, self.id)
        # By default its id, so that a model's server keeps the calls of one program together.
        self._decided = {"session": self.id, **decisions(sampling or Sampling())}
        self._sampled: tuple[Sampling, Sampling] | None = None
        self.calls = CallCounts()
        self.failure: Exception | None = None
        self.closed = False
        self._origin = origin
        self._on_close = on_close
        self._ledger = BudgetLedger(budget or CallBudget())
        self._under_way: set[asyncio.Task[Completion]] = set()
        self._answering: set[asyncio.Task[Any]] = set()
        self._all_left = asyncio.Event()
        self._answers = 0

    def __repr__(self) -> str:
        return f"GatewaySession({self.name or self.id!r})"

    @property
    def exceeded(self) -> str | None:
        """The first limit of the budget that kept a call from its answer, such as ``"calls"``; None so far."""
        return self._ledger.exceeded

    @property
    def cost(self) -> float:
        """Price of all tokens so far, at the prices of the budget."""
        return self._ledger.cost

    def base_url(self, dialect: str = "chat") -> str:
        """Return the base URL for the clients of a dialect, one of :data:`DIALECT_PATHS`."""
        return f"{self._origin}/s/{self.id}{DIALECT_PATHS[choice('dialect', dialect, tuple(DIALECT_PATHS))]}"

    def opened_by(self, digest: bytes) -> bool:
        """Return whether a key with this digest is the session's, in constant time."""
        return hmac.compare_digest(digest, self.key_digest)

    def check_budget(self) -> None:
        """Refuse a request after the budget was used up, before its body is read: nothing is given back.

        Raises:
            ModelCallError: of the kind ``budget``.
        """
        self._ledger.check_open()

    def start(self, call: ModelCall, size: int) -> asyncio.Task[Completion]:
        """Begin the answer to a call, in a task that :meth:`close` cancels.

        Args:
            call: it is counted at once.
            size: bytes of the request, from which the tokens of the prompt are estimated.

        Raises (also the task):
            ModelCallError: if there is no answer.
        """
        self._check_open()
        task = asyncio.get_running_loop().create_task(self._reply(call, size))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    async def answered(self, call: ModelCall, size: int) -> Completion:
        """Return the answer to a call in the caller's own task, which costs less than :meth:`start`.

        Raises:
            ModelCallError: if there is no answer; of the kind ``ended``, if :meth:`close` came first.
        """
        self._check_open()
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        self._all_left.clear()
        try:
            return await self._reply(call, size)
        except asyncio.CancelledError:
            if not self.closed:
                raise
            if sys.version_info >= (3, 11):
                task.uncancel()
            raise ModelCallError("ended", SESSION_ENDED) from None
        finally:
            self._answering.discard(task)
            if not self._answering:
                self._all_left.set()

    async def count_tokens(self, call: ModelCall) -> int:
        """Return how many tokens the prompt of a call has: the answerer's count, or an estimate where it has none."""
        self._restore(call)
        count = getattr(self.answerer, "count_tokens", None)
        if count is not None:
            with suppress(GemError):  # a model without a chat template, a server that does not tokenize
                counted: int = await count(call)
                return counted
        return estimated_tokens([call.messages, call.tools or []])

    async def close(self) -> None:
        """Cancel the calls under way, refuse later ones, and close the answerer. Calling it twice is fine."""
        if not self.closed:
            self.closed = True
            self._on_close(self)
        while self._under_way or self._answering:
            running = list(self._under_way)
            for task in (*running, *self._answering):
                task.cancel()
            if self._answering:
                await self._all_left.wait()
            if running:
                await asyncio.wait(running)
        await self._tools.close()
        await self.answerer.close()

    def next_identity(self) -> str:
        """Return letters and digits that name the next answer, different in all sessions of a gateway."""
        self._answers += 1
        return f"{self.id}{self._answers:08x}"

    def _ended(self, task: asyncio.Task[Completion]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may wait any more

    def _check_open(self) -> None:
        if self.closed:  # while the body of the call was on its way
            raise ModelCallError("ended", SESSION_ENDED)

    async def _reply(self, call: ModelCall, size: int) -> Completion:
        self._restore(call)
        if call.server_tools:
            return await self._with_tools(call, size)
        return await self._answer(call, size)

    def _restore(self, call: ModelCall) -> None:
        if self.settings.run_tools and ECHO in map(_ROLE, call.messages):
            call.messages = self._tools.restored(call.messages, call.notes)

    async def _with_tools(self, call: ModelCall, size: int) -> Completion:
        """Return the model's last answer, and the usage of all, after the tools of the gateway that it called."""
        asked = call.sampling
        # A tool that must be called would be called for ever.
        free = replace(asked, extra={name: value for name, value in asked.extra.items() if name != "tool_choice"})
        completion = await self._answer(call, size)
        used = usage_of(call, completion)
        messages = call.messages
        while self._tools.wants(call, completion):
            turn = await self._tools.turn(call, completion)
            call.turns.append(turn)
            if turn.completion.tool_calls or len(call.turns) == MOST_TURNS:
                call.ends_with_tools = True
                completion = turn.completion
                break
            messages = [*messages, *turn.messages]
            size += sum(len(message["content"]) for message in turn.messages[1:]) + len(turn.completion.text)
            self.calls.calls += 1
            following = replace(call, messages=messages, sampling=free, notes=[])
            completion = await self._answer(following, size)
            for name, count in usage_of(following, completion).items():
                used[name] = used.get(name, 0) + count
        return replace(completion, usage=used)

    async def _answer(self, call: ModelCall, size: int) -> Completion:
        if call.native and getattr(self.answerer, "dialect", None) == call.dialect:
            call.sampling = replace(call.sampling, extra={**call.sampling.extra, **call.native})
        sampling = self._combined(call.sampling)
        call.sampling = known_extra(sampling, getattr(self.answerer, "extra_fields", None), call.notes)
        for note in call.notes:
            self.calls.note(note)
        aside, call.sampling = await self._ledger.admit(estimated_tokens_of(size, call), call.sampling)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        used = (0, 0)
        try:
            completion = await self._within_time(call)
            counts = usage_of(call, completion)
            used = counts["prompt_tokens"], counts["completion_tokens"]
        except asyncio.CancelledError:
            used = aside.prompt_tokens, 0  # the model has read the prompt, or may have
            raise
        finally:
            self._ledger.settle(aside, *used)
        calls = self.calls
        calls.answered += 1
        calls.seconds += loop.time() - begin
        for name, count in counts.items():
            if name in _COUNTED:
                setattr(calls, name, getattr(calls, name) + count)
        if completion.usage is None or "completion_tokens" not in completion.usage:
            calls.estimated += 1
        return completion

    def _combined(self, asked: Sampling) -> Sampling:
        """Return what a call samples with; the same object where a program asks for the same again, as most do."""
        if self._sampled is None or self._sampled[0] is not asked:
            self._sampled = asked, combined(asked, self._decided)
        return self._sampled[1]

    async def _within_time(self, call: ModelCall) -> Completion:
        left = self._ledger.remaining_seconds()
        try:
            if left is None:
                return await self.answerer.answer(call)
            return await asyncio.wait_for(self.answerer.answer(call), left)
        except asyncio.TimeoutError:
            if (left := self._ledger.remaining_seconds()) is not None and left <= 0:
                self._ledger.refuse("seconds")
            raise ModelCallError("internal", "the answer took too long") from None
        except ModelCallError:
            raise
        except ContextOverflow as error:
            raise ModelCallError("context", str(error)) from error
        except EpisodeLimitError as error:
            self._ledger.end(error.limit, str(error))
        except ModelError as error:
            self.failure = error
            raise _told(error) from error
        except (ArgumentError, ArgumentTypeError, NotSupportedError) as error:
            self.failure = error
            raise ModelCallError("unusable", str(error)) from error
        except Exception as error:  # a fault of the answerer must reach the program as an error of its dialect
            self.failure = error
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"the answerer of {self!r} failed", "exception": error}
            )
            raise ModelCallError("internal", "the gateway failed to answer this call") from error


_ROLE = itemgetter("role")

_COUNTED = frozenset({"prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"})

_TOLD_KINDS = {"content_filter": "filtered", "bad_request": "unusable"}


def _told(error: ModelError) -> ModelCallError:
    """Return what a program is told of an error of the model's client.

    Only what is about the program's own request goes out in the server's words; the others may name addresses and
    settings of the evaluation.
    """
    kind = _TOLD_KINDS.get(error.failure_kind, "model")
    if kind == "model":
        tried = "; the request was repeated in vain" if error.attempts > 1 else ""
        return ModelCallError(kind, f"the model gave no answer ({error.failure_kind}){tried}")
    return ModelCallError(kind, str(error))


def estimated_tokens_of(size: int, call: ModelCall) -> int:
    """Return about how many tokens a prompt has, from the bytes of its request; exactly for a prompt of token ids."""
    if isinstance(call.prompt, list):
        return len(call.prompt)
    if size < _SMALL_REQUEST:
        return -(-size // 4)
    return estimated_tokens([call.messages, call.tools or []])


_SMALL_REQUEST = 256 * 1024
"""Bytes below which a request is no picture, and its size alone says enough."""


def key_digest(key: str) -> bytes:
    """Return the digest by which keys are compared."""
    return blake2b(key.encode("utf-8", "surrogateescape"), digest_size=32).digest()


def checked_key(key: str) -> str:
    """Return a key; raises ArgumentError unless it has at least 16 printable ASCII characters and no blank."""
    if len(key) < 16 or not key.isascii() or not key.isprintable() or " " in key:
        raise ArgumentError("a key must have at least 16 printable ASCII characters and no blank")
    return key
