"""One call of an agent program to its model: :class:`ModelCall`, whatever dialect it came in, and who answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from gem_eval.clients import Completion, Sampling
from gem_eval.clients.base import Message
from gem_gateway.tool_turns import ToolRun, ToolTurn

__all__ = ["CallAnswerer", "ModelCall"]


@dataclass(slots=True)
class ModelCall:
    """A request of an agent program in the form of chat completions, whatever dialect it came in."""

    messages: list[Message]
    """The conversation; of the dialect "completions" a single user message, which is the prompt."""
    tools: list[dict[str, Any]] | None = None
    """Functions that the model may call, as chat APIs take them."""
    sampling: Sampling = field(default_factory=Sampling)
    response_format: dict[str, Any] | None = None
    """For structured output, as chat APIs take it."""
    dialect: str = "chat"
    """``chat``, ``completions``, ``responses``, ``messages`` or ``gemini``."""
    model: str = ""
    """The model that the program asked for; the session decides which one answers."""
    stream: bool = False
    prompt: str | list[int] | None = None
    """Of the dialect "completions": a text or token ids, continued without a chat template."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What the program sent beside the conversation that is worth a record, such as ``prompt_cache_key``."""
    native: dict[str, Any] = field(default_factory=dict)
    """Fields of the request for which chat completions have no name, for a model whose server speaks the dialect."""
    notes: list[str] = field(default_factory=list)
    """What the gateway left out of the request or changed in it, in words: tools of the server, for example."""
    server_tools: dict[str, int | None] = field(default_factory=dict)
    """Those of :attr:`tools` that the gateway carries out itself: kind, which is the function's name → how often in
    this call, None without a limit."""
    most_tool_runs: int | None = None
    """How often it carries out any of them in this call."""
    turns: list[ToolTurn] = field(default_factory=list)
    """The model's turns with such calls, once it has answered."""
    ends_with_tools: bool = False
    """Whether the last of these turns ends the answer: the model has also called functions of the program, or has had
    as many turns as there may be."""

    def answer_turns(self, completion: Completion) -> list[tuple[Completion, list[ToolRun]]]:
        """Return the turns of an answer in their order, each with the runs that the gateway made in it."""
        turns = [(turn.completion, turn.runs) for turn in self.turns]
        return turns if self.ends_with_tools else [*turns, (completion, [])]


class CallAnswerer(Protocol):
    """Answers the calls of one session."""

    async def answer(self, call: ModelCall) -> Completion:
        """Return the model's next message.

        Raises:
            ModelError: if there is no answer.
            ContextOverflow: if the conversation has become too long.
            EpisodeLimitError: if a budget of the episode is used up.
        """

    async def close(self) -> None:
        """Release what the answers needed, and make the record complete. Calling it twice is fine."""
