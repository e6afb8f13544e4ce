"""Sanitizes foreign text and addresses before any other use on a page."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from gem_hub_client.sanitize import sanitize

__all__ = ["readable", "shortened", "tag_slug", "web_address"]

_TAG = re.compile(r"[a-z0-9]([a-z0-9_.-]{0,62}[a-z0-9_-])?")


def readable(value: Any) -> Any:
    """Return a JSON value without control and direction characters.

    Line breaks stay except at the end; tabs become spaces.
    """
    if isinstance(value, str):
        return "\n".join(sanitize(line) for line in value.expandtabs(8).splitlines()).rstrip("\n")
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, dict):
        return {sanitize(name): readable(item) for name, item in value.items()}
    return value


def shortened(text: str, most: int) -> str:
    """Return a text of at most this many characters, with an ellipsis at a cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def web_address(text: str) -> str:
    """Return an address that a page may link to; empty if it is not a web address.

    A user name in front of the host, which looks like another host, makes it none.
    """
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    usable = (
        parts.scheme in ("http", "https")
        and host
        and "@" not in parts.netloc
        and not re.search(r"[\s\"'<>\\^`{|}]", text)
    )
    return text if usable else ""


def tag_slug(tag: str) -> str:
    """Return the folder of a tag's page; empty for a tag without a page."""
    slug = tag.casefold()
    return slug if _TAG.fullmatch(slug) else ""
