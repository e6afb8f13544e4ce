"""Settings for web servers: the media types that installers accept, and the longest safe caching.

Pages and ``root.json`` change, so clients revalidate them each time (an unchanged one costs a 304): a yank must not
stay hidden in a cache. Digests name the files of the catalogue and the wheels, so caches may keep them forever.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from gem_hub.records import Strict

__all__ = ["Settings", "headers", "nginx", "redirects"]

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
_REVALIDATE = "no-cache"
_FOR_EVER = "public, max-age=31536000, immutable"
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _address(value: str) -> str:
    parts = urlsplit(value)
    plain = value.isascii() and value.isprintable() and not set(value) & set(" \"'<>\\^`{|};$#?")
    if value and (parts.scheme not in ("http", "https") or not parts.netloc or not plain):
        raise ValueError(f"{value[:200]!r} must be an http address, such as https://index.example/simple/")
    return value if not value or value.endswith("/") else f"{value}/"


class Settings(Strict):
    """``hub.json``: the operator's settings. A hub does not need this file."""

    format: Literal[1] = 1
    fallback: Annotated[str, AfterValidator(_address)] = ""
    """The simple index that receives requests for unknown names (302); empty for none."""
    valid_days: Annotated[int, Field(ge=0, le=3650)] = 0
    """The days for which ``root.json`` is valid after each change and each rebuild; 0 for ever.

    Clients refuse to install from a hub that has expired: neither a mirror nor a proxy can then hide yanks for long.
    """


def headers() -> bytes:
    """Return ``_headers`` for Cloudflare Pages and Netlify."""
    rules = {
        "/*": {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": _CONTENT_POLICY},
        "/root.json": {"Cache-Control": _REVALIDATE},
        "/badges/*": {"Cache-Control": _REVALIDATE},
        "/trust/*": {"Cache-Control": _REVALIDATE},
        "/log/*": {"Cache-Control": _REVALIDATE},
        "/envs/*": {"Cache-Control": _REVALIDATE},
        "/provenance/*": {"Cache-Control": _REVALIDATE},
        "/simple/*": {"Cache-Control": _REVALIDATE},
        "/simple/index.json": {"Content-Type": SIMPLE_JSON},
        "/simple/:name/index.json": {"Content-Type": SIMPLE_JSON},
        "/catalog/*": {"Cache-Control": _FOR_EVER, "Content-Type": "application/gzip"},
        "/episodes/*": {"Cache-Control": _FOR_EVER, "Content-Type": "application/gzip"},
        "/files/*": {"Cache-Control": _FOR_EVER, "Content-Type": "application/octet-stream"},
    }
    blocks = [
        f"{path}\n" + "".join(f"  {name}: {value}\n" for name, value in fields.items())
        for path, fields in rules.items()
    ]
    return "\n".join(blocks).encode()


def redirects(settings: Settings) -> bytes:
    """Return ``_redirects`` for the same hosts: unknown names go to the fallback."""
    if not settings.fallback:
        return b"# No fallback: installers get a 404 for names that this hub does not have.\n"
    return f"/simple/* {settings.fallback}:splat 302\n".encode()


def nginx(settings: Settings) -> bytes:
    """Return ``nginx.conf``, for inclusion in a ``server`` block whose ``root`` is the hub."""
    unknown, fallback = "=404", ""
    if settings.fallback:
        unknown = "@fallback"
        fallback = f"location @fallback {{\n    rewrite ^/simple/(.*)$ {settings.fallback}$1 redirect;\n}}\n"
    # A location with its own headers inherits none, so each location lists all of them.
    always = (
        "add_header X-Content-Type-Options nosniff always;\n    "
        f'add_header Content-Security-Policy "{_CONTENT_POLICY}" always;\n    '
    )
    words = {
        "unknown": unknown,
        "fallback": fallback,
        "changing": f'{always}add_header Cache-Control "{_REVALIDATE}";',
        "kept": f'{always}add_header Cache-Control "{_FOR_EVER}";',
        "simple_json": SIMPLE_JSON,
        "content_policy": _CONTENT_POLICY,
    }
    text = Path(__file__).with_name("nginx.conf.tmpl").read_text(encoding="utf-8")
    return re.sub("<([a-z_]+)>", lambda name: words[name[1]], text).encode()
