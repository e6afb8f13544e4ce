"""Calls answered by a model client: :class:`ClientAnswerer`."""

from __future__ import annotations

from dataclasses import fields, replace

from gem.errors import NotSupportedError
from gem_eval.clients import Completion, ModelClient, Sampling
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall

__all__ = ["ClientAnswerer"]


class ClientAnswerer:
    """Asks a model client: for a chat, or for the continuation of a prompt where the program asks for one.

    The model is the client's, whatever name a program asks for.

    Args:
        client: not closed by the answerer, since sessions share it.
        sampling: what it sets takes precedence over the program's own sampling: an evaluation decides about the
            temperature, for example. ``max_tokens`` is the most that a program may ask for.
    """

    def __init__(self, client: ModelClient, sampling: Sampling | None = None) -> None:
        self.client = client
        self._sampling = sampling

    @property
    def model(self) -> str:
        """The client's name of the model; empty before an endpoint has been asked for it."""
        return self.client.model

    async def answer(self, call: ModelCall) -> Completion:
        sampling = combined(call.sampling, self._sampling)
        takes = getattr(self.client, "extra_fields", None)
        if takes is not None and (surplus := sorted(set(sampling.extra) - set(takes))):
            call.notes.append(f"left out {', '.join(surplus)}: the model's client does not know such fields")
            sampling = replace(sampling, extra={name: sampling.extra[name] for name in sampling.extra if name in takes})
        if call.prompt is not None:
            return await self.client.complete(call.prompt, sampling=sampling)
        if call.dialect == "completions":
            raise ModelCallError("unusable", "a completion needs a prompt", param="prompt")
        return await self.client.chat(
            call.messages, tools=call.tools, sampling=sampling, response_format=call.response_format
        )

    async def count_tokens(self, call: ModelCall) -> int:
        """Return how many tokens the prompt of a call has.

        Raises:
            NotSupportedError: if the client does not tokenize.
            ModelError: if its server gives no answer.
        """
        tokenize = getattr(self.client, "prompt_ids", None)
        if tokenize is None:
            raise NotSupportedError(f"{self.client!r:.80} does not tokenize")
        return len(await tokenize(call.messages, call.tools))

    async def close(self) -> None:
        """Do nothing: the client belongs to the caller."""


def combined(asked: Sampling, decided: Sampling | None) -> Sampling:
    """Return a program's sampling with what an evaluation has decided in its place."""
    if decided is None:
        return asked
    standard = Sampling()
    changes = {
        item.name: getattr(decided, item.name)
        for item in fields(Sampling)
        if getattr(decided, item.name) != getattr(standard, item.name)
    }
    if "extra" in changes:
        changes["extra"] = {**asked.extra, **changes["extra"]}
    if asked.max_tokens is not None and "max_tokens" in changes:
        changes["max_tokens"] = min(asked.max_tokens, changes["max_tokens"])
    return replace(asked, **changes)
