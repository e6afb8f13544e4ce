"""The endpoints that tokenize and apply the chat template, as vLLM and llama.cpp have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_eval.fake_model.byte_tokens import ASSISTANT, decode, encode_special, piece
from gem_eval.fake_model.conversation import prompt_ids
from gem_eval.fake_model.dialects import Dialect
from gem_eval.fake_model.model_request import UnusableRequest

__all__ = ["apply_template", "detokenize", "tokenize"]


def tokenize(body: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return the ids of a text or of a conversation.

    Raises:
        UnusableRequest: if there is neither.
    """
    messages = body.get("messages")
    if isinstance(messages, list):
        ids = _templated(body)
    else:
        text = body.get("content", body.get("prompt", body.get("text")))
        if not isinstance(text, str):
            raise UnusableRequest("there is no text to tokenize", param="prompt")
        ids = encode_special(text)
    if dialect.name == "llamacpp":
        with_pieces = body.get("with_pieces") is True
        return {"tokens": [{"id": token, "piece": piece(token)} for token in ids] if with_pieces else ids}
    pieces = [piece(token) for token in ids] if body.get("return_token_strs") is True else None
    return {"count": len(ids), "max_model_len": 1 << 20, "tokens": ids, "token_strs": pieces}


def detokenize(body: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return the text of ids.

    Raises:
        UnusableRequest: if ``tokens`` is no list of ids.
    """
    tokens = body.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise UnusableRequest("tokens must be a list of whole numbers", param="tokens")
    return {"content" if dialect.name == "llamacpp" else "prompt": decode(tokens)}


def apply_template(body: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return the prompt of a conversation as text.

    Raises:
        UnusableRequest: if there is no conversation.
    """
    return {"prompt": decode(_templated(body))}


def _templated(body: Mapping[str, Any]) -> list[int]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UnusableRequest("messages must be a list of objects", param="messages")
    ids = prompt_ids(messages, body.get("tools") or ())
    if body.get("add_generation_prompt") is False and ids[-1] == ASSISTANT:
        del ids[-1]
    return ids
