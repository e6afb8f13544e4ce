"""The model in the place of an agent program's: token ids in, ids and log-probabilities out."""

from __future__ import annotations

import asyncio
from typing import Any

from gem.errors import EpisodeLimitError
from gem_rl.training.agents import BatchSampler

__all__ = ["ProgramModel"]


class ProgramModel:
    """Continues the prompts of agent programs; those that wait at the same time are answered in one batch.

    It is called as a harness of gem-gateway calls a generate function.

    Args:
        sampler: samples the tokens; it must not wait for more prompts than there are.
    """

    def __init__(self, sampler: BatchSampler) -> None:
        self._sampler = sampler
        self._calls = 0

    async def __call__(self, prompt: list[int], sampling: Any) -> dict[str, Any]:
        """Return the sampled ``ids``, their ``logprobs`` and the ``finish_reason``.

        Args:
            prompt: token ids.
            sampling: what the program asks for, of which only the limit of tokens counts.

        Raises:
            EpisodeLimitError: if the prompt does not fit into the model's context.
        """
        if len(prompt) >= self._sampler.model.context:
            raise EpisodeLimitError("context")
        self._calls += 1
        return await _Call(self._sampler, prompt, self._calls, sampling.max_tokens).answer


class _Call:
    """A prompt in the place of an agent of the sampler."""

    def __init__(self, sampler: BatchSampler, prompt: list[int], number: int, most: int | None) -> None:
        self.key = ("", number, 0)
        self.ids = prompt
        self.cached = 0
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._end = sampler.tokenizer.end
        self._most = most
        sampler.ask(self)

    def take(self, tokens: list[int], logprobs: list[float], value: float) -> None:
        """Receive the sampled tokens, of which the program gets no more than it asked for."""
        if not self.answer.done():
            ids = tokens[: self._most]
            ended = ids[-1] == self._end
            self.answer.set_result(
                {"ids": ids, "logprobs": logprobs[: self._most], "finish_reason": "stop" if ended else "length"}
            )

    def fail(self, error: Exception) -> None:
        """Receive an error in place of tokens."""
        if not self.answer.done():
            self.answer.set_exception(error)
