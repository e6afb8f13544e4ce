"""The model's turns in which a gateway has carried out tools: :class:`ToolTurn`, and how an echo of one is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gem.tools.base import ToolResult
from gem_eval.clients import Completion
from gem_eval.clients.base import Message

__all__ = ["ECHO", "ToolRun", "ToolTurn", "echo"]

ECHO = "server_tool"
"""The role of a message that stands for a run which a program echoes; no message of it reaches a model."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool."""

    id: str
    """Names it in the session: letters and digits."""
    kind: str
    """``web_search`` or ``code_interpreter``."""
    argument: str
    """The query, or the program."""
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """One turn of the model in which it called tools of the gateway."""

    completion: Completion
    """The model's answer; of its tool calls those alone that the program carries out."""
    runs: list[ToolRun]
    messages: list[Message] = field(repr=False)
    """The model's message as it was, and the results of the runs."""

    def with_calls(self, echoed: list[dict[str, Any]]) -> Message | None:
        """Return the model's message with the program's own calls as it echoes them; None if their number differs."""
        theirs = {made["id"] for made in self.completion.tool_calls}
        if len(echoed) != len(theirs):
            return None
        given = iter(echoed)
        message = self.messages[0]
        made = [next(given) if one.get("id") in theirs else one for one in message["tool_calls"]]
        return {**message, "tool_calls": made}


def echo(identifier: str) -> Message:
    """Return the message that stands for an echoed run."""
    return {"role": ECHO, "id": identifier}
