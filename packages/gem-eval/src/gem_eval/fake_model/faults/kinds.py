"""What a kind of fault is: where in the making of a reply it acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gem_eval.fake_model.connection import HttpReply, Step
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest

__all__ = ["FaultKind", "FaultNeed", "FaultSettings", "kinds"]


@dataclass(frozen=True)
class FaultSettings:
    """The numbers in faults."""

    retry_after: float = 1.0
    """Seconds that refusals ask the client to wait."""
    slow_seconds: float = 1.0
    """Seconds between the bytes of slow replies."""


class FaultNeed(Enum):
    """What a request must have for a kind of fault to be possible."""

    STREAM = "a streamed answer"
    WHOLE = "an answer that is not streamed"
    TOOLS = "tools in a chat request"
    TOOLS_IN_STREAM = "tools in a streamed chat request"
    CHAT = "a chat request"
    LOGPROBS = "log-probabilities"

    def met(self, request: ModelRequest) -> bool:
        """Return whether a request has it."""
        chat = "messages" in request.body
        tools = chat and bool(request.tools)
        return {
            FaultNeed.STREAM: request.stream,
            FaultNeed.WHOLE: not request.stream,
            FaultNeed.TOOLS: tools,
            FaultNeed.TOOLS_IN_STREAM: tools and request.stream,
            FaultNeed.CHAT: chat,
            FaultNeed.LOGPROBS: request.logprobs,
        }[self]


@dataclass(frozen=True)
class FaultKind:
    """One defect. It acts at the stages whose function it has; each function returns the altered thing."""

    name: str
    group: int
    """Number of the group in :data:`gem_eval.fake_model.faults.catalogue.GROUPS`."""
    summary: str
    """What the server does, as a sentence without its subject."""
    need: FaultNeed | None = None
    """A request without it is answered well."""
    refuse: Callable[[ModelRequest, FaultSettings], HttpReply] | None = None
    """Replies in place of an answer."""
    alter_answer: Callable[[ModelAnswer, ModelRequest], None] | None = None
    """Changes an answer in place, before it is sampled."""
    alter_body: Callable[[dict[str, Any], ModelRequest], Any] | None = None
    """Changes the JSON body, from which a stream is made as well."""
    alter_chunks: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None
    """Changes the JSON chunks of a stream."""
    alter_events: Callable[[list[Step], FaultSettings], list[Step]] | None = None
    """Changes the events of a stream."""
    alter_reply: Callable[[HttpReply], HttpReply] | None = None
    """Changes headers and body."""
    alter_steps: Callable[[list[Step], FaultSettings], list[Step]] | None = None
    """Changes the bytes, pauses and ends of the connection."""
    deadly: bool = False
    """Whether the server ends with this reply."""


def kinds(
    group: int, stage: str, table: Mapping[str, tuple[str, Any]], need: FaultNeed | None = None, **common: Any
) -> Iterator[FaultKind]:
    """Yield the kinds of a table that act at one stage: name → summary and the function of that stage."""
    for name, (summary, act) in table.items():
        yield FaultKind(name, group, summary, need, **{stage: act}, **common)
