"""Results of servers for agents: text, images and audio as content parts, and structured data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gem.tools.base import ToolResult
from gem.tools.json_values import copied
from gem_tools.text_limits import cut

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate

__all__ = [
    "LONGEST_CONTENT",
    "chat_messages",
    "prompt_list",
    "prompt_messages",
    "prompt_result",
    "resource_list",
    "resource_result",
    "tool_result",
]

LONGEST_CONTENT = 8 << 20
"""The largest size of images and audio (base64 characters) in one result; further items are only named."""

_LONGEST_DATA = 1 << 20
"""The largest size of structured data in JSON characters; a result drops larger data."""

_NOTHING = {
    False: "The call was carried out; it returns nothing.",
    True: "The call failed; the server does not say why.",
}

_SOUND = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""Media type → its name in chat APIs, which accept no other types."""


def tool_result(answer: CallToolResult, longest: int) -> ToolResult:
    """Convert a server's result to a tool result.

    Args:
        answer: the result from the SDK.
        longest: the largest number of characters of text; the middle of a longer text is cut out.
    """
    reading = _ResultReader()
    for block in answer.content:
        reading.add(block)
    data = answer.structured_content
    text = "\n".join(reading.texts)
    if not text and not reading.parts:
        text = _NOTHING[answer.is_error] if data is None else _as_json(data)
    return ToolResult(
        cut(text, longest), ok=not answer.is_error, content=tuple(reading.parts), data=_bounded_data(data)
    )


def resource_result(answer: ReadResourceResult, longest: int) -> ToolResult:
    """Convert the contents of a resource to a tool result; see :func:`tool_result`."""
    reading = _ResultReader()
    for content in answer.contents:
        text = getattr(content, "text", None)
        if len(answer.contents) == 1 and text is not None:
            reading.texts.append(text)
        else:
            reading.add_resource(content)
    return ToolResult(cut("\n".join(reading.texts), longest), content=tuple(reading.parts))


def resource_list(resources: list[Resource], templates: list[ResourceTemplate], longest: int) -> ToolResult:
    """Convert a list of resources to a tool result with one line for each."""
    lines = [_line(resource.uri, resource) for resource in resources]
    lines += [_line(f"{template.uri_template} (a template)", template) for template in templates]
    return ToolResult(cut("\n".join(lines) or "The server lists no resources.", longest))


def prompt_result(answer: GetPromptResult, longest: int) -> ToolResult:
    """Convert the messages of a prompt to a tool result with the role before each; see :func:`tool_result`."""
    reading = _ResultReader()
    for message in answer.messages:
        reading.texts.append(f"[{message.role}]")
        reading.add(message.content)
    return ToolResult(cut("\n".join(reading.texts), longest), content=tuple(reading.parts))


def prompt_messages(answer: GetPromptResult, longest: int) -> list[dict[str, Any]]:
    """Convert a prompt to messages of a chat API; the content of one with a picture or sound is a list of parts.

    Args:
        answer: the prompt from the SDK.
        longest: the largest number of characters of a message's text; the middle of a longer text is cut out.
    """
    return chat_messages(((message.role, [message.content]) for message in answer.messages), longest)


def chat_messages(messages: Iterable[tuple[str, Iterable[Any]]], longest: int) -> list[dict[str, Any]]:
    """Convert roles and their blocks of content to messages of a chat API; see :func:`prompt_messages`."""
    converted: list[dict[str, Any]] = []
    for role, blocks in messages:
        reading = _ResultReader()
        for block in blocks:
            reading.add(block)
        text = cut("\n".join(reading.texts), longest)
        parts = [*([{"type": "text", "text": text}] if text else []), *reading.parts]
        converted.append({"role": role, "content": parts if reading.parts else text})
    return converted


def prompt_list(prompts: list[Prompt], longest: int) -> ToolResult:
    """Convert a list of prompts to a tool result with one line for each."""
    lines = []
    for prompt in prompts:
        given = ", ".join(f"{each.name}{'' if each.required else ' (optional)'}" for each in prompt.arguments or ())
        about = [prompt.description or prompt.title, f"arguments: {given}" if given else None]
        lines.append(f"{prompt.name}: {'; '.join(filter(None, about))}")
    return ToolResult(cut("\n".join(lines) or "The server lists no prompts.", longest))


def _line(address: str, described: Resource | ResourceTemplate) -> str:
    about = [described.title or described.name, described.description, described.mime_type]
    return f"{address}: {'; '.join(filter(None, about))}"


class _ResultReader:
    """Collects the blocks of one result by type."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.parts: list[dict[str, Any]] = []
        self._room = LONGEST_CONTENT

    def add(self, block: Any) -> None:
        """Add a block of any type."""
        if block.type == "text":
            self.texts.append(block.text)
        elif block.type == "image":
            self._add_media("picture", block.mime_type, block.data)
        elif block.type == "audio":
            self._add_media("sound", block.mime_type, block.data)
        elif block.type == "resource_link":
            about = f": {block.description}" if block.description else ""
            self.texts.append(f"[resource {block.name} at {block.uri}{about}]")
        elif block.type == "resource":
            self.add_resource(block.resource)
        else:
            self.texts.append(f"[content of the unknown type {block.type}]")

    def add_resource(self, resource: Any) -> None:
        """Add the content of a resource, with its address."""
        text = getattr(resource, "text", None)
        if text is not None:
            self.texts.append(f"[resource {resource.uri}]\n{text}")
            return
        kind = resource.mime_type or "application/octet-stream"
        if kind.startswith("image/"):
            self.texts.append(f"[resource {resource.uri}]")
            self._add_media("picture", kind, resource.blob)
        else:
            self.texts.append(f"[resource {resource.uri}: {kind}, {_size(resource.blob)}]")

    def _add_media(self, name: str, kind: str, data: str) -> None:
        part = _part(kind, data)
        if part is None or len(data) > self._room:
            why = "no chat API accepts it" if part is None else "too large"
            self.texts.append(f"[{name}: {kind}, {_size(data)}; left out, {why}]")
            return
        self._room -= len(data)
        self.parts.append(part)


def _part(kind: str, data: str) -> dict[str, Any] | None:
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    if kind in _SOUND:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUND[kind]}}
    return None


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4} bytes"


def _as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def _bounded_data(data: Any) -> Any:
    """Return structured data for a tool result; None if it is too large or too deep."""
    if data is None or len(_as_json(data)) > _LONGEST_DATA:
        return None
    try:
        return copied(data)
    except (TypeError, ValueError):
        return None
