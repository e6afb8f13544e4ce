"""Reasoning that a server left in the text of an answer, between ``<think>`` and ``</think>``."""

from __future__ import annotations

from typing import Literal

__all__ = ["ThinkTags", "split_reasoning"]

ThinkTags = Literal["auto", "always", "never"]
"""Whether to split reasoning off a text: never; ``auto``: if the text begins with a complete pair of tags and the
server gave no reasoning of its own; ``always``: also if the opening or the closing tag is missing."""

_OPEN, _CLOSE = "<think>", "</think>"


def split_reasoning(text: str, mode: ThinkTags = "auto") -> tuple[str | None, str]:
    """Return the reasoning at the beginning of a text, None if there is none, and the rest."""
    if mode == "never" or (_CLOSE not in text and (mode == "auto" or _OPEN not in text)):
        return None, text
    start = len(text) - len(text.lstrip())
    opened = text.startswith(_OPEN, start)
    if not opened and mode == "auto":
        return None, text
    begin = start + len(_OPEN) if opened else 0
    end = text.find(_CLOSE, begin)
    if end >= 0:
        return text[begin:end].strip(), text[end + len(_CLOSE) :].lstrip()
    # Cut off while it thought.
    return (text[begin:].strip(), "") if opened else (None, text)
