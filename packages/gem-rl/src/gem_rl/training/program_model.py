"""The model in the place of an agent program's: token ids in, ids and log-probabilities out."""

from __future__ import annotations

import asyncio
from collections import Counter
from hashlib import blake2b
from typing import Any

import torch

from gem.errors import EpisodeLimitError
from gem_rl.training.agents import BatchSampler

__all__ = ["ProgramModel"]


class ProgramModel:
    """Continues the prompts of agent programs; those that wait at the same time are answered in one batch.

    It is called as a harness of gem-gateway calls a generate function.

    Args:
        sampler: samples the tokens; it must not wait for more prompts than there are.
        draws: where given, each call is answered alone, by samples that depend on this number, the session of its
            episode and the calls of that session before it. So an episode is the same beside any others.
    """

    def __init__(self, sampler: BatchSampler, draws: int | None = None) -> None:
        self._sampler = sampler
        self._draws = draws
        self._calls: Counter[str] = Counter()

    async def __call__(self, prompt: list[int], sampling: Any) -> dict[str, Any]:
        """Return the sampled ``ids``, their ``logprobs`` and the ``finish_reason``.

        Args:
            prompt: token ids.
            sampling: what the program asks for, of which only the limit of tokens counts, and the session.

        Raises:
            EpisodeLimitError: if the prompt does not fit into the model's context.
        """
        if len(prompt) >= self._sampler.model.context:
            raise EpisodeLimitError("context")
        session = "" if self._draws is None else str(sampling.session)
        self._calls[session] += 1
        call = _Call(prompt, self._calls[session], sampling.max_tokens, self._sampler.tokenizer.end)
        if self._draws is None:
            self._sampler.ask(call)
        else:
            self._sampler.answer([call], _generator(self._draws, session, call.key[1]))
        return await call.answer


def _generator(*parts: int | str) -> torch.Generator:
    """Return a generator that is the same for the same parts, in every process."""
    seed = int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big")
    return torch.Generator().manual_seed(seed)


class _Call:
    """A prompt in the place of an agent of the sampler."""

    round = 0

    def __init__(self, prompt: list[int], number: int, most: int | None, end: int) -> None:
        self.key = ("", number, 0)
        self.ids = prompt
        self.cached = 0
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._end = end
        self._most = most

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
