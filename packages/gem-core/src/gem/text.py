"""Reading answers out of a model's text.

Every function takes any text a model can emit and needs time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = [
    "TERMINAL_STATE",
    "action_text",
    "boxed_pattern",
    "extract_code_from_model",
    "extract_last_boxed_answer",
    "extract_last_tagged_answer",
]

TERMINAL_STATE = "<｜TERMINAL_STATE｜>"
"""The observation after the end of a single-turn episode (with full-width bars, as published)."""

BOX = "\\boxed{"

# Two adjacent runs of blanks would make a failing match quadratic; here the second needs a word first.
_FENCE_OPEN = re.compile(r"```[^\S\n]*(?:\w+[^\S\n]*)?\n")


def action_text(action: object) -> str | None:
    """Return the text of an action: a str itself, or the content of an assistant message.

    A message's content is a str or a list of content parts, of which the text parts count. Anything
    else has no text: None.
    """
    if isinstance(action, str):
        return action
    if not isinstance(action, Mapping):
        return None
    content = action.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def boxed_pattern(inner: str, flags: int = 0) -> re.Pattern[str]:
    r"""Compile a pattern whose ``match`` finds the *last* ``\\boxed{…}`` of a text that fits ``inner``.

    One call of ``pattern.match(text)`` replaces a loop over all boxes: the greedy prefix makes the engine
    look for the closest fit from the end. Linear in ``len(text)`` as long as ``inner`` matches no backslash
    and no two adjacent repetitions in it can match the same character.
    """
    return re.compile(r"(?s:.*)\\boxed\{" + inner + r"\}", flags)


def extract_last_boxed_answer(text: object) -> str | None:
    r"""Return the content of the last ``\boxed{…}`` whose braces balance, without surrounding space.

    A box in reasoning, between ``<think>`` and ``</think>``, is none. None when there is no such box, or when ``text``
    has no text (see :func:`action_text`).
    """
    content = action_text(text)
    if content is None:
        return None
    first, end = _said(content)
    box = content.rfind(BOX, first, end)
    while box >= 0:
        start = box + len(BOX)
        close = content.find("}", start, end)
        if content.find("{", start, close) >= 0:  # rare: most answers hold no braces
            close = _closing_brace(content, start, end)
        if close >= 0:
            return content[start:close].strip()
        # A brace that is open around a box that never closes never closes either, so an earlier box must close before.
        end = box
        box = content.rfind(BOX, first, end)
    return None


def extract_last_tagged_answer(text: object, tag: str = "answer") -> str | None:
    """Return the content of the last ``<tag>…</tag>`` outside of reasoning, without surrounding space, or None."""
    content = action_text(text)
    if content is None:
        return None
    first, last = (0, len(content)) if tag == "think" else _said(content)
    end = content.rfind(f"</{tag}>", first, last)
    start = content.rfind(f"<{tag}>", first, end) if end >= 0 else -1
    if start < 0:
        return None
    start += len(tag) + 2
    # Of closing tags that follow each other, the first closes the answer.
    return content[start : content.find(f"</{tag}>", start)].strip()


def extract_code_from_model(text: object) -> str | None:
    """Return the body of the last fenced code block that is closed, or None.

    A block opens with three backticks, an optional language and the end of the line.
    """
    content = action_text(text)
    if content is None:
        return None
    body: str | None = None
    position = 0
    while (fence := _FENCE_OPEN.search(content, position)) is not None:
        end = content.find("```", fence.end())
        if end < 0:
            break
        body = content[fence.end() : end]
        position = end + 3
    return None if body is None else body.strip()


def _said(text: str) -> tuple[int, int]:
    """Return where the text behind the last reasoning begins and ends; a tag that is not closed ends it."""
    start = max(0, text.rfind("</think>"))
    end = text.find("<think>", start)
    return start, len(text) if end < 0 else end


def _closing_brace(text: str, start: int, end: int) -> int:
    """Return the index at which the brace opened just before ``start`` closes, or -1."""
    depth = 1
    while (close := text.find("}", start, end)) >= 0:
        depth += text.count("{", start, close) - 1
        if depth == 0:
            return close
        start = close + 1
    return -1
