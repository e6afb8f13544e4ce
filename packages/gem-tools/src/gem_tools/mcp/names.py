"""Names for the tools of servers that every chat API allows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["public_names"]

_LONGEST = 64
"""The largest length of a name in chat APIs; the characters must be among ``a-z A-Z 0-9 _ -``."""

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")


def public_names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """Return a unique name for each tool.

    A valid name stays unchanged. An invalid name has its other characters replaced, is shortened, and ends
    with a digest of the original, so the result depends on the original only.

    Args:
        tools: for each tool its prefix (empty, or the server's name and an underscore) and its name on the server.
    """
    originals = [prefix + name for prefix, name in tools]
    taken = {name for name in originals if _is_allowed(name)}
    names: list[str] = []
    used: set[str] = set()
    for original in originals:
        name = original
        if not _is_allowed(name) or name in used:
            name = _NOT_ALLOWED.sub("_", original)[:_LONGEST]
            if not name or len(original) > _LONGEST or name in taken or name in used:
                name = _with_digest(original, used | taken)
        used.add(name)
        names.append(name)
    return names


def _is_allowed(name: str) -> bool:
    return 0 < len(name) <= _LONGEST and _NOT_ALLOWED.search(name) is None


def _with_digest(original: str, taken: set[str]) -> str:
    readable = _NOT_ALLOWED.sub("_", original) or "tool"
    for count in range(len(taken) + 1):
        digest = hashlib.sha256(f"{original}\0{count}".encode(errors="surrogatepass")).hexdigest()[:8]
        name = f"{readable[: _LONGEST - 9]}_{digest}"
        if name not in taken:
            return name
    raise AssertionError("more names than digests")
