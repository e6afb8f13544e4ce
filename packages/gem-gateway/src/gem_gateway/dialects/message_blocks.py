"""The messages of Anthropic's interface, whose content is a list of blocks, as messages of chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients.base import Message
from gem_eval.clients.json_text import encoded
from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import objects, optional_text, picture, text, unusable
from gem_gateway.dialects.server_blocks import RESULT_BLOCKS, RUN_PREFIX
from gem_gateway.dialects.server_tools import leave_out
from gem_gateway.dialects.thinking import kept_thinking
from gem_gateway.tool_turns import echo

__all__ = ["read_messages", "simplest_content", "system_text"]


def system_text(system: Any) -> str:
    """Return the system prompt, which is a text or a list of text blocks.

    Raises:
        ModelCallError: if it is something else.
    """
    if system is None or isinstance(system, str):
        return system or ""
    blocks = objects(system, "system")
    return "\n\n".join(text(block.get("text"), f"system[{index}].text") for index, block in enumerate(blocks))


def read_messages(given: list[dict[str, Any]], settings: CallSettings, notes: list[str]) -> list[Message]:
    """Return messages as chat APIs have them. The results of tools, which are the user's here, become the tools' own.

    Raises:
        ModelCallError: for roles and blocks that are none.
    """
    messages: list[Message] = []
    for index, message in enumerate(given):
        param, role = f"messages[{index}]", message.get("role")
        content = message.get("content")
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        else:
            blocks = objects(content, f"{param}.content")
        if role == "assistant":
            messages += _assistant(blocks, param, settings, notes)
        elif role in ("user", "system"):
            messages += _user(role, blocks, param, settings, notes)
        else:
            raise unusable(f"{param}.role must be user or assistant, got {role!r:.80}", f"{param}.role")
    return messages


def _assistant(blocks: list[dict[str, Any]], param: str, settings: CallSettings, notes: list[str]) -> Iterator[Message]:
    """Yield the messages of an answer: one, but for the turns before tools that the gateway has carried out in it."""
    turn: list[tuple[str, dict[str, Any]]] = []
    for index, block in enumerate(blocks):
        place, kind = f"{param}.content[{index}]", block.get("type")
        if settings.run_tools and kind in RESULT_BLOCKS:
            continue  # the session knows what its tools have returned
        if settings.run_tools and kind == "server_tool_use":
            if turn:
                yield _turn(turn, settings, notes)
                turn = []
            yield echo(text(block.get("id"), f"{place}.id").removeprefix(RUN_PREFIX))
        else:
            turn.append((place, block))
    if turn or not blocks:
        yield _turn(turn, settings, notes)


def _turn(blocks: list[tuple[str, dict[str, Any]]], settings: CallSettings, notes: list[str]) -> Message:
    texts, thoughts, details, calls = [], [], [], []
    for place, block in blocks:
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking") and (detail := kept_thinking(block)) is not None:
            details.append(detail)
        if kind == "text":
            texts.append(text(block.get("text"), f"{place}.text"))
        elif kind == "thinking":
            thoughts.append(text(block.get("thinking"), f"{place}.thinking"))
        elif kind == "tool_use":
            given = block.get("input")
            if not isinstance(given, dict):
                raise unusable(f"{place}.input must be an object", f"{place}.input")
            function = {"name": text(block.get("name"), f"{place}.name"), "arguments": encoded(given).decode()}
            calls.append({"id": text(block.get("id"), f"{place}.id"), "type": "function", "function": function})
        elif kind != "redacted_thinking":
            leave_out(str(kind), place, settings, notes)
    message: Message = {"role": "assistant", "content": "".join(texts) or (None if calls else "")}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if details:
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    return message


def _user(
    role: str, blocks: list[dict[str, Any]], param: str, settings: CallSettings, notes: list[str]
) -> Iterator[Message]:
    """Yield the messages of the user and of tools, in the order of the blocks."""
    own: list[dict[str, Any]] = []
    for index, block in enumerate(blocks):
        place = f"{param}.content[{index}]"
        if block.get("type") != "tool_result":
            own += _parts(block, place, settings, notes)
            continue
        if own:
            yield {"role": role, "content": simplest_content(own)}
            own = []
        result = block.get("content")
        parts: list[dict[str, Any]] = []
        if isinstance(result, str) or result is None:
            parts.append({"type": "text", "text": optional_text(result, f"{place}.content")})
        else:
            for inner, part in enumerate(objects(result, f"{place}.content")):
                parts += _parts(part, f"{place}.content[{inner}]", settings, notes)
        identifier = text(block.get("tool_use_id"), f"{place}.tool_use_id")
        yield {"role": "tool", "tool_call_id": identifier, "content": simplest_content(parts)}
    if own or not blocks:
        yield {"role": role, "content": simplest_content(own)}


def _parts(block: dict[str, Any], place: str, settings: CallSettings, notes: list[str]) -> list[dict[str, Any]]:
    """Return a block as content parts."""
    kind = block.get("type")
    if kind == "text":
        return [{"type": "text", "text": text(block.get("text"), f"{place}.text")}]
    source = block.get("source")
    if kind == "image" and isinstance(source, dict):
        if source.get("type") == "base64":
            media = text(source.get("media_type"), f"{place}.source.media_type")
            url = f"data:{media};base64,{text(source.get('data'), f'{place}.source.data')}"
            return [picture(url, settings, f"{place}.source")]
        if source.get("type") == "url":
            return [picture(source.get("url"), settings, f"{place}.source.url")]
    if kind == "document" and isinstance(source, dict):
        if source.get("type") == "text":
            return [{"type": "text", "text": text(source.get("data"), f"{place}.source.data")}]
        if source.get("type") == "content":
            return _inner(source.get("content"), f"{place}.source.content", settings, notes)
        shown = str(source.get("media_type", "unknown"))[:80]
        notes.append(f"left out a document of type {shown!r} ({place}): the model takes text and pictures")
        return [
            {"type": "text", "text": f"[A document of type {shown} was left out: only text and pictures are shown.]"}
        ]
    if kind == "search_result":
        return _inner(block.get("content"), f"{place}.content", settings, notes)
    leave_out(str(kind if kind not in ("image", "document") else f"{kind} without its data"), place, settings, notes)
    return []


def _inner(content: Any, place: str, settings: CallSettings, notes: list[str]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts: list[dict[str, Any]] = []
    for index, block in enumerate(objects(content, place)):
        if block.get("type") in ("text", "image"):
            parts += _parts(block, f"{place}[{index}]", settings, notes)
    return parts


def simplest_content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return parts as one text, which every chat template takes, where they are the only text or none at all."""
    if not parts:
        return ""
    if len(parts) == 1 and parts[0]["type"] == "text":
        only: str = parts[0]["text"]
        return only
    return parts
