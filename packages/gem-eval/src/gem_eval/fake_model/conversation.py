"""Conversations as messages and as token ids.

The chat template is that of no model: ``<|role|>content<|end|>`` for each message, then ``<|assistant|>``. It can be
read back, so that a prompt of token ids or of templated text plays the same game as its messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from gem_eval.fake_model.byte_tokens import ASSISTANT, END, IMAGE, ROLES, SPECIAL, decode, encode, encode_special
from gem_eval.fake_model.model_request import SampledCall
from gem_eval.fake_model.sampling import markup

__all__ = ["Conversation", "is_token_ids", "messages_of", "observations", "prompt_ids", "raw_text", "text_of"]

Conversation = Sequence[Mapping[str, Any]]
"""Chat messages."""


def text_of(content: object) -> str:
    """Return the text of a message's content: a str, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))


def raw_text(message: Mapping[str, Any]) -> str:
    """Return an assistant message as the model writes it: its text, then its tool calls in tags."""
    text = text_of(message.get("content"))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():  # anything may come from a client
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments") or "{}"
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments)
            text += markup(SampledCall(str(function.get("name")), arguments))
    return text


def is_token_ids(value: object) -> TypeGuard[list[int]]:
    """Return whether a field of a request is a list of token ids that holds at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, int) and item >= 0 for item in value)


def prompt_ids(messages: Conversation, tools: Sequence[Any] = ()) -> list[int]:
    """Return the ids of the prompt that ends where the assistant's answer begins. Reasoning is left out."""
    ids: list[int] = []
    if tools:
        ids += [SPECIAL["<|system|>"], *encode("Tools: " + json.dumps(tools)), END]
    for message in messages:
        role = message.get("role")
        ids.append(SPECIAL.get(f"<|{'system' if role == 'developer' else role}|>", SPECIAL["<|user|>"]))
        content = message.get("content")
        if isinstance(content, list):
            ids += [IMAGE for part in content if isinstance(part, Mapping) and "image" in str(part.get("type"))]
        ids += encode(raw_text(message) if role == "assistant" else text_of(content))
        ids.append(END)
    ids.append(ASSISTANT)
    return ids


def messages_of(prompt: str | list[int]) -> list[dict[str, Any]]:
    """Return the messages of a templated prompt; a prompt without special tokens is one message of the user."""
    ids = encode_special(prompt) if isinstance(prompt, str) else prompt
    messages: list[dict[str, Any]] = []
    role: str | None = None
    start = 0
    for index, token in enumerate([*ids, END]):
        if token != END and token not in ROLES:
            continue
        text = decode(ids[start:index])
        # The last role is the assistant's, whose answer is wanted.
        if (role or text) and not (role == "assistant" and index == len(ids) and not text):
            messages.append({"role": role or "user", "content": text})
        role, start = ROLES.get(token), index + 1
    return messages


def observations(messages: Conversation) -> list[Any]:
    """Return what the user's side has said before each answer of the assistant.

    Messages of the user and of tools that follow each other are one observation. It is a str, or a list of content
    parts if there are other parts than text.
    """
    turns: list[list[Mapping[str, Any]]] = [[]]
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            turns.append([])
        elif role not in ("system", "developer"):
            turns[-1].append(message)
    return [_joined(turn) for turn in turns if turn]


def _joined(turn: list[Mapping[str, Any]]) -> Any:
    contents = [message.get("content") for message in turn]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if any(isinstance(part, Mapping) and part.get("type") != "text" for part in parts):
        return [
            part
            for content in contents
            for part in (content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}])
        ]
    return "\n".join(map(text_of, contents))
