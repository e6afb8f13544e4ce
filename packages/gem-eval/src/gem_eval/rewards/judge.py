"""A judge: a model that is asked for structured output, with a cache, retries, and a limit on requests in flight."""

from __future__ import annotations

import asyncio
import json
import os
import re
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gem.arguments import check_names, integer, real, string
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeLimitError, GemError, NotSupportedError
from gem_eval.clients.base import Message, ModelClient, Sampling
from gem_eval.clients.errors import ModelError
from gem_eval.rewards.judge_answers import MalformedAnswerError, read_answer
from gem_eval.rewards.judge_cache import AnswerCache
from gem_eval.runs.run_config import without_credentials

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Judge", "JudgeAnswer", "JudgeError"]

T = TypeVar("T")

_SHOWN = 2000  # characters of a malformed answer that the judge sees again
_HTTP = re.compile(r"https?:|[^:/]+(?::\d+)?(?:/|$)", re.IGNORECASE)
"""A URL that an HTTP client takes, a bare ``host:port`` included."""


class JudgeError(GemError, RuntimeError):
    """A judge that gave no answer.

    Attributes:
        kind: a word for tables: that of the :class:`gem_eval.clients.ModelError`, ``malformed``, or ``context``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class JudgeAnswer(Generic[T]):
    """An answer that could be read."""

    value: T
    model: str
    """The model's name, as the server gives it."""
    cached: bool
    attempts: int
    """Requests until the answer could be read; 0 from the cache."""


class Judge:
    """Asks a model for answers of a given form.

    Args:
        model: the model's name; None takes the only one of the server.
        base_url: the server, as :func:`gem_eval.clients.open_client` takes it.
        api_key_env: the environment variable with the server's key; None for the client's default.
        temperature: of sampling.
        max_tokens: of one answer, reasoning included.
        extra: further fields of the requests.
        attempts: requests until an answer can be read.
        concurrency: requests in flight.
        timeout: seconds of one request.
        retries: repetitions of a request that fails for a passing reason; None for the client's default.
        cache: folder of answers; None for memory, until :meth:`use_cache`.
        client: a client to ask in place of one for ``base_url``; it stays open.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int = 4096,
        extra: Mapping[str, Any] | None = None,
        attempts: int = 3,
        concurrency: int = 16,
        timeout: float = 300.0,
        retries: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        client: ModelClient | None = None,
    ) -> None:
        self.model = None if model is None else string("model", model)
        self.base_url = None if base_url is None else string("base_url", base_url)
        self.api_key_env = None if api_key_env is None else string("api_key_env", api_key_env)
        self.sampling = Sampling(
            temperature, max_tokens=integer("max_tokens", max_tokens, minimum=1), extra=extra or {}
        )
        self.attempts = integer("attempts", attempts, minimum=1)
        self.concurrency = integer("concurrency", concurrency, minimum=1)
        self.timeout = real("timeout", timeout, minimum=0.001)
        self.retries = None if retries is None else integer("retries", retries, minimum=0)
        self.cache = AnswerCache(cache)
        self._given = client
        self._structured = True
        self._of_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, judge: Any) -> Judge:
        """Return a judge: itself, one with the settings of a dict, or one that asks a client.

        Raises:
            ArgumentError, ArgumentTypeError: for anything else, and for an unknown setting.
        """
        if isinstance(judge, Judge):
            return judge
        if isinstance(judge, Mapping):
            check_names("a judge", judge, SETTINGS)
            return cls(**judge)
        if callable(getattr(judge, "chat", None)):
            return cls(client=judge)
        raise ArgumentTypeError(f"a judge is a dict of settings, a Judge or a model client, got {judge!r:.80}")

    @property
    def config(self) -> dict[str, Any]:
        """The settings on which answers depend, without credentials."""
        settings = {
            "model": self.model or (self._given.model if self._given is not None else None),
            "base_url": without_credentials(self.base_url),
            "api_key_env": self.api_key_env,
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "extra": dict(self.sampling.extra) or None,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def use_cache(self, folder: Path) -> None:
        """Keep answers in a folder, unless the judge has one already."""
        if self.cache.folder is None:
            self.cache = AnswerCache(folder)

    def check(self) -> None:
        """Raise an error for what would make every question fail; nothing is sent.

        Raises:
            ArgumentError: if there is no model to ask, its key is missing, or its address is impossible.
            MissingPluginError: if a library or a package that the address needs is not installed.
        """
        if self._given is None and self.base_url is None:
            raise ArgumentError(
                "this reward asks a judge, and none is named; pass judge={'model': …, 'base_url': …}, or --model and "
                "--base-url"
            )
        if self.api_key_env is not None and not os.environ.get(self.api_key_env):
            raise ArgumentError(f"the environment variable {self.api_key_env} with the judge's key is not set")
        if self._given is None:
            self._open()

    async def ask(
        self, system: str, question: str, schema: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]
    ) -> JudgeAnswer[T]:
        """Return the answer to a question.

        The model is asked for output by the schema; where its server or client refuses that, the instructions alone
        ask for it, and a warning says why. An answer that cannot be read is shown to the judge again with the reason,
        up to ``attempts`` times.

        Args:
            system: the judge's instructions.
            question: what to judge; untrusted text in it must be fenced.
            schema: JSON schema of the answer, an object.
            read: makes a value of the object; raises MalformedAnswerError.

        Raises:
            JudgeError: if there is no answer that can be read.
        """
        state = self._state()
        instructions = (
            f"{system}\n\nAnswer with one JSON object and nothing else, of this JSON schema:\n{json.dumps(schema)}"
        )
        messages: list[Message] = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": question},
        ]
        try:
            key = AnswerCache.key(await self._question(state.client, messages, schema))
            async with state.lock_of(key):  # one request for one question
                return await self._answer(state, key, messages, schema, read)
        except ModelError as error:
            raise JudgeError(error.failure_kind, f"the judge gave no answer: {error}") from error
        except EpisodeLimitError as error:
            raise JudgeError("context", f"the question is too long for the judge: {error}") from error

    async def close(self) -> None:
        """Close the client of this event loop. A later question opens another."""
        state = self._of_loop.pop(asyncio.get_running_loop(), None)
        if state is not None and state.client is not self._given:
            await state.client.close()

    async def _answer(
        self,
        state: _LoopState,
        key: str,
        messages: list[Message],
        schema: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
    ) -> JudgeAnswer[T]:
        kept = self.cache.get(key)
        if kept is not None and isinstance(kept.get("text"), str):
            try:
                return JudgeAnswer(read_answer(kept["text"], read), str(kept.get("model")), True, 0)
            except MalformedAnswerError:
                pass  # another version wrote it
        reason = ""
        conversation = messages
        for attempt in range(1, self.attempts + 1):
            async with state.limit:
                completion = await self._chat(state.client, conversation, schema)
            text = completion.text or ""
            try:
                value = read_answer(text, read)
            except MalformedAnswerError as error:
                reason = "it was cut off" if completion.finish_reason == "length" else str(error)
                conversation = [
                    *messages,
                    {"role": "assistant", "content": text[:_SHOWN] or "(nothing)"},
                    {
                        "role": "user",
                        "content": f"That answer cannot be read: {reason}. Answer again, with the JSON alone.",
                    },
                ]
                continue
            model = completion.model or state.client.model
            self.cache.put(key, {"text": text, "model": model, "messages": messages})
            return JudgeAnswer(value, model, False, attempt)
        raise JudgeError("malformed", f"the judge's answer cannot be read after {self.attempts} attempts: {reason}")

    async def _chat(self, client: ModelClient, messages: list[Message], schema: Mapping[str, Any]) -> Any:
        if not self._structured:
            return await client.chat(messages, sampling=self.sampling)
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}
        try:
            return await client.chat(messages, sampling=self.sampling, response_format=form)
        except (ModelError, NotSupportedError) as error:
            if isinstance(error, ModelError) and error.failure_kind != "bad_request":
                raise
            completion = await client.chat(messages, sampling=self.sampling)
            if self._structured:  # once, of all questions that ask at the same time
                self._structured = False  # the request without it was accepted
                warnings.warn(f"nothing holds the judge to the form of its answers: {error}", stacklevel=2)
            return completion

    async def _question(
        self, client: ModelClient, messages: list[Message], schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return all that an answer depends on."""
        prepare = getattr(client, "prepare", None)
        if self.model is None and prepare is not None:
            await prepare()  # finds out the model's name
        return {"version": 1, **self.config, "model": client.model, "messages": messages, "schema": dict(schema)}

    def _state(self) -> _LoopState:
        """Return what belongs to the running event loop: connections cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        state = self._of_loop.get(loop)
        if state is None:
            self.check()
            client = self._given if self._given is not None else self._open()
            state = self._of_loop[loop] = _LoopState(client, asyncio.Semaphore(self.concurrency))
        return state

    def _open(self) -> ModelClient:
        from gem_eval.clients.opening import open_client

        assert self.base_url is not None
        options: dict[str, Any] = {} if self.api_key_env is None else {"api_key": os.environ[self.api_key_env]}
        if _HTTP.match(self.base_url):
            options["timeout"] = self.timeout
            if self.retries is not None:
                options["retries"] = self.retries
        return open_client(self.base_url, self.model, **options)


class _LoopState:
    """The client and the limit of one event loop."""

    def __init__(self, client: ModelClient, limit: asyncio.Semaphore) -> None:
        self.client = client
        self.limit = limit
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def lock_of(self, key: str) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


SETTINGS = tuple(name for name in Judge.__init__.__annotations__ if name != "return")
"""The names of a judge's settings."""
