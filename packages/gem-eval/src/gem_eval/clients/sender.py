"""Requests that are repeated while that may help: :class:`RequestSender`."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gem.arguments import integer, real
from gem_eval.clients.base import Completion
from gem_eval.clients.capabilities import Capabilities
from gem_eval.clients.errors import ContextOverflow, ModelError
from gem_eval.clients.json_text import decoded, encoded, readable
from gem_eval.clients.pacing import RequestPacer
from gem_eval.clients.request_fields import droppable
from gem_eval.clients.server_errors import refusal
from gem_eval.clients.streaming import first_token_seconds, is_stream, joined_stream
from gem_eval.clients.transport import HttpTransport

__all__ = ["RequestSender"]

ReadT = TypeVar("ReadT")
Read = Callable[[Any, Mapping[str, str]], ReadT]
"""Makes the result of a decoded body and the headers; raises ModelError if they hold none."""

_LONGEST_DELAY = 60.0
"""Seconds of the longest delay before another attempt, where the server names none."""


_RETRIES_UNSEEN = 2
"""Repetitions of a request to an address at which no server has answered yet: it is more likely wrong than busy."""

_RETRIES_ANSWERED = 3
"""Repetitions of a request that is answered with status 200, and without a completion: that seldom passes."""

_PASSING = ("rate_limited", "timeout", "unreachable")


class RequestSender:
    """Sends requests, paced and repeated, and drops from them what the server refuses.

    Args:
        transport: carries the requests.
        pacer: admits them.
        capabilities: where refused fields are noted.
        retries: most repetitions of a request.
        retry_seconds: no repetition begins later than this after the first failure.
        first_delay: seconds before the first repetition, where the server names none; it doubles with each.
        secrets: texts that must not stand in messages.
    """

    def __init__(
        self,
        transport: HttpTransport,
        pacer: RequestPacer,
        capabilities: Capabilities,
        *,
        retries: int,
        retry_seconds: float,
        first_delay: float,
        secrets: Iterable[str],
    ) -> None:
        self._transport, self._pacer, self._capabilities = transport, pacer, capabilities
        self._retries = integer("retries", retries, minimum=0)
        self._retry_seconds = real("retry_seconds", retry_seconds, minimum=0.0)
        self._first_delay = real("first_delay", first_delay, minimum=0.0)
        self._secrets = sorted(set(secrets), key=len, reverse=True)
        self._jitter = random.Random()
        self._reached = False
        self._renamed: dict[str, str] = {}
        self.waiting: Counter[str] = Counter()
        """What the requests failed with that wait for their next attempt, and how many they are."""

    async def send(
        self,
        url: Any,
        body: dict[str, Any],
        read: Read[ReadT],
        method: str = "POST",
        *,
        headers: Mapping[str, str] | None = None,
    ) -> ReadT:
        """Send a request, with further headers, until it is answered, or as often as the settings allow.

        Raises:
            ModelError, ContextOverflow: the last failure, without credentials in its message.
        """
        failures = 0
        begun = 0.0
        while True:
            if self._capabilities.dropped or self._renamed:
                body = self._acceptable(body)
            try:
                result = await self.attempt(method, url, body, read, headers)
            except ContextOverflow as error:
                raise ContextOverflow(self._without_secrets(str(error))) from None
            except ModelError as error:
                if self._adapt(error, body):
                    continue
                failures += 1
                now = time.monotonic()
                begun = begun or now
                delay = self._delay(error, failures)
                too_late = now + delay - begun > self._retry_seconds
                if error.failure_kind == "rate_limited" and error.retryable:
                    # A pause that this request does not wait for holds up no other either, which would wait unseen.
                    self._pacer.refused(min(delay, self._first_delay) if too_late else delay)
                if not error.retryable or failures > self._most(error) or too_late:
                    raise self._final(error, failures) from None
                await self._wait(delay, f"{error.failure_kind}: {self._without_secrets(str(error))}")
            else:
                if failures and isinstance(result, Completion):
                    result.retries = failures
                return result

    async def attempt(
        self,
        method: str,
        url: Any,
        body: dict[str, Any],
        read: Read[ReadT],
        sent_headers: Mapping[str, str] | None = None,
    ) -> ReadT:
        """Send a request once.

        Raises:
            ModelError, ContextOverflow: if there is no answer; the message may hold credentials that the server
            repeats.
        """
        data = None if method == "GET" else _encoded(body)
        pacer = self._pacer
        if not pacer.try_enter():
            await pacer.enter()
        tokens = 0
        try:
            status, headers, content, arrivals = await self._transport.request(method, url, data, sent_headers)
            self._reached = True
            if not 200 <= status < 300:
                raise refusal(status, headers, content)
            result = _read(read, content, headers)
            pacer.answered()
            if isinstance(result, Completion):
                usage = result.usage
                if usage is not None:
                    tokens = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
                if arrivals:
                    result.first_token_seconds = first_token_seconds(content, arrivals)
                if result.request_id is None:
                    result.request_id = headers.get("x-request-id")
            return result
        finally:
            pacer.leave(tokens)

    def _most(self, error: ModelError) -> int:
        """Return the number of repetitions after a failure; few where no server has ever been seen."""
        if error.failure_kind in ("unreachable", "incomplete") and not self._reached:
            return min(self._retries, _RETRIES_UNSEEN)
        if error.answered and error.failure_kind not in _PASSING:
            return min(self._retries, _RETRIES_ANSWERED)
        return self._retries

    async def _wait(self, delay: float, reason: str) -> None:
        self.waiting[reason] += 1
        try:
            await asyncio.sleep(delay)
        finally:
            self.waiting[reason] -= 1
            self.waiting += Counter()  # drops those of nobody

    def _adapt(self, error: ModelError, body: dict[str, Any]) -> bool:
        """Change what is sent after a refusal that names a field; return whether anything changed."""
        if error.status not in (400, 403, 422):
            return False
        words = str(error)
        if "max_tokens" in body and "max_completion_tokens" in words:  # OpenAI's reasoning models
            self._renamed["max_tokens"] = "max_completion_tokens"
            return True
        named = droppable(body, words)
        for name in sorted(named - self._capabilities.dropped):
            self._capabilities.note(f"the server refuses the field {name}, which is sent no more")
        self._capabilities.dropped |= named
        return bool(named)

    def _acceptable(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request's body without the fields that the server has refused."""
        dropped, renamed = self._capabilities.dropped, self._renamed
        return {renamed.get(name, name): value for name, value in body.items() if name not in dropped}

    def _delay(self, error: ModelError, failures: int) -> float:
        """Return the seconds before the next attempt, spread so that requests do not all return at one moment."""
        if error.retry_after is not None:
            return error.retry_after + self._jitter.uniform(0.0, min(1.0, 0.1 * error.retry_after))
        return min(_LONGEST_DELAY, self._first_delay * 2.0 ** min(failures - 1, 20)) * self._jitter.uniform(0.5, 1.0)

    def _final(self, error: ModelError, attempts: int) -> ModelError:
        """Return the error that ends a request, with the number of attempts and without credentials."""
        message = self._without_secrets(str(error))
        if attempts > 1:
            message = f"{message} (attempt {attempts})"
        elif error.retryable and error.retry_after is not None and error.retry_after > self._retry_seconds:
            message = f"{message}; the server wants a pause of {error.retry_after:.0f} s"
        final = ModelError(
            error.failure_kind,
            message,
            status=error.status,
            retry_after=error.retry_after,
            retryable=error.retryable,
        )
        final.attempts = attempts
        return final

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _read(read: Read[ReadT], content: bytes, headers: Mapping[str, str]) -> ReadT:
    try:
        return read(_answer(content, headers), headers)
    except ModelError as error:
        error.answered = True
        raise


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return encoded(body)
    except (TypeError, ValueError) as error:
        raise ModelError("bad_request", f"the request is not JSON: {error}") from error


def _answer(content: bytes, headers: Mapping[str, str]) -> Any:
    """Return the decoded body of an answer with status 200."""
    if is_stream(content, headers):
        return joined_stream(content, headers)
    try:
        return decoded(content)
    except ValueError as error:
        kind, begin = "bad_response", content.lstrip()[:1]
        if begin == b"<":
            reason = "the server answered 200 with a page of HTML; check the base URL"
        elif not begin:
            kind, reason = "incomplete", "the server answered 200 with nothing"
        else:  # what begins as JSON was cut off before it reached this machine
            kind = "incomplete" if begin in b"{[" else kind
            reason = f"the server's answer is no JSON: {readable(str(error), 120)}"
        raise ModelError(kind, reason) from error
