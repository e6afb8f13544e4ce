"""The answers to the calls of one message, as an observation and as records in ``info``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gem.core import Info
from gem.errors import NotSupportedError
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem.tools.json_values import copied

__all__ = ["LONGEST_NAME", "CallAnswer", "observed", "recorded", "with_text"]

LONGEST_NAME = 64
"""Maximum number of characters of a called name that an answer repeats."""


@dataclass(frozen=True)
class CallAnswer:
    """The result of one call."""

    result: ToolResult
    tool: Tool | None = None
    """The tool that was called; None if there is no such tool."""
    call: ToolCall | None = None
    """The call as it was read; None if the tool itself read it."""
    used: bool = True
    """Whether the call counts as a use."""


def observed(answers: list[CallAnswer]) -> Any:
    """Return the observation of all results in order: a text, or content parts if one of them has such parts."""
    texts = [_heading(answer, len(answers)) + answer.result.text for answer in answers]
    if not any(answer.result.content for answer in answers):
        return "\n\n".join(texts)
    parts: list[dict[str, Any]] = []
    for text, answer in zip(texts, answers, strict=True):
        parts += [{"type": "text", "text": text}, *copied(list(answer.result.content))]
    return parts


def recorded(answer: CallAnswer) -> Info:
    """Return the entry of an answer in ``info["tool_results"]``."""
    call, result = answer.call, answer.result
    record: Info = {
        "tool_call_id": None if call is None else call.id,
        "name": answer.tool.name if answer.tool is not None else None if call is None else call.name,
        "text": result.text,
        "ok": result.ok,
    }
    if result.content:
        record["content"] = copied(list(result.content))
    if result.data is not None:
        record["data"] = copied(result.data)
    return record


def with_text(observation: Any, text: str) -> Any:
    """Return an observation with a text at its end.

    Raises:
        NotSupportedError: if it is neither a text nor content parts.
    """
    if isinstance(observation, str):
        return observation + text
    if isinstance(observation, list):
        return [*observation, {"type": "text", "text": text}]
    raise NotSupportedError(
        f"ToolEnvWrapper needs observations that are text or content parts, got {type(observation).__name__}"
    )


def _heading(answer: CallAnswer, count: int) -> str:
    if count == 1:
        return ""
    if answer.tool is not None:
        return f"Result of {answer.tool.name}:\n"
    called = None if answer.call is None else answer.call.name
    return f"Result of the call of {'an unnamed tool' if called is None else repr(called[:LONGEST_NAME])}:\n"
