"""Text from models, servers and files, made fit for a terminal."""

from __future__ import annotations

import re

__all__ = ["printable"]

# C0 and C1 controls (escape sequences begin with one), the line separators, the marks that turn the direction of
# text around, the invisible tag characters, and lone surrogates, which cannot be printed.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]+"
)


def printable(text: object) -> str:
    """Return a text on one line, with each run of control and direction characters as one space."""
    return _UNFIT.sub(" ", str(text))
