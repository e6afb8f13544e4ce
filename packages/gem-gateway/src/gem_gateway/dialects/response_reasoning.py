"""Reasoning items of OpenAI's Responses, as they go out and as they come back.

Some programs send back nothing of a reasoning item but its ``encrypted_content``. Ours hides nothing: it is the text.
A server of the same interface behind the gateway encrypts its own, and takes it back as it was: messages have it as
``reasoning_details`` (see :mod:`gem_eval.clients.responses_dialect`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from gem_eval.clients.base import Message

__all__ = ["kept_reasoning", "reasoning_items", "reasoning_text"]

_MARK = "gem:"
"""Begins our ``encrypted_content``."""


def reasoning_items(message: Message, text: str | None, identity: str, encrypted: bool) -> list[dict[str, Any]]:
    """Return the items of an answer's reasoning: those that the server encrypted as it sent them, or else the text's.

    Args:
        message: the answer.
        text: its reasoning.
        identity: of the answer.
        encrypted: whether the program asks for ``encrypted_content``.
    """
    secret = [
        detail
        for detail in message.get("reasoning_details") or ()
        if isinstance(detail, Mapping) and isinstance(detail.get("id"), str) and isinstance(detail.get("data"), str)
    ]
    if secret:
        return [
            {
                "id": detail["id"],
                "type": "reasoning",
                "summary": detail.get("summary") or [],
                "content": [],
                "encrypted_content": detail["data"],
            }
            for detail in secret
        ]
    if not text:
        return []
    item: dict[str, Any] = {
        "id": f"rs_{identity}",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": text}],
    }
    if encrypted:
        item["encrypted_content"] = _MARK + base64.b64encode(text.encode("utf-8", "replace")).decode()
    return [item]


def kept_reasoning(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return the detail that takes an item back to the server that encrypted it; None if none did."""
    secret = item.get("encrypted_content")
    if not isinstance(secret, str) or secret.startswith(_MARK) or not isinstance(item.get("id"), str):
        return None
    summary = item.get("summary")
    shown = summary if isinstance(summary, list) else []
    return {"type": "reasoning.encrypted", "id": item["id"], "data": secret, "summary": shown}


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
