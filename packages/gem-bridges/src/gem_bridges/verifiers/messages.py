"""Actions as chat messages, and the messages that follow them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gem.core import Action
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem.tools.typed_arguments import typed_arguments
from gem_bridges.foreign_env import MalformedActionError, text_of_action
from gem_bridges.messages import Message, text_of_content

__all__ = ["assistant_message", "described_tools", "messages_after"]


def messages_after(before: Sequence[Message], said: Message, now: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of a request that the agent has not seen.

    Args:
        before: the messages of the request before.
        said: the agent's answer to it.
        now: the messages of this request; all of them are new where an environment has rewritten the conversation.
    """
    known = len(before) + 1
    continues = list(now[: len(before)]) == list(before) and len(now) > known
    if not continues or now[len(before)].get("role") != "assistant":
        return now
    answered = text_of_content(now[len(before)].get("content"))
    return now[known:] if answered == text_of_content(said.get("content")) else now


def assistant_message(action: Action, tools: Sequence[Message]) -> dict[str, Any]:
    """Return an action as a message of the assistant.

    Args:
        action: a text, in which calls of tools stand in ``<tool_call>`` tags, or an assistant message.
        tools: the tools on offer; without any, calls are not read.

    Raises:
        MalformedActionError: if it is empty, or a call in it cannot be read.
    """
    calls = native_calls(action) if tools else []
    if isinstance(action, Mapping) and calls and not isinstance(action.get("content"), str):
        text = ""
    else:
        text = text_of_action(action)
    if tools and not calls:
        calls = text_calls(text)
    if not calls and not text.strip():
        raise MalformedActionError("it must have a text")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [_wire(number, call, tools) for number, call in enumerate(calls)]
    return message


def described_tools(tools: Sequence[Message]) -> str:
    """Return the instructions for calling tools that a request offers."""
    offered = [tool.get("function", tool) for tool in tools]
    lines = "\n".join(
        f"- {tool.get('name')}: {' '.join(str(tool.get('description', '')).split())} "
        f"Arguments: {json.dumps(tool.get('parameters', {}), ensure_ascii=False)}"
        for tool in offered
    )
    return f'You can call tools: <tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>. They are:\n{lines}'


def _wire(number: int, call: ToolCall, tools: Sequence[Message]) -> dict[str, Any]:
    if call.error is not None or call.name is None:
        raise MalformedActionError(call.error or "the call names no tool")
    arguments = dict(call.arguments)
    if call.untyped:
        offered = [tool.get("function", tool) for tool in tools]
        schema = next((tool.get("parameters") for tool in offered if tool.get("name") == call.name), None)
        arguments = typed_arguments(arguments, schema)
    function = {"name": call.name, "arguments": json.dumps(arguments)}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}
