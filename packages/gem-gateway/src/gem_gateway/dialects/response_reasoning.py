"""Reasoning items of OpenAI's Responses, as they go out and as they come back.

Some programs send back nothing of a reasoning item but its ``encrypted_content``. Ours hides nothing: it is the text.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

__all__ = ["reasoning_item", "reasoning_text"]

_MARK = "gem:"
"""Begins our ``encrypted_content``."""


def reasoning_item(text: str, identity: str, encrypted: bool) -> dict[str, Any]:
    """Return the item that holds a model's reasoning.

    Args:
        text: the reasoning.
        identity: of the answer.
        encrypted: whether the program asks for ``encrypted_content``.
    """
    item: dict[str, Any] = {
        "id": f"rs_{identity}",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": text}],
    }
    if encrypted:
        item["encrypted_content"] = _MARK + base64.b64encode(text.encode("utf-8", "replace")).decode()
    return item


def reasoning_text(item: dict[str, Any]) -> str:
    """Return the reasoning in an item that came back; empty where there is none that can be read."""
    secret = item.get("encrypted_content")
    if isinstance(secret, str) and secret.startswith(_MARK):
        try:
            return base64.b64decode(secret[len(_MARK) :], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
    for name in ("content", "summary"):
        parts = item.get(name)
        found = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        if thought := "\n\n".join(said for said in found if isinstance(said, str)):
            return thought
    return ""
