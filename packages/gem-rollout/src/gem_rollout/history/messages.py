"""Messages of a history: the environment's answers to an assistant's message, and parts of a message's content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.core import Info
from gem.wrappers.history import (
    Content,
    Message,
    content_of,
    copied,
    is_text,
    join,
    piece,
    text_with_calls,
    tool_calls,
)

__all__ = [
    "as_messages",
    "extended",
    "message_piece",
    "messages_from_state",
    "other_parts",
    "reply_messages",
    "text_if_possible",
]


def as_messages(observation: Any) -> list[Message]:
    """Return an observation as the conversation that a model sees: its chat messages, or one message of the user."""
    if isinstance(observation, list) and observation and all("role" in part for part in observation):
        return list(observation)
    return [{"role": "user", "content": observation}]


def text_if_possible(content: Content) -> Content:
    """Return a list of text parts as one str; anything else unchanged."""
    if isinstance(content, str) or other_parts(content):
        return content
    return "".join(part["text"] for part in content)


def other_parts(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a content that are not text, in order."""
    return [part for part in content if not is_text(part)] if isinstance(content, list) else []


def reply_messages(assistant: Message, observation: Content, info: Info, tool_role: str) -> list[Message]:
    """Return the environment's answer to an assistant message as messages.

    Chat APIs demand a tool message for each native call, so each call gets one, from a tool or the environment.
    ``info["tool_results"]``, if present, separates the answers; otherwise the whole observation is the answer to
    the last call.

    Args:
        assistant: the agent's message.
        observation: the answer to it.
        info: the info of the same step; ``use_tool`` marks the answer of a tool.
        tool_role: role of an answer to a tool call that was written as text.
    """
    calls = tool_calls(assistant)
    if not calls:
        return [{"role": tool_role if info.get("use_tool") else "user", "content": observation}]
    contents: list[Content] = [*[""] * (len(calls) - 1), observation]
    results = info.get("tool_results")
    if len(calls) > 1 and isinstance(results, list) and len(results) == len(calls):
        contents = [_result_content(result) for result in results]
        contents[-1] = join([contents[-1], _notice(observation)])
    replies = []
    for call, content in zip(calls, contents, strict=True):
        identifier = {"tool_call_id": call["id"]} if isinstance(call.get("id"), str) else {}
        replies.append({"role": "tool", **identifier, "content": content})
    return replies


def extended(message: Message, before: str, after: str) -> Message:
    """Return a message with text before and after its content."""
    return {**message, "content": join([before, message["content"], after])} if before or after else message


def message_piece(message: Message) -> Content:
    """Return a message as a piece of text, its native tool calls written out."""
    return piece(text_with_calls(message) if message["role"] == "assistant" else message["content"])


def messages_from_state(value: Any) -> list[Message]:
    """Return a copy of the messages in a state.

    Raises:
        TypeError: if they are not messages.
    """
    messages = copied(value)
    if not isinstance(messages, list):
        raise TypeError("messages must be a list")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or "content" not in message:
            raise TypeError("a message must be a dict with role and content")
    return messages


def _result_content(result: Mapping[str, Any]) -> Content:
    parts = result.get("content")
    return content_of([{"type": "text", "text": result["text"]}, *parts]) if parts else str(result["text"])


def _notice(observation: Content) -> str:
    """Return the tool wrapper's notice that no more calls are allowed, which follows the last answer; or nothing."""
    from gem.tools.wrapper import LIMIT_REACHED

    if isinstance(observation, str):
        said = observation.endswith(LIMIT_REACHED)
    else:
        said = bool(observation) and observation[-1].get("text") == LIMIT_REACHED
    return LIMIT_REACHED if said else ""
