"""Pictures in a terminal: shown inline where the terminal can, else saved to a file whose path is printed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gem_cli.terminal_text import printable

__all__ = ["picture_text"]

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_CHUNK = 4096  # bytes of base64 in one escape sequence, the most that Kitty's protocol allows


def picture_text(part: Mapping[str, Any]) -> str:
    """Return what stands for a content part with a picture.

    In a terminal that speaks the graphics protocol of Kitty or iTerm2, that is the picture. In another it is the
    path of a file that holds it, and elsewhere, as in a pipe, the kind of the part. Nothing is fetched.
    """
    kind = printable(str(part.get("type", "picture")))
    nested = part.get("image_url")
    url = nested.get("url") if isinstance(nested, Mapping) else nested
    if not isinstance(url, str) or not sys.stdout.isatty():
        return f"[{kind}]"
    if not url.startswith("data:"):
        return f"[{kind}: {url[:200]!r}]"
    media_type, data = _decoded(url)
    suffix = _SUFFIXES.get(media_type)
    if suffix is None or data is None:
        return f"[{kind}: {media_type[:50]!r} cannot be shown]"
    if _speaks_kitty() and suffix == "png":
        return _kitty(data)
    if _speaks_iterm():
        encoded = base64.b64encode(data).decode()
        return f"\x1b]1337;File=inline=1;size={len(data)};preserveAspectRatio=1:{encoded}\x1b\\"
    path = _folder() / f"{hashlib.sha256(data).hexdigest()[:16]}.{suffix}"
    path.write_bytes(data)
    return f"[picture: {path}]"


def _decoded(url: str) -> tuple[str, bytes | None]:
    header, _, body = url.removeprefix("data:").partition(",")
    media_type, _, encoding = header.partition(";")
    try:
        return media_type, base64.b64decode(body, validate=True) if encoding == "base64" else None
    except (binascii.Error, ValueError):
        return media_type, None


def _speaks_kitty() -> bool:
    """Whether the terminal shows pictures by Kitty's protocol; those that do name themselves in these variables."""
    names = ("xterm-kitty", "xterm-ghostty")
    return os.environ.get("TERM") in names or "KITTY_WINDOW_ID" in os.environ


def _speaks_iterm() -> bool:
    return os.environ.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm")


def _kitty(png: bytes) -> str:
    """Return the escape sequences of https://sw.kovidgoyal.net/kitty/graphics-protocol/ that show a PNG."""
    encoded = base64.b64encode(png).decode()
    chunks = [encoded[start : start + _CHUNK] for start in range(0, len(encoded), _CHUNK)] or [""]
    sequences = []
    for number, chunk in enumerate(chunks):
        control = "a=T,f=100," if number == 0 else ""
        more = int(number + 1 < len(chunks))
        sequences.append(f"\x1b_G{control}m={more};{chunk}\x1b\\")
    return "".join(sequences)


@cache
def _folder() -> Path:
    """Return a folder of this process for pictures; it stays, since a person opens the files afterwards."""
    return Path(tempfile.mkdtemp(prefix="gem-pictures-"))
