"""Chat messages of other frameworks as observations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gem.core import Observation

__all__ = ["Message", "observed", "text_of_content", "with_text"]

_SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
Message = Mapping[str, Any]


def observed(messages: Sequence[Message]) -> Observation:
    """Return messages as one observation: a text, or content parts where one of them has pictures.

    Instructions, questions and tools' answers stand one after another. Where a message of the assistant is among them,
    such as an example, each gets the name of its speaker.
    """
    named = any(message.get("role") == "assistant" for message in messages)
    pieces: list[str | list[dict[str, Any]]] = []
    for message in messages:
        content = message.get("content") or ""
        calls = message.get("tool_calls") or ()
        written = [f"<tool_call>{json.dumps(call.get('function', call))}</tool_call>" for call in calls]
        if isinstance(content, str) or written or all(part.get("type") == "text" for part in content):
            text = "\n".join(filter(None, [text_of_content(content), *written]))
            pieces.append(f"{_SPEAKERS.get(str(message.get('role')), 'User')}: {text}" if named else text)
        else:
            pieces.append([dict(part) for part in content])
    if all(isinstance(piece, str) for piece in pieces):
        return "\n\n".join(str(piece) for piece in pieces)
    return [
        part for piece in pieces for part in ([{"type": "text", "text": piece}] if isinstance(piece, str) else piece)
    ]


def text_of_content(content: Any) -> str:
    """Return the text of a message's content: a text, content parts, or None."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in content)


def with_text(observation: Observation, text: str) -> Observation:
    """Return an observation that ends with a text."""
    return (
        f"{observation}\n\n{text}" if isinstance(observation, str) else [*observation, {"type": "text", "text": text}]
    )
