"""From an OpenEnv observation, which is an object, to text and pictures."""

from __future__ import annotations

import json
import re
from typing import Any

from gem.core import Observation
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn
from gem_bridges.foreign_server_env import reward_of

__all__ = ["turn_of"]

_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
_OWN = ("done", "reward", "metadata")  # of every observation, beside the environment's own fields


def turn_of(data: dict[str, Any]) -> ForeignTurn:
    """Return the turn in the data of a message of type ``observation``.

    The only field of an observation, if it is text, is what the agent sees, and so is the text of a tool's result.
    Other fields are shown as JSON, and pictures in them (data URLs) as pictures. An observation without own fields
    shows its metadata.

    Raises:
        BridgeError: if the data are outside the protocol.
    """
    fields, done, metadata = data.get("observation"), data.get("done", False), data.get("metadata") or {}
    if not isinstance(fields, dict) or not isinstance(done, bool) or not isinstance(metadata, dict):
        raise BridgeError(f"the server answered outside the protocol: {json.dumps(data)[:300]}")
    own = {name: value for name, value in fields.items() if name not in _OWN and value is not None}
    within = fields.get("metadata")
    metadata = metadata or (within if isinstance(within, dict) else {})
    return ForeignTurn(
        _shown(own or metadata),
        reward_of(data.get("reward")),
        terminated=done,
        extra={"metadata": metadata} if metadata else {},
    )


def _shown(fields: dict[str, Any]) -> Observation:
    pictures: list[str] = []
    if fields.keys() == {"tool_name", "result"}:
        fields = {"result": _tool_text(fields["result"])}
    shown = {name: _without_pictures(value, pictures) for name, value in fields.items()}
    texts = list(shown.values())
    text = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else json.dumps(shown, ensure_ascii=False)
    if not pictures:
        return text
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in pictures)]


def _tool_text(result: Any) -> Any:
    """Return the joined texts of an MCP tool's result; the result itself if it has other content."""
    parts = result.get("content") if isinstance(result, dict) else None
    if not isinstance(parts, list) or not parts:
        return result
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(map(str, texts)) if len(texts) == len(parts) else result


def _without_pictures(value: Any, pictures: list[str]) -> Any:
    """Return a value with pictures replaced by their numbers, and add them to the list."""
    if isinstance(value, str) and value.startswith("data:image/") and _PICTURE.fullmatch(value):
        pictures.append(value)
        return f"[picture {len(pictures)}]"
    if isinstance(value, list):
        return [_without_pictures(item, pictures) for item in value]
    if isinstance(value, dict):
        return {name: _without_pictures(item, pictures) for name, item in value.items()}
    return value
