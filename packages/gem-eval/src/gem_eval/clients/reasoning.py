"""Reasoning that a server left in the text of an answer, between ``<think>`` and ``</think>`` or such tags."""

from __future__ import annotations

from typing import Literal

from gem.text import THOUGHTS, split_thoughts

__all__ = ["ThinkTags", "split_reasoning"]

ThinkTags = Literal["auto", "always", "never"]
"""Whether to split reasoning off a text: never; ``auto``: if the text begins with a complete pair of tags and the
server gave no reasoning of its own; ``always``: wherever :func:`gem.text.split_thoughts` finds some, also if the
opening or the closing tag is missing."""


def split_reasoning(text: str, mode: ThinkTags = "auto") -> tuple[str | None, str]:
    """Return the reasoning in a text, None if there is none, and the rest."""
    thoughts, rest = ([], text) if mode == "never" else split_thoughts(text)
    if not thoughts or (mode == "auto" and not _begins_with_a_pair(text.lstrip())):
        return None, text
    return "\n\n".join(thought.strip() for thought in thoughts), rest.lstrip()


def _begins_with_a_pair(text: str) -> bool:
    return any(text.startswith(opening) and closing in text for opening, closing in THOUGHTS.items())
