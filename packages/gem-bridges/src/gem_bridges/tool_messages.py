"""Actions as messages of an assistant that may call tools, and the instructions for calling them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gem.core import Action
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem.tools.typed_arguments import typed_arguments
from gem_bridges.foreign_env import MalformedActionError, text_of_action
from gem_bridges.messages import Message

__all__ = ["assistant_message", "described_tools"]


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
    try:
        written = json.dumps(arguments, allow_nan=False)
        f"{call.name}{json.dumps(arguments, ensure_ascii=False)}".encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedActionError(f"a call cannot be written as JSON in UTF-8: {str(error)[:100]}") from None
    function = {"name": call.name, "arguments": written}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}
