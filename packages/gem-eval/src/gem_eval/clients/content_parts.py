"""The content of chat messages, which is a text or a list of parts, for dialects with other parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gem.errors import ArgumentTypeError

__all__ = ["content_parts", "picture_data", "text_in"]

_INLINE = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)


def text_in(content: Any) -> str:
    """Return the text of a content, or of a field that should be one; pictures are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content_parts(content) if part["type"] == "text")


def content_parts(content: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts: ``{"type": "text", "text"}`` and ``{"type": "image_url", "image_url": {"url", …}}``.

    Raises:
        ArgumentTypeError: for a part that is neither; dropped unseen, the model would play without it.
    """
    if content is None:
        return
    for part in [content] if isinstance(content, str) else content:
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield {"type": "text", "text": part["text"]}
        elif isinstance(part, Mapping) and isinstance(part.get("image_url"), Mapping):
            yield {"type": "image_url", "image_url": dict(part["image_url"])}
        else:
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise ArgumentTypeError(f"a message holds {kind!r:.80}; this interface takes text and image_url parts")


def picture_data(url: str) -> tuple[str, str]:
    """Return the media type and the base64 data of a picture within its URL; an empty type and the URL for others."""
    found = _INLINE.match(url)
    return ("", url) if found is None else (found[1].lower(), url[found.end() :])
