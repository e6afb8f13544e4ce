"""What the calls of one episode may use up: :class:`CallBudget`, and :class:`BudgetLedger`, which keeps to it.

Calls come in parallel, and what an answer costs is known when it is there. So each call sets aside what it may use, and
gives back the rest: an answer's tokens are limited to what is left, and a call for which nothing is left waits while
others that are under way may still give something back. However many calls a program makes at a time, it cannot have
more than the budget. The tokens of prompts alone may exceed theirs, by one prompt: they are counted by the model's
server, so that what a call sets aside for them is an estimate.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import NoReturn

from gem.arguments import integer, real
from gem.errors import ArgumentError
from gem_eval.clients import Sampling
from gem_gateway.call_errors import ModelCallError

__all__ = ["BudgetLedger", "CallBudget", "SetAside"]


@dataclass(frozen=True)
class CallBudget:
    """What the calls of one episode may use up together. A value of None is no limit.

    Raises:
        ArgumentError, ArgumentTypeError: for impossible values, and a cost without prices.
    """

    calls: int | None = None
    """Calls that reach the model."""
    prompt_tokens: int | None = None
    """Tokens of all prompts together: a conversation counts anew with each call."""
    completion_tokens: int | None = None
    """Sampled tokens of all answers together, reasoning included."""
    seconds: float | None = None
    """From the opening of the session. A call that is under way then is cancelled."""
    cost: float | None = None
    """Price of all tokens, in the currency of the two prices."""
    price_input: float = 0.0
    """Price of a million prompt tokens."""
    price_output: float = 0.0
    """Price of a million sampled tokens."""

    def __post_init__(self) -> None:
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), minimum=1)
        for name in ("seconds", "cost", "price_input", "price_output"):
            if getattr(self, name) is not None:
                real(name, getattr(self, name), minimum=0.0)
        if self.cost is not None and not (self.price_input or self.price_output):
            raise ArgumentError("a budget of cost needs price_input or price_output, the prices of a million tokens")


@dataclass(slots=True)
class SetAside:
    """What one call under way may use up at most."""

    prompt_tokens: int
    completion_tokens: int | None
    """None without a limit."""


class BudgetLedger:
    """Counts what the calls of one session use up, and admits only those that fit.

    All methods belong to the thread of the event loop.

    Attributes:
        exceeded: the first limit that kept a call from its answer, by its name in :class:`CallBudget`, or the name of
            one that the answerer has; None so far.
    """

    def __init__(self, budget: CallBudget) -> None:
        self.budget = budget
        self.exceeded: str | None = None
        self._told = ""
        self.calls = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._opened = asyncio.get_running_loop().time()
        self._under_way = 0
        self._aside_prompts = 0
        self._aside_completions = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def cost(self) -> float:
        """Price of what has been used up."""
        return self._price(self.prompt_tokens, self.completion_tokens)

    def remaining_seconds(self) -> float | None:
        """Return how long calls may still run; None without a limit."""
        if self.budget.seconds is None:
            return None
        return self.budget.seconds - (asyncio.get_running_loop().time() - self._opened)

    async def admit(self, prompt_tokens: int, asked: Sampling) -> tuple[SetAside, Sampling]:
        """Set aside what a call may use up; return that, and the sampling with the limit that follows from it.

        Args:
            prompt_tokens: estimate for the prompt.
            asked: the program's sampling.

        Raises:
            ModelCallError: of the kind ``budget``, if nothing is left.
        """
        self._check("calls", self.calls)
        self._check_seconds()
        self.calls += 1  # at once, before anything is awaited, so that calls that come together are counted
        try:
            while (room := self._room(prompt_tokens)) is not None and room <= 0:
                if not self._under_way:
                    self.refuse(self._tightest())
                await self._change()
                self._check_seconds()
        except BaseException:
            self.calls -= 1  # it never reached the model
            self._wake()
            raise
        most = asked.max_tokens
        if room is not None:
            most = room if most is None else min(most, room)
        aside = SetAside(prompt_tokens, most if room is not None else None)
        self._under_way += 1
        self._aside_prompts += prompt_tokens
        self._aside_completions += aside.completion_tokens or 0
        return aside, asked if most == asked.max_tokens else replace(asked, max_tokens=most)

    def settle(self, aside: SetAside, prompt_tokens: int, completion_tokens: int) -> None:
        """Count what a call has used up, and free the rest of what was set aside for it."""
        self._under_way -= 1
        self._aside_prompts -= aside.prompt_tokens
        self._aside_completions -= aside.completion_tokens or 0
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self._wake()

    def refuse(self, limit: str) -> NoReturn:
        """Note a limit that is used up.

        Raises:
            ModelCallError: always.
        """
        most = getattr(self.budget, limit)
        self.end(
            limit,
            f"the budget of this episode is used up: {limit.replace('_', ' ')}, at most {most:g}. "
            "No further call will be answered; end now.",
        )

    def end(self, limit: str, message: str) -> NoReturn:
        """Note a limit after which no call is answered.

        Raises:
            ModelCallError: always.
        """
        if self.exceeded is None:
            self.exceeded, self._told = limit, message
        raise ModelCallError("budget", message, limit=limit)

    def check_open(self) -> None:
        """Refuse a call after that.

        Raises:
            ModelCallError: of the kind ``budget``.
        """
        if self.exceeded is not None:
            self.end(self.exceeded, self._told)

    def _check(self, limit: str, used: float) -> None:
        most = getattr(self.budget, limit)
        if most is not None and used >= most:
            self.refuse(limit)

    def _check_seconds(self) -> None:
        left = self.remaining_seconds()
        if left is not None and left <= 0:
            self.refuse("seconds")

    def _room(self, prompt_tokens: int) -> int | None:
        """Return how many tokens an answer may have; None without a limit, and 0 or less if the call does not fit."""
        budget = self.budget
        prompts = self.prompt_tokens + self._aside_prompts
        # Of a call that is alone, the prompt is admitted if anything is left, since its length is an estimate.
        own = prompt_tokens if self._under_way else 0
        if budget.prompt_tokens is not None and (
            self.prompt_tokens >= budget.prompt_tokens or prompts + own > budget.prompt_tokens
        ):
            return 0
        rooms = []
        completions = self.completion_tokens + self._aside_completions
        if budget.completion_tokens is not None:
            rooms.append(budget.completion_tokens - completions)
        if budget.cost is not None:
            left = budget.cost - self._price(prompts + own, completions)
            if budget.price_output:
                rooms.append(int(left * 1e6 / budget.price_output))
            elif left <= 0:
                rooms.append(0)
        return min(rooms, default=None)

    def _tightest(self) -> str:
        """Return the limit that leaves no room although no call is under way."""
        budget = self.budget
        if budget.prompt_tokens is not None and self.prompt_tokens >= budget.prompt_tokens:
            return "prompt_tokens"
        if budget.completion_tokens is not None and self.completion_tokens >= budget.completion_tokens:
            return "completion_tokens"
        return "cost"

    def _price(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.budget.price_input + completion_tokens * self.budget.price_output) / 1e6

    async def _change(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        left = self.remaining_seconds()
        await asyncio.wait({future}, timeout=left)

    def _wake(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
