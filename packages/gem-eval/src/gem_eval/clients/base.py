"""The interface of a model client: :class:`ModelClient`, what it is asked, and what it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem.arguments import boolean, integer, real, string
from gem.errors import ArgumentError, ArgumentTypeError

__all__ = ["Completion", "Message", "ModelClient", "Sampling"]

Message = dict[str, Any]
"""A chat message: ``role``, ``content`` (str, list of content parts or None), and for assistants ``tool_calls``."""


_SESSION = re.compile(r"[A-Za-z0-9._:-]{1,64}")


@dataclass(frozen=True)
class Sampling:
    """How a model samples, and for which session. A value of None leaves the choice to the server.

    Raises:
        ArgumentError, ArgumentTypeError: for a value that no server takes.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Most tokens of one answer, reasoning included."""
    stop: Sequence[str] = ()
    """Texts that end an answer."""
    seed: int | None = None
    logprobs: bool = False
    """Whether to ask for the log-probability of each sampled token."""
    top_logprobs: int = 0
    """How many alternatives of each sampled token to ask for; more than 0 needs ``logprobs``."""
    session: str | None = None
    """The name of the episode that a request belongs to, at most 64 letters, digits and ``-_.:``; routers keep requests
    of one name together. The policies of gem-eval and gem-gateway derive one for each episode from it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, as the server names them, for example ``{"top_k": 20}``."""

    def __post_init__(self) -> None:
        if self.temperature is not None:
            real("temperature", self.temperature, minimum=0.0)
        if self.top_p is not None:
            real("top_p", self.top_p, minimum=0.0, maximum=1.0)
        if self.max_tokens is not None:
            integer("max_tokens", self.max_tokens, minimum=1)
        if self.seed is not None:
            integer("seed", self.seed)
        boolean("logprobs", self.logprobs)
        integer("top_logprobs", self.top_logprobs, minimum=0)
        if self.session is not None and not _SESSION.fullmatch(string("session", self.session)):
            raise ArgumentError(
                f"session must be 1 to 64 letters, digits and '-_.:', since it is a header, got {self.session!r:.80}"
            )
        if isinstance(self.stop, str) or not all(isinstance(text, str) for text in self.stop):
            raise ArgumentTypeError(f"stop must be a list of str, got {self.stop!r:.80}")
        if not isinstance(self.extra, Mapping):
            raise ArgumentTypeError(f"extra must be a dict, got {type(self.extra).__name__}")


@dataclass(slots=True)
class Completion:
    """A model's answer to one prompt."""

    message: Message
    """The assistant's message, as it is sent back in the next prompt."""
    text: str = ""
    """The answer without reasoning and tool calls."""
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    """Native calls: ``{"id", "type": "function", "function": {"name", "arguments": JSON text}}``."""
    token_ids: list[int] | None = None
    """The sampled token ids, a stop token included; None if the server does not give them."""
    prompt_token_ids: list[int] | None = None
    """The ids of the whole prompt, as the server took it."""
    logprobs: list[float] | None = None
    """Natural-log probability of each sampled token, as many as ``token_ids``. −9999.0 stands for a probability of
    zero. None where a value is missing or the counts differ; ``metadata["tokens"]`` then says so."""
    tokens: list[str] | None = None
    """The text of each sampled token."""
    top_logprobs: list[list[tuple[str, float]]] | None = None
    """Alternatives of each sampled token, the most probable first."""
    usage: dict[str, int] | None = None
    """``prompt_tokens``, ``completion_tokens``, ``reasoning_tokens``, ``cached_tokens``, as far as the server says."""
    finish_reason: str | None = None
    model: str | None = None
    """The model's name, as the server gives it."""
    request_id: str | None = None
    retries: int = 0
    """Attempts that failed before this answer."""
    first_token_seconds: float | None = None
    """From sending the request to the first part of a streamed answer that holds a token; None if it was not
    streamed."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What was odd about the answer, JSON-serialisable: ``tokens`` (counts that differ), ``tool_calls`` (what was
    repaired or is malformed), ``reasoning`` (where it was found)."""
    version: int | str | None = None
    """The version of the weights that sampled the first token; None if the server says nothing of it."""
    version_spans: list[tuple[int | str, int]] | None = None
    """As in :class:`gem.policies.Act`."""

    def call_metadata(self) -> dict[str, Any]:
        """Return what records keep of the call beside the answer: :attr:`metadata` and what is known of the request."""
        metadata = dict(self.metadata)
        if self.request_id is not None:
            metadata["request_id"] = self.request_id
        if self.retries:
            metadata["retries"] = self.retries
        if self.first_token_seconds is not None:
            metadata["first_token_seconds"] = round(self.first_token_seconds, 6)
        return metadata


class ModelClient(Protocol):
    """Something that answers prompts. One client serves any number of policies at a time, on one event loop."""

    model: str
    """The model's name."""

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the model's next message.

        Args:
            messages: the conversation; content parts such as pictures are passed on as they are.
            tools: functions that the model may call, as chat APIs take them.
            sampling: how to sample; None for the server's defaults.
            response_format: for structured output, as chat APIs take it.

        Raises:
            ModelError: if there is no answer.
            ContextOverflow: if the conversation has become too long.
        """

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Return the continuation of a text or of token ids, without a chat template.

        Raises:
            ModelError, ContextOverflow: as in :meth:`chat`.
            NotSupportedError: if this client cannot continue a prompt of this kind.
        """

    async def close(self) -> None:
        """Release connections and other resources. Calling it twice is fine."""
