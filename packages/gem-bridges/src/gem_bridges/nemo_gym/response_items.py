"""Between chat messages and the items of OpenAI's Responses API, in which NeMo Gym's rows and verifiers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem_bridges.messages import Message

__all__ = ["chat_messages", "output_items", "response_of"]


def chat_messages(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ``instructions`` and the ``input`` of a request as chat messages."""
    instructions, given = parameters.get("instructions"), parameters.get("input")
    found = [{"role": "system", "content": str(instructions)}] if instructions else []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    return [*found, *(message for item in items for message in _chat_message(item))]


def output_items(message: Message, number: int) -> list[dict[str, Any]]:
    """Return the output items of an assistant message.

    Args:
        message: a chat message with ``content``, ``tool_calls`` or both.
        number: of the turn, for ids that are unique in an episode.
    """
    items: list[dict[str, Any]] = []
    if message.get("content"):
        text = {"type": "output_text", "text": message["content"], "annotations": []}
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**head, "content": [text]})
    for place, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        named = {"id": f"fc_{number}_{place}", "call_id": f"call_{number}_{place}", "status": "completed"}
        items.append({"type": "function_call", **named, "name": function["name"], "arguments": function["arguments"]})
    return items


def response_of(items: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of a model that consists of output items."""
    return {
        "id": "resp_gem",
        "object": "response",
        "created_at": 0.0,
        "model": "gem",
        "output": list(items),
        "parallel_tool_calls": parameters.get("parallel_tool_calls", True),
        "tool_choice": parameters.get("tool_choice") or "auto",
        "tools": parameters.get("tools") or [],
    }


def _chat_message(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = item.get("type", "message")
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if kind == "function_call_output":
        return [{"role": "tool", "tool_call_id": item.get("call_id"), "content": str(item.get("output", ""))}]
    if kind != "message":
        return []
    role = "system" if item.get("role") == "developer" else item.get("role", "user")
    content = item.get("content")
    if isinstance(content, list):
        content = [_part(part) for part in content]
    return [{"role": role, "content": content}]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "input_image":
        return {"type": "image_url", "image_url": {"url": str(part.get("image_url"))}}
    return {"type": "text", "text": str(part.get("text", ""))}
