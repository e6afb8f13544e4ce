"""Output of programs as text for messages: :func:`plain_text`."""

from __future__ import annotations

import re

__all__ = ["plain_text"]

# ECMA-48: control sequences, control strings such as titles, and other escapes; then all other control characters.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[]P^_X][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]?"
)
_OVERWRITTEN = re.compile(r"[^\r\n]*\r(?!\n|\Z)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(output: str) -> str:
    """Return output without colours and other control characters; of a line that is overwritten, its last state.

    Newlines and tabs stay. The time is linear in the length.
    """
    return _CONTROLS.sub("", _OVERWRITTEN.sub("", _ESCAPES.sub("", output)))
