"""One call of a model for all episodes that wait: :class:`Lockstep`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from gem.errors import ArgumentError
from gem_rl.adapters.token_policy import SampledTokens

__all__ = ["GenerateBatch", "Lockstep"]

GenerateBatch = Callable[[list[list[int]]], Sequence[SampledTokens]]
"""Samples an answer to each of several prompts, in their order."""

_PAUSE = 0.001  # seconds between two looks whether every running episode waits


class Lockstep:
    """Asks a model for all running episodes at once, for models without a server.

    A call is made when every running episode waits for an answer, and has their prompts in the order of their keys. So
    what is sampled depends on no timing, and each call blocks the event loop.

    Args:
        generate: samples the answers.
        running: the number of running episodes.
    """

    def __init__(self, generate: GenerateBatch, running: Callable[[], int]) -> None:
        self._generate = generate
        self._running = running
        self._waiting: list[tuple[tuple[str, int, int], list[int], asyncio.Future[SampledTokens]]] = []
        self._due = False

    async def __call__(self, prompt: list[int], key: tuple[str, int, int]) -> SampledTokens:
        """Return an answer to a prompt; raises what the model raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[SampledTokens] = loop.create_future()
        self._waiting.append((key, prompt, answer))
        if not self._due:
            self._due = True
            loop.call_soon(self._ask, loop)
        return await answer

    def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        if len(self._waiting) < self._running():
            loop.call_later(_PAUSE, self._ask, loop)
            return
        self._due = False
        asked, self._waiting = sorted(self._waiting, key=lambda one: one[0]), []
        try:
            answers = self._generate([prompt for _, prompt, _ in asked])
            if len(answers) != len(asked):
                raise ArgumentError(f"the model was asked {len(asked)} prompts and returned {len(answers)} answers")
        except Exception as error:  # each episode then fails with it
            for _, _, future in asked:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, _, future), answer in zip(asked, answers, strict=True):
            if not future.done():
                future.set_result(answer)
