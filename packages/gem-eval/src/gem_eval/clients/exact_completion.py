"""Completions of prompts whose token ids are known exactly: :func:`complete_exactly`, :func:`token_source`."""

from __future__ import annotations

from typing import Any

from gem.errors import ArgumentError, NotSupportedError
from gem_eval.clients.base import Completion, Message, ModelClient, Sampling
from gem_eval.clients.tool_call_repair import call_natively

__all__ = ["complete_exactly", "token_source"]


def token_source(client: ModelClient, tokenizer: Any, exact_tokens: bool) -> Any:
    """Return what makes the ids of prompts: the tokenizer, or else the client itself; None without exact tokens.

    Raises:
        ArgumentError: if a tokenizer is needed or needless.
    """
    if not exact_tokens:
        if tokenizer is not None:
            raise ArgumentError("tokenizer is for exact_tokens=True")
        return None
    if tokenizer is None and not hasattr(client, "prompt_ids"):
        raise ArgumentError(f"exact tokens with {client!r:.80} need tokenizer=…, a tokenizer of its model")
    return client if tokenizer is None else tokenizer


async def complete_exactly(
    client: ModelClient,
    prompt: list[int],
    messages: list[Message],
    *,
    has_tools: bool,
    sampling: Sampling | None = None,
) -> Completion:
    """Return the continuation of a prompt's ids, with the ids that were sampled.

    Args:
        client: whose server takes and gives ids.
        prompt: the ids.
        messages: the conversation that they are, whose call ids are taken.
        has_tools: whether calls in the text, in the form ``<tool_call>{…}</tool_call>``, become native ones.
        sampling: as in :meth:`ModelClient.complete`.

    Returns:
        The completion. Its ``prompt_token_ids`` are those that the server says it took, or None if it says nothing.

    Raises:
        ModelError, ContextOverflow: if there is no answer.
        NotSupportedError: if the server does not give the ids that it sampled, or changed those of the prompt.
    """
    completion = await client.complete(prompt, sampling=sampling)
    if completion.token_ids is None:
        raise NotSupportedError(
            "exact tokens need a server that gives the ids that it sampled, and this one does not; "
            "some give them if the client is opened with token_ids=True"
        )
    if completion.prompt_token_ids not in (None, prompt):
        raise NotSupportedError("exact tokens need a server that takes a prompt as it is, and this one changed its ids")
    if has_tools:
        call_natively(completion, messages)
    return completion
