"""Whether what messages hold reaches a model as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.wrappers.history import Message
from gem_rollout.history.messages import other_parts, text_if_possible

__all__ = [
    "AROUND",
    "altered_message",
    "doubtful_texts",
    "excerpt",
    "left_out",
    "place_of",
    "place_of_first",
    "refuse_pictures",
    "text_only",
]

AROUND = 48
"""Characters of a text that messages show."""

_MARKUP = 32
"""Characters of a text that a template may write by itself: a role, a date, a mark."""


def place_of(content: str, rendered: str, start: int = 0) -> int:
    """Return the first place from ``start`` on at which a rendering holds a text, −1 if there is none.

    Templates strip texts, and some write a tool's answer as JSON.
    """
    stripped = content.strip()
    forms = (stripped, json.dumps(stripped, ensure_ascii=False)[1:-1], json.dumps(stripped)[1:-1])
    return next((place for form in forms if (place := rendered.find(form, start)) >= 0), -1)


def place_of_first(messages: Sequence[Message], rendered: str) -> int:
    """Return the first place at which a rendering holds the text of one of these messages, its length if none has any.

    Raises:
        NotSupportedError: if the text of one is missing, except those of the assistant, which templates may cut.
    """
    first = len(rendered)
    last: dict[str, int] = {}
    for message in messages:
        content = message.get("content")
        if message["role"] == "assistant" or not isinstance(content, str) or not content.strip():
            continue
        # Each of several equal texts has a place of its own.
        last[content] = place = place_of(content, rendered, last.get(content, -1) + 1)
        if place < 0:
            raise left_out(message)
        first = min(first, place)
    return first


def doubtful_texts(before: Sequence[Message], new: Sequence[Message]) -> list[int]:
    """Return the places of the new messages whose text a rendering may hold though the template leaves them out.

    Such a text is short, so that the template may write it by itself, or another message has it too.
    """
    whole = json.dumps([*before, *new], default=str)
    found = []
    for place, message in enumerate(new):
        content = message.get("content")
        text = content.strip() if isinstance(content, str) and message["role"] != "assistant" else ""
        if text and (len(text) <= _MARKUP or whole.count(json.dumps(text)[1:-1]) > 1):
            found.append(place)
    return found


def altered_message(message: Message) -> Message:
    """Return a message with another text."""
    return {**message, "content": f"A{message.get('content') or ''}"}


def left_out(message: Message) -> NotSupportedError:
    """Return the error for a message that a template does not render."""
    return NotSupportedError(
        f"the chat template leaves out a message of the role {message['role']!r}, so that the model would never see "
        f"{excerpt(str(message.get('content')))!r}; gem check-template shows what the template renders"
    )


def text_only(messages: Sequence[Message]) -> list[Message]:
    """Return messages whose contents are text.

    Raises:
        NotSupportedError: if one holds a picture or another part that is no text.
    """
    shown = []
    for place, message in enumerate(messages):
        content = message.get("content")
        if others := other_parts(content):
            raise NotSupportedError(
                f"exact tokens carry text alone, and message {place} ({message['role']}) holds a part of type "
                f"{others[0].get('type')!r}, which would not reach the model; play it through a chat endpoint"
            )
        shown.append({**message, "content": text_if_possible(content)} if isinstance(content, list) else message)
    return shown


def refuse_pictures(spec: EnvSpec | None, carriers: str = "exact tokens") -> None:
    """Raise NotSupportedError if an environment declares that it shows more than the text that ``carriers`` carry."""
    others = [name for name in (spec.modality if spec else ()) if name != "text"]
    if spec is not None and others:
        raise NotSupportedError(
            f"{carriers} carry text alone, and {spec.id} shows {', '.join(others)} as its modality says, which would "
            "not reach the model; play it through a chat endpoint"
        )


def excerpt(text: str) -> str:
    """Return a text, cut after some characters."""
    return text if len(text) <= AROUND else f"{text[:AROUND]}…"
