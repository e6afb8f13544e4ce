"""Settings for web servers, so that every file leaves with a type that installers take and is cached as long as it may.

Pages and ``root.json`` change, so they are asked for again each time (an unchanged one costs a 304): a yank must not
stay hidden in a cache. Files of the catalogue and wheels are named by what is in them, and are kept for ever.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator

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
    """``hub.json``: what the operator of a hub decides. A hub needs no such file."""

    format: Literal[1] = 1
    fallback: Annotated[str, AfterValidator(_address)] = ""
    """Simple index to which names that this hub does not have are sent (302); empty for none."""


def headers() -> bytes:
    """Return ``_headers``, which Cloudflare Pages and Netlify read."""
    rules = {
        "/*": {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": _CONTENT_POLICY},
        "/root.json": {"Cache-Control": _REVALIDATE},
        "/envs/*": {"Cache-Control": _REVALIDATE},
        "/simple/*": {"Cache-Control": _REVALIDATE},
        "/simple/index.json": {"Content-Type": SIMPLE_JSON},
        "/simple/:name/index.json": {"Content-Type": SIMPLE_JSON},
        "/catalog/*": {"Cache-Control": _FOR_EVER, "Content-Type": "application/gzip"},
        "/files/*": {"Cache-Control": _FOR_EVER, "Content-Type": "application/octet-stream"},
    }
    blocks = [
        f"{path}\n" + "".join(f"  {name}: {value}\n" for name, value in fields.items())
        for path, fields in rules.items()
    ]
    return "\n".join(blocks).encode()


def redirects(settings: Settings) -> bytes:
    """Return ``_redirects``, which the same hosts read: names that the hub does not have go to the fallback."""
    if not settings.fallback:
        return b"# No fallback: installers get a 404 for names that this hub does not have.\n"
    return f"/simple/* {settings.fallback}:splat 302\n".encode()


def nginx(settings: Settings) -> bytes:
    """Return ``nginx.conf``, to be included in a ``server`` block whose ``root`` is the hub."""
    unknown, fallback = "=404", ""
    if settings.fallback:
        unknown = "@fallback"
        fallback = f"location @fallback {{\n    rewrite ^/simple/(.*)$ {settings.fallback}$1 redirect;\n}}\n"
    # A location that adds a header of its own inherits none, so each has all of them.
    always = (
        "add_header X-Content-Type-Options nosniff always;\n    "
        f'add_header Content-Security-Policy "{_CONTENT_POLICY}" always;\n    '
    )
    changing = f'{always}add_header Cache-Control "{_REVALIDATE}";'
    kept = f'{always}add_header Cache-Control "{_FOR_EVER}";'
    return f"""# Include this in a server block whose root is the hub's folder.
add_header X-Content-Type-Options nosniff always;
add_header Content-Security-Policy "{_CONTENT_POLICY}" always;
location /simple/ {{
    index index.html;
    rewrite ^(/simple/[^/.]+)$ $1/ permanent;
    try_files $uri $uri/index.html {unknown};
    {changing}
}}
location ~ ^/simple/(?:[^/]+/)?index\\.json$ {{
    types {{ }}
    default_type {SIMPLE_JSON};
    {changing}
}}
{fallback}location = /root.json {{
    {changing}
}}
location /envs/ {{
    {changing}
}}
location /catalog/ {{
    types {{ }}
    default_type application/gzip;
    {kept}
}}
location /files/ {{
    types {{ }}
    default_type application/octet-stream;
    {kept}
}}
location ~ /\\. {{
    deny all;
}}
""".encode()
