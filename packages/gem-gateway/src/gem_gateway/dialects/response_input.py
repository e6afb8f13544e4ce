"""The input of OpenAI's Responses: a list of messages, reasoning, calls and their outputs."""

from __future__ import annotations

from typing import Any

from gem_eval.clients.base import Message
from gem_eval.clients.json_text import encoded
from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import objects, optional_text, picture, text, unusable
from gem_gateway.dialects.response_reasoning import kept_reasoning, reasoning_text
from gem_gateway.dialects.response_runs import RUN_ITEMS
from gem_gateway.dialects.response_tools import tool_name
from gem_gateway.dialects.server_tools import leave_out
from gem_gateway.tool_turns import echo

__all__ = ["read_input"]

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def read_input(given: Any, instructions: str, settings: CallSettings, notes: list[str]) -> list[Message]:
    """Return the conversation as messages of chat completions.

    Items that the model wrote one after another are one message of the assistant. System messages at the beginning are
    one message, since many chat templates accept no second one.

    Raises:
        ModelCallError: for items that are none.
    """
    opening = [instructions] if instructions else []
    messages: list[Message] = []
    if isinstance(given, str):
        messages.append({"role": "user", "content": given})
        given = []
    for index, item in enumerate(objects(given, "input")):
        param, kind = f"input[{index}]", item.get("type", "message")
        if kind == "message":
            _add_message(opening, messages, item, param, settings)
        elif kind == "reasoning":
            thought, kept = reasoning_text(item), kept_reasoning(item)
            turn = _turn(messages, begins=True) if thought or kept else {}
            if thought:
                turn.setdefault("reasoning_content", []).append(thought)
            if kept:
                turn.setdefault("reasoning_details", []).append(kept)
        elif kind in ("function_call", "custom_tool_call"):
            _turn(messages).setdefault("tool_calls", []).append(_call(item, kind, param))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            content = _content(item.get("output"), f"{param}.output", settings)
            identifier = text(item.get("call_id"), f"{param}.call_id")
            messages.append({"role": "tool", "tool_call_id": identifier, "content": content})
        elif settings.run_tools and kind in RUN_ITEMS:
            messages.append(echo(text(item.get("id"), f"{param}.id").removeprefix(RUN_ITEMS[kind])))
        elif kind == "item_reference":
            raise unusable("item_reference needs state that this gateway does not keep; send the item itself", param)
        else:
            leave_out(str(kind), param, settings, notes)
    if not (messages or opening):
        raise unusable("input must hold at least one message", "input")
    for message in messages:  # joined once, however many pieces a program has made of it
        if "reasoning_content" in message:
            message["reasoning_content"] = "\n\n".join(message["reasoning_content"])
    return [{"role": "system", "content": "\n\n".join(opening)}, *messages] if opening else messages


def _add_message(
    opening: list[str], messages: list[Message], item: dict[str, Any], param: str, settings: CallSettings
) -> None:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise unusable(f"{param}.role must be one of {', '.join(_ROLES)}, got {role!r:.80}", f"{param}.role")
    content = _content(item.get("content"), f"{param}.content", settings)
    if role == "assistant":
        _turn(messages, begins=True)["content"] = _joined(content, "")
    elif _ROLES[role] == "system":
        said = _joined(content, "\n\n")
        if messages:
            messages.append({"role": "system", "content": said})
        else:
            opening.append(said)
    else:
        messages.append({"role": "user", "content": content})


def _turn(messages: list[Message], begins: bool = False) -> Message:
    """Return the assistant's message that an item belongs to.

    Args:
        messages: so far; a new one is appended where none is open.
        begins: whether the item stands at the beginning of a turn, so that one with text or calls is over.
    """
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]
        if not begins or (last["content"] is None and "tool_calls" not in last):
            return last
    messages.append({"role": "assistant", "content": None})
    return messages[-1]


def _call(item: dict[str, Any], kind: str, param: str) -> dict[str, Any]:
    name = tool_name(text(item.get("name"), f"{param}.name"), optional_text(item.get("namespace"), param) or None)
    if kind == "custom_tool_call":
        arguments = encoded({"input": text(item.get("input"), f"{param}.input")}).decode()
    else:
        arguments = text(item.get("arguments"), f"{param}.arguments")
    identifier = text(item.get("call_id"), f"{param}.call_id")
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def _content(content: Any, param: str, settings: CallSettings) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = []
    for index, part in enumerate(objects(content, param)):
        place, kind = f"{param}[{index}]", part.get("type")
        if kind in ("input_text", "output_text", "text"):
            parts.append({"type": "text", "text": text(part.get("text"), f"{place}.text")})
        elif kind == "refusal":
            parts.append({"type": "text", "text": text(part.get("refusal"), f"{place}.refusal")})
        elif kind == "input_image" and part.get("image_url") is not None:
            parts.append(picture(part["image_url"], settings, f"{place}.image_url", part.get("detail")))
        else:
            raise unusable(f"{place} must be input_text, or input_image with an image_url, got {kind!r:.80}", place)
    if len(parts) == 1 and parts[0]["type"] == "text":
        only: str = parts[0]["text"]
        return only
    return parts


def _joined(content: str | list[dict[str, Any]], between: str) -> str:
    if isinstance(content, str):
        return content
    return between.join(part["text"] for part in content if part["type"] == "text")
