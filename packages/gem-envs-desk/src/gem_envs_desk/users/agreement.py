"""Whether a customer's words agree to something: :func:`agrees`."""

from __future__ import annotations

import re

__all__ = ["agrees"]

_YES = re.compile(
    r"\byes\b(?!, (?:there is|that was all|that is all|thank you\. that concludes))|\bi agree\b(?! to nothing)|"
    r"\bgo ahead\b|(?<!whether )\bthat is right\b|\b(?:sure|certainly|of course|absolutely|okay)[,.!]|"
    r"\bplease do\b(?! just what i have asked for\b)",
    re.IGNORECASE,
)


def agrees(text: str) -> bool:
    """Return whether words say yes. A reminder ("Yes, there is.") and a goodbye are no yes to a proposal."""
    return _YES.search(text) is not None
