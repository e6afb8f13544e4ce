"""How many requests run at once, and how fast they follow each other: :class:`RequestPacer`.

One pacer serves all requests to a server. A refusal for the rate (429, or 503 from a full queue) halts all of them for
as long as the server asks, and lowers their number; :mod:`gem_eval.clients.request_limit` says how.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from gem.arguments import real
from gem_eval.clients.request_limit import RequestLimit

__all__ = ["RequestPacer"]

_WINDOW = 60.0
"""Seconds that the rates refer to."""
_BURST = 5.0
"""Seconds of a rate that may be used at once."""
_MOST_DEBT = 600.0
"""Seconds of a rate that may be overdrawn, and so the longest pause: servers may report any number of tokens."""


class RequestPacer:
    """Admits requests in the order in which they ask.

    Args:
        concurrency: most requests in flight.
        requests_per_minute: None for no limit.
        tokens_per_minute: of prompts and answers together, as the server counts them; None for no limit. The tokens of
            an answer are known only afterwards, so that the rate holds on average.
        adaptive: whether the number of requests in flight begins low and follows what the server can take.
        clock: returns seconds.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        adaptive: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = RequestLimit(concurrency, adaptive)
        """How many requests may be in flight at present."""
        self.in_flight = 0
        self._clock = clock
        self._requests = self._tokens = None
        if requests_per_minute is not None:
            self._requests = _Allowance("requests_per_minute", requests_per_minute, clock)
        if tokens_per_minute is not None:
            self._tokens = _Allowance("tokens_per_minute", tokens_per_minute, clock)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._halted_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def try_enter(self) -> bool:
        """Take a place if one is free at once; then a call of :meth:`leave` must follow."""
        if self._waiting or self.in_flight >= self.limit.value or self.delay() > 0:
            return False
        self._admit()
        return True

    async def enter(self) -> None:
        """Wait for a place. Each call that returns must be followed by one of :meth:`leave`."""
        if self.try_enter():
            return
        if not self._waiting and self._timer is not None:  # it may belong to a loop that has ended
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        place: asyncio.Future[None] = loop.create_future()
        self._waiting.append(place)
        self._advance()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            else:
                place.cancel()
                self._advance()
            raise

    def leave(self, tokens: int = 0) -> None:
        """Give the place back.

        Args:
            tokens: used by the request.
        """
        self.in_flight -= 1
        if self._tokens is not None:
            self._tokens.take(tokens)
        if self._waiting:
            self._advance()

    def answered(self) -> None:
        """Note that a request had an answer."""
        self.limit.answered(self.in_flight)

    def refused(self, seconds: float) -> None:
        """Note that the server refused a request for the rate, and halt all requests.

        Args:
            seconds: how long.
        """
        now = self._clock()
        self.limit.refused(self.in_flight, now, seconds)
        self._halted_until = max(self._halted_until, now + seconds)

    def queued(self, running: float, waiting: float) -> None:
        """Note how many requests the server works at, and how many wait in its queue, of all its clients."""
        self.limit.queued(self.in_flight, running, waiting)
        self._advance()

    def _admit(self) -> None:
        self.in_flight += 1
        if self._requests is not None:
            self._requests.take(1)

    def delay(self) -> float:
        """Return the seconds until the next request may begin, as far as pauses and rates are concerned."""
        delay = 0.0
        if self._halted_until:
            delay = self._halted_until - self._clock()
            if delay <= 0:
                self._halted_until = 0.0
        if self._requests is not None:
            delay = max(delay, self._requests.delay())
        if self._tokens is not None:
            delay = max(delay, self._tokens.delay())
        return delay

    def _advance(self) -> None:
        """Admit waiting requests; call again later if only time holds the first one up."""
        while self._waiting:
            if self._waiting[0].done():  # cancelled
                self._waiting.popleft()
                continue
            if self.in_flight >= self.limit.value:
                return
            delay = self.delay()
            if delay > 0:
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(delay, self._wake)
                return
            self._admit()
            self._waiting.popleft().set_result(None)

    def _wake(self) -> None:
        self._timer = None
        self._advance()


class _Allowance:
    """A token bucket, which may be overdrawn."""

    def __init__(self, name: str, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = real(name, per_minute, minimum=1e-3) / _WINDOW
        self._clock = clock
        self._most = max(1.0, self._rate * _BURST)
        self._left = self._most
        self._at = self._clock()

    def delay(self) -> float:
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._left >= 1.0 else (1.0 - self._left) / self._rate

    def take(self, amount: float) -> None:
        self._left = max(self._left - amount, -_MOST_DEBT * self._rate)
