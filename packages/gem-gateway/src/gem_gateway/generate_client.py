"""A trainer's generate function in the model's place: :class:`GenerateClient`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gem.arguments import choice
from gem.errors import NotSupportedError
from gem_eval.clients import Completion, ModelError, Sampling
from gem_eval.clients.base import Message
from gem_eval.clients.local_generation import GeneratedTokens
from gem_eval.clients.reasoning import ThinkTags, split_reasoning
from gem_eval.clients.tool_call_repair import call_natively
from gem_rollout.chat_templates.rendered_text import text_only
from gem_rollout.chat_templates.sampled_prompt import ChatCodec, SampledPrompt, render_chat

__all__ = ["GenerateClient", "GenerateFunction"]

Generated = GeneratedTokens | dict[str, Any]
GenerateFunction = Callable[[list[int], Sampling], Generated | Awaitable[Generated]]
"""Continues the ids of a prompt: returns the sampled ids, a stop token included, their log-probabilities or none, and
the finish reason, ``stop`` or ``length``, as a :class:`~gem_eval.clients.local_generation.GeneratedTokens` or a dict of
its fields. The text may be left empty. What is not ``async`` runs in a thread."""


class GenerateClient:
    """Answers with a function that takes token ids and samples others, such as the rollout engine of a trainer.

    Its ids are exact: as the prompt of :meth:`complete` they reach the function as they are, and those that it returns
    are never tokenized again. With a :class:`~gem_gateway.lineages.recorder.LineageRecorder` and ``exact_tokens``, that
    holds for whole episodes of an agent program.

    Args:
        generate: see :data:`GenerateFunction`.
        tokenizer: of the same model, with a chat template.
        model: the name that answers carry.
        think_tags: whether to split reasoning off the text.
        template_arguments: passed on to the chat template, for example ``{"enable_thinking": False}``.
    """

    extra_fields = frozenset({"top_k"})
    """What :attr:`Sampling.extra` may hold."""

    def __init__(
        self,
        generate: GenerateFunction,
        tokenizer: ChatCodec,
        model: str = "policy",
        *,
        think_tags: ThinkTags = "auto",
        template_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self._generate = generate
        self._tokenizer = tokenizer
        self._think_tags = choice("think_tags", think_tags, ("auto", "always", "never"))
        self._arguments = dict(template_arguments or {})

    def __repr__(self) -> str:
        return f"GenerateClient({self.model!r})"

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the model's next message; tool calls are read from the text, as ``<tool_call>{…}</tool_call>``.

        Raises:
            NotSupportedError: for pictures, for structured output, and for a message that the template leaves out.
            ModelError: if the function returns something else than ids.
        """
        if response_format is not None and response_format.get("type") != "text":
            raise NotSupportedError("structured output needs a model server; a generate function has none")
        completion = await self.complete(await self.prompt_ids(messages, tools), sampling=sampling)
        if tools:
            call_natively(completion, messages)
        return completion

    async def prompt_ids(
        self, messages: list[Message], tools: list[dict[str, Any]] | None = None, *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Return the token ids of a conversation, by default up to the opening of the assistant's next turn.

        Raises:
            NotSupportedError: for anything but text, and for a message that the template leaves out.
        """
        arguments = {**self._arguments, **({"tools": tools} if tools else {})}
        if add_generation_prompt:
            return SampledPrompt(self._tokenizer, template_arguments=arguments).extend(messages)
        text = render_chat(self._tokenizer, text_only(messages), arguments, False)
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Return the continuation of a text or of token ids.

        Raises:
            ModelError: if the function returns something else than ids. What it raises is passed on.
        """
        ids = prompt if isinstance(prompt, list) else list(self._tokenizer.encode(prompt, add_special_tokens=False))
        asked = sampling or Sampling()
        if inspect.iscoroutinefunction(self._generate) or inspect.iscoroutinefunction(type(self._generate).__call__):
            returned = self._generate(list(ids), asked)
        else:
            returned = await asyncio.to_thread(self._generate, list(ids), asked)
        tokens = _checked(await returned if inspect.isawaitable(returned) else returned)
        text = tokens.text or str(self._tokenizer.decode(tokens.ids, skip_special_tokens=True))
        reasoning, rest = split_reasoning(text, self._think_tags)
        return Completion(
            {"role": "assistant", "content": rest},
            rest,
            reasoning,
            token_ids=tokens.ids,
            prompt_token_ids=list(ids),
            logprobs=tokens.logprobs or None,
            usage={"prompt_tokens": len(ids), "completion_tokens": len(tokens.ids)},
            finish_reason=tokens.finish_reason or "stop",
            model=self.model,
        )

    async def close(self) -> None:
        """Do nothing: the function belongs to the trainer."""


def _checked(tokens: Any) -> GeneratedTokens:
    if isinstance(tokens, dict):
        try:
            tokens = GeneratedTokens(**tokens)
        except TypeError as error:
            raise ModelError("bad_response", f"generate returned a dict with other fields: {error}") from error
    if not isinstance(tokens, GeneratedTokens):
        raise ModelError("bad_response", f"generate must return GeneratedTokens, got {type(tokens).__name__}")
    if not tokens.ids or not all(type(token) is int for token in tokens.ids):
        raise ModelError("bad_response", "generate must return at least one token id, and whole numbers alone")
    if tokens.logprobs and len(tokens.logprobs) != len(tokens.ids):
        raise ModelError(
            "bad_response",
            f"generate returned {len(tokens.ids)} ids and {len(tokens.logprobs)} log-probabilities, not as many",
        )
    return tokens
