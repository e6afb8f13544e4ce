"""What Sphinx tells of its progress, in few lines: :class:`ProgressLines`."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

__all__ = ["ProgressLines"]

_SHARE = re.compile(r"^(?:\x1b\[2K)?(\w[\w ]*)\.\.\. \[ *(\d+)%\]")
_ENDS = re.compile(r"[\r\n]")
"""Of lines. Where Sphinx takes the output for a terminal, as it does in CI, it clears a line and writes over it."""
_STEP = 25
"""Percent of the pages between two lines."""


class ProgressLines(io.TextIOBase):
    """A stream for Sphinx's messages, which has a line for each page of each of its passes.

    Args:
        say: gets a line when a pass begins, and when a further quarter of its pages is done.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._line = ""
        self._told: dict[str, int] = {}

    def write(self, text: str) -> int:
        *lines, self._line = _ENDS.split(self._line + text)
        for found in filter(None, map(_SHARE.match, lines)):
            doing, share = found[1], int(found[2]) // _STEP * _STEP
            if share > self._told.get(doing, -1):
                self._told[doing] = share
                self._say(f"{doing}: {share} %")
        return len(text)
