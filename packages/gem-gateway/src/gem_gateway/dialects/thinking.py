"""Thinking blocks of Anthropic's Messages, as they go out to a program and as they come back.

A model behind a server of the same interface signs its thinking, and that server takes it back only as it was: messages
have it as ``reasoning_details`` (see :mod:`gem_eval.clients.messages_dialect`). Other models sign nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_eval.clients.base import Message

__all__ = ["kept_thinking", "thinking_blocks"]

_UNSIGNED = "gem"
"""The signature of what no server has signed. Programs send it back unread, and the gateway reads the text."""


def thinking_blocks(message: Message, reasoning: str | None) -> list[dict[str, Any]]:
    """Return the blocks of an answer: the signed ones as the server sent them, or else the reasoning in one."""
    signed: list[dict[str, Any]] = []
    for detail in message.get("reasoning_details") or ():
        if not isinstance(detail, Mapping):
            continue
        if detail.get("type") == "reasoning.text" and isinstance(detail.get("signature"), str):
            signed.append({"type": "thinking", "thinking": detail["text"], "signature": detail["signature"]})
        elif detail.get("type") == "reasoning.encrypted" and isinstance(detail.get("data"), str) and "id" not in detail:
            signed.append({"type": "redacted_thinking", "data": detail["data"]})
    if signed or not reasoning:
        return signed
    return [{"type": "thinking", "thinking": reasoning, "signature": _UNSIGNED}]


def kept_thinking(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the detail that takes a block back to the server that signed it; None if none did."""
    if block.get("type") == "redacted_thinking":
        data = block.get("data")
        return {"type": "reasoning.encrypted", "data": data} if isinstance(data, str) else None
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str) or not isinstance(signature, str) or signature in ("", _UNSIGNED):
        return None
    return {"type": "reasoning.text", "text": text, "signature": signature}
