"""Completions of prompts whose token ids are known exactly: :func:`complete_exactly`."""

from __future__ import annotations

from gem.errors import NotSupportedError
from gem_eval.clients.base import Completion, Message, ModelClient, Sampling
from gem_eval.clients.tool_call_repair import call_natively

__all__ = ["complete_exactly"]


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
