"""What a request asks of the model and what the model answers, whatever the endpoint."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ModelAnswer", "ModelRequest", "SampledCall", "UnusableRequest"]


class UnusableRequest(Exception):  # noqa: N818  # it is an answer of the server rather than its error
    """A request that the server refuses, with the status and the name of the parameter."""

    def __init__(self, message: str, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param


@dataclass(slots=True)
class ModelRequest:
    """A request for a completion, in terms that all endpoints share."""

    body: Mapping[str, Any]
    """The JSON object as it came."""
    messages: list[dict[str, Any]]
    prompt_ids: list[int]
    """The ids of the whole prompt, where the assistant's answer begins at the end."""
    ids_given: bool = False
    """Whether the client sent the prompt as ids."""
    tools: list[Any] = field(default_factory=list)
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; empty for any JSON object."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    choices: int = 1
    stream: bool = False
    usage_in_stream: bool = False
    logprobs: bool = False
    top_logprobs: int = 0
    token_ids: bool = False
    """Whether the answer is to hold token ids."""
    cached_tokens: int = 0
    """How many of the prompt's first tokens the server has in its prefix cache."""
    key: bytes = b""
    """What all that is drawn for this request depends on: the server's seed and the content."""
    _rng: random.Random | None = None

    @property
    def rng(self) -> random.Random:
        """The generator of everything that is drawn for this request."""
        if self._rng is None:
            self._rng = random.Random(self.key)
        return self._rng

    @property
    def identity(self) -> str:
        """The id of the reply."""
        return self.key.hex()

    @property
    def forced_tool(self) -> bool:
        """Whether the client demands a tool call."""
        return bool(self.tools) and self.body.get("tool_choice") not in (None, "auto", "none")


@dataclass(slots=True)
class SampledCall:
    """A native tool call."""

    name: str
    arguments: str
    """JSON."""
    id: str | None = None


@dataclass(slots=True)
class ModelAnswer:
    """One answer of the model."""

    text: str | None = ""
    reasoning: str | None = None
    tool_calls: list[SampledCall] = field(default_factory=list)
    finish_reason: str = ""
    """``stop``, ``length`` or ``tool_calls``; "" until the answer is sampled."""
    matched_stop: str | int | None = None
    """The stop string or the id of the stop token."""
    token_ids: list[int] = field(default_factory=list)
    """As sampled: reasoning, text, tool calls and the end token."""
    unfilled: bool = False
    """Whether the answer stays as short as it is."""
    logprobs: list[float] = field(default_factory=list)
