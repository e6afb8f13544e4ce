"""Texts for agents, kept within a number of characters: :func:`cut`."""

from __future__ import annotations

import re

__all__ = ["cut"]

_GAP = re.compile(r"\[\.\.\. ([\d,]{1,20}) bytes left out \.\.\.\]")
"""The note of :class:`gem_tools.sandbox.output.OutputBuffer`."""


def cut(text: str, longest: int, *, has_gap: bool = False) -> str:
    """Return the text; cut out the middle of a text with more characters than that, with a note of how many.

    Args:
        text: any text.
        longest: the largest number of characters, besides those of the note.
        has_gap: whether the sandbox has left out a part already, which the note then counts as well.
    """
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    missing = len(text) - longest
    gap = _GAP.search(text, head, len(text) - tail) if has_gap else None
    if gap is not None:
        missing += int(gap[1].replace(",", "")) - len(gap[0])
    return f"{text[:head]}\n[… {missing} characters left out …]\n{text[-tail:] if tail else ''}"
