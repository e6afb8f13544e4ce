"""Calls answered by a model client: :class:`ClientAnswerer`."""

from __future__ import annotations

from collections.abc import Collection

from gem.errors import NotSupportedError
from gem_eval.clients import Completion, ModelClient
from gem_gateway.calls import ModelCall

__all__ = ["ClientAnswerer"]


class ClientAnswerer:
    """Asks a model client: for a chat, or for the continuation of a prompt where the program asks for one.

    The model is the client's, whatever name a program asks for.

    Args:
        client: not closed by the answerer, since sessions share it.
    """

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    @property
    def model(self) -> str:
        """The client's name of the model; empty before an endpoint has been asked for it."""
        return self.client.model

    @property
    def extra_fields(self) -> Collection[str] | None:
        """The client's names for what :attr:`Sampling.extra` may hold; None if it passes everything on."""
        return getattr(self.client, "extra_fields", None)

    @property
    def dialect(self) -> str | None:
        """What the client speaks to its server, where that is said."""
        return getattr(self.client, "protocol", None)

    async def answer(self, call: ModelCall) -> Completion:
        if call.prompt is not None:
            return await self.client.complete(call.prompt, sampling=call.sampling)
        return await self.client.chat(
            call.messages, tools=call.tools, sampling=call.sampling, response_format=call.response_format
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
