"""A model behind a function from token ids to token ids, as a policy: :class:`TokenPolicy`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import integer
from gem.core import Action, Info
from gem.errors import EpisodeLimitError
from gem.policies import Act, Policy
from gem_rollout.chat_templates.sampled_prompt import ChatCodec, HistoryTokens, SampledPrompt
from gem_rollout.history.messages import as_messages

__all__ = ["ChatPrompt", "Generate", "SampledTokens", "TokenPolicy"]

ChatPrompt = SampledPrompt
"""The name that the class had here first."""


@dataclass(frozen=True)
class SampledTokens:
    """What a model sampled for one prompt."""

    token_ids: Sequence[int]
    """As sampled, a stop token included."""
    logprobs: Sequence[float] | None = None
    """Natural-log probability of each."""
    finish_reason: str | None = None
    """``stop``, ``length``, ``abort`` …"""


Generate = Callable[[list[int], tuple[str, int, int]], Awaitable[SampledTokens]]
"""Samples an answer to a prompt; the second argument is the key of the episode: environment, seed, repetition."""


class TokenPolicy(Policy[Any, Any]):
    """Renders what it sees with a chat template, has a model continue it, and records every token.

    It belongs to one environment. The observation is the conversation if a wrapper made it a list of chat messages, as
    ``messages``, ``sliding_window`` and ``summarize`` do; otherwise the model sees the latest observation alone.

    Args:
        tokenizer: of the model.
        generate: samples an answer.
        history: as in :class:`gem_rollout.chat_templates.sampled_prompt.SampledPrompt`.
        template_arguments: the same.
        max_context: tokens that prompt and answer may have; an episode ends as truncated (``context``) where the prompt
            leaves no room for an answer.
        parse: turns the text of an answer, without special tokens, into the action.
        env: the id of the environment, for the key that ``generate`` receives.
    """

    def __init__(
        self,
        tokenizer: ChatCodec,
        generate: Generate,
        *,
        history: HistoryTokens = "sampled",
        template_arguments: Mapping[str, Any] | None = None,
        max_context: int | None = None,
        parse: Callable[[str], Action] | None = None,
        env: str = "",
    ) -> None:
        self._tokenizer = tokenizer
        self._generate = generate
        self._prompt = SampledPrompt(tokenizer, history, template_arguments)
        self._max_context = None if max_context is None else integer("max_context", max_context, minimum=1)
        self._parse = parse
        self._key = (env, 0, 0)

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Note the key of the episode."""
        self._key = (self._key[0], seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        self._prompt.restart()

    async def act(self, observation: Any, info: Info) -> Act:
        """Return the sampled action with its tokens.

        Raises:
            EpisodeLimitError: if the prompt fills the context.
            NotSupportedError: if the model would not see all of it, such as a picture.
        """
        prompt = self._prompt.extend(as_messages(observation))
        if self._max_context is not None and len(prompt) >= self._max_context:
            raise EpisodeLimitError("context")
        sampled = await self._generate(prompt, self._key)
        ids = [int(token) for token in sampled.token_ids]
        self._prompt.note(ids)
        text = str(self._tokenizer.decode(ids, skip_special_tokens=True))
        return Act(
            text if self._parse is None else self._parse(text),
            prompt_token_ids=prompt,
            token_ids=ids,
            logprobs=None if sampled.logprobs is None else [float(value) for value in sampled.logprobs],
            finish_reason=sampled.finish_reason,
        )
